//! Which types the tensor functions take, and which they give.

use super::{Dimension, Extent, MAX_BLOCK, MAX_DIMENSIONS, TensorType};

/// Why there is no such type, or why a function cannot take these.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TypeError {
    /// The text is no type.
    #[error("expected {expected}, found {}", if found.is_empty() { "the end".to_owned() } else { format!("{found:?}") })]
    Text {
        /// What stands there.
        found: String,
        /// What should.
        expected: &'static str,
    },
    /// A cell type of an unknown name.
    #[error("unknown cell type {found}; known are {known}")]
    CellType {
        /// The name.
        found: String,
        /// All that there are.
        known: String,
    },
    /// A dimension without indices.
    #[error("dimension {0} has size 0")]
    Empty(String),
    /// A name that two dimensions have.
    #[error("dimension {0} stands twice")]
    Twice(String),
    /// More than [`MAX_DIMENSIONS`].
    #[error("a type has at most {MAX_DIMENSIONS} dimensions, not {0}")]
    TooManyDimensions(usize),
    /// More than [`MAX_BLOCK`] cells in a block.
    #[error("a block is larger than {MAX_BLOCK} cells at dimension {0}")]
    TooLarge(String),
    /// A dimension that both have in different forms.
    #[error("dimension {dimension} differs: {left} and {right}")]
    Differs {
        /// Its name.
        dimension: String,
        /// One type.
        left: TensorType,
        /// The other.
        right: TensorType,
    },
    /// Tensors that do not have the same dimensions.
    #[error("the dimensions differ: {left} and {right}")]
    Dimensions {
        /// One type.
        left: TensorType,
        /// The other.
        right: TensorType,
    },
    /// A dimension that is not there.
    #[error("{of} has no dimension {dimension}")]
    Missing {
        /// The type.
        of: TensorType,
        /// The name.
        dimension: String,
    },
    /// Labels where there must be indices.
    #[error("dimension {dimension} of {of} is mapped; {action} needs an indexed one")]
    Mapped {
        /// The type.
        of: TensorType,
        /// The name.
        dimension: String,
        /// Which function.
        action: &'static str,
    },
}

/// The dimensions of both, those that both have once.
fn union(left: &TensorType, right: &TensorType) -> Result<Vec<Dimension>, TypeError> {
    let mut all = left.dimensions().to_vec();
    for dimension in right.dimensions() {
        match left.dimension(&dimension.name) {
            None => all.push(dimension.clone()),
            Some(same) if same == dimension => {}
            Some(_) => {
                return Err(TypeError::Differs {
                    dimension: dimension.name.to_string(),
                    left: left.clone(),
                    right: right.clone(),
                });
            }
        }
    }
    Ok(all)
}

/// The cell type of two operands; a number has none of its own.
fn unify(left: &TensorType, right: &TensorType) -> super::CellType {
    match (left.is_double(), right.is_double()) {
        (true, _) => right.cell(),
        (_, true) => left.cell(),
        _ => left.cell().unify(right.cell()),
    }
}

impl TensorType {
    /// The type of a function of each cell.
    #[must_use]
    pub fn map(&self) -> TensorType {
        self.with_cell(self.cell().decay())
    }

    /// The type of a function of each pair of cells whose common dimensions agree.
    ///
    /// # Errors
    /// When a dimension of both has different sizes, or is mapped in one and indexed in the other.
    pub fn join(&self, other: &TensorType) -> Result<TensorType, TypeError> {
        TensorType::new(unify(self, other).decay(), union(self, other)?)
    }

    /// The type of the cells of either, with a function of both where both have one.
    ///
    /// # Errors
    /// When the dimensions are not the same.
    pub fn merge(&self, other: &TensorType) -> Result<TensorType, TypeError> {
        if self.dimensions() != other.dimensions() {
            return Err(TypeError::Dimensions { left: self.clone(), right: other.clone() });
        }
        Ok(self.with_cell(self.cell().unify(other.cell()).decay()))
    }

    /// The type without these dimensions, or a number when none is named.
    ///
    /// # Errors
    /// When a dimension is not there or stands twice.
    pub fn reduce(&self, dimensions: &[impl AsRef<str>]) -> Result<TensorType, TypeError> {
        if dimensions.is_empty() {
            return Ok(TensorType::double());
        }
        for (at, name) in dimensions.iter().map(AsRef::as_ref).enumerate() {
            self.must_have(name)?;
            if dimensions[..at].iter().any(|d| d.as_ref() == name) {
                return Err(TypeError::Twice(name.to_owned()));
            }
        }
        let is_kept = |d: &&Dimension| !dimensions.iter().any(|name| name.as_ref() == &*d.name);
        let kept = self.dimensions().iter().filter(is_kept).cloned().collect();
        TensorType::new(self.cell().decay(), kept)
    }

