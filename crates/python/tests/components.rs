//! Components by the values that stead sends, alike in both kinds of interpreters.

#![allow(clippy::unwrap_used)] // helpers of tests

mod common;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::{on_every_numpy, on_every_worker};
use stead_python::{
    CallError, Choice, Component, ComponentKind, Deadline, Exception, Host, HostCall, HostCode,
    HostError, Installation, InterpreterManager, Isolation, ManagerOptions, Mode, ModuleSource,
    PackageSource, Session, Value, call_components,
};
use stead_tensor::Tensor;

const SHOP: &str = r#"
import logging, os, time
from dataclasses import dataclass
import stead

@dataclass
class Greeting:
    word: str
    times: int = 1

class Hello(stead.RequestHandler):
    provides = ["greeting"]
    before = ["other"]

    def __init__(self, settings: Greeting, logger: logging.Logger):
        self.settings, self.logger = settings, logger

    def handle(self, request):
        self.logger.warning("asked by %s", request.parameter("name"))
        if request.method == "DELETE":
            return None
        if not request.parameter("name"):
            raise stead.InvalidInput("no name")
        return stead.Response(" ".join([self.settings.word] * self.settings.times + [request.parameter("name")]),
                              headers={"x-body": str(len(request.body))})

class Slow(stead.RequestHandler):
    async def handle(self, request):
        while True: time.sleep(0.01)

class Titles(stead.DocumentProcessor):
    def process(self, operations):
        kept = []
        for operation in operations:
            if isinstance(operation, stead.DocumentRemove):
                continue
            if isinstance(operation, stead.DocumentPut):
                operation.document["title"] = operation.document["title"].upper()
            kept.append(operation)
        return kept + [stead.DocumentPut(stead.Document("id:a:doc::new", {"title": "new"}))]

class Marked(stead.DocumentProcessor):
    async def process(self, operations):
        for operation in operations:
            if isinstance(operation, stead.DocumentUpdate):
                operation.increment("count", 1)
        return operations

class More(stead.Searcher):
    def search(self, query, execution):
        query.hits += 1
        return execution.search(query)

class Twice(stead.Searcher):
    async def search(self, query, execution):
        first = await execution.search(query)
        second = await execution.search(query.clone())
        for hit in second.hits:
            hit.relevance = hit.relevance + 1
            hit["again"] = True
        first.hits += second.hits
        first.sort()
        return first

class Wrong(stead.Searcher):
    def search(self, query, execution):
        return query

class Broken(stead.Searcher):
    def __init__(self, backend):
        pass
    def search(self, query, execution):
        return execution.search(query)
"#;

fn dict<const N: usize>(members: [(&str, Value); N]) -> Value {
    Value::Dict(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

fn list<const N: usize>(items: [Value; N]) -> Value {
    Value::List(items.into())
}

fn part<'v>(value: &'v Value, name: &str) -> &'v Value {
    let Value::Dict(members) = value else { panic!("{value:?}") };
    &members.iter().find(|(key, _)| key == name).unwrap_or_else(|| panic!("{name}: {value:?}")).1
}

fn items(value: &Value) -> &[Value] {
    let Value::List(items) = value else { panic!("{value:?}") };
    items
}

fn component(kind: ComponentKind, class: &str) -> Arc<Component> {
    Arc::new(Component {
        id: format!("my.{class}"),
        generation: 1,
        kind,
        package: None,
        module: "shop".into(),
        class: class.into(),
        settings: Value::Dict(Vec::new()),
        context: Value::Dict(Vec::new()),
    })
}

/// A session of each mode, with the shop in it.
fn sessions(python: &Installation, source: &str) -> Vec<(InterpreterManager, Session)> {
    let inside = python.library.is_ok().then_some(Isolation::InProcess);
    let each = [Some(Isolation::Process), inside];
    let open = |isolation| {
        let options = ManagerOptions { interpreters: 1, isolation, ..ManagerOptions::default() };
        let mode = if isolation == Isolation::Process { Mode::Worker } else { Mode::InProcess };
        let choice = Choice { mode, reason: None };
        let manager = InterpreterManager::new(python.clone(), choice, options);
        let module = ModuleSource { name: "shop".into(), source: source.into() };
        manager.register("shop", PackageSource::Modules(vec![module]));
        let session = manager.acquire("shop", Deadline::NEVER).unwrap();
        (manager, session)
    };
    each.into_iter().flatten().map(open).collect()
}

fn nothing() -> Arc<dyn Host> {
    Arc::new(|call: HostCall| Err(HostError::new(HostCode::NotFound, call.name)))
}

