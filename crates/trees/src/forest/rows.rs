//! The rows that are scored.

/// The values of one feature in all rows.
#[derive(Debug, Clone, Copy)]
pub enum Column<'a> {
    /// One number for each row.
    F32(&'a [f32]),
    /// One number for each row.
    F64(&'a [f64]),
    /// The same number in all rows, for example what belongs to the query.
    Same(f64),
}

/// Rows of features, borrowed from the caller. NaN is a missing value.
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a> {
    pub(super) source: Source<'a>,
    pub(super) rows: usize,
    pub(super) features: usize,
}

/// How they lie.
#[derive(Debug, Clone, Copy)]
pub(super) enum Source<'a> {
    F32(&'a [f32]),
    F64(&'a [f64]),
    Columns(&'a [Column<'a>]),
}

/// Which buffer values were copied to.
pub(super) enum Copied {
    F32,
    F64,
}

impl<'a> Rows<'a> {
    /// Rows behind each other, each of `features` numbers; a rest that is no whole row is ignored.
    pub fn of_f32(values: &'a [f32], features: usize) -> Rows<'a> {
        Rows { source: Source::F32(values), rows: values.len() / features.max(1), features }
    }

    /// As [`Rows::of_f32`].
    pub fn of_f64(values: &'a [f64], features: usize) -> Rows<'a> {
        Rows { source: Source::F64(values), rows: values.len() / features.max(1), features }
    }

    /// A column for each feature, from which the first `rows` numbers are taken.
    ///
    /// A column that is shorter makes the rest missing.
    pub fn of_columns(columns: &'a [Column<'a>], rows: usize) -> Rows<'a> {
        Rows { source: Source::Columns(columns), rows, features: columns.len() }
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Numbers in a row.
    pub fn features(&self) -> usize {
        self.features
    }

    /// Copies a feature of rows from `first` on into the buffer of its type, as many as fit.
    pub(super) fn copy(
        &self,
        feature: usize,
        first: usize,
        f32s: &mut [f32],
        f64s: &mut [f64],
    ) -> Copied {
        match self.source {
            Source::F32(values) => {
                strided(values, feature, first, self.features, f32s);
                Copied::F32
            }
            Source::F64(values) => {
                strided(values, feature, first, self.features, f64s);
                Copied::F64
            }
            Source::Columns(columns) => match columns.get(feature) {
                Some(Column::F32(column)) => {
                    part(column, first, f32::NAN, f32s);
                    Copied::F32
                }
                Some(Column::F64(column)) => {
                    part(column, first, f64::NAN, f64s);
                    Copied::F64
                }
                Some(Column::Same(x)) => {
                    f64s.fill(*x);
                    Copied::F64
                }
                None => {
                    f64s.fill(f64::NAN);
                    Copied::F64
                }
            },
        }
    }
}

fn strided<T: Copy>(values: &[T], feature: usize, first: usize, features: usize, out: &mut [T]) {
    let from = values.get(first * features + feature..).unwrap_or_default();
    for (out, x) in out.iter_mut().zip(from.iter().step_by(features)) {
        *out = *x;
    }
}

fn part<T: Copy>(column: &[T], first: usize, missing: T, out: &mut [T]) {
    let from = column.get(first..).unwrap_or_default();
    let n = from.len().min(out.len());
    out[..n].copy_from_slice(&from[..n]);
    out[n..].fill(missing);
}
