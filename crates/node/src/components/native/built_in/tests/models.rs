//! Built-in components that evaluate models, with networks that are small enough to be checked by hand.

use std::path::Path;
use std::sync::Mutex;

use stead_app::application::rank::PackageModels;
use stead_engine::Backends;
use stead_expr::Value;
use stead_expr::codec::json::Form;
use stead_onnx::{ModelBuilder, ValueType, dims_of};
use stead_search::models::Probe;
use stead_search::result::{Hit, Item, SearchResult};
use stead_tensor::{DType, Tensor};

use super::searchers::songs;
use super::*;
use crate::components::native::{Execution, NativeError, Query};
use crate::embedders::{EmbedderMeters, Embedders};

pub(super) const WORDS: &str = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\nc\n";

/// Makes the only component of a chain of a package with these networks.
fn made_of<T: ?Sized>(
    networks: &[(&str, Vec<u8>)],
    services: &str,
    make: impl FnOnce(&str, &Parameters, &Making<'_>) -> Result<Box<T>, String>,
) -> Result<Box<T>, String> {
    made_with(networks, services, &EmbedderMeters::default(), make)
}

/// The same, where it is measured what embedders do.
pub(super) fn made_with<T: ?Sized>(
    networks: &[(&str, Vec<u8>)],
    services: &str,
    meters: &EmbedderMeters,
    make: impl FnOnce(&str, &Parameters, &Making<'_>) -> Result<Box<T>, String>,
) -> Result<Box<T>, String> {
    let folder = tempfile::tempdir().unwrap();
    let write = |path: &str, bytes: &[u8]| {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new("."))).unwrap();
        std::fs::write(path, bytes).unwrap();
    };
    let services = format!(
        "<services version='1.0'><container id='c' version='1.0'><model-evaluation/>{services}</container>
         <content id='stored' version='1.0'><documents><document type='song' mode='index'/></documents></content></services>"
    );
    write("services.xml", services.as_bytes());
    write("schemas/song.sd", SCHEMA.as_bytes());
    write("models/vocab.txt", WORDS.as_bytes());
    networks.iter().for_each(|(name, bytes)| write(&format!("models/{name}.onnx"), bytes));
    let files = PackageFiles::open(folder.path()).unwrap();
    let (application, mut report) = Application::read(&files, ServicesOptions::default());
    let types = PackageModels::new(&files).with_probe(&Probe::PLAIN);
    let loaded = Evaluated::load(&application, (&files, Backends::NONE), &types, &mut report);
    let embedders = Arc::new(Embedders::load(
        &application,
        (&files, Backends::NONE),
        &Arc::default(),
        meters,
        &mut report,
    ));
    assert!(!report.has_errors(), "{:?}", report.errors().collect::<Vec<_>>());
    let kinds = [DocumentType::stored(application.schema("song").unwrap())];
    let models = Models::new(ServerHost::new(Arc::new(loaded), Arc::default()));
    let making = Making {
        application: &application,
        files: &files,
        kinds: &kinds,
        models: &models,
        embedders: &embedders,
    };
    let [component] = application.services.containers[0].native.as_slice() else { panic!() };
    let NativeKind::BuiltIn(row, parameters) = &component.what else { panic!() };
    make(row.name, parameters, &making)
}

pub(super) fn searcher_with(
    networks: &[(&str, Vec<u8>)],
    kind: &str,
    inner: &str,
) -> Result<Box<dyn Searcher>, String> {
    let text =
        format!("<search><chain><searcher type='{kind}'>{inner}</searcher></chain></search>");
    made_of(networks, &text, searcher)
}

fn tensor(text: &str) -> Value {
    stead_expr::compile(text, &|_: &str| None).unwrap().run(&[]).unwrap()
}

pub(super) fn hit(id: &str, fields: Vec<(&str, Item)>) -> Hit {
    let fields = fields.into_iter().map(|(name, item)| (name.to_owned(), item)).collect();
    Hit { id: id.to_owned(), relevance: 1.0, source: "stored".to_owned(), fields }
}

/// What a searcher makes of a query with these hits behind it, and the query that they were asked for.
pub(super) fn searched(
    searcher: &dyn Searcher,
    query: Query,
    hits: Vec<Hit>,
) -> Result<(SearchResult, Query), NativeError> {
    let asked = Mutex::new(Query::default());
    let back_end = |query: Query| {
        *asked.lock().unwrap() = query;
        Ok(SearchResult { total: 3, hits: hits.clone(), ..SearchResult::default() })
    };
    let call = Call { deadline: Deadline::NEVER };
    let result = searcher.search(query, &Execution { next: &back_end, call })?;
    Ok((result, asked.into_inner().unwrap()))
}

pub(super) fn query(parameters: &[(&str, &str)]) -> Query {
    let mut query = Query::default();
    parameters.iter().for_each(|(name, value)| query.values.set(name, (*value).to_owned()));
    query
}