fn raised(answer: Result<Value, CallError>) -> Exception {
    match answer {
        Err(CallError::Raised(error)) => *error,
        other => panic!("{other:?}"),
    }
}

fn request(method: &str, parameters: &[(&str, &str)]) -> Value {
    let pair = |(name, value): &(&str, &str)| list([(*name).into(), (*value).into()]);
    dict([
        ("method", method.into()),
        ("path", "/hello".into()),
        ("parameters", parameters.iter().map(pair).collect::<Vec<_>>().into()),
        ("body", Value::Bytes(vec![0; 3])),
    ])
}

#[test]
fn handlers_answer_requests_and_errors_name_them() {
    on_every_worker("handlers_answer_requests_and_errors_name_them", |python| {
        for (manager, mut session) in sessions(python, SHOP) {
            let hello = Component {
                settings: dict([("word", "hello".into()), ("times", 2.into())]),
                ..(*component(ComponentKind::Handler, "Hello")).clone()
            };
            let described = hello.create(&mut session, nothing(), Deadline::NEVER).unwrap();
            assert_eq!(part(&described, "class"), &"shop.Hello".into());
            assert_eq!(part(&described, "provides"), &list(["greeting".into()]));
            assert_eq!(part(&described, "before"), &list(["other".into()]));
            let hello = [Arc::new(hello)];
            let ask = |session: &mut Session, argument| {
                call_components(session, &hello, "handle", argument, nothing(), Deadline::NEVER)
            };
            let answer = ask(&mut session, request("GET", &[("name", "you")])).unwrap();
            assert_eq!(part(&answer, "status"), &200.into());
            assert_eq!(part(&answer, "body"), &Value::Bytes(b"hello hello you".to_vec()));
            let headers = list([
                list(["x-body".into(), "3".into()]),
                list(["content-type".into(), "text/plain; charset=utf-8".into()]),
            ]);
            assert_eq!(part(&answer, "headers"), &headers);
            let error = raised(ask(&mut session, request("GET", &[])));
            assert_eq!((error.kind.as_str(), &*error.message), ("stead.InvalidInput", "no name"));
            let error = raised(ask(&mut session, request("DELETE", &[])));
            let expected = "my.Hello.handle gave nothing; expected a stead.Response";
            assert_eq!((error.kind.as_str(), &*error.message), ("stead.ComponentError", expected));
            assert_eq!(manager.counts().died, 0);
        }
    });
}

/// What cannot be made says why, at the time when it is deployed.
#[test]
fn components_that_cannot_be_made_say_why() {
    let cases = [
        (ComponentKind::Handler, "Nobody", "my.Nobody: there is no shop:Nobody"),
        (ComponentKind::Handler, "Wrong", "is no class derived from stead.RequestHandler"),
        (ComponentKind::Handler, "Hello", "my.Hello: the setting word is missing"),
        (
            ComponentKind::Searcher,
            "Broken",
            "my.Broken: the parameter backend of Broken.__init__ has no annotation; known are",
        ),
    ];
    on_every_worker("components_that_cannot_be_made_say_why", |python| {
        for (_, mut session) in sessions(python, SHOP) {
            for (kind, class, text) in cases {
                let made = component(kind, class).create(&mut session, nothing(), Deadline::NEVER);
                let error = raised(made);
                assert_eq!(error.kind, "stead.ComponentError", "{class}");
                assert!(error.message.contains(text), "{class}: {}", error.message);
            }
            let known =
                Component { module: "nowhere".into(), ..(*component(cases[0].0, "A")).clone() };
            let error = raised(known.create(&mut session, nothing(), Deadline::NEVER));
            assert_eq!(error.kind, "ModuleNotFoundError");
        }
    });
}

