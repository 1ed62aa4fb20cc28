use crate::package::Report;
use crate::services::{ContainerCluster, ServicesOptions, read_services};
use crate::xml::parse_xml;

/// The chains of a section of `services.xml`, each as `id: components`, with `|` where the work of the chain is done before some of
/// them; and what is told.
fn chains(section: &str, inner: &str) -> (Vec<String>, Vec<String>) {
    let (cluster, report) = read(&format!("<{section}>\n{inner}\n</{section}>"));
    let mut again = Report::default();
    let chains = cluster.chains(&std::collections::HashMap::new(), &mut again);
    let text = chains.iter().map(|chain| {
        assert_eq!(chain.kind.name(), section);
        let mut ids = chain.components.clone();
        if chain.before_work < ids.len() {
            ids.insert(chain.before_work, "|".to_owned());
        }
        format!("{}: {}", chain.id, ids.join(" "))
    });
    (text.collect(), report.diagnostics().iter().map(ToString::to_string).collect())
}

fn read(inner: &str) -> (ContainerCluster, Report) {
    let mut report = Report::default();
    let text = format!("<container id='c' version='1.0'>{inner}</container>");
    let root = parse_xml("services.xml", &text, &mut report).unwrap();
    let mut services = read_services(&root, ServicesOptions::default(), &mut report);
    (services.containers.remove(0), report)
}

#[test]
fn chains_inherit_from_each_other() {
    let cases: [(&str, &str, &[&str]); 13] = [
        ("one", "<chain id='c'><searcher id='a' python='p:A'/></chain>", &["c: a@c"]),
        ("no id", "<chain><searcher python='p:A'/></chain>", &["default: p:A@default"]),
        (
            "beside and within",
            "<searcher id='b' python='p:B'/>
             <chain id='c'><searcher id='a' python='p:A' after='b'/><searcher idref='b'/></chain>",
            &["c: b a@c"],
        ),
        (
            "a reference by its id",
            "<searcher id='b' python='p:B'/><chain id='c'><searcher id='b'/></chain>",
            &["c: b"],
        ),
        (
            "inherits",
            "<chain id='base'><searcher id='a' python='p:A'/></chain>
             <chain id='c' inherits='base'><searcher id='b' python='p:B'/></chain>",
            &["base: a@base", "c: b@c a@base"],
        ),
        (
            "inherits what is written behind it",
            "<chain id='c' inherits='base'><searcher id='b' python='p:B'/></chain>
             <chain id='base'><searcher id='a' python='p:A'/></chain>",
            &["c: b@c a@base", "base: a@base"],
        ),
        (
            "from two, one of them twice",
            "<searcher id='s' python='p:S'/>
             <chain id='x'><searcher idref='s'/></chain>
             <chain id='y' inherits='x'><searcher id='b' python='p:B'/></chain>
             <chain id='c' inherits='x y'/>",
            &["x: s", "y: b@y s", "c: s b@y"],
        ),
        (
            "excludes",
            "<chain id='base'><searcher id='a' python='p:A'/><searcher id='b' python='p:B'/></chain>
             <chain id='c' inherits='base' excludes='a'/>",
            &["base: a@base b@base", "c: b@base"],
        ),
        (
            "its own in the place of an inherited one",
            "<chain id='base'><searcher id='a' python='p:A'/></chain>
             <chain id='c' inherits='base'><searcher id='a' python='p:Other'/></chain>",
            &["base: a@base", "c: a@c"],
        ),
        (
            "phases, with what is inherited of them",
            "<chain id='base'><phase id='p'/><phase id='q'/><searcher id='x' python='p:X' after='q'/></chain>
             <chain id='c' inherits='base'><phase id='p'><before>q</before></phase>
               <searcher id='y' python='p:Y'><after>p</after><before>q</before></searcher>
               <searcher id='z' python='p:Z' before='p'/></chain>",
            &["base: x@base", "c: z@c y@c x@base"],
        ),
        (
            "the phases of searches",
            "<chain id='default' inherits='vespa'><searcher id='late' python='p:L' after='blendedResult'/>
               <searcher id='early' python='p:E' before='rawQuery'/>
               <searcher id='mid' python='p:M' after='transformedQuery' before='blendedResult'/></chain>",
            &["default: early@default mid@default late@default"],
        ),
        (
            "classes are provided",
            "<chain id='c'><searcher id='a' python='p:A' after='B'/><searcher id='b' python='p.q:B' after='p:C'/>
               <searcher id='c' python='p:C'/></chain>",
            &["c: c@c b@c a@c"],
        ),
        (
            "names as elements and attributes",
            "<chain id='c'><searcher id='a' python='p:A' after=' one  two'/>
               <searcher id='b' python='p:B' provides='one'/>
               <searcher id='d' python='p:D'><provides>two</provides></searcher></chain>",
            &["c: b@c d@c a@c"],
        ),
    ];
    for (label, inner, expected) in cases {
        assert_eq!(
            chains("search", inner),
            (expected.iter().map(|c| (*c).to_owned()).collect(), vec![]),
            "{label}"
        );
    }
}

