//! Memory that blocks of documents use again.

use std::borrow::Cow;

use half::{bf16, f16};

use super::column::Column;
use crate::types::CellType;
use crate::value::{Cells, Inexact, Label};

/// Lists that were used and are free.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    doubles: Vec<Vec<f64>>,
    floats: Vec<Vec<f32>>,
    bfloats: Vec<Vec<bf16>>,
    bytes: Vec<Vec<i8>>,
    halves: Vec<Vec<f16>>,
    shorts: Vec<Vec<i16>>,
    ints: Vec<Vec<i32>>,
    longs: Vec<Vec<i64>>,
    unsigned: Vec<Vec<u8>>,
    offsets: Vec<Vec<u32>>,
    labels: Vec<Vec<Label>>,
    words: Vec<Vec<u64>>,
}

/// The most lists of a kind that are kept.
const MAX_KEPT: usize = 256;

/// An empty list, with what room it had.
fn taken<T>(lists: &mut Vec<Vec<T>>) -> Vec<T> {
    let mut list = lists.pop().unwrap_or_default();
    list.clear();
    list
}

fn kept<T: Clone>(lists: &mut Vec<Vec<T>>, list: Cow<'_, [T]>) {
    if let Cow::Owned(list) = list
        && list.capacity() > 0
        && lists.len() < MAX_KEPT
    {
        lists.push(list);
    }
}

impl Pool {
    pub(crate) fn doubles(&mut self) -> Vec<f64> {
        taken(&mut self.doubles)
    }

    pub(crate) fn floats(&mut self) -> Vec<f32> {
        taken(&mut self.floats)
    }

    pub(crate) fn offsets(&mut self) -> Vec<u32> {
        taken(&mut self.offsets)
    }

    pub(crate) fn labels(&mut self) -> Vec<Label> {
        taken(&mut self.labels)
    }

    pub(crate) fn words(&mut self) -> Vec<u64> {
        taken(&mut self.words)
    }

    pub(crate) fn recycle_words(&mut self, words: Vec<u64>) {
        kept(&mut self.words, words.into());
    }

    /// Cells as doubles; borrowed where they are.
    pub(crate) fn wide_doubles<'c>(&mut self, cells: &'c Cells<'_>) -> Cow<'c, [f64]> {
        if let Cells::Double(list) = cells {
            return Cow::Borrowed(list);
        }
        let mut wide = self.doubles();
        cells.widen_doubles(&mut wide);
        wide.into()
    }

    /// Cells as floats; borrowed where they are.
    pub(crate) fn wide_floats<'c>(&mut self, cells: &'c Cells<'_>) -> Cow<'c, [f32]> {
        if let Cells::Float(list) = cells {
            return Cow::Borrowed(list);
        }
        let mut wide = self.floats();
        cells.widen_floats(&mut wide);
        wide.into()
    }

    /// Numbers as cells that arithmetic gives.
    pub(crate) fn narrow(&mut self, numbers: Vec<f64>, cell: CellType) -> Cells<'static> {
        if cell == CellType::Double {
            return Cells::Double(numbers.into());
        }
        debug_assert_eq!(cell, CellType::Float, "arithmetic gives doubles or floats");
        let mut floats = self.floats();
        floats.extend(numbers.iter().map(|n| *n as f32));
        self.recycle_cells(Cells::Double(numbers.into()));
        Cells::Float(floats.into())
    }

    /// Cells as those of another type, if they are cells of it exactly or may be rounded.
    pub(crate) fn convert(
        &mut self,
        cells: Cells<'static>,
        cell: CellType,
        is_rounded: bool,
    ) -> Result<Cells<'static>, Inexact> {
        if cell != CellType::Double || cells.cell_type() == cell {
            return cells.convert(cell, is_rounded);
        }
        if !is_rounded {
            cells.are_doubles()?;
        }
        let wide = self.wide_doubles(&cells).into_owned();
        self.recycle_cells(cells);
        Ok(Cells::Double(wide.into()))
    }

    /// `count` zeros.
    pub(crate) fn zeros(&mut self, cell: CellType, count: usize) -> Cells<'static> {
        let mut cells = self.cells(cell);
        cells.resize(count);
        cells
    }

    /// Takes back places of blocks.
    pub(crate) fn recycle_places(&mut self, places: Vec<u32>) {
        kept(&mut self.offsets, places.into());
    }

    /// No cells of a type.
    pub(crate) fn cells(&mut self, cell: CellType) -> Cells<'static> {
        match cell {
            CellType::Double => Cells::Double(taken(&mut self.doubles).into()),
            CellType::Float => Cells::Float(taken(&mut self.floats).into()),
            CellType::BFloat16 => Cells::BFloat16(taken(&mut self.bfloats).into()),
            CellType::Int8 => Cells::Int8(taken(&mut self.bytes).into()),
            CellType::Float16 => Cells::Float16(taken(&mut self.halves).into()),
            CellType::Int16 => Cells::Int16(taken(&mut self.shorts).into()),
            CellType::Int32 => Cells::Int32(taken(&mut self.ints).into()),
            CellType::Int64 => Cells::Int64(taken(&mut self.longs).into()),
            CellType::UInt8 => Cells::UInt8(taken(&mut self.unsigned).into()),
            CellType::Bool => Cells::Bool(taken(&mut self.unsigned).into()),
        }
    }

    /// Takes back what a column owns.
    pub(crate) fn recycle(&mut self, column: Column<'_>) {
        self.recycle_cells(column.cells);
        kept(&mut self.labels, column.labels);
        if let Some(offsets) = column.offsets {
            kept(&mut self.offsets, offsets);
        }
    }

    /// Takes back cells that are owned.
    pub(crate) fn recycle_cells(&mut self, cells: Cells<'_>) {
        match cells {
            Cells::Double(list) => kept(&mut self.doubles, list),
            Cells::Float(list) => kept(&mut self.floats, list),
            Cells::BFloat16(list) => kept(&mut self.bfloats, list),
            Cells::Int8(list) => kept(&mut self.bytes, list),
            Cells::Float16(list) => kept(&mut self.halves, list),
            Cells::Int16(list) => kept(&mut self.shorts, list),
            Cells::Int32(list) => kept(&mut self.ints, list),
            Cells::Int64(list) => kept(&mut self.longs, list),
            Cells::UInt8(list) | Cells::Bool(list) => kept(&mut self.unsigned, list),
        }
    }
}
