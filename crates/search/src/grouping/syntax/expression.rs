//! Expressions.

use super::function::{Function, find};
use super::lexer::Token;
use super::operation::Parser;
use super::tree::{Constant, DistanceUnit, Expr, MapKey, Number};
use crate::yql::Fault;

/// Operators from the weakest to the strongest: each binds stronger than those before it, as in Vespa
/// (`container-search/src/main/java/com/yahoo/search/grouping/request/MathResolver.java`): `1+2-3` is `1+(2-3)`.
const OPERATORS: [(char, Function); 5] = [
    ('+', Function::Add),
    ('-', Function::Sub),
    ('/', Function::Div),
    ('%', Function::Mod),
    ('*', Function::Mul),
];

impl Parser<'_> {
    /// An expression with a sign before it, which holds for all of it.
    pub(super) fn expression(&mut self) -> Result<Expr, Fault> {
        self.enter()?;
        let is_negative = self.lexer.take_sign('-')?;
        if !is_negative {
            self.lexer.take_sign('+')?;
        }
        let found = match self.lexer.take_sign('$')? {
            true => self.alias()?,
            false => self.operators()?,
        };
        self.leave();
        Ok(if is_negative { negated(found) } else { found })
    }

    /// An expression in parentheses.
    pub(super) fn one(&mut self) -> Result<Expr, Fault> {
        self.lexer.expect('(')?;
        let found = self.expression()?;
        self.lexer.expect(')')?;
        Ok(found)
    }

    /// `$name` or `$name = expression`, behind the sign.
    fn alias(&mut self) -> Result<Expr, Fault> {
        let name = self.lexer.name("the name of an alias")?.to_owned();
        if self.lexer.take_sign('=')? {
            let expr = self.operators()?;
            self.name(name, expr.clone());
            self.count(expr.count())?;
            return Ok(expr);
        }
        self.named(&name)
    }

    fn operators(&mut self) -> Result<Expr, Fault> {
        // What waits for its right side, with the operator before it.
        let mut open: Vec<(usize, Expr)> = vec![(0, self.value()?)];
        loop {
            let next = OPERATORS.iter().position(|(sign, _)| self.lexer.is_sign(*sign));
            if next.is_some() {
                self.lexer.take()?;
            }
            let strength = next.unwrap_or(0);
            while open.len() > 1 && open.last().is_some_and(|(own, _)| *own >= strength) {
                let (right, left) = (open.pop(), open.pop());
                let (Some((at, right)), Some((before, left))) = (right, left) else { break };
                open.push((before, Expr::Call(OPERATORS[at].1, vec![left, right])));
            }
            match (next, open.pop()) {
                (Some(at), Some(top)) => {
                    self.count(1)?;
                    let value = self.value()?;
                    open.extend([top, (at, value)]);
                }
                (_, top) => {
                    let none = || self.lexer.unexpected("a value");
                    return top.map(|(_, expr)| expr).ok_or_else(none);
                }
            }
        }
    }

    fn value(&mut self) -> Result<Expr, Fault> {
        self.count(1)?;
        match &self.lexer.token {
            Token::Sign('(') => self.one(),
            Token::Integer(_) | Token::Decimal(_) => {
                let number = self.number_or_least()?;
                Ok(Expr::Constant(Constant::Number(number)))
            }
            Token::Text(_) => Ok(Expr::Constant(Constant::Text(self.lexer.text("a text")?))),
            Token::Word(word) => {
                let word = *word;
                match self.called(word)? {
                    Some(name) => self.call(&name),
                    None => self.attribute(),
                }
            }
            _ => Err(self.lexer.unexpected("a value")),
        }
    }

    /// The name of the function whose `(` comes next; of those with a dot in the name it is taken already.
    fn called(&mut self, word: &str) -> Result<Option<String>, Fault> {
        match self.lexer.following()? {
            (Token::Sign('('), _) => {
                self.lexer.take()?;
                Ok(Some(word.to_owned()))
            }
            (Token::Sign('.'), Token::Word(part)) => {
                let whole = format!("{word}.{part}");
                let is_known = find(&whole).is_some() || whole == "array.at";
                let mut ahead = self.lexer.clone();
                for _ in 0..3 {
                    ahead.take()?;
                }
                if !is_known || !ahead.is_sign('(') {
                    return Ok(None);
                }
                self.lexer = ahead;
                Ok(Some(whole))
            }
            _ => Ok(None),
        }
    }

    /// The arguments of a function.
    fn call(&mut self, name: &str) -> Result<Expr, Fault> {
        let at = self.lexer.at;
        if let Some(found) = self.special(name)? {
            return Ok(found);
        }
        self.lexer.expect('(')?;
        let mut arguments = Vec::new();
        if !self.lexer.is_sign(')') {
            arguments.push(self.expression()?);
            // A number stands behind the argument of some.
            if name != "md5" && name != "xorbit" {
                while self.lexer.take_sign(',')? {
                    arguments.push(self.expression()?);
                }
            }
        }
        if let Some(aggregate) = super::aggregate::of(name, arguments.len()) {
            self.lexer.expect(')')?;
            return Ok(Expr::Aggregate(aggregate, arguments));
        }
        let Some((mut function, least, most)) = find(name) else {
            return Err(Fault { at, text: format!("there is no function {name:.60}") });
        };
        if !(least..=most).contains(&arguments.len()) {
            let expected = if most > least { "or more" } else { "" };
            let text = format!("{name} takes {least} {expected}");
            let text = format!("{} arguments, found {}", text.trim_end(), arguments.len());
            return Err(Fault { at, text });
        }
        if let Function::Md5(bits) | Function::XorBit(bits) = &mut function {
            self.lexer.expect(',')?;
            *bits = self.whole()?;
        }
        self.lexer.expect(')')?;
        Ok(Expr::Call(function, arguments))
    }

    /// Functions whose arguments are not expressions only.
    fn special(&mut self, name: &str) -> Result<Option<Expr>, Fault> {
        let found = match name {
            "attribute" => {
                self.lexer.expect('(')?;
                Expr::Named(self.dotted("the name of an attribute")?)
            }
            "quantiles" | "summary" => return self.aggregate(name).map(Some),
            "fixedwidth" => {
                self.lexer.expect('(')?;
                let value = self.expression()?;
                self.lexer.expect(',')?;
                Expr::FixedWidth(Box::new(value), self.number()?)
            }
            "predefined" => {
                self.lexer.expect('(')?;
                let value = self.expression()?;
                self.lexer.expect(',')?;
                Expr::Predefined(Box::new(value), self.buckets()?)
            }
            "array.at" | "interpolatedlookup" => {
                self.lexer.expect('(')?;
                let attribute = self.dotted("the name of an attribute")?;
                self.lexer.expect(',')?;
                let value = Box::new(self.expression()?);
                match name {
                    "array.at" => Expr::ArrayAt(attribute, value),
                    _ => Expr::Interpolated(attribute, value),
                }
            }
            "uca" => {
                self.lexer.expect('(')?;
                let value = Box::new(self.expression()?);
                self.lexer.expect(',')?;
                let locale = self.lexer.text("a locale")?;
                let strength = match self.lexer.take_sign(',')? {
                    true => Some(self.lexer.text("a strength")?),
                    false => None,
                };
                Expr::Uca { value, locale, strength }
            }
            "debugwait" => {
                self.lexer.expect('(')?;
                let value = Box::new(self.expression()?);
                self.lexer.expect(',')?;
                let seconds = self.number()?;
                self.lexer.expect(',')?;
                let is_busy = self.lexer.take_word("true")?;
                if !is_busy && !self.lexer.take_word("false")? {
                    return Err(self.lexer.unexpected("true or false"));
                }
                Expr::Wait { value, seconds, is_busy }
            }
            "geo_distance" => return self.distance().map(Some),
            _ => return Ok(None),
        };
        self.lexer.expect(')')?;
        Ok(Some(found))
    }

    /// `(attribute, latitude, longitude).unit`
    fn distance(&mut self) -> Result<Expr, Fault> {
        self.lexer.expect('(')?;
        let at = self.lexer.at;
        let attribute = self.expression()?;
        if !matches!(attribute, Expr::Attribute(_) | Expr::Named(_)) {
            let text = format!("geo_distance takes the name of an attribute, not {attribute:.60}");
            return Err(Fault { at, text });
        }
        self.lexer.expect(',')?;
        let north = self.signed()?;
        self.lexer.expect(',')?;
        let place = (north, self.signed()?);
        self.lexer.expect(')')?;
        self.lexer.expect('.')?;
        let unit = if self.lexer.take_word("km")? {
            DistanceUnit::Kilometres
        } else if self.lexer.take_word("miles")? {
            DistanceUnit::Miles
        } else {
            return Err(self.lexer.unexpected("km or miles"));
        };
        Ok(Expr::Distance { attribute: Box::new(attribute), place, unit })
    }

    /// `name`, `name.part`, `map{"key"}.member`
    fn attribute(&mut self) -> Result<Expr, Fault> {
        let name = self.dotted("the name of an attribute")?;
        if !self.lexer.take_sign('{')? {
            return Ok(Expr::Attribute(name));
        }
        let is_attribute = self.lexer.is_word("attribute")
            && matches!(self.lexer.following()?, (Token::Sign('('), _));
        let key = match is_attribute {
            true => {
                self.lexer.take()?;
                self.lexer.expect('(')?;
                let key = self.dotted("the name of an attribute")?;
                self.lexer.expect(')')?;
                MapKey::Attribute(key)
            }
            false => MapKey::Text(self.lexer.text("the key of a map")?),
        };
        self.lexer.expect('}')?;
        let member = match self.lexer.take_sign('.')? {
            true => self.dotted("the name of a member")?,
            false => String::new(),
        };
        Ok(Expr::Map { map: name, key, member })
    }

    /// Names with dots between them.
    pub(super) fn dotted(&mut self, what: &str) -> Result<String, Fault> {
        let mut name = self.lexer.name(what)?.to_owned();
        while self.lexer.take_sign('.')? {
            name.push('.');
            name.push_str(self.lexer.name("a name")?);
        }
        Ok(name)
    }

    /// A number without a sign.
    pub(super) fn number(&mut self) -> Result<Number, Fault> {
        let found = self.number_or_least()?;
        match found {
            Number::Long(i64::MIN) => {
                Err(self.lexer.fault("expected a whole number of at most 64 bits"))
            }
            _ => Ok(found),
        }
    }

    /// A number without a sign, or the least where it is one more than the greatest: a sign stands before it.
    pub(super) fn number_or_least(&mut self) -> Result<Number, Fault> {
        let number = match self.lexer.token {
            Token::Integer(number) => Number::Long(number as i64),
            Token::Decimal(number) => Number::Double(number),
            _ => return Err(self.lexer.unexpected("a number")),
        };
        self.lexer.take()?;
        Ok(number)
    }
}

fn negated(expr: Expr) -> Expr {
    match expr {
        Expr::Constant(Constant::Number(Number::Long(i64::MIN))) => expr,
        _ => Expr::Call(Function::Neg, vec![expr]),
    }
}