#[test]
fn scripts_of_fields_stand_in_chains_of_document_processors() {
    let inner = "<chain id='default' inherits='indexing'>
         <documentprocessor id='after' python='p:A' after='indexingEnd'/>
         <documentprocessor id='before' python='p:B' before='indexingStart'/>
         <documentprocessor id='any' python='p:C'/></chain>
       <chain id='alone'><documentprocessor id='x' python='p:X'/></chain>";
    let (found, told) = chains("document-processing", inner);
    assert_eq!(told, [""; 0]);
    assert_eq!(found, ["default: before@default any@default | after@default", "alone: x@alone"]);
}

#[test]
fn what_is_wrong_with_chains_is_told() {
    for (label, inner, expected) in [
        (
            "no such chain",
            "<chain id='c' inherits='x'/>",
            "services.xml:2:1: chain c inherits from x, which is not there; there are vespa, native, vespaPhases",
        ),
        (
            "itself",
            "<chain id='c' inherits='c'/>",
            "services.xml:2:1: chain c inherits from itself, at once or by way of others",
        ),
        (
            "no such component",
            "<chain id='c'><searcher idref='a'/></chain>",
            "services.xml:2:15: chain c names searcher a, which does not stand beside the chains; there are none",
        ),
        (
            "a reference with more",
            "<searcher id='a' python='p:A'/><chain id='c'><searcher id='a' before='b'/></chain>",
            "services.xml:2:46: searcher a stands beside the chains; in chain c it has its id and nothing else",
        ),
        (
            "twice",
            "<searcher id='a' python='p:A'/><chain id='c'><searcher idref='a'/><searcher idref='a'/></chain>",
            "services.xml:2:67: searcher a is in chain c twice",
        ),
        (
            "two of a name",
            "<chain id='x'><searcher id='a' python='p:A'/></chain><chain id='y'><searcher id='a' python='p:A'/></chain><chain id='c' inherits='x y'/>",
            "services.xml:2:107: chain c inherits both a@x and a@y; exclude a, or declare one in this chain",
        ),
        (
            "two chains",
            "<chain id='c'/><chain id='c'/>",
            "services.xml:2:16: two search chains have the id c",
        ),
        (
            "excludes nothing",
            "<chain id='c' excludes='a'/>",
            "services.xml:2:1: warning: chain c excludes a, which it does not inherit",
        ),
        (
            "a cycle",
            "<chain id='c'><searcher id='a' python='p:A' before='b'/><searcher id='b' python='p:B' before='a'/></chain>",
            "services.xml:2:1: chain c: each of these must come before the next one: b@c, a@c, b@c",
        ),
        (
            "a phase as a name",
            "<chain id='c'><phase id='p'/><searcher id='a' python='p:A' provides='p'/></chain>",
            "services.xml:2:1: chain c: a@c provides p, which is the name of a phase",
        ),
        (
            "a phase twice",
            "<chain id='c'><phase id='p'/><phase id='p'/></chain>",
            "services.xml:2:30: phase p is in chain c twice",
        ),
        ("no name", "<chain id='c'><phase/></chain>", "services.xml:2:15: phase has no id"),
        (
            "a phase after all",
            "<chain id='c'><phase id='p' after='*'/></chain>",
            "services.xml:2:15: phase p cannot stand before or after everything",
        ),
    ] {
        let (_, told) = chains("search", inner);
        assert_eq!(told, [expected], "{label}");
    }
}
