//! Expressions from text to value, and what is said about those that cannot work.
#![allow(clippy::unwrap_used)]

use stead_expr::{Function, Rate, Scope, TensorType, Value, compile, parse_type};

/// Types of the names that the cases use.
fn names(name: &str) -> Option<(TensorType, Rate)> {
    let (kind, rate) = match name {
        "a" | "query(a)" | "attribute(n).count" | "z1" => ("double", Rate::Query),
        "foo(1,bar,\"b c\").out" => ("double", Rate::Document),
        "foo(title,1,bar).out" | "foo(title,0,bar).out" => ("double", Rate::Document),
        "query(f)" | "attribute(query)" => ("double", Rate::Document),
        "v" => ("tensor<float>(x[3])", Rate::Query),
        "m" => ("tensor<float>(x[3],y[2])", Rate::Document),
        "s" => ("tensor<int8>(t{},x[2])", Rate::Document),
        "l" => ("tensor(l{})", Rate::Document),
        _ => return None,
    };
    Some((parse_type(kind).unwrap(), rate))
}

/// The value of an expression without names.
fn value(text: &str) -> Value {
    let compiled = compile(text, &names).unwrap_or_else(|e| panic!("{text}: {e}"));
    assert!(compiled.names().is_empty(), "{text}");
    compiled.run(&[]).unwrap()
}

