//! `geoLocation` and `geoBoundingBox`.

use stead_store::{DataType, Position};

use super::super::error::SearchError;
use super::super::fields::Searched;
use super::super::geo::{Box2, Circle, degrees, distance};
use super::super::tree::{Test, Tree};
use super::{Builder, arguments, fail};
use crate::yql::{Expr, Node};

impl<'b> Builder<'b> {
    pub(super) fn circle(&mut self, list: &'b [Node]) -> Result<Tree, SearchError> {
        let [field, first, second, radius] = arguments(list)?;
        let field = self.position(field)?;
        let ((first, first_north), (second, second_north)) =
            (self.degrees(first)?, self.degrees(second)?);
        // A letter may turn them around.
        let center = match (first_north.unwrap_or(true), second_north.unwrap_or(false)) {
            (true, false) => place(first, second)?,
            (false, true) => place(second, first)?,
            _ => {
                return fail(format_args!(
                    "Invalid geoLocation coordinates {first} and {second}: both are latitudes or both longitudes"
                ));
            }
        };
        let radius = self.number(radius)?;
        let Some(degrees) = distance(&radius) else {
            return fail(format_args!(
                "expected a distance with m, km, miles or deg in geoLocation, got {radius:.40}"
            ));
        };
        self.term(&field.name, Test::Circle(Circle::new(center, degrees)))
    }

    pub(super) fn bounding_box(&mut self, list: &'b [Node]) -> Result<Tree, SearchError> {
        let [field, south, west, north, east] = arguments(list)?;
        let field = self.position(field)?;
        let from = place(self.degrees(south)?.0, self.degrees(west)?.0)?;
        let to = place(self.degrees(north)?.0, self.degrees(east)?.0)?;
        self.term(&field.name, Test::Box(Box2 { from, to }))
    }

    fn position(&self, node: &Node) -> Result<Searched, SearchError> {
        let field = self.searches.one(&self.field(node)?)?;
        match field.kind {
            DataType::Position => Ok(field),
            _ => fail(format_args!("Field '{}' is a {}, not a position", field.name, field.kind)),
        }
    }

    fn degrees(&self, node: &Node) -> Result<(f64, Option<bool>), SearchError> {
        let text = match &node.expr {
            Expr::Field(name) => name.clone(),
            _ => self.number(node)?,
        };
        let found = degrees(&text);
        found.ok_or_else(|| SearchError::yql(format_args!("expected degrees, got {text:.40}")))
    }
}

fn place(latitude: f64, longitude: f64) -> Result<Position, SearchError> {
    Position::from_degrees(latitude, longitude).ok_or_else(|| {
        SearchError::yql(format_args!("there is no place at {latitude} north, {longitude} east"))
    })
}
