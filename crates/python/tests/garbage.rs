//! When garbage is collected.

#![allow(clippy::unwrap_used)] // helpers of tests

mod common;

use common::{exported, managers, on_every_worker};
use stead_python::{
    Call, Deadline, InterpreterManager, ModuleSource, PackageSource, Session, Value,
};

const SOURCE: &str = "
import gc, weakref

collections, alive = [], weakref.WeakSet()
loaded = {'what': ['was', 'loaded']}

@gc.callbacks.append
def tell(phase, info):
    if phase == 'start': collections.append(info['generation'])

class Node: pass

def cycles(n):
    'How often was collected meanwhile, and how many cycles there are.'
    before = len(collections)
    for _ in range(n):
        node = Node()
        node.me = node
        alive.add(node)
    return [len(collections) - before, len(alive)]

def count(): return len(alive)
def is_looked_at(): return any(thing is loaded for thing in gc.get_objects())
";

fn session(manager: &InterpreterManager) -> Session {
    manager.acquire("m", Deadline::NEVER).unwrap()
}

fn ask(session: &mut Session, name: &str, arguments: Vec<Value>) -> Value {
    session.call(Call::new("m", name, arguments), Deadline::NEVER).unwrap()
}

fn register(manager: &InterpreterManager) {
    let module = ModuleSource { name: "m".into(), source: SOURCE.into() };
    manager.register("m", PackageSource::Modules(vec![module]));
}

#[test]
fn cycles_are_collected_when_nobody_waits() {
    on_every_worker("cycles_are_collected_when_nobody_waits", |python| {
        for (mode, manager) in managers(python, 1) {
            register(&manager);
            let mut caller = session(&manager);
            assert_eq!(ask(&mut caller, "is_looked_at", vec![]), false.into(), "{mode:?}: frozen");
            for burst in 1..=20 {
                let found = ask(&mut caller, "cycles", vec![1000.into()]);
                assert_eq!(found, vec![0.into(), (1000 * burst).into()].into(), "{mode:?}");
            }
            drop(caller);
            assert_eq!(ask(&mut session(&manager), "count", vec![]), 0.into(), "{mode:?}");
        }
    });
}

#[test]
fn a_call_that_makes_very_much_collects_in_its_midst() {
    on_every_worker("a_call_that_makes_very_much_collects_in_its_midst", |python| {
        for (mode, manager) in managers(python, 1) {
            register(&manager);
            let found = ask(&mut session(&manager), "cycles", vec![200_000.into()]);
            let Value::List(found) = found else { panic!("{found:?}") };
            let [Value::Int(collections), Value::Int(alive)] = found[..] else { panic!() };
            assert!((1..20).contains(&collections) && alive < 150_000, "{mode:?}: {found:?}");
        }
    });
}

const PACKAGE: &str = r#"
from stead_package import PackageExporter
with PackageExporter("shop.pkg") as e:
    e.extern("builtins")
    e.save_source_string("net", """
import builtins, weakref
if not hasattr(builtins, "alive"): builtins.alive = weakref.WeakSet()
class Node: pass
node = Node()
node.me = [node]
builtins.alive.add(node)
def count(): return len(builtins.alive)
""")
"#;

/// What was frozen with a version of a package goes when the next one has taken its place.
#[test]
fn versions_of_a_package_leave_nothing_behind() {
    on_every_worker("versions_of_a_package_leave_nothing_behind", |python| {
        let folder = exported(python, PACKAGE);
        for (mode, manager) in managers(python, 1) {
            for version in 0..10 {
                manager.register("shop", PackageSource::File(folder.join("shop.pkg")));
                let mut session = manager.acquire("shop", Deadline::NEVER).unwrap();
                let count = Call::new("net", "count", vec![]).of_package("shop");
                let found = session.call(count, Deadline::NEVER);
                assert_eq!(found, Ok(1.into()), "{mode:?}: version {version}");
            }
        }
        std::fs::remove_dir_all(folder).unwrap();
    });
}