    /// The type with dimensions under other names.
    ///
    /// # Errors
    /// When a dimension is not there, the lists differ in length, or two get the same name.
    pub fn rename(&self, from: &[String], to: &[String]) -> Result<TensorType, TypeError> {
        for (at, name) in from.iter().enumerate() {
            self.must_have(name)?;
            if from[..at].contains(name) {
                return Err(TypeError::Twice(name.clone()));
            }
        }
        let renamed = |d: &Dimension| match from.iter().position(|name| **name == *d.name) {
            Some(at) => Dimension { name: to[at].as_str().into(), extent: d.extent },
            None => d.clone(),
        };
        TensorType::new(self.cell(), self.dimensions().iter().map(renamed).collect())
    }

    /// The type of two tensors behind each other along an indexed dimension, in which a tensor without it counts as one.
    ///
    /// # Errors
    /// When the dimension is mapped, or another that both have differs.
    pub fn concat(&self, other: &TensorType, along: &str) -> Result<TensorType, TypeError> {
        let mut size = 0_usize;
        let mut parts = Vec::with_capacity(2);
        for part in [self, other] {
            size += match part.dimension(along).map(|d| d.extent) {
                None => 1,
                Some(Extent::Indexed(size)) => size,
                Some(Extent::Mapped) => {
                    return Err(TypeError::Mapped {
                        of: part.clone(),
                        dimension: along.to_owned(),
                        action: "concat",
                    });
                }
            };
            let others = part.dimensions().iter().filter(|d| &*d.name != along).cloned();
            parts.push(TensorType::new(part.cell(), others.collect())?);
        }
        let mut all = union(&parts[0], &parts[1]).map_err(|e| match e {
            TypeError::Differs { dimension, .. } => {
                TypeError::Differs { dimension, left: self.clone(), right: other.clone() }
            }
            other => other,
        })?;
        all.push(Dimension::indexed(along, size));
        TensorType::new(unify(self, other), all)
    }

    /// The type of what is left when these dimensions have a fixed place.
    ///
    /// # Errors
    /// When a dimension is not there or stands twice.
    pub fn peek(&self, dimensions: &[impl AsRef<str>]) -> Result<TensorType, TypeError> {
        let rest = self.reduce(dimensions)?;
        Ok(rest.with_cell(self.cell()))
    }

    fn must_have(&self, name: &str) -> Result<(), TypeError> {
        match self.dimension(name) {
            Some(_) => Ok(()),
            None => Err(TypeError::Missing { of: self.clone(), dimension: name.to_owned() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{TensorType, parse_type};

    fn t(text: &str) -> TensorType {
        parse_type(text).unwrap()
    }

    #[test]
    fn joins_have_the_dimensions_of_both() {
        for (a, b, joined) in [
            ("double", "double", "double"),
            ("double", "tensor<int8>(x{})", "tensor<float>(x{})"),
            ("tensor<float>(x{})", "tensor<float>(y[2])", "tensor<float>(x{},y[2])"),
            ("tensor<float>(x[2])", "tensor(x[2],y{})", "tensor(x[2],y{})"),
            ("tensor<bfloat16>(x[2])", "tensor<bfloat16>(x[2])", "tensor<float>(x[2])"),
        ] {
            assert_eq!(t(a).join(&t(b)), Ok(t(joined)), "{a} {b}");
            assert_eq!(t(b).join(&t(a)), Ok(t(joined)), "{b} {a}");
        }
        for (a, b) in [("tensor(x[2])", "tensor(x[3])"), ("tensor(x[2])", "tensor(x{})")] {
            let message = format!("dimension x differs: {a} and {b}");
            assert_eq!(t(a).join(&t(b)).unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn other_functions() {
        let mixed = t("tensor<int8>(x{},y[2])");
        assert_eq!(mixed.reduce(&["x"]), Ok(t("tensor<float>(y[2])")));
        assert_eq!(mixed.reduce(&["x", "y"]), Ok(t("double")));
        assert_eq!(mixed.reduce(&[""; 0]), Ok(t("double")));
        assert_eq!(
            mixed.reduce(&["z"]).unwrap_err().to_string(),
            "tensor<int8>(x{},y[2]) has no dimension z"
        );
        assert_eq!(mixed.peek(&["x"]), Ok(t("tensor<int8>(y[2])")));
        assert_eq!(mixed.peek(&["x", "y"]), Ok(t("double")));
        let swapped = mixed.rename(&["x".into(), "y".into()], &["y".into(), "x".into()]);
        assert_eq!(swapped, Ok(t("tensor<int8>(x[2],y{})")));
        assert_eq!(mixed.concat(&t("tensor<int8>(x{})"), "y"), Ok(t("tensor<int8>(x{},y[3])")));
        assert_eq!(mixed.concat(&t("double"), "z"), Ok(t("tensor<int8>(x{},y[2],z[2])")));
        assert!(
            mixed
                .concat(&t("double"), "x")
                .unwrap_err()
                .to_string()
                .contains("is mapped; concat needs")
        );
        assert!(mixed.merge(&t("tensor(x{})")).is_err());
        assert_eq!(mixed.merge(&mixed), Ok(t("tensor<float>(x{},y[2])")));
    }
}
