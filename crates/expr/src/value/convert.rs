//! Cells of one type as cells of another.
//!
//! Vespa's own types round into each other as Vespa does. Where another type is on one side, whole numbers never change.

use std::borrow::Cow;

use super::cells::{Cells, to_bf16, to_i8};
use super::exact::{Bit, Element, Inexact, Number};
use crate::each_cell;
use crate::types::CellType;

impl<'a> Cells<'a> {
    /// The same cells as another type.
    ///
    /// # Errors
    /// With the first cell that the type does not have, unless it may be rounded or both types are Vespa's.
    pub fn convert(self, cell: CellType, is_rounded: bool) -> Result<Cells<'a>, Inexact> {
        let own = self.cell_type();
        if own == cell {
            return Ok(self);
        }
        if !own.is_extension() && !cell.is_extension() {
            return Ok(match cell {
                CellType::Double => Cells::Double(self.doubles().into_owned().into()),
                CellType::Float => Cells::Float(self.floats().into_owned().into()),
                _ => Cells::from_numbers(cell, &self.doubles()),
            });
        }
        let mut cells = Cells::zeros(cell, 0);
        each_cell!(&self, all => {
            cells.extend_numbers(all.iter().map(|c| Number::from(*c)), is_rounded)
        })?;
        Ok(cells)
    }

    /// Cells of a type from numbers; rounded into Vespa's types.
    ///
    /// # Errors
    /// With the first number that another type does not have, unless it may be rounded.
    pub fn of_numbers(
        cell: CellType,
        numbers: &[f64],
        is_rounded: bool,
    ) -> Result<Cells<'static>, Inexact> {
        if !cell.is_extension() {
            return Ok(Cells::from_numbers(cell, numbers));
        }
        let mut cells = Cells::zeros(cell, 0);
        cells.extend_numbers(numbers.iter().map(|n| Number::Float(*n)), is_rounded)?;
        Ok(cells)
    }

    /// Adds numbers as cells.
    ///
    /// # Errors
    /// With the first that the type does not have, unless it may be rounded.
    pub fn extend_numbers(
        &mut self,
        numbers: impl ExactSizeIterator<Item = Number>,
        is_rounded: bool,
    ) -> Result<(), Inexact> {
        // Piece by piece by way of a list, so that there is one loop for each type and not for each two.
        const PIECE: usize = 256;
        let mut numbers = numbers;
        let mut list = Vec::with_capacity(numbers.len().min(PIECE));
        loop {
            list.clear();
            list.extend(numbers.by_ref().take(PIECE));
            if list.is_empty() {
                return Ok(());
            }
            self.extend_piece(&list, is_rounded)?;
        }
    }

    /// Checks that arithmetic, which is in doubles, loses nothing of any cell.
    pub(crate) fn are_doubles(&self) -> Result<(), Inexact> {
        let Cells::Int64(list) = self else { return Ok(()) };
        let is_exact = |whole: &&i64| f64::exact(Number::Whole(**whole)).is_some();
        match list.iter().find(|whole| !is_exact(whole)) {
            Some(whole) => Err(Inexact { number: whole.to_string(), cell: CellType::Double }),
            None => Ok(()),
        }
    }

    /// So many cells, the new ones 0.
    pub(crate) fn resize(&mut self, count: usize) {
        each_cell!(self, all => all.to_mut().resize(count, Default::default()));
    }

    /// Sets a cell that is there; rounded into Vespa's types.
    pub(crate) fn set(&mut self, at: usize, number: Number) -> Result<(), Inexact> {
        fn put<T: Copy>(to: &mut Cow<'_, [T]>, at: usize, element: Option<T>) -> Option<()> {
            *to.to_mut().get_mut(at)? = element?;
            Some(())
        }
        let done = match self {
            Cells::Double(to) => put(to, at, Some(number.to_f64())),
            Cells::Float(to) => put(to, at, Some(number.to_f64() as f32)),
            Cells::BFloat16(to) => put(to, at, Some(to_bf16(number.to_f64()))),
            Cells::Int8(to) => put(to, at, Some(to_i8(number.to_f64()))),
            Cells::Float16(to) => put(to, at, Element::exact(number)),
            Cells::Int16(to) => put(to, at, Element::exact(number)),
            Cells::Int32(to) => put(to, at, Element::exact(number)),
            Cells::Int64(to) => put(to, at, Element::exact(number)),
            Cells::UInt8(to) => put(to, at, Element::exact(number)),
            Cells::Bool(to) => put(to, at, Bit::exact(number).map(|bit| bit.0)),
        };
        done.ok_or_else(|| Inexact { number: number.to_string(), cell: self.cell_type() })
    }

    fn extend_piece(&mut self, list: &[Number], is_rounded: bool) -> Result<(), Inexact> {
        fn add<T: Element>(to: &mut Vec<T>, list: &[Number], is_rounded: bool) -> Option<Number> {
            for number in list {
                match T::of(*number, is_rounded) {
                    Some(element) => to.push(element),
                    None => return Some(*number),
                }
            }
            None
        }
        let unfit = match self {
            Cells::Double(to) => add(to.to_mut(), list, is_rounded),
            Cells::Float(to) => add(to.to_mut(), list, is_rounded),
            Cells::BFloat16(to) => add(to.to_mut(), list, is_rounded),
            Cells::Int8(to) => add(to.to_mut(), list, is_rounded),
            Cells::Float16(to) => add(to.to_mut(), list, is_rounded),
            Cells::Int16(to) => add(to.to_mut(), list, is_rounded),
            Cells::Int32(to) => add(to.to_mut(), list, is_rounded),
            Cells::Int64(to) => add(to.to_mut(), list, is_rounded),
            Cells::UInt8(to) => add(to.to_mut(), list, is_rounded),
            Cells::Bool(to) => {
                let mut bits: Vec<Bit> = Vec::with_capacity(list.len());
                let unfit = add(&mut bits, list, is_rounded);
                to.to_mut().extend(bits.iter().map(|bit| bit.0));
                unfit
            }
        };
        match unfit {
            Some(number) => Err(Inexact { number: number.to_string(), cell: self.cell_type() }),
            None => Ok(()),
        }
    }
}