/// The sum of a weight for each token of the text, which has type 1: `a` 1, `b` 2, `c` 10.
fn cross_encoder() -> Vec<u8> {
    let weights = [0.0f32, 100.0, 100.0, 0.0, 100.0, 1.0, 2.0, 10.0];
    let score = ValueType::tensor(DType::F32, Some(dims_of(&["batch", "1"])));
    ModelBuilder::new(17)
        .input("input_ids", DType::I64, &["batch", "tokens"])
        .input("attention_mask", DType::I64, &["batch", "tokens"])
        .input("token_type_ids", DType::I64, &["batch", "tokens"])
        .init("weights", Tensor::from_slice(&weights, &[8]).unwrap())
        .init("axes", Tensor::from_slice(&[1i64], &[1]).unwrap())
        .node("Gather", &["weights", "input_ids"], &["of_tokens"])
        .node("Mul", &["attention_mask", "token_type_ids"], &["of_text"])
        .node("Cast", &["of_text"], &["text"])
        .attr("to", 1)
        .node("Mul", &["of_tokens", "text"], &["each"])
        .node("ReduceSum", &["each", "axes"], &["score"])
        .output_of("score", score)
        .bytes()
}

#[test]
fn hits_are_read_with_the_query_in_one_batch() {
    let networks = [("cross", cross_encoder())];
    let common = "<model>cross</model><tokenizer path='models/vocab.txt'/><parameter>q</parameter><field>title</field><start-token>2</start-token><end-token>3</end-token>";
    let titles = |id: &str, title: &str| hit(id, vec![("title", Item::text(title))]);
    let hits =
        || vec![titles("x", "a b"), titles("y", "c"), titles("z", "b b b"), hit("none", vec![])];
    for (label, more, q, expected) in [
        ("all", "", Some("a c"), "y=10 z=6 x=3 none=0"),
        ("some", "<hits>2</hits>", Some("a c"), "y=10 x=3 z=1 none=1"),
        ("cut", "<max-tokens>5</max-tokens>", Some("a"), "y=10 z=4 x=3 none=0"),
        ("no text", "", None, "x=1 y=1 z=1 none=1"),
    ] {
        let searcher =
            searcher_with(&networks, "cross-encoder", &format!("{common}{more}")).unwrap();
        let parameters: Vec<(&str, &str)> = q.iter().map(|q| ("q", *q)).collect();
        let (result, _) = searched(&*searcher, query(&parameters), hits()).unwrap();
        let shown: Vec<String> =
            result.hits.iter().map(|hit| format!("{}={}", hit.id, hit.relevance)).collect();
        assert_eq!(shown.join(" "), expected, "{label}");
    }
    // Token ids that are stored are read as they are.
    let searcher = searcher_with(&networks, "cross-encoder", common).unwrap();
    let stored = hit(
        "s",
        vec![("title", Item::Tensor(tensor("tensor<float>(d0[4]):[7,5,0,0]"), Form::Short))],
    );
    let (result, _) = searched(&*searcher, query(&[("q", "b")]), vec![stored]).unwrap();
    assert_eq!(result.hits[0].relevance, 11.0);
    for (more, expected) in [
        (
            "<transformer-input-ids>ids</transformer-input-ids>",
            "model cross has no input ids: transformer-input-ids",
        ),
        (
            "<transformer-token-type-ids>types</transformer-token-type-ids>",
            "model cross has the input token_type_ids, which nothing is given to",
        ),
        ("<transformer-output>logits</transformer-output>", "model cross has no output logits"),
        ("<hits>0</hits>", "hits must be from 1 to 1000, found 0"),
    ] {
        let told = searcher_with(&networks, "cross-encoder", &format!("{common}{more}")).err();
        assert_eq!(told.as_deref(), Some(expected));
    }
    let wrong =
        searcher_with(&networks, "cross-encoder", &format!("{common}<column>1</column>")).unwrap();
    let told = searched(&*wrong, query(&[("q", "b")]), hits()).unwrap_err().to_string();
    assert_eq!(told, "model cross gave 4 numbers for 4 hits, and column 1 is wanted");
}

