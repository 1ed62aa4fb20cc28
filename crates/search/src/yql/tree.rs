//! What a text in YQL says.

/// A statement.
#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    /// The fields of hits; none for all of them.
    pub fields: Vec<String>,
    /// The sources; none for all of them.
    pub sources: Vec<String>,
    /// Behind `where`.
    pub filter: Node,
    /// Behind `order by`.
    pub order: Vec<Order>,
    /// The number of the last hit: with an offset it counts the hits before it too.
    pub limit: Option<Amount>,
    /// The hits that are left out at the beginning.
    pub offset: Option<Amount>,
    /// In milliseconds.
    pub timeout: Option<Amount>,
    /// Groupings behind `|`, as they are written.
    pub groupings: Vec<Grouping>,
}

/// A whole number, or the parameter of the request that says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Amount {
    /// Written here.
    Fixed(i64),
    /// `@name`
    Parameter(String),
}

/// One of several fields that hits are ordered by.
#[derive(Debug, Clone, PartialEq)]
pub struct Order {
    /// The field, with annotations such as `function`.
    pub by: Node,
    /// The greatest first.
    pub descending: bool,
}

/// A grouping.
#[derive(Debug, Clone, PartialEq)]
pub struct Grouping {
    /// The byte of the text where it begins.
    pub at: usize,
    /// Annotations before it, such as `continuations`.
    pub annotations: Vec<(String, Node)>,
    /// `all(...)` or `each(...)`.
    pub text: String,
}

/// A part of an expression.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// The byte of the text where it begins.
    pub at: usize,
    /// `({key: value}...)` before it. They hold for all that is in it, where that says nothing else.
    pub annotations: Vec<(String, Node)>,
    /// What it is.
    pub expr: Expr,
}

/// What a part of an expression is.
#[derive(Debug, Clone, PartialEq)]
pub enum Expr {
    /// All of several.
    And(Vec<Node>),
    /// One of several.
    Or(Vec<Node>),
    /// `!`
    Not(Box<Node>),
    /// `=`, `<` and so on.
    Compare(Comparison, Box<Node>, Box<Node>),
    /// `field contains value`
    Contains(Box<Node>, Box<Node>),
    /// `field matches 'expression'`
    Matches(Box<Node>, Box<Node>),
    /// `field in (values)`
    In(Box<Node>, Vec<Node>),
    /// `name(arguments)`
    Call(String, Vec<Node>),
    /// A name, with dots in it for parts.
    Field(String),
    /// `field[place]`
    Index(Box<Node>, Box<Node>),
    /// `field{key}`
    Entry(Box<Node>, Box<Node>),
    /// `-` before something that is no number.
    Negate(Box<Node>),
    /// `true` or `false`
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// A number with a fraction or exponent.
    Number(f64),
    /// A text.
    Text(String),
    /// `@name`: a parameter of the request.
    Parameter(String),
    /// `[...]`
    Array(Vec<Node>),
    /// `{key: value}`
    Map(Vec<(String, Node)>),
    /// `null`
    Null,
}

/// How two values are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // The names tell.
pub enum Comparison {
    Equal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Comparison {
    /// The same with its sides changed.
    #[must_use]
    pub fn turned(self) -> Comparison {
        match self {
            Comparison::Equal => Comparison::Equal,
            Comparison::Less => Comparison::Greater,
            Comparison::LessOrEqual => Comparison::GreaterOrEqual,
            Comparison::Greater => Comparison::Less,
            Comparison::GreaterOrEqual => Comparison::LessOrEqual,
        }
    }
}

impl Node {
    /// An annotation of this part itself.
    #[must_use]
    pub fn annotation(&self, name: &str) -> Option<&Node> {
        self.annotations.iter().find(|(n, _)| n == name).map(|(_, value)| value)
    }

    /// The parts of it, those of its annotations left out.
    #[must_use]
    pub fn parts(&self) -> Vec<&Node> {
        match &self.expr {
            Expr::And(list) | Expr::Or(list) | Expr::Call(_, list) | Expr::Array(list) => {
                list.iter().collect()
            }
            Expr::Not(inner) | Expr::Negate(inner) => vec![inner],
            Expr::Compare(_, a, b) | Expr::Contains(a, b) | Expr::Matches(a, b) => vec![a, b],
            Expr::Index(a, b) | Expr::Entry(a, b) => vec![a, b],
            Expr::In(field, list) => std::iter::once(&**field).chain(list).collect(),
            Expr::Map(pairs) => pairs.iter().map(|(_, value)| value).collect(),
            _ => Vec::new(),
        }
    }
}
