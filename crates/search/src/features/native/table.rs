//! Functions as tables (Vespa, `searchlib/src/vespa/searchlib/fef/functiontablefactory.cpp`).

/// The numbers of a table where nothing is said.
const SIZE: usize = 256;

/// The most that may be said.
const MOST: usize = 1 << 16;

/// A function of whole numbers from 0; behind the last it stays as it is.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Table {
    values: Vec<f64>,
    pub(super) max: f64,
}

impl Table {
    /// The table of `expdecay(w,t)`, `loggrowth(w,t,s)` or `linear(w,t)`, each with its size behind these if that is not 256.
    ///
    /// # Errors
    /// When it is none.
    pub(super) fn parse(text: &str) -> Result<Table, String> {
        let wrong =
            || format!("expected expdecay(w,t), loggrowth(w,t,s) or linear(w,t), found {text:.40}");
        let (name, rest) = text.trim().split_once('(').ok_or_else(wrong)?;
        let inner = rest.trim_end().strip_suffix(')').ok_or_else(wrong)?;
        let numbers: Result<Vec<f64>, _> = inner.split(',').map(|n| n.trim().parse()).collect();
        let numbers = numbers.map_err(|_| wrong())?;
        let (function, rest): (Box<dyn Fn(f64) -> f64>, &[f64]) = match (name.trim(), &numbers[..])
        {
            ("expdecay", [w, t, rest @ ..]) => {
                let (w, t) = (*w, *t);
                (Box::new(move |x| w * (-(x / t)).exp()), rest)
            }
            ("loggrowth", [w, t, s, rest @ ..]) => {
                let (w, t, s) = (*w, *t, *s);
                (Box::new(move |x| w * (1.0 + x / s).ln() + t), rest)
            }
            ("linear", [w, t, rest @ ..]) => {
                let (w, t) = (*w, *t);
                (Box::new(move |x| w * x + t), rest)
            }
            _ => return Err(wrong()),
        };
        let size = match rest {
            [] => SIZE,
            [size] if *size >= 1.0 && *size <= MOST as f64 => *size as usize,
            _ => return Err(wrong()),
        };
        let values: Vec<f64> = (0..size).map(|x| function(x as f64)).collect();
        let max = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Ok(Table { values, max })
    }

    /// How many numbers it has.
    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    pub(super) fn get(&self, at: usize) -> f64 {
        self.values.get(at).or(self.values.last()).copied().unwrap_or(0.0)
    }

    /// The same of numbers below 0, whose values are those of the positive ones, negated.
    pub(super) fn symmetric(&self, at: i64) -> f64 {
        let value = self.get(usize::try_from(at.unsigned_abs()).unwrap_or(usize::MAX));
        if at < 0 { -value } else { value }
    }
}

#[cfg(test)]
mod tests {
    use super::Table;

    #[test]
    fn tables_are_those_of_their_functions() {
        let cases = [
            ("expdecay(8000,12.50)", 256, [8000.0, 8000.0 * (-1.0_f64 / 12.5).exp()], 8000.0),
            (
                "loggrowth(1500,4000,19)",
                256,
                [4000.0, 1500.0 * (1.0_f64 + 1.0 / 19.0).ln() + 4000.0],
                1500.0 * (1.0_f64 + 255.0 / 19.0).ln() + 4000.0,
            ),
            (" linear( 2, 1 ,3 ) ", 3, [1.0, 3.0], 5.0),
            ("linear(0,0)", 256, [0.0, 0.0], 0.0),
        ];
        for (text, size, first, max) in cases {
            let table = Table::parse(text).unwrap();
            assert_eq!((table.len(), [table.get(0), table.get(1)], table.max), (size, first, max));
            assert_eq!(table.get(1000), table.get(size - 1), "{text}");
        }
        let linear = Table::parse("linear(1,0)").unwrap();
        assert_eq!(
            [-300, -2, 0, 7, 300].map(|at| linear.symmetric(at)),
            [-255.0, -2.0, 0.0, 7.0, 255.0]
        );
        for wrong in [
            "",
            "linear",
            "linear(1)",
            "linear(1,2,3,4)",
            "cubic(1,2)",
            "linear(a,b)",
            "linear(1,1,0)",
        ] {
            let error = Table::parse(wrong).unwrap_err();
            assert!(error.starts_with("expected expdecay(w,t), loggrowth"), "{error}");
        }
    }
}
