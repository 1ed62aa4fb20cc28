//! Parameters of requests and answers.

use std::borrow::Cow;

/// The value of a request or response parameter.
#[derive(Debug, Clone, PartialEq)]
pub enum Param {
    /// A truth value.
    Bool(bool),
    /// A signed integer.
    I64(i64),
    /// An unsigned integer.
    U64(u64),
    /// A number.
    F64(f64),
    /// A text.
    Str(String),
}

/// The name of a parameter. Those that stead knows need no memory of their own.
pub type ParamName = Cow<'static, str>;

/// Parameters by name, in the order of the names. A request has one to four of them: a list takes one small piece of
/// memory where a tree takes a large one.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Parameters(Vec<(ParamName, Param)>);

impl Parameters {
    /// No parameters.
    #[must_use]
    pub const fn new() -> Parameters {
        Parameters(Vec::new())
    }

    fn place(&self, name: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(n, _)| (**n).cmp(name))
    }

    /// The value of a name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Param> {
        let place = self.place(name).ok()?;
        self.0.get(place).map(|(_, value)| value)
    }

    /// Whether there is a value of this name.
    #[must_use]
    pub fn contains_key(&self, name: &str) -> bool {
        self.place(name).is_ok()
    }

    /// Sets the value of a name. Gives the one before.
    pub fn insert(&mut self, name: ParamName, value: Param) -> Option<Param> {
        match self.place(&name) {
            Ok(place) => self.0.get_mut(place).map(|(_, own)| std::mem::replace(own, value)),
            Err(place) => {
                self.0.insert(place, (name, value));
                None
            }
        }
    }

    /// Takes out the value of a name.
    pub fn remove(&mut self, name: &str) -> Option<Param> {
        let place = self.place(name).ok()?;
        Some(self.0.remove(place).1)
    }

    /// Names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&ParamName, &Param)> {
        self.0.iter().map(|(name, value)| (name, value))
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl IntoIterator for Parameters {
    type Item = (ParamName, Param);
    type IntoIter = std::vec::IntoIter<(ParamName, Param)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// Of several values of a name the last one counts. The names of a message come in any order, and anyone may send
/// thousands of them.
impl FromIterator<(ParamName, Param)> for Parameters {
    fn from_iter<I: IntoIterator<Item = (ParamName, Param)>>(list: I) -> Parameters {
        let mut all: Vec<_> = list.into_iter().collect();
        all.sort_by(|(a, _), (b, _)| a.cmp(b));
        // The later of two equal ones stands behind: it takes the place of the one before.
        all.dedup_by(|later, earlier| {
            let is_same = later.0 == earlier.0;
            if is_same {
                std::mem::swap(later, earlier);
            }
            is_same
        });
        Parameters(all)
    }
}

impl<const N: usize> From<[(ParamName, Param); N]> for Parameters {
    fn from(list: [(ParamName, Param); N]) -> Parameters {
        list.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_one_value() {
        let mut all: Parameters =
            [("b", 1), ("a", 2), ("b", 3)].map(|(n, v)| (n.into(), Param::U64(v))).into();
        let shown =
            |all: &Parameters| all.iter().map(|(n, v)| format!("{n} {v:?}")).collect::<Vec<_>>();
        assert_eq!(shown(&all), ["a U64(2)", "b U64(3)"]);
        assert_eq!(all.insert("b".into(), Param::Bool(true)), Some(Param::U64(3)));
        assert_eq!(all.insert("aa".into(), Param::U64(4)), None);
        assert_eq!(shown(&all), ["a U64(2)", "aa U64(4)", "b Bool(true)"]);
        assert_eq!(all.remove("a"), Some(Param::U64(2)));
        assert_eq!((all.remove("a"), all.get("b"), all.len()), (None, Some(&Param::Bool(true)), 2));
    }
}