#[test]
fn models_make_query_tensors() {
    let score = ValueType::tensor(DType::F32, Some(dims_of(&["n", "2"])));
    let double = ModelBuilder::new(17)
        .input("x", DType::F32, &["n", "2"])
        .node("Add", &["x", "x"], &["y"])
        .output_of("y", score)
        .bytes();
    let networks = [("double", double)];
    let inner = |inputs: &str, outputs: &str| {
        format!(
            "<model>double</model><types><item key='v'>tensor&lt;float>(x[2])</item></types>
             <inputs><item key='x'>{inputs}</item></inputs><outputs><item key='w'>{outputs}</item></outputs>"
        )
    };
    let right = inner("tensor(a[1])(1) * query(v)", "rename(reduce(output(y), sum, d0), d1, x)");
    let searcher = searcher_with(&networks, "model", &right).unwrap();
    let (_, asked) = searched(&*searcher, query(&[("input.query(v)", "[1, 2]")]), vec![]).unwrap();
    assert_eq!(asked.features["w"], tensor("tensor<float>(x[2]):[2,4]"));
    let mut before = Query::default();
    before.features.insert("v".to_owned(), tensor("tensor<float>(x[2]):[3,5]"));
    let (_, asked) = searched(&*searcher, before, vec![]).unwrap();
    assert_eq!(asked.features["w"], tensor("tensor<float>(x[2]):[6,10]"));
    let (_, asked) = searched(&*searcher, Query::default(), vec![]).unwrap();
    assert!(asked.features.is_empty(), "nothing is made of nothing");
    let told = searched(&*searcher, query(&[("input.query(v)", "[1]")]), vec![]).unwrap_err();
    assert!(matches!(told, NativeError::Invalid(_)), "{told:?}");
    for (inputs, outputs, expected) in [
        ("query(v) * query(", "output(y)", "x: query(v) * query(: "),
        ("field(v)", "output(y)", "x: field(v): 1:1: unknown name field(v); it may name query(..)"),
        ("query(v)", "output(z)", "w: output(z): model double has no output z; it has y"),
        ("query(v)", "1", "outputs reads no output of model double"),
    ] {
        let told = searcher_with(&networks, "model", &inner(inputs, outputs)).err().unwrap();
        assert!(told.starts_with(expected), "{told}");
    }
    let told = searcher_with(&[], "model", &right).err().unwrap();
    assert!(told.starts_with("no model named 'double'"), "{told}");
}

#[test]
fn logits_point_at_words() {
    let inner = "<tokenizer path='models/vocab.txt'/><field>title</field><start>onnx(r).start</start><end>onnx(r).end</end><query>tokens</query>";
    let features = |start: &str, end: &str| {
        let of = |text: &str| {
            Item::Tensor(tensor(&format!("tensor<float>(d0[1],d1[8]):[{text}]")), Form::Short)
        };
        Item::map([("onnx(r).start", of(start)), ("onnx(r).end", of(end))])
    };
    let mut asked = query(&[]);
    asked.features.insert("tokens".to_owned(), tensor("tensor<float>(d0[3]):[5,0,0]"));
    for (label, more, start, end, expected) in [
        // The row is [CLS] a [SEP] and then the text.
        ("two words", "", "0,0,0,0,9,0,0,0", "0,0,0,0,0,0,9,0", Some("B, c")),
        ("one word", "<longest>1</longest>", "0,0,0,0,9,0,0,0", "0,0,0,0,0,5,0,0", Some("B")),
        ("not backwards", "", "0,0,0,0,0,0,9,0", "0,0,0,9,0,0,1,0", Some("c")),
        ("not in the question", "", "0,9,0,1,0,0,0,0", "0,9,0,1,0,0,0,0", Some("a")),
    ] {
        let searcher = searcher_with(&[], "answer-span", &format!("{inner}{more}")).unwrap();
        let title = ("title", Item::text("a B, c"));
        let one = hit("x", vec![title, ("summaryfeatures", features(start, end))]);
        let (result, _) = searched(&*searcher, asked.clone(), vec![one, hit("y", vec![])]).unwrap();
        let answer = result.hits[0].get("answer");
        assert_eq!(answer, expected.map(Item::text).as_ref(), "{label}");
        assert_eq!(result.hits[1].get("answer"), None, "{label}");
    }
    let searcher = searcher_with(&[], "answer-span", inner).unwrap();
    let without = vec![hit("x", vec![("title", Item::text("a"))])];
    let told = searched(&*searcher, asked, without).unwrap_err().to_string();
    assert!(told.starts_with("hit x has no dense tensor onnx(r).start"), "{told}");
    let told = searched(&*searcher, query(&[]), vec![]).unwrap_err().to_string();
    assert!(told.starts_with("no searcher before this one has made query(tokens)"), "{told}");
}

#[test]
fn token_ids_become_texts() {
    let inner = "<tokenizer path='models/vocab.txt'/><from>ids</from><to>text</to>";
    let searcher = searcher_with(&[], "detokenise", inner).unwrap();
    let ids = |item: Item| hit("x", vec![("ids", item)]);
    let dense = Item::Tensor(tensor("tensor<int8>(d0[4]):[7,5,0,0]"), Form::Short);
    let list = Item::List(vec![Item::Integer(6), Item::Integer(5)]);
    let hits = vec![ids(dense), ids(list), hit("y", vec![])];
    let (result, _) = searched(&*searcher, query(&[]), hits).unwrap();
    let texts: Vec<Option<&Item>> = result.hits.iter().map(|hit| hit.get("text")).collect();
    assert_eq!(texts, [Some(&Item::text("c a")), Some(&Item::text("b a")), None]);
}