#[test]
fn values() {
    for (text, same) in [
        // Operators: unary first, then ^ from the right, * / %, + -, comparisons, &&, ||.
        ("-2^2", "4"),
        ("2^3^2", "512"),
        ("10-4-3", "3"),
        ("7%4*2", "6"),
        ("1+2*3==7", "true"),
        ("1<2==true", "1"),
        ("0||1&&0", "0"),
        ("!1+1", "1"),
        ("- - 3", "3"),
        ("2 in [1,2,-3]", "1"),
        ("-3 in [1,2,-3]", "1"),
        ("'a' in ['b', \"a\"]", "1"),
        ("1e3+.5+2.", "1002.5"),
        ("if(2>1, 5, 6, 0.3)", "5"),
        ("switch (3) { case 1: 10, case 3: 30, default: 0 }", "30"),
        ("switch(4){case 1: 10, default: 7}", "7"),
        // Literals in all their forms.
        ("tensor(x[2],y[2]):[[1,2],[3,4]]", "tensor(x[2],y[2])(x*2+y+1)"),
        ("tensor(x[2],y[2]):[1,2,3,4]", "tensor(x[2],y[2])(x*2+y+1)"),
        ("tensor(x[2]):{0:1,1:2}", "tensor(x[2]):[1,2]"),
        ("tensor(x{}):{a:1,'b c':2}", "tensor(x{}):{{x:'b c'}:2,{x:a}:1}"),
        ("tensor(a{},b{}):{p:{q:1,r:2}}", "tensor(a{},b{}):{{b:r,a:p}:2,{a:p,b:q}:1}"),
        ("tensor(x{},y[2]):{a:[1,2]}", "tensor(x{},y[2]):{{x:a,y:1}:2,{x:a,y:0}:1}"),
        ("tensor(x{}):{}", "tensor(x{}):{a:1}*tensor(x{}):{b:1}"),
        ("tensor():{5}", "5"),
        ("tensor():{{}:5}", "5"),
        // Places.
        ("tensor(x[3]):[5,6,7]{x:1}", "6"),
        ("tensor(x[3]):[5,6,7][2]", "7"),
        ("tensor(x[3]):[5,6,7][(1+1)]", "7"),
        ("tensor(x{}):{a:5}{a}", "5"),
        ("tensor(x{}):{a:5}{b}", "0"),
        ("tensor(x{}):{3:5}{x:(1+2)}", "5"),
        // A place that is no name alone is an expression where it can be one.
        ("tensor(x[3],y[2]):[[1,2],[3,4],[5,6]]{x:1+1,y:2-1}", "6"),
        ("tensor(d0[2])(tensor(x[2]):[5,6]{x:1-d0})", "tensor(d0[2]):[6,5]"),
        ("tensor(d0[2])(tensor(x[2]):[5,6]{x:max(d0,1)})", "tensor(d0[2]):[6,6]"),
        ("tensor(d0[2])(tensor(x[2]):[5,6][1-d0])", "tensor(d0[2]):[6,5]"),
        ("tensor(d0[2])(tensor(x[2]):[5,6][d0])", "tensor(d0[2]):[5,6]"),
        ("tensor(x{}):{3:5}{x:1+2}", "5"),
        ("tensor(x{}):{'a-b':5}{x:a-b}", "5"),
        ("tensor(x{}):{'a.b c':5}{x:a.b c}", "5"),
        ("tensor(x{}):{'-2':5}{x:-2}", "5"),
        ("tensor(x[3]):[5,6,7]{x:(0)+2}", "7"),
        ("tensor(x{},y{}):{a:{b:5}}{y:b}", "tensor(x{}):{a:5}"),
        ("-tensor(x[1]):[5]{x:0}", "-5"),
        // What is written in terms of other functions.
        ("sum(tensor(x[3])(x+1))", "6"),
        ("max(tensor(x[2],y[2])(x*2+y), x)", "tensor(y[2])(y+2)"),
        ("max(tensor(x[2],y[2])(x*2+y), x, y)", "3"),
        ("max(tensor(x[3])(x))", "2"),
        ("max(2, 3)", "3"),
        ("argmax(tensor(x[3]):[1,9,9], x)", "tensor(x[3]):[0,1,1]"),
        ("matmul(tensor(x[2],y[2])(x*2+y), tensor(y[2],z[1])(1), y)", "tensor(x[2],z[1])(x*4+1)"),
        (
            "xw_plus_b(tensor(x[2]):[1,2], tensor(x[2],y[1]):[3,4], tensor(y[1]):[5], x)",
            "tensor(y[1]):[16]",
        ),
        ("softmax(tensor(x[2]):[0,0], x)", "tensor(x[2]):[0.5,0.5]"),
        ("l1_normalize(tensor(x[2]):[1,3], x)", "tensor(x[2]):[0.25,0.75]"),
        ("l2_normalize(tensor(x[2]):[3,4], x)", "tensor(x[2]):[0.6,0.8]"),
        ("cosine_similarity(tensor(x[2]):[1,0], tensor(x[2]):[5,0], x)", "1"),
        ("euclidean_distance(tensor(x[2]):[1,1], tensor(x[2]):[4,5], x)", "5"),
        ("expand(tensor(x[2]):[1,2], b)", "tensor(b[1],x[2]):[1,2]"),
        ("diag(x[2],y[2])", "tensor(x[2],y[2])(x==y)"),
        ("range(x[3])", "tensor(x[3])(x)"),
        ("top(2, tensor(x{}):{a:1,b:3,c:2})", "tensor(x{}):{b:3,c:2}"),
        ("unpack_bits(tensor<int8>(x[1]):[-127])", "tensor<float>(x[8]):[1,0,0,0,0,0,0,1]"),
        (
            "unpack_bits(tensor<int8>(x[1]):[1], int8, little)",
            "tensor<int8>(x[8]):[1,0,0,0,0,0,0,0]",
        ),
        (
            "hamming(tensor<int8>(x[2]):[1,3], tensor<int8>(x[2]):[0,0])",
            "tensor<float>(x[2]):[1,2]",
        ),
        ("map(tensor(x[2])(x),f(v)(if(v>0,v,-1)))", "tensor(x[2]):[-1,1]"),
        ("tensor(x[2])(tensor(y[2])(y*10){y:(x)})", "tensor(x[2]):[0,10]"),
    ] {
        assert_eq!(value(text), value(same), "{text}");
    }
    let random = value("random(x[1000])");
    assert!(random.cells().doubles().iter().all(|c| (0.0..1.0).contains(c)));
    assert!((value("avg(random(x[1000]))").as_double().unwrap() - 0.5).abs() < 0.05);
}

