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
        let Some(field) = self.position(field)? else { return Ok(Tree::None) };
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
        let Some(field) = self.position(field)? else { return Ok(Tree::None) };
        let from = place(self.degrees(south)?.0, self.degrees(west)?.0)?;
        let to = place(self.degrees(north)?.0, self.degrees(east)?.0)?;
        self.term(&field.name, Test::Box(Box2 { from, to }))
    }

    /// The field of positions of a name; nothing if only another type that is searched has it.
    fn position(&self, node: &Node) -> Result<Option<Searched>, SearchError> {
        let found = self.searches.one(&self.field(node)?)?;
        match found {
            Some(field) if field.kind != DataType::Position => {
                fail(format_args!("Field '{}' is a {}, not a position", field.name, field.kind))
            }
            _ => Ok(found),
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
