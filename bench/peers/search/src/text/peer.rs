//! tantivy's index of a field.

use std::time::{Duration, Instant};

#[cfg(test)]
use tantivy::collector::DocSetCollector;
use tantivy::collector::TopDocs;
use tantivy::query::{BooleanQuery, Occur, Query, TermQuery};
use tantivy::schema::{
    FAST, Field, IndexRecordOption, NumericOptions, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::{
    DocAddress, Index, IndexReader, ReloadPolicy, Searcher, SegmentReader, TantivyDocument, Term,
};

use super::Scored;
use crate::Result;

/// How often what was added becomes visible.
const COMMITS: Duration = Duration::from_secs(1);

/// The memory of a writer, in bytes: so much that commits decide about segments.
const ROOM: usize = 500 << 20;

/// An index of texts in memory, with their places in a column.
pub struct Peer {
    searcher: Searcher,
    field: Field,
}

impl Peer {
    /// Feeds texts with a commit each second, and how long that took, with the last commit and all joining of segments: on a thread of
    /// its own, as tantivy does it.
    pub fn fed(texts: &[String]) -> Result<(Peer, Duration)> {
        let mut schema = Schema::builder();
        let indexing = TextFieldIndexing::default()
            .set_tokenizer("default")
            .set_index_option(IndexRecordOption::WithFreqsAndPositions);
        let field =
            schema.add_text_field("text", TextOptions::default().set_indexing_options(indexing));
        let number = schema.add_u64_field("number", NumericOptions::from(FAST));
        let index = Index::create_in_ram(schema.build());
        let reader: IndexReader =
            index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        let started = Instant::now();
        let mut writer = index.writer_with_num_threads::<TantivyDocument>(1, ROOM)?;
        let mut committed = started;
        for (at, text) in texts.iter().enumerate() {
            let mut document = TantivyDocument::default();
            document.add_text(field, text);
            document.add_u64(number, at as u64);
            writer.add_document(document)?;
            if committed.elapsed() >= COMMITS {
                writer.commit()?;
                reader.reload()?;
                committed = Instant::now();
            }
        }
        writer.commit()?;
        writer.wait_merging_threads()?;
        reader.reload()?;
        let took = started.elapsed();
        Ok((Peer { searcher: reader.searcher(), field }, took))
    }

    /// The best texts by BM25, the best first.
    pub fn top(&self, query: &[String], wanted: usize) -> Result<Vec<(f32, DocAddress)>> {
        let collector = TopDocs::with_limit(wanted).order_by_score();
        Ok(match query {
            [one] => self.searcher.search(&*self.term(one), &collector)?,
            terms => self.searcher.search(&self.terms(terms, Occur::Should), &collector)?,
        })
    }

    /// The same with the places of the texts.
    pub fn scored(&self, query: &[String], wanted: usize) -> Result<Vec<Scored>> {
        let top = self.top(query, wanted)?;
        top.into_iter().map(|(score, at)| Ok((self.number(at)?, f64::from(score)))).collect()
    }

    /// The texts that have all of the words, or one of them.
    #[cfg(test)]
    pub fn matches(&self, query: &[String], all: bool) -> Result<Vec<u32>> {
        let occur = if all { Occur::Must } else { Occur::Should };
        let found = self.searcher.search(&self.terms(query, occur), &DocSetCollector)?;
        let mut numbers: Vec<u32> =
            found.into_iter().map(|at| self.number(at)).collect::<Result<_>>()?;
        numbers.sort_unstable();
        Ok(numbers)
    }

    fn term(&self, text: &str) -> Box<dyn Query> {
        let term = Term::from_field_text(self.field, text);
        Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs))
    }

    fn terms(&self, texts: &[String], occur: Occur) -> BooleanQuery {
        BooleanQuery::new(texts.iter().map(|text| (occur, self.term(text))).collect())
    }

    /// The place of a text.
    fn number(&self, address: DocAddress) -> Result<u32> {
        let segment = self.searcher.segment_reader(address.segment_ord);
        let number = segment.fast_fields().u64("number")?.first(address.doc_id);
        Ok(number.ok_or("a document has no number")? as u32)
    }

    /// How many words all texts have.
    pub fn words(&self) -> Result<u64> {
        let of =
            |segment: &SegmentReader| Ok(segment.inverted_index(self.field)?.total_num_tokens());
        self.searcher.segment_readers().iter().map(of).sum()
    }

    /// How many segments there are.
    pub fn segments(&self) -> usize {
        self.searcher.segment_readers().len()
    }

    /// Bytes of the lists, positions, terms and lengths.
    pub fn memory(&self) -> Result<u64> {
        let space = self.searcher.space_usage()?;
        let of = |segment: &tantivy::space_usage::SegmentSpaceUsage| {
            let parts =
                [segment.termdict(), segment.postings(), segment.positions(), segment.fieldnorms()];
            parts.iter().map(|part| part.total().get_bytes()).sum::<u64>()
        };
        Ok(space.segments().iter().map(of).sum())
    }
}