#[test]
fn processors_change_add_and_drop_operations() {
    on_every_worker("processors_change_add_and_drop_operations", |python| {
        for (_, mut session) in sessions(python, SHOP) {
            let chain =
                ["Titles", "Marked"].map(|class| component(ComponentKind::Processor, class));
            let op = |kind: &str, fields: Value| {
                dict([
                    ("op", kind.into()),
                    ("id", "id:a:doc::1".into()),
                    ("type", "doc".into()),
                    ("fields", fields),
                    ("condition", "doc.year > 2000".into()),
                    ("create", true.into()),
                ])
            };
            let none = || Value::Dict(Vec::new());
            let operations = list([
                op("put", dict([("title", "a".into()), ("year", 2001.into())])),
                op("remove", none()),
                op("put", dict([("title", "B".into())])),
                op("update", dict([("title", dict([("assign", "x".into())]))])),
            ]);
            let argument = dict([("operations", operations)]);
            let answer = call_components(
                &mut session,
                &chain,
                "process",
                argument,
                nothing(),
                Deadline::NEVER,
            )
            .unwrap();
            let done = items(part(&answer, "operations"));
            let [changed, Value::Int(2), update, new] = done else { panic!("{done:?}") };
            assert_eq!(part(changed, "ref"), &0.into());
            assert_eq!(part(changed, "fields"), &dict([("title", "A".into())]));
            assert_eq!(part(changed, "condition"), &"doc.year > 2000".into());
            let fields = dict([
                ("title", dict([("assign", "x".into())])),
                ("count", dict([("increment", 1.into())])),
            ]);
            assert_eq!(part(update, "fields"), &fields);
            assert_eq!(part(update, "create"), &true.into());
            assert_eq!(part(new, "id"), &"id:a:doc::new".into());
            assert_eq!(part(new, "fields"), &dict([("title", "new".into())]));
        }
    });
}

/// A host that searches: hits are numbered over all searches of a call.
#[derive(Default)]
struct Backend {
    queries: Mutex<Vec<Value>>,
}

impl Host for Backend {
    fn call(&self, call: HostCall) -> Result<Value, HostError> {
        assert_eq!(call.name, "search.next");
        let mut queries = self.queries.lock().unwrap();
        let number = queries.len() as i64;
        queries.extend(call.arguments);
        let hit = |at: i64| {
            dict([
                ("ref", (number * 2 + at).into()),
                ("id", format!("hit {at}").into()),
                ("relevance", (at as f64).into()),
                ("source", "content".into()),
                ("fields", dict([("title", "t".into())])),
            ])
        };
        Ok(dict([
            ("ref", number.into()),
            ("total", 7.into()),
            ("hits", list([hit(1), hit(0)])),
            ("errors", list([dict([("code", 12.into()), ("message", "late".into())])])),
        ]))
    }
}

#[test]
fn searchers_change_queries_and_results_and_search_several_times() {
    let name = "searchers_change_queries_and_results_and_search_several_times";
    on_every_worker(name, |python| {
        for (_, mut session) in sessions(python, SHOP) {
            let mode = session.mode();
            let chain = ["More", "Twice"].map(|class| component(ComponentKind::Searcher, class));
            let parameters = list([list(["yql".into(), "select".into()])]);
            let query = dict([("parameters", parameters)]);
            let search = |session: &mut Session, chain: &[Arc<Component>], host: &Arc<Backend>| {
                let host: Arc<dyn Host> = host.clone();
                let argument = dict([("query", query.clone())]);
                call_components(session, chain, "search", argument, host, Deadline::NEVER)
            };
            let backend = Arc::new(Backend::default());
            let answer = search(&mut session, &chain, &backend).unwrap();
            let queries = backend.queries.lock().unwrap();
            assert_eq!(queries.len(), 2);
            let hits = list(["hits".into(), "11".into()]);
            let expected = list([list(["yql".into(), "select".into()]), hits]);
            assert!(queries.iter().all(|query| part(query, "parameters") == &expected), "{mode:?}");
            assert_eq!(part(&answer, "ref"), &0.into());
            assert_eq!(part(&answer, "total"), &7.into());
            let found: Vec<(&Value, &Value, &Value)> = items(part(&answer, "hits"))
                .iter()
                .map(|hit| (part(hit, "ref"), part(hit, "relevance"), part(hit, "fields")))
                .collect();
            let (again, none) = (dict([("again", true.into())]), Value::Dict(Vec::new()));
            let expected: Vec<(Value, Value, &Value)> = vec![
                (3.into(), 2.0.into(), &again),
                (1.into(), 1.0.into(), &none),
                (2.into(), 1.0.into(), &again),
                (0.into(), 0.0.into(), &none),
            ];
            assert_eq!(found.len(), 4);
            for (found, expected) in found.iter().zip(&expected) {
                assert_eq!(*found, (&expected.0, &expected.1, expected.2), "{mode:?}");
            }
            assert_eq!(items(part(&answer, "errors")).len(), 1);
            let wrong = [component(ComponentKind::Searcher, "Wrong")];
            let error = raised(search(&mut session, &wrong, &Arc::new(Backend::default())));
            assert_eq!(
                error.message,
                "my.Wrong.search gave a value of type Query; expected a stead.Result"
            );
            // Of several components of a call the one that raised is known.
            let chain = ["More", "Wrong"].map(|class| component(ComponentKind::Searcher, class));
            let error = raised(search(&mut session, &chain, &Arc::new(Backend::default())));
            assert_eq!(error.component.as_deref(), Some("my.Wrong"));
        }
    });
}

