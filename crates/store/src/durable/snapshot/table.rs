//! The table of a snapshot, the file `NNNNNNNNNNNNNNNN.snapshot`: 16 digits of its number, a manifest
//! ([`stead_log::write_manifest`]: a header, what follows here, a crc32c of all).
//!
//! Numbers, texts and bytes are those of [bodies](crate::body). A *kind* is a byte: 1 bool, 2 byte, 3 int, 4 long, 5 float16, 6 float,
//! 7 double, 8 text, 9 raw, 10 position, 11 tensor and the text of its type, 12 array and the kind of its elements, 13 weighted set
//! and the same, 14 map and the kinds of keys and values, 15 struct and its name, a text.
//!
//! | what | |
//! |---|---|
//! | version | a byte: 4 if there is an index of texts, else 3 if there is a graph of vectors, else 2 if anything has changed of pieces that can no longer be read, else 1 |
//! | position | number: the LSN of the last record of the log that the snapshot has |
//! | packs | their number; for each its own number, and its bytes, numbers |
//! | operations | place of the piece of the ids of operations |
//! | types | their number; for each what follows |
//! | name | text |
//! | fields | their number; for each the name, the kind, and 0 or 1 + the number of the column that has its values |
//! | structs | their number; for each the name, the number of members, and for each of these the name and the kind |
//! | columns | their number; for each the name of the field, the number of parts of the way from there, these as texts, and the kind |
//! | shift | a byte: blocks have `1 << shift` rows |
//! | blocks | their number; for each what follows |
//! | rows | number |
//! | ids | place of the [piece](super::rows) of ids |
//! | columns | for each a byte: 0 if there is none of its kind, else 1 and the place of the [piece](crate::columns) |
//! | bodies | for each [16 rows](crate::live) the place of a piece |
//! | changed | from version 2 on, behind the blocks of a type: their number; for each what follows |
//! | block | number |
//! | part | a byte: 0 for a column, 1 for bodies; the number of the column or of the 16 rows |
//! | rows | number: of a column the rows that the piece above has; of bodies 0 |
//! | piece | place of the piece of what has changed of [the column](crate::paged) or [the bodies](crate::live) since the piece above was written |
//! | graphs | from version 3 on, behind what has changed of a type: their number; for each what follows |
//! | column | the number of the column of its vectors |
//! | piece | place of the piece of its links ([`stead_ann::Graph::write_to`]), whose documents are known by their numbers |
//! | texts | of version 4, behind the graphs of a type: their number; for each what follows |
//! | name | the name of the index, a text |
//! | rules | a text: what its terms depend on beside the documents |
//! | segments | their number; for each the place of its piece ([`stead_text::Segment::write`]), and a byte: 0 if all of its documents are there, else 1 and the place of the piece that tells which are gone: `u64` words, bit `b` of word `i` for the document `64 * i + b` |
//!
//! A **place** is: the place of the pack among those of the table, number; the offset, number; the bytes, number; the crc32c, 4 bytes
//! little-endian. The **piece of ids of operations** has for each that is remembered, the oldest first: the id, 16 bytes
//! little-endian, and what became of it, a byte: 0 applied, 1 absent, 2 not what the condition wanted.

use std::collections::BTreeMap;

use crate::body::{BodyError, Bytes, number, text};
use crate::kind::DataType;
use crate::live::GROUP;
use crate::packs::Place;

use super::Spot;
use super::layout::{Layout, list};

/// The version where nothing has changed of what can no longer be read.
const VERSION: u8 = 1;

/// The version where something has.
const WITH_CHANGED: u8 = 2;

/// The version where there are graphs of vectors.
const WITH_GRAPHS: u8 = 3;

/// The version where there are indexes of texts.
const WITH_TEXTS: u8 = 4;

/// The most that a table takes: a hundred million documents of a type with 30 columns have one of half of it.
pub(super) const MAX_BYTES: usize = 1 << 30;

/// The longest block, by its shift.
const MAX_SHIFT: u8 = 12;

