//! Reading every byte of every snapshot.

use std::collections::HashMap;

use stead_log::Io;

use super::load::{open, read_table};
use super::table::{self, Table, TextTable};
use super::{Spot, rows};
use crate::columns::Column;
use crate::error::StoreError;
use crate::live::{Changes, GROUP, Group};
use crate::packs::{Blob, damage};
use crate::paged::Rows;

/// What was found of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedSnapshot {
    /// Its number: that of its file.
    pub number: u64,
    /// The number of the last record of the log that it has, if the table could be read.
    pub lsn: Option<u64>,
    /// The documents of each type, with its name.
    pub documents: Vec<(String, usize)>,
    /// What is wrong.
    pub problems: Vec<StoreError>,
}

/// The problems that are told of a snapshot; of a disk that fails there may be as many as pieces.
const MAX_PROBLEMS: usize = 100;

/// What is known of pieces, by pack, offset and length: those of several snapshots are read once. Pieces without bytes lie where the next
/// one begins.
type Known = HashMap<(u64, u64, u32), Result<usize, StoreError>>;

/// Reads all snapshots of a folder, the newest first. `progress` is told the bytes of each piece that was read.
///
/// # Errors
/// What the folder answers.
pub fn check(
    io: &dyn Io,
    progress: &mut dyn FnMut(u64),
) -> Result<Vec<CheckedSnapshot>, StoreError> {
    let names = io.list().map_err(super::write::folder_failed)?;
    let mut numbers: Vec<u64> = names.iter().filter_map(|n| table::number_of(n)).collect();
    numbers.sort_unstable_by(|a, b| b.cmp(a));
    let mut known = Known::new();
    let mut one = |number: u64| {
        let mut found =
            CheckedSnapshot { number, lsn: None, documents: Vec::new(), problems: Vec::new() };
        match read_table(io, number) {
            Ok(table) => read(io, &table, &mut known, &mut found, progress),
            Err(error) => found.problems.push(error),
        }
        found
    };
    Ok(numbers.into_iter().map(&mut one).collect())
}

fn read(
    io: &dyn Io,
    table: &Table,
    known: &mut Known,
    found: &mut CheckedSnapshot,
    progress: &mut dyn FnMut(u64),
) {
    found.lsn = Some(table.lsn);
    let packs = match open(io, table) {
        Ok(packs) => packs,
        Err(error) => return found.problems.push(error),
    };
    let mut problems = Vec::new();
    // A piece of its bytes; how many documents it has.
    let mut piece = |spot: Spot, decode: &dyn Fn(&[u8]) -> Option<usize>| {
        let read = || {
            let pack = packs.get(&spot.pack).map(|(pack, _)| pack.clone());
            let pack =
                pack.ok_or_else(|| damage(&table::file_name(0), 0, "it names no such pack"))?;
            let blob = Blob { pack, place: spot.place };
            decode(&blob.bytes()?).ok_or_else(|| blob.damage("it is not what the table says"))
        };
        let entry = known.entry((spot.pack, spot.place.offset, spot.place.len));
        let result = entry.or_insert_with(|| {
            progress(u64::from(spot.place.len));
            read()
        });
        match result {
            Ok(count) => *count,
            Err(error) => {
                if problems.len() < MAX_PROBLEMS {
                    problems.push(error.clone());
                }
                0
            }
        }
    };
    piece(table.operations, &|bytes| bytes.len().is_multiple_of(17).then_some(0));
    for of in &table.types {
        let mut documents = 0;
        for (at, block) in of.blocks.iter().enumerate() {
            let alive =
                |bytes: &[u8]| rows::read(block.rows, bytes).map(|(alive, ..)| alive.count());
            documents += piece(block.ids, &alive);
            let columns = of.layout.attributes.iter().zip(&block.columns).enumerate();
            for (number, (attribute, spot)) in columns {
                let Some(spot) = spot else { continue };
                let (rows, changed) = of.column_rows(at, number);
                if let Some(changed) = changed {
                    piece(changed, &|bytes| {
                        Rows::read(&attribute.kind, (rows, block.rows), bytes).map(|_| 0)
                    });
                }
                piece(*spot, &|bytes| {
                    let fill = |out: &mut [u8]| {
                        out.copy_from_slice(bytes);
                        Ok::<(), StoreError>(())
                    };
                    let column = Column::read(&attribute.kind, rows, bytes.len(), fill);
                    column.ok().flatten().map(|_| 0)
                });
            }
            for (number, spot) in block.bodies.iter().enumerate() {
                let (expected, changed) =
                    (GROUP.min(block.rows - number * GROUP), of.bodies_changed(at, number));
                if let Some(changed) = changed {
                    piece(changed, &|bytes| Changes::read(bytes).map(|_| 0));
                }
                // Where bodies have changed, there may have been fewer.
                let fits = |count: usize| match changed {
                    None => count == expected,
                    Some(_) => count <= expected,
                };
                piece(*spot, &|bytes| {
                    Group::unpacked(bytes).filter(|bodies| fits(bodies.len())).map(|_| 0)
                });
            }
        }
        for links in of.graphs.values() {
            piece(*links, &|_| Some(0));
        }
        for spot in of.texts.iter().flat_map(TextTable::spots) {
            piece(*spot, &|_| Some(0));
        }
        found.documents.push((of.layout.name.clone(), documents));
    }
    found.problems.append(&mut problems);
}