/// A worker that was replaced makes its components anew, and older generations go.
#[test]
fn components_come_back_with_a_new_worker_and_old_generations_go() {
    let source = format!(
        "{SHOP}
log = []
class Counted(stead.RequestHandler):
    count = 0
    def __init__(self):
        Counted.count += 1
        self.number = Counted.count
    def handle(self, request):
        if request.method == 'KILL': os.kill(os.getpid(), 9)
        return stead.Response({{'number': self.number, 'log': log}})
    def close(self):
        log.append(self.number)
"
    );
    let name = "components_come_back_with_a_new_worker_and_old_generations_go";
    on_every_worker(name, |python| {
        for (_, mut session) in sessions(python, &source) {
            let body = |session: &mut Session, generation: i64, method: &str| {
                let counted = component(ComponentKind::Handler, "Counted");
                let counted = [Arc::new(Component { generation, ..(*counted).clone() })];
                let argument = request(method, &[]);
                let late = Deadline::after(Duration::from_secs(60));
                let answer =
                    call_components(session, &counted, "handle", argument, nothing(), late)?;
                let Value::Bytes(body) = part(&answer, "body") else { panic!() };
                Ok::<_, CallError>(String::from_utf8(body.clone()).unwrap())
            };
            let expected = |number: u32, closed: &str| {
                Ok(format!("{{\"number\": {number}, \"log\": [{closed}]}}"))
            };
            assert_eq!(body(&mut session, 1, "GET"), expected(1, ""));
            assert_eq!(body(&mut session, 1, "GET"), expected(1, ""));
            assert_eq!(body(&mut session, 2, "GET"), expected(2, ""));
            assert_eq!(body(&mut session, 1, "GET"), expected(1, ""), "a call that still runs");
            assert_eq!(body(&mut session, 3, "GET"), expected(3, "2"), "1 was used last");
            // Deployments that are only prepared, one after the other, do not take the place of the one that is served.
            for generation in [4, 5, 6] {
                let prepared = component(ComponentKind::Handler, "Counted");
                let prepared = Component { generation, ..(*prepared).clone() };
                prepared.create(&mut session, nothing(), Deadline::NEVER).unwrap();
            }
            let served = body(&mut session, 3, "GET").unwrap();
            assert!(served.starts_with("{\"number\": 3,"), "{served}");
            if session.mode() == Some(Mode::Worker) {
                assert!(matches!(body(&mut session, 3, "KILL"), Err(CallError::Died(_))));
                assert_eq!(body(&mut session, 3, "GET"), expected(1, ""));
            }
        }
    });
}

/// An interpreter that is used again, by another manager, has no components of the one before.
#[test]
fn interpreters_that_are_used_again_have_no_components() {
    on_every_worker("interpreters_that_are_used_again_have_no_components", |python| {
        for word in ["one", "two"] {
            let source = format!(
                "import stead
class Word(stead.RequestHandler):
    def handle(self, request):
        try: stead.InferenceSession('model.onnx')
        except ImportError as error: assert 'stead.Models' in str(error), error
        else: raise AssertionError('a server has no native module of the wheel')
        return stead.Response('{word}')
    def close(self): print('closed {word}')
"
            );
            for (_, mut session) in sessions(python, &source) {
                let called = [component(ComponentKind::Handler, "Word")];
                let argument = request("GET", &[]);
                let never = Deadline::NEVER;
                let answer =
                    call_components(&mut session, &called, "handle", argument, nothing(), never);
                let expected = Value::Bytes(word.as_bytes().to_vec());
                assert_eq!(part(&answer.unwrap(), "body"), &expected, "{:?}", session.mode());
            }
        }
    });
}

const NUMPY: &str = r#"
import numpy as np
import stead

class Scaled(stead.Model):
    inputs = {"x": stead.TensorSpec("float32", [None, 2])}
    outputs = {"y": stead.TensorSpec("float32", [None, 2])}
    max_batch = 8
    def infer(self, inputs):
        factor = 2 if inputs["x"].sum() < 100 else 2.0 * np.ones(2)
        return {"y": inputs["x"] * factor}

class Sums(stead.Model):
    inputs = {"x": stead.TensorSpec("float32", [])}
    outputs = {"sum": stead.TensorSpec("float32", [])}
    state = {"total": stead.TensorSpec("float32", [1])}
    async def infer(self, inputs, state):
        total = state["total"] + inputs["x"]
        return {"sum": total[0]}, {"total": total}

class Lengths(stead.Embedder):
    def embed(self, text, type):
        return [len(text), text.count("a")] if text else None