/// What a snapshot consists of.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Table {
    pub(super) lsn: u64,
    /// The packs, and how long they are.
    pub(super) packs: BTreeMap<u64, u64>,
    pub(super) operations: Spot,
    pub(super) types: Vec<TypeTable>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct TypeTable {
    pub(super) layout: Layout,
    pub(super) shift: u8,
    pub(super) blocks: Vec<BlockTable>,
    /// What has changed of pieces that can no longer be read.
    pub(super) changed: BTreeMap<(usize, Part), ChangedPiece>,
    /// The links of graphs of vectors, by the number of the column.
    pub(super) graphs: BTreeMap<usize, Spot>,
    pub(super) texts: Vec<TextTable>,
}

/// An index of texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TextTable {
    pub(super) name: String,
    /// What its terms depend on beside the documents.
    pub(super) rules: String,
    /// Its segments, each with the piece that tells which of its documents are gone, if some are.
    pub(super) segments: Vec<(Spot, Option<Spot>)>,
}

/// What has changed of a piece that can no longer be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ChangedPiece {
    /// The rows that a column had when its piece was written.
    pub(super) rows: usize,
    pub(super) spot: Spot,
}

/// A part of a block by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    Column(usize),
    Bodies(usize),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BlockTable {
    pub(super) rows: usize,
    pub(super) ids: Spot,
    pub(super) columns: Vec<Option<Spot>>,
    pub(super) bodies: Vec<Spot>,
}

/// Why bytes are no table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum TableError {
    #[error("version {0} of snapshots is not known")]
    Version(u8),
    #[error("the bytes end too early")]
    Short,
    #[error("unknown type of a field")]
    Kind,
    #[error("a place is outside of its pack")]
    Place,
    #[error("a block has an impossible number of rows")]
    Rows,
    #[error("something has changed of what is not there")]
    Changed,
    #[error("a graph is of vectors that are not there")]
    Graph,
    #[error(transparent)]
    Body(#[from] BodyError),
}

/// The name of the file of a snapshot.
pub(super) fn file_name(number: u64) -> String {
    format!("{number:016}.snapshot")
}

/// The number of the snapshot that a file is.
pub(super) fn number_of(name: &str) -> Option<u64> {
    let number = name.strip_suffix(".snapshot")?.parse().ok()?;
    (file_name(number) == name).then_some(number)
}

impl TypeTable {
    /// The rows that the piece of a column has: all of the block, or of one that could no longer be read those that it had before; and what
    /// has changed of it then.
    pub(super) fn column_rows(&self, block: usize, column: usize) -> (usize, Option<Spot>) {
        match self.changed.get(&(block, Part::Column(column))) {
            Some(changed) => (changed.rows, Some(changed.spot)),
            None => (self.blocks.get(block).map_or(0, |block| block.rows), None),
        }
    }

    /// What has changed of bodies that could no longer be read.
    pub(super) fn bodies_changed(&self, block: usize, group: usize) -> Option<Spot> {
        self.changed.get(&(block, Part::Bodies(group))).map(|changed| changed.spot)
    }
}

impl TextTable {
    /// All places.
    pub(super) fn spots(&self) -> impl Iterator<Item = &Spot> {
        self.segments.iter().flat_map(|(segment, gone)| std::iter::once(segment).chain(gone))
    }
}

impl BlockTable {
    /// All places.
    pub(super) fn spots(&self) -> impl Iterator<Item = &Spot> {
        std::iter::once(&self.ids).chain(self.columns.iter().flatten()).chain(&self.bodies)
    }
}