#[test]
fn fields_are_made_by_models() {
    let vector = ValueType::tensor(DType::F32, Some(dims_of(&["n", "2"])));
    let network = ModelBuilder::new(17)
        .input("years", DType::F32, &["n", "2"])
        .init("scale", Tensor::from_slice(&[0.5f32], &[1]).unwrap())
        .node("Mul", &["years", "scale"], &["half"])
        .output_of("half", vector)
        .bytes();
    let networks = [("half", network)];
    let processor_with = |outputs: &str| {
        let text = format!(
            "<document-processing><chain><documentprocessor type='model'><model>half</model>
             <inputs><item key='years'>tensor(d0[1],d1[2])(field(year) * (d1 + 1))</item></inputs><outputs>{outputs}</outputs></documentprocessor></chain></document-processing>"
        );
        made_of(&networks, &text, processor)
    };
    let both = "<item key='other'>reduce(output(half), sum)</item><item key='ids'>reduce(output(half), sum, d0)</item>";
    let processor = processor_with(both).unwrap();
    let call = Call { deadline: Deadline::NEVER };
    let put = operation(Verb::Put, r#"{"fields": {"year": 4}}"#);
    let [made] = processor.process(put, &call).unwrap().try_into().unwrap();
    assert_eq!(made.get("other"), Some(&stead_store::FieldValue::Integer(6)));
    let integers = [2, 4].map(stead_store::FieldValue::Integer).to_vec();
    assert_eq!(made.get("ids"), Some(&stead_store::FieldValue::Array(integers)));
    let without = operation(Verb::Put, r#"{"fields": {"title": "x"}}"#);
    let [made] = processor.process(without, &call).unwrap().try_into().unwrap();
    assert_eq!(made.get("other"), None, "nothing is made of nothing");
    for (outputs, expected) in [
        (
            "<item key='title'>reduce(output(half), sum)</item>",
            "field title is of the type string; expected a number, an array of numbers or a tensor",
        ),
        (
            "<item key='tokens'>reduce(output(half), sum)</item>",
            "field tokens is of the type tensor<float>(d0[4]), and its expression gives a double",
        ),
        ("<item key='none'>output(half)</item>", "no type of documents has the fields none"),
    ] {
        assert_eq!(processor_with(outputs).err().as_deref(), Some(expected));
    }
}

#[test]
fn pairs_of_hits_are_compared() {
    let said = ValueType::tensor(DType::F32, Some(dims_of(&["n", "1"])));
    let network = ModelBuilder::new(17)
        .input("q", DType::F32, &["n", "1"])
        .input("one", DType::F32, &["n", "1"])
        .input("two", DType::F32, &["n", "1"])
        .node("Sub", &["one", "two"], &["differ"])
        .node("Mul", &["q", "differ"], &["said"])
        .output_of("said", said)
        .bytes();
    let networks = [("compare", network)];
    let inner = "<model>compare</model><types><item key='q'>tensor&lt;float>(x[1])</item></types>
        <inputs><item key='q'>query(q)</item><item key='one'>first(year)</item><item key='two'>second(year)</item></inputs>";
    for (more, q, expected) in [
        // Those that are above the mean of all pairs, 0, win.
        ("", "[1]", "e=5 c=3 f=3 a=0 b=0 d=0"),
        ("<rule>sum</rule>", "[1]", "e=8 c=2 f=2 a=-4 b=-4 d=-4"),
        ("<rule>sum</rule>", "[-1]", "a=4 b=4 d=4 c=-2 f=-2 e=-8"),
        ("<rule>sum</rule><hits>2</hits>", "[1]", "a=0 b=0 c=7 d=6 e=5 f=4"),
    ] {
        let searcher =
            searcher_with(&networks, "pairwise-rank", &format!("{inner}{more}")).unwrap();
        let hits: Vec<Hit> = songs().into_iter().filter(|hit| hit.get("year").is_some()).collect();
        let (result, _) = searched(&*searcher, query(&[("input.query(q)", q)]), hits).unwrap();
        let shown: Vec<String> =
            result.hits.iter().map(|hit| format!("{}={}", hit.id, hit.relevance)).collect();
        assert_eq!(shown.join(" "), expected, "{more}");
    }
    let searcher = searcher_with(&networks, "pairwise-rank", inner).unwrap();
    let told = searched(&*searcher, query(&[("input.query(q)", "[1]")]), songs()).unwrap_err();
    assert_eq!(told.to_string(), "hit g has no number or dense tensor year");
    let told = searched(&*searcher, query(&[]), songs()).unwrap_err().to_string();
    assert_eq!(told, "the query does not give query(q)");
}