class Asking(stead.RequestHandler):
    def __init__(self, models: stead.Models):
        self.models = models
    def handle(self, request):
        x = stead.Tensor("tensor<int8>(d1[])", [1, 2]).with_dimension("d0")
        return stead.Response(self.models.evaluator("double").bind("x", x).evaluate())
"#;

#[test]
fn models_and_embedders_give_arrays_that_are_checked() {
    on_every_numpy("models_and_embedders_give_arrays_that_are_checked", |python| {
        for (_, mut session) in sessions(python, NUMPY) {
            let ask = |session: &mut Session, kind, class, function, argument| {
                let host: Arc<dyn Host> = Arc::new(|call: HostCall| {
                    if call.name == "components" {
                        return Err(HostError::new(HostCode::NotFound, "there are no others"));
                    }
                    assert_eq!(call.name, "models.evaluate");
                    assert_eq!(call.arguments[0], "double".into());
                    let x = part(&call.arguments[1], "x").clone();
                    assert_eq!(x, Tensor::from_slice(&[1i8, 2], &[1, 2]).unwrap().into());
                    Ok(dict([("y", Tensor::from_slice(&[2f32, 4.0], &[1, 2]).unwrap().into())]))
                });
                let called = [component(kind, class)];
                call_components(session, &called, function, argument, host, Deadline::NEVER)
            };
            let scaled = component(ComponentKind::Model, "Scaled");
            let described = scaled.create(&mut session, nothing(), Deadline::NEVER).unwrap();
            let spec = |name: &str| {
                let shape = list([(-1).into(), 2.into()]);
                dict([("name", name.into()), ("dtype", "float32".into()), ("shape", shape)])
            };
            assert_eq!(part(&described, "inputs"), &list([spec("x")]));
            assert_eq!(part(&described, "max_batch"), &8.into());
            let infer = |session: &mut Session, class, x: Tensor, state| {
                let argument = dict([("inputs", dict([("x", x.into())])), ("state", state)]);
                ask(session, ComponentKind::Model, class, "infer", argument)
            };
            let x = |values: &[f32]| Tensor::from_slice(values, &[values.len() / 2, 2]).unwrap();
            let answer =
                infer(&mut session, "Scaled", x(&[1.0, 2.0, 3.0, 4.0]), Value::None).unwrap();
            assert_eq!(part(part(&answer, "outputs"), "y"), &x(&[2.0, 4.0, 6.0, 8.0]).into());
            let error = raised(infer(&mut session, "Scaled", x(&[100.0, 1.0]), Value::None));
            let text = "my.Scaled.infer: output y is float64[1, 2]; expected float32[any, 2]";
            assert_eq!(error.message, text);
            let mut state = Value::None;
            for total in [1.0, 2.0, 3.0] {
                let one = Tensor::scalar(1f32).unwrap();
                let answer = infer(&mut session, "Sums", one, state).unwrap();
                let sum = part(part(&answer, "outputs"), "sum");
                assert_eq!(sum, &Tensor::scalar(total as f32).unwrap().into());
                state = part(&answer, "state").clone();
            }
            let embed = |session: &mut Session, texts: Value, kind: &str| {
                let argument = dict([("texts", texts), ("type", kind.into())]);
                ask(session, ComponentKind::Embedder, "Lengths", "embed", argument)
            };
            let kind = "tensor<float>(x[2])";
            let answer = embed(&mut session, list(["aab".into(), "a".into()]), kind).unwrap();
            assert_eq!(items(&answer).len(), 2);
            assert_eq!(part(&items(&answer)[0], "type"), &kind.into());
            let cells = Tensor::from_slice(&[3f32, 2.0], &[2]).unwrap();
            assert_eq!(part(&items(&answer)[0], "cells"), &cells.into());
            let error = raised(embed(&mut session, list(["".into()]), kind));
            assert_eq!(
                error.message,
                "my.Lengths.embed gave nothing; expected a tensor of type tensor<float>(x[2])"
            );
            let error = raised(embed(&mut session, list(["a".into()]), "tensor<float>(x[3])"));
            assert!(error.message.contains("my.Lengths.embed: dimension x of"), "{error}");
            let request = request("GET", &[]);
            let answer =
                ask(&mut session, ComponentKind::Handler, "Asking", "handle", request).unwrap();
            let body = r#"{"type":"tensor<float>(d0[1],d1[2])","values":[[2.0,4.0]]}"#;
            assert_eq!(part(&answer, "body"), &Value::Bytes(body.as_bytes().to_vec()));
        }
    });
}
