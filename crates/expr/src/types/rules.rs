//! Which types the tensor functions take, and which they give.

use super::{Dimension, Extent, TensorType, TypeError};

/// What a dimension of both is; a size that is not known may be any.
fn agreed(left: Extent, right: Extent) -> Option<Extent> {
    match (left, right) {
        (a, b) if a == b => Some(a),
        (Extent::Unbound, known @ Extent::Indexed(_))
        | (known @ Extent::Indexed(_), Extent::Unbound) => Some(known),
        _ => None,
    }
}

/// The dimensions of both, those that both have once.
fn union(left: &TensorType, right: &TensorType) -> Result<Vec<Dimension>, TypeError> {
    let mut all = left.dimensions().to_vec();
    for dimension in right.dimensions() {
        match all.iter_mut().find(|d| d.name == dimension.name) {
            None => all.push(dimension.clone()),
            Some(same) => match agreed(same.extent, dimension.extent) {
                Some(extent) => same.extent = extent,
                None => {
                    return Err(TypeError::Differs {
                        dimension: dimension.name.to_string(),
                        left: left.clone(),
                        right: right.clone(),
                    });
                }
            },
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
        let same = self.with_same_dimensions(other)?;
        Ok(same.with_cell(self.cell().unify(other.cell()).decay()))
    }

    /// The type of either of two values.
    ///
    /// # Errors
    /// When the cells or the dimensions are not the same.
    pub fn either(&self, other: &TensorType) -> Result<TensorType, TypeError> {
        match self.cell() == other.cell() {
            true => self.with_same_dimensions(other),
            false => Err(TypeError::Dimensions { left: self.clone(), right: other.clone() }),
        }
    }

    /// Whether a value of another type is one of this: the same, but for sizes that are not known here.
    #[must_use]
    pub fn takes(&self, other: &TensorType) -> bool {
        let is_same = |(a, b): (&Dimension, &Dimension)| {
            a.name == b.name && agreed(a.extent, b.extent) == Some(b.extent)
        };
        self.cell() == other.cell()
            && self.dimensions().len() == other.dimensions().len()
            && self.dimensions().iter().zip(other.dimensions()).all(is_same)
    }

    /// The dimensions of both, with the sizes that either knows.
    fn with_same_dimensions(&self, other: &TensorType) -> Result<TensorType, TypeError> {
        let differ = || TypeError::Dimensions { left: self.clone(), right: other.clone() };
        if self.dimensions().len() != other.dimensions().len() {
            return Err(differ());
        }
        let both = |(a, b): (&Dimension, &Dimension)| {
            let extent = agreed(a.extent, b.extent).filter(|_| a.name == b.name)?;
            Some(Dimension { name: a.name.clone(), extent })
        };
        let dimensions: Option<Vec<Dimension>> =
            self.dimensions().iter().zip(other.dimensions()).map(both).collect();
        TensorType::new(self.cell(), dimensions.ok_or_else(differ)?)
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
        let mut size = Some(0_usize);
        let mut parts = Vec::with_capacity(2);
        for part in [self, other] {
            let own = match part.dimension(along).map(|d| d.extent) {
                None => Some(1),
                Some(Extent::Indexed(size)) => Some(size),
                Some(Extent::Unbound) => None,
                Some(Extent::Mapped) => {
                    return Err(TypeError::Mapped {
                        of: part.clone(),
                        dimension: along.to_owned(),
                        action: "concat",
                    });
                }
            };
            size = size.zip(own).map(|(a, b)| a + b);
            let others = part.dimensions().iter().filter(|d| &*d.name != along).cloned();
            parts.push(TensorType::new(part.cell(), others.collect())?);
        }
        let mut all = union(&parts[0], &parts[1]).map_err(|e| match e {
            TypeError::Differs { dimension, .. } => {
                TypeError::Differs { dimension, left: self.clone(), right: other.clone() }
            }
            other => other,
        })?;
        all.push(match size {
            Some(size) => Dimension::indexed(along, size),
            None => Dimension::unbound(along),
        });
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

    /// The type of the bits of each cell, along the innermost indexed dimension.
    ///
    /// # Errors
    /// When there is none, or a block would be too large.
    pub fn unpack_bits(&self, cell: super::CellType) -> Result<TensorType, TypeError> {
        let Some(last) = self.dimensions().iter().rposition(|d| !d.is_mapped()) else {
            return Err(TypeError::NotIndexed { of: self.clone(), action: "unpack_bits" });
        };
        let mut dimensions = self.dimensions().to_vec();
        if let Extent::Indexed(size) = &mut dimensions[last].extent {
            *size = size.saturating_mul(8);
        }
        TensorType::new(cell, dimensions)
    }

    /// The type of a function of each block whose result has the type `block`.
    ///
    /// # Errors
    /// When that has a mapped dimension, or one that is mapped here.
    pub fn map_subspaces(&self, block: &TensorType) -> Result<TensorType, TypeError> {
        if let Some(d) = block.mapped().next() {
            return Err(TypeError::Mapped {
                of: block.clone(),
                dimension: d.name.to_string(),
                action: "map_subspaces",
            });
        }
        let dimensions = self.mapped().chain(block.dimensions()).cloned().collect();
        // A number has no cell type of its own: then that of the outer tensor counts, as after a map.
        let cell = if block.is_double() { self.map().cell() } else { block.cell() };
        TensorType::new(cell, dimensions)
    }

    /// The type of one block.
    #[must_use]
    pub fn block(&self) -> TensorType {
        let names: Vec<&str> = self.mapped().map(|d| &*d.name).collect();
        if names.is_empty() {
            return self.clone();
        }
        self.peek(&names).unwrap_or_else(|_| TensorType::double())
    }

    /// Checks that all sizes are known.
    ///
    /// # Errors
    /// With the first dimension whose size is not.
    pub fn must_be_bound(&self, action: &'static str) -> Result<(), TypeError> {
        match self.unbound() {
            None => Ok(()),
            Some(dimension) => {
                let dimension = dimension.name.to_string();
                Err(TypeError::Unbound { of: self.clone(), dimension, action })
            }
        }
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

    /// Sizes that are not known may be any, and what is known of one operand is known of the result.
    #[test]
    fn sizes_that_are_not_known() {
        let t = |text: &str| t(&text.replace('T', "tensor<float>"));
        for (a, b, joined, behind, merged) in [
            ("T(x[])", "T(x[])", "T(x[])", "T(x[])", "T(x[])"),
            ("T(x[])", "T(x[3])", "T(x[3])", "T(x[])", "T(x[3])"),
            ("T(x[],y[])", "T(x[2],y[])", "T(x[2],y[])", "T(x[],y[])", "T(x[2],y[])"),
            ("T(x[],y[2])", "T(x[],y[2])", "T(x[],y[2])", "T(x[],y[2])", "T(x[],y[2])"),
        ] {
            assert_eq!(t(a).join(&t(b)), Ok(t(joined)), "{a} {b}");
            assert_eq!(t(b).join(&t(a)), Ok(t(joined)), "{b} {a}");
            assert_eq!(t(a).concat(&t(b), "x"), Ok(t(behind)), "{a} {b}");
            assert_eq!(t(a).merge(&t(b)), Ok(t(merged)), "{a} {b}");
            assert_eq!(t(a).either(&t(b)), Ok(t(merged)), "{a} {b}");
        }
        assert!(t("T(x[])").join(&t("T(x{})")).is_err());
        assert_eq!(t("T(x[],y[3])").reduce(&["x"]), Ok(t("T(y[3])")));
        assert_eq!(t("T(x[],y[3])").peek(&["y"]), Ok(t("T(x[])")));
        assert_eq!(t("T(x[])").unpack_bits(super::super::CellType::Float), Ok(t("T(x[])")));
        for (of, value, takes) in [
            ("T(x[])", "T(x[3])", true),
            ("T(x[])", "T(x[])", true),
            ("T(x[3])", "T(x[])", false),
            ("T(x[3])", "T(x[4])", false),
            ("T(x[])", "T(y[3])", false),
            ("T(x[])", "tensor(x[3])", false),
            ("T(x[])", "T(x{})", false),
        ] {
            assert_eq!(t(of).takes(&t(value)), takes, "{of} {value}");
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