#[test]
fn names_are_known_in_their_usual_form() {
    for (text, needs) in [
        ("a + query( a )", vec!["a", "query(a)"]),
        ("attribute(n).count * attribute('n').count", vec!["attribute(n).count"]),
        ("foo(1, bar, 'b c').out", vec!["foo(1,bar,\"b c\").out"]),
        ("tensor(x[2])(x+a)", vec!["a"]),
        ("max(v,z1)", vec!["v", "z1"]),
        // Only what is computed needs a value.
        ("if(1,a,v{x:0})", vec!["a"]),
        ("foo(1,bar,'b c').out + a*0*0 + a", vec!["foo(1,bar,\"b c\").out", "a"]),
    ] {
        let compiled = compile(text, &names).unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!(compiled.names(), needs, "{text}");
    }
}

/// Functions as a rank profile has them.
struct Profile(Vec<(&'static str, Function)>);

impl Profile {
    fn new(functions: &[(&'static str, &[&str], &str)]) -> Profile {
        let function = |(name, parameters, body): &(&'static str, &[&str], &str)| {
            let parameters = parameters.iter().map(|p| (*p).to_owned()).collect();
            (*name, Function::new(parameters, body).unwrap())
        };
        Profile(functions.iter().map(function).collect())
    }
}

impl Scope for Profile {
    fn find(&self, name: &str) -> Option<(TensorType, Rate)> {
        names(name)
    }

    fn function(&self, name: &str) -> Option<&Function> {
        self.0.iter().find(|(n, _)| *n == name).map(|(_, f)| f)
    }
}

#[test]
fn functions_stand_for_their_bodies() {
    let profile = Profile::new(&[
        ("twice", &["n"], "2*n"),
        ("four", &[], "twice(2)"),
        ("scaled", &["t", "by"], "reduce(t*by + a, sum)"),
        ("cells", &["by"], "tensor(x[3])(x*by + four)"),
        ("lost", &[], "n +\n nothing"),
        ("outer", &[], "lost"),
        ("circle", &[], "1 + square_of_it()"),
        ("square_of_it", &[], "circle*circle"),
    ]);
    let three = Value::double(3.0);
    for (text, expected) in [
        ("four + four()", 8.0),
        ("twice(twice(a))", 12.0),
        ("scaled(v, 2) + twice(1)", 3.0 * (2.0 + 3.0) + 2.0),
        ("sum(cells(a))", 9.0 + 12.0),
        ("sum(tensor(y[2])(twice(y + a)))", 6.0 + 8.0),
    ] {
        let compiled = compile(text, &profile).unwrap_or_else(|e| panic!("{text}: {e}"));
        let ones = value("tensor<float>(x[3])(1)");
        let inputs: Vec<&Value> =
            compiled.names().iter().map(|n| if n == "v" { &ones } else { &three }).collect();
        assert_eq!(compiled.run(&inputs).unwrap().as_double(), Some(expected), "{text}");
    }
    for (text, message) in [
        ("twice", "1:1: function twice takes as many arguments as it has parameters, got 0"),
        ("1 + twice(n)", "1:5: unknown value n"),
        ("2*outer", "1:3: in function outer at 1:1: in function lost at 1:1: unknown name n"),
        (
            "circle",
            "1:1: in function circle at 1:5: in function square_of_it at 1:1: function circle calls itself",
        ),
    ] {
        let error = compile(text, &profile).map(|c| c.kind().to_string()).unwrap_err();
        assert_eq!(error.to_string(), message, "{text}");
    }
}

/// A parameter in the parentheses of a feature is the text of the argument, which need not have a value.
#[test]
fn parameters_stand_in_the_names_of_features() {
    let profile = Profile::new(&[
        ("hits", &["f", "t"], "foo(f, t, bar).out + t"),
        ("first", &["field"], "hits(field, 0)"),
        ("query", &[], "query(f)"),
        ("value_of", &["f"], "f + 1"),
    ]);
    for (text, needs) in [
        ("hits(title, 1)", vec!["foo(title,1,bar).out"]),
        ("first(title)", vec!["foo(title,0,bar).out"]),
        // A function may have the name of a feature that it is made of, and of what stands in parentheses.
        ("query + query(f)", vec!["query(f)"]),
        ("attribute(query)", vec!["attribute(query)"]),
    ] {
        let compiled = compile(text, &profile).unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!(compiled.names(), needs, "{text}");
    }
    let error = compile("hits(body, 1)", &profile).map(|c| c.kind().to_string());
    let message = "1:1: in function hits at 1:1: unknown name foo(body,1,bar).out";
    assert_eq!(error.unwrap_err().to_string(), message);
    let error = compile("1 + value_of(title)", &profile).map(|c| c.kind().to_string());
    assert_eq!(error.unwrap_err().to_string(), "1:5: unknown value title");
}

/// Each function calls the one before it twice: as text they are 2^60 terms.
#[test]
fn a_function_that_is_called_often_costs_once() {
    let names: Vec<&'static str> = (0..60).map(|n| &*format!("f{n}").leak()).collect();
    let mut functions = vec![("f0", Function::new(Vec::new(), "a").unwrap())];
    for pair in names.windows(2) {
        let body = format!("{0} + {0}", pair[0]);
        functions.push((pair[1], Function::new(Vec::new(), &body).unwrap()));
    }
    let compiled = compile("f59", &Profile(functions)).unwrap();
    assert_eq!(compiled.run(&[&Value::double(1.0)]).unwrap().as_double(), Some(2_f64.powi(59)));
}

#[test]
fn what_cannot_work_is_refused_where_it_stands() {
    for (text, message) in [
        ("", "1:1: expected a value, found the end"),
        ("1+", "1:3: expected a value, found the end"),
        ("1 +\n  * 2", "2:3: expected a value, found \"*\""),
        ("1 2", "1:3: expected an operator or the end, found \"2\""),
        ("(1", "1:3: expected ), found the end"),
        ("b", "1:1: unknown name b"),
        ("1 + bm25(title)", "1:5: unknown name bm25(title)"),
        ("map(a,f(x)(x+a))", "1:14: unknown name a"),
        ("max(v,z)", "1:7: unknown name z"),
        ("sqrt(1,2)", "1:7: expected ) of sqrt of one value, found \",\""),
        ("pow(1)", "1:6: expected ,, found \")\""),
        ("reduce(v,mean)", "1:10: unknown aggregator mean"),
        ("reduce(v,sum,z)", "1:1: reduce: tensor<float>(x[3]) has no dimension z"),
        (
            "v + tensor(x[4])(x)",
            "1:3: +: dimension x differs: tensor<float>(x[3]) and tensor(x[4])",
        ),
        (
            "v * tensor(x{}):{a:1}",
            "1:3: *: dimension x differs: tensor<float>(x[3]) and tensor(x{})",
        ),
        (
            "merge(v,m,f(a,b)(a))",
            "1:1: merge: the dimensions differ: tensor<float>(x[3]) and tensor<float>(x[3],y[2])",
        ),
        ("if(v,1,2)", "1:1: if takes a number as its condition, got tensor<float>(x[3])"),
        ("if(a,v,1)", "1:1: if: the dimensions differ: tensor<float>(x[3]) and double"),
        (
            "v{x:3}",
            "1:2: a place along an indexed dimension takes an index that is there, got \"3\"",
        ),
        (
            "m{1}",
            "1:2: a place without a dimension takes a tensor of one dimension, got tensor<float>(x[3],y[2])",
        ),
        (
            "concat(l,1,l)",
            "1:1: concat: dimension l of tensor(l{}) is mapped; concat needs an indexed one",
        ),
        ("map(v,f(x,y)(x))", "1:7: this function takes a lambda of one parameter, got 2"),
        ("map(v,x)", "1:7: expected a lambda such as f(x)(x+1), found \"x\""),
        (
            "tensor<real>(x[2])(x)",
            "1:12: tensor: unknown cell type real; known are double, float, bfloat16, int8, float16, int16, int32, int64, uint8, bool",
        ),
        (
            "tensor(x{})(1)",
            "1:12: expected : and the cells, since only dense tensors are generated, found \"(\"",
        ),
        ("tensor(x[2]):[1,2,3]", "1:19: expected ] after 2 cells of tensor(x[2]), found \"3\""),
        ("tensor(x[2]):[1]", "1:17: expected 2 cells of tensor(x[2]), got 1, found the end"),
        (
            "tensor(x[2]):{{x:5}:1}",
            "1:16: expected an index below 2 along dimension x, found \"5\"",
        ),
        ("tensor(x[2]):[v,1]", "1:15: a cell takes a number, got tensor<float>(x[3])"),
        (
            "tensor(x[2])(v)",
            "1:1: a generated cell takes a number for each cell, got tensor<float>(x[3])",
        ),
        (
            "rename(m,(x,y),z)",
            "1:1: rename takes as many names as dimensions, got 2 dimensions and 1 names",
        ),
        ("rename(m,x,y)", "1:1: rename: dimension y stands twice"),
        ("'open", "1:6: expected a closing ', found the end"),
        ("\"\\q\"", "1:2: expected one of \\\\ \\' \\\" \\n \\r \\t \\f \\xHH, found \"\\\\\""),
        (
            "unpack_bits(l)",
            "1:1: unpack_bits takes a tensor with an indexed dimension, got tensor(l{})",
        ),
        (
            "filter_subspaces(v,f(s)(1))",
            "1:1: filter_subspaces takes a tensor with a mapped dimension, got tensor<float>(x[3])",
        ),
        (
            "tensor(x[100000],y[100000])(1)",
            "1:28: tensor: a block is larger than 67108864 cells at dimension y",
        ),
    ] {
        let error = compile(text, &names).map(|c| c.kind().to_string()).unwrap_err();
        assert_eq!(error.to_string(), message, "{text}");
    }
}

/// On a thread with the stack of a server's worker: depth and length must not matter.
#[test]
fn large_and_deep_expressions_are_read_or_refused() {
    let nested = |open: &str, inner: &str, close: &str, n: usize| {
        format!("{}{inner}{}", open.repeat(n), close.repeat(n))
    };
    let chain = |term: &str, n: usize| vec![term; n].join("+");
    let cases = [
        (chain("a*2", 200_000), Ok("double")),
        (chain("2", 200_000), Ok("double")),
        (vec!["2"; 100_000].join("^"), Ok("double")),
        ("-".repeat(100_000) + "a", Ok("double")),
        (nested("(", "a", ")", 390), Ok("double")),
        (nested("(", "a", ")", 10_000), Err("more than 400 levels of nesting")),
        (nested("if(a,1,", "2", ")", 390), Ok("double")),
        (nested("foo(", "a", ")", 10_000), Err("unknown name foo(")),
        (nested("map(v,f(x)(", "x", "))", 10_000), Err("more than 16 lambdas within each other")),
        (nested("sum(tensor(x[2])(", "x", "))", 16), Ok("double")),
        ("v".to_owned() + &"{x:0}".repeat(2), Err("has no dimension x")),
        ("1 ".repeat(9 << 20), Err("16777216 is the most")),
    ];
    let check = || {
        for (text, expected) in cases {
            let label = &text[..text.len().min(20)];
            match (compile(&text, &names), expected) {
                (Ok(got), Ok(kind)) => assert_eq!(got.kind().to_string(), kind, "{label}"),
                (Err(got), Err(part)) => {
                    assert!(got.to_string().contains(part), "{label}: {got:.200}")
                }
                (got, _) => panic!("{label}: {got:?}"),
            }
        }
    };
    std::thread::Builder::new().stack_size(2 << 20).spawn(check).unwrap().join().unwrap();
}

#[test]
fn values_that_would_be_too_large_are_refused_when_they_show() {
    let labels: Vec<String> = (0..20_000).map(|n| format!("{n}:1")).collect();
    let side = |name: &str| format!("tensor({name}{{}}):{{{}}}", labels.join(","));
    let compiled = compile(&format!("reduce({}*{},sum)", side("p"), side("q")), &names).unwrap();
    let error = compiled.run(&[]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a step of the expression would compute more than 67108864 cells"
    );
}
