//! Packages that mean harm end in errors that name file, line and column.
#![allow(clippy::unwrap_used)]

use stead_app::application::Application;
use stead_app::application::rank::PackageModels;
use stead_app::package::PackageFiles;
use stead_app::services::ServicesOptions;

/// What is wrong with a package of these files.
fn errors(files: &[(&str, &str)]) -> Vec<String> {
    let files = PackageFiles::from_texts(files.iter().copied()).unwrap();
    let (application, mut report) = Application::read(&files, ServicesOptions::default());
    let _compiled = application.compile(&PackageModels::new(&files), &mut report);
    report.errors().map(ToString::to_string).collect()
}

const SERVICES: &str = "<container version='1.0' id='c'/>";

/// The errors of a schema with a rank profile.
fn of_profile(body: &str) -> Vec<String> {
    let schema = format!(
        "schema s {{\ndocument s {{ field a type double {{ indexing: attribute }} field t type tensor<float>(d0[4]) {{ indexing: attribute }} }}\nrank-profile p inherits default {{\n{body}\n}} }}"
    );
    errors(&[("schemas/s.sd", &schema), ("services.xml", SERVICES)])
}

#[test]
fn expressions_that_are_long_or_deep() {
    let first = |text: &str| format!("first-phase {{\nexpression: {text}\n}}");
    // Within the limit of a file a long one is no matter.
    assert_eq!(of_profile(&first(&vec!["attribute(a)"; 70_000].join("+"))), [""; 0]);
    let long = vec!["attribute(a)"; 90_000].join("+");
    let found = of_profile(&first(&long));
    let expected = "the file has 1170193 bytes; 1048576 is the most";
    assert!(found.iter().any(|e| e.contains(expected)), "{found:.3?}");
    let deep = |open: &str, close: &str| {
        let text = format!("{}attribute(a){}", open.repeat(10_000), close.repeat(10_000));
        of_profile(&first(&text))
    };
    for (open, close, expected) in [
        ("(", ")", "schemas/s.sd:5:413: more than 400 levels of nesting"),
        ("if(1,2,", ")", "more than 400 levels of nesting"),
        ("map(attribute(t),f(x)(", "))", "more than 16 lambdas within each other"),
        ("tokenInputIds(8,", ")", "more than 32 features within each other"),
    ] {
        let found = deep(open, close);
        assert!(found.iter().any(|e| e.contains(expected)), "{expected}: {found:.200?}");
    }
}

#[test]
fn sizes_that_overflow_and_texts_that_are_none() {
    let large = "a block is larger than 67108864 cells at dimension ";
    for (body, expected) in [
        ("inputs { query(q) tensor(x[4294967296],y[4294967296]) }", format!("{large}x")),
        ("inputs { query(q) tensor(x[67108864],y[9223372036854775807]) }", format!("{large}y")),
        ("constants { c tensor(x[99999999],y[99999999]): [1] }", format!("{large}x")),
        (
            "first-phase { expression: sum(tensor(x[4294967296],y[4294967296])(1)) }",
            format!("{large}x"),
        ),
        (
            "first-phase { expression: sum(concat(tensor(x[67108864])(1), tensor(x[67108864])(1), x)) }",
            format!("{large}x"),
        ),
        (
            "first-phase { expression: sum(tokenInputIds(8,attribute(a),attribute(t))) }",
            "tokenInputIds joins token ids, tensors with one indexed dimension d0; attribute(a) is a double"
                .to_owned(),
        ),
        (
            "first-phase { expression: sum(tokenInputIds(9223372036854775807,attribute(t),attribute(t))) }",
            "expected a length in tokenInputIds(9223372036854775807,attribute(t),attribute(t)), found 9223372036854775807"
                .to_owned(),
        ),
    ] {
        let found = of_profile(body);
        assert!(found.iter().any(|e| e.contains(&expected)), "{body}: {found:#?}");
        assert!(found.iter().all(|e| e.starts_with("schemas/s.sd:4:")), "{body}: {found:#?}");
    }
}

#[test]
fn files_outside_of_the_package_are_not_there() {
    let schema = "schema s {
        document s { }
        constant c { file: ../constants/c.json type: tensor(x[2]) }
        onnx-model m { file: ../../etc/passwd }
        rank-profile p inherits default {
            onnx-model n { file: /etc/passwd }
            first-phase { expression: xgboost(\"../x.json\") + lightgbm(\"/etc/passwd\") }
        }
    }";
    let services = "<services version='1.0' xmlns:preprocess='properties'>
        <preprocess:include file='../secret.xml'/>
        <container version='1.0' id='c'>
            <component id='t' type='hugging-face-tokenizer'><model path='../../etc/passwd'/></component>
        </container>
    </services>";
    let found = errors(&[("schemas/s.sd", schema), ("services.xml", services)]);
    for expected in [
        "schemas/s.sd:3:28: constant c: the package has no file ../constants/c.json",
        "schemas/s.sd:4:30: the package has no file ../../etc/passwd",
        "schemas/s.sd:6:34: the package has no file /etc/passwd",
        "services.xml:4:61: model of component t: the package has no file ../../etc/passwd",
    ] {
        assert!(found.iter().any(|e| e == expected), "{expected}: {found:#?}");
    }
    for part in ["schemas/s.sd:7:", "../secret.xml", "../x.json"] {
        assert!(found.iter().any(|e| e.contains(part)), "{part}: {found:#?}");
    }
}

#[test]
fn what_contains_itself() {
    let (schema, services) = (
        "schema s inherits t {
            document s inherits t { }
            rank-profile p inherits q {
                function f() { expression: g }
                function g() { expression: f + 1 }
                first-phase { expression: f }
            }
            rank-profile q inherits p { }
        }",
        SERVICES,
    );
    let other = "schema t inherits s { document t inherits s { } }";
    let profile = |id: &str, parent: &str| {
        format!(
            "<query-profile id='{id}' inherits='{parent}'><field name='x'>1</field></query-profile>"
        )
    };
    let (a, b) = (profile("a", "b"), profile("b", "a"));
    let found = errors(&[
        ("schemas/s.sd", schema),
        ("schemas/t.sd", other),
        ("services.xml", services),
        ("search/query-profiles/a.xml", &a),
        ("search/query-profiles/b.xml", &b),
    ]);
    for expected in [
        "schema s inherits from itself, by way of others or at once",
        "schema t inherits from itself, by way of others or at once",
        "document s inherits from itself, by way of others or at once",
        "rank-profile p inherits from itself, by way of others or at once",
        "rank-profile q inherits from itself, by way of others or at once",
        "query-profile a inherits from itself, by way of others or at once",
    ] {
        assert!(found.iter().any(|e| e.ends_with(expected)), "{expected}: {found:#?}");
    }
}