impl Table {
    /// All places.
    pub(super) fn spots(&self) -> impl Iterator<Item = &Spot> {
        let blocks = self.types.iter().flat_map(|of| &of.blocks);
        let changed = self.types.iter().flat_map(|of| of.changed.values());
        let changed = changed.map(|changed| &changed.spot);
        let graphs = self.types.iter().flat_map(|of| of.graphs.values());
        let blocks = blocks.flat_map(BlockTable::spots);
        let texts = self.types.iter().flat_map(|of| &of.texts).flat_map(TextTable::spots);
        std::iter::once(&self.operations).chain(blocks).chain(changed).chain(graphs).chain(texts)
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        // Where there is nothing of these, a table is what it always was.
        let any = |has: fn(&TypeTable) -> bool| self.types.iter().any(has);
        let version = match () {
            () if any(|of| !of.texts.is_empty()) => WITH_TEXTS,
            () if any(|of| !of.graphs.is_empty()) => WITH_GRAPHS,
            () if any(|of| !of.changed.is_empty()) => WITH_CHANGED,
            () => VERSION,
        };
        let mut out = vec![version];
        number(self.lsn, &mut out);
        number(self.packs.len() as u64, &mut out);
        for (pack, bytes) in &self.packs {
            number(*pack, &mut out);
            number(*bytes, &mut out);
        }
        let order: BTreeMap<u64, u64> = self.packs.keys().copied().zip(0..).collect();
        let spot = |spot: &Spot, out: &mut Vec<u8>| {
            number(order.get(&spot.pack).copied().unwrap_or(u64::MAX), out);
            number(spot.place.offset, out);
            number(u64::from(spot.place.len), out);
            out.extend_from_slice(&spot.place.crc.to_le_bytes());
        };
        spot(&self.operations, &mut out);
        number(self.types.len() as u64, &mut out);
        for of in &self.types {
            of.layout.write(&mut out);
            out.push(of.shift);
            number(of.blocks.len() as u64, &mut out);
            for block in &of.blocks {
                number(block.rows as u64, &mut out);
                spot(&block.ids, &mut out);
                for column in &block.columns {
                    out.push(u8::from(column.is_some()));
                    column.iter().for_each(|column| spot(column, &mut out));
                }
                block.bodies.iter().for_each(|group| spot(group, &mut out));
            }
            if version >= WITH_CHANGED {
                number(of.changed.len() as u64, &mut out);
            }
            for ((block, part), changed) in &of.changed {
                number(*block as u64, &mut out);
                let (part, at) = match part {
                    Part::Column(at) => (0, at),
                    Part::Bodies(at) => (1, at),
                };
                out.push(part);
                number(*at as u64, &mut out);
                number(changed.rows as u64, &mut out);
                spot(&changed.spot, &mut out);
            }
            if version >= WITH_GRAPHS {
                number(of.graphs.len() as u64, &mut out);
            }
            for (column, links) in &of.graphs {
                number(*column as u64, &mut out);
                spot(links, &mut out);
            }
            if version >= WITH_TEXTS {
                number(of.texts.len() as u64, &mut out);
            }
            for index in &of.texts {
                text(&index.name, &mut out);
                text(&index.rules, &mut out);
                number(index.segments.len() as u64, &mut out);
                for (segment, gone) in &index.segments {
                    spot(segment, &mut out);
                    out.push(u8::from(gone.is_some()));
                    gone.iter().for_each(|gone| spot(gone, &mut out));
                }
            }
        }
        out
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Table, TableError> {
        let mut bytes = Bytes::new(bytes);
        let version = bytes.byte()?;
        if !(VERSION..=WITH_TEXTS).contains(&version) {
            return Err(TableError::Version(version));
        }
        let lsn = bytes.number()?;
        let packs = list(&mut bytes, |bytes| Ok((bytes.number()?, bytes.number()?)))?;
        let spot = |bytes: &mut Bytes<'_>| {
            let (pack, length) = *packs.get(bytes.length()?).ok_or(TableError::Place)?;
            let (offset, len) = (bytes.number()?, bytes.number()?);
            let crc = u32::from_le_bytes(bytes.array()?);
            // So nothing is read for which there is no room in the pack, nor memory taken.
            match (u32::try_from(len), offset.checked_add(len)) {
                (Ok(len), Some(end)) if end <= length => {
                    Ok(Spot { pack, place: Place { offset, len, crc } })
                }
                _ => Err(TableError::Place),
            }
        };
        let operations = spot(&mut bytes)?;
        let types = list(&mut bytes, |bytes| {
            let layout = Layout::read(bytes)?;
            let shift = bytes.byte()?;
            if shift > MAX_SHIFT {
                return Err(TableError::Rows);
            }
            let blocks = list(bytes, |bytes| {
                let rows = bytes.length()?;
                if rows == 0 || rows > 1 << shift {
                    return Err(TableError::Rows);
                }
                let ids = spot(bytes)?;
                let column = |bytes: &mut Bytes<'_>| match bytes.byte()? {
                    0 => Ok(None),
                    _ => spot(bytes).map(Some),
                };
                let columns =
                    layout.attributes.iter().map(|_| column(bytes)).collect::<Result<_, _>>()?;
                let bodies =
                    (0..rows.div_ceil(GROUP)).map(|_| spot(bytes)).collect::<Result<_, _>>()?;
                Ok(BlockTable { rows, ids, columns, bodies })
            })?;
            // Documents have numbers by the block, so that all blocks but the last are full.
            let full = blocks.iter().rev().skip(1).all(|block| block.rows == 1 << shift);
            if !full || blocks.len() > (u32::MAX >> shift) as usize {
                return Err(TableError::Rows);
            }
            let one = |bytes: &mut Bytes<'_>| {
                let block = bytes.length()?;
                let of: &BlockTable = blocks.get(block).ok_or(TableError::Changed)?;
                let (part, at, rows) = (bytes.byte()?, bytes.length()?, bytes.length()?);
                let part = match part {
                    0 if matches!(of.columns.get(at), Some(Some(_))) => Part::Column(at),
                    1 if at < of.bodies.len() => Part::Bodies(at),
                    _ => return Err(TableError::Changed),
                };
                match rows <= of.rows {
                    true => Ok(((block, part), ChangedPiece { rows, spot: spot(bytes)? })),
                    false => Err(TableError::Changed),
                }
            };
            let changed = if version >= WITH_CHANGED { list(bytes, one)? } else { Vec::new() };
            let changed = changed.into_iter().collect();
            let graph = |bytes: &mut Bytes<'_>| {
                let column = bytes.length()?;
                match layout.attributes.get(column).map(|attribute| &attribute.kind) {
                    Some(DataType::Tensor(_)) => Ok((column, spot(bytes)?)),
                    _ => Err(TableError::Graph),
                }
            };
            let graphs = if version >= WITH_GRAPHS { list(bytes, graph)? } else { Vec::new() };
            let graphs = graphs.into_iter().collect();
            let segment = |bytes: &mut Bytes<'_>| {
                let segment = spot(bytes)?;
                let gone = match bytes.byte()? {
                    0 => None,
                    _ => Some(spot(bytes)?),
                };
                Ok((segment, gone))
            };
            let index = |bytes: &mut Bytes<'_>| {
                let (name, rules) = (bytes.text()?.to_owned(), bytes.text()?.to_owned());
                Ok(TextTable { name, rules, segments: list(bytes, segment)? })
            };
            let texts = if version >= WITH_TEXTS { list(bytes, index)? } else { Vec::new() };
            Ok(TypeTable { layout, shift, blocks, changed, graphs, texts })
        })?;
        match bytes.rest().len() {
            0 => Ok(Table { lsn, packs: packs.into_iter().collect(), operations, types }),
            left => Err(BodyError::Long(left).into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::layout::AttributeLayout;
    use super::{
        BlockTable, ChangedPiece, Layout, Part, Spot, Table, TableError, TextTable, TypeTable,
    };
    use crate::kind::DataType;
    use crate::packs::Place;

    /// Two blocks of two types of 16 rows and 3, of the second of which something has changed.
    fn table(changed: &[(usize, Part, usize)]) -> Table {
        let spot = |offset: u64| Spot { pack: 7, place: Place { offset, len: 10, crc: 0xabcd } };
        let attribute = |field: &str, kind: DataType| AttributeLayout {
            field: field.to_owned(),
            path: Vec::new(),
            kind,
        };
        let of = |name: &str, changed: &[(usize, Part, usize)]| {
            let vectors = DataType::Tensor(stead_expr::parse_type("tensor(x[2])").unwrap());
            let structs = DataType::Struct("s".into());
            let attributes = vec![
                attribute("n", DataType::Int),
                attribute("m", structs),
                attribute("v", vectors),
            ];
            let (fields, structs) = (Vec::new(), Vec::new());
            let block = |rows: usize| BlockTable {
                rows,
                ids: spot(32),
                columns: vec![Some(spot(42)), None, None],
                bodies: vec![spot(52)],
            };
            let piece = |(block, part, rows): &(usize, Part, usize)| {
                ((*block, *part), ChangedPiece { rows: *rows, spot: spot(62) })
            };
            TypeTable {
                layout: Layout { name: name.to_owned(), fields, structs, attributes },
                shift: 4,
                blocks: vec![block(16), block(3)],
                changed: changed.iter().map(piece).collect(),
                graphs: BTreeMap::new(),
                texts: Vec::new(),
            }
        };
        let types = vec![of("a", &[]), of("b", changed)];
        Table { lsn: 5, packs: BTreeMap::from([(7, 100)]), operations: spot(72), types }
    }

    #[test]
    fn what_has_changed_of_pieces_is_told() {
        let both = [(0, Part::Bodies(0), 0), (1, Part::Column(0), 2)];
        for (label, changed, version) in
            [("nothing", &[][..], 1), ("a column", &both[1..], 2), ("both", &both, 2)]
        {
            let (table, bytes) = (table(changed), table(changed).encode());
            assert_eq!(bytes[0], version, "{label}");
            assert_eq!(Table::decode(&bytes).as_ref(), Ok(&table), "{label}");
            assert_eq!(table.spots().count(), 1 + 2 * 2 * 3 + changed.len(), "{label}");
            for cut in 0..bytes.len() {
                assert!(Table::decode(&bytes[..cut]).is_err(), "{label}: cut to {cut}");
            }
        }
        let of = &table(&both).types[1];
        let rows = |block: usize| of.column_rows(block, 0).0;
        assert_eq!([rows(0), rows(1)], [16, 2]);
        assert!(of.bodies_changed(0, 0).is_some() && of.bodies_changed(1, 0).is_none());
    }

    #[test]
    fn graphs_are_those_of_vectors() {
        for changed in [&[][..], &[(1, Part::Column(0), 2)]] {
            let mut table = table(changed);
            let place = Place { offset: 3, len: 4, crc: 5 };
            table.types[0].graphs = BTreeMap::from([(2, Spot { pack: 7, place })]);
            let bytes = table.encode();
            assert_eq!(bytes[0], 3);
            assert_eq!(Table::decode(&bytes).as_ref(), Ok(&table));
            assert_eq!(table.spots().count(), 1 + 2 * 2 * 3 + changed.len() + 1);
            for cut in 0..bytes.len() {
                assert!(Table::decode(&bytes[..cut]).is_err(), "cut to {cut}");
            }
            for column in [0, 1, 3] {
                table.types[0].graphs = BTreeMap::from([(column, Spot { pack: 7, place })]);
                assert_eq!(Table::decode(&table.encode()), Err(TableError::Graph), "{column}");
            }
        }
    }

    #[test]
    fn indexes_of_texts_have_segments() {
        let spot = |offset: u64| Spot { pack: 7, place: Place { offset, len: 4, crc: 5 } };
        let index = |name: &str, segments| TextTable {
            name: name.to_owned(),
            rules: format!("rules of {name}"),
            segments,
        };
        for changed in [&[][..], &[(1, Part::Column(0), 2)]] {
            let mut table = table(changed);
            let segments = vec![(spot(3), None), (spot(9), Some(spot(20)))];
            table.types[1].texts = vec![index("none", Vec::new()), index("two", segments)];
            let bytes = table.encode();
            assert_eq!(bytes[0], 4);
            assert_eq!(Table::decode(&bytes).as_ref(), Ok(&table));
            assert_eq!(table.spots().count(), 1 + 2 * 2 * 3 + changed.len() + 3);
            for cut in 0..bytes.len() {
                assert!(Table::decode(&bytes[..cut]).is_err(), "cut to {cut}");
            }
            table.types[1].texts[1].segments[1].1 = Some(spot(97));
            assert_eq!(Table::decode(&table.encode()), Err(TableError::Place));
        }
        let mut later = table(&[]).encode();
        later[0] = 5;
        assert_eq!(Table::decode(&later), Err(TableError::Version(5)));
    }

    #[test]
    fn nothing_changes_of_what_is_not_there() {
        for (label, changed) in [
            ("a block", (2, Part::Bodies(0), 0)),
            ("bodies", (1, Part::Bodies(1), 0)),
            ("a column", (1, Part::Column(3), 3)),
            ("a column of structs", (1, Part::Column(1), 3)),
            ("rows", (1, Part::Column(0), 4)),
        ] {
            let found = Table::decode(&table(&[changed]).encode());
            assert_eq!(found, Err(TableError::Changed), "{label}");
        }
    }
}
