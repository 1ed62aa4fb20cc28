use super::from_literal;
use crate::types::parse_type;

#[test]
fn literals_are_read() {
    for (kind, text, expected) in [
        ("double", "5", "5"),
        ("double", " -1.5e3 ", "-1500"),
        ("double", "{5}", "5"),
        ("double", "{{}:5}", "5"),
        ("double", "tensor():{{}:5}", "5"),
        ("double", "NaN", "NaN"),
        ("double", "-Infinity", "-inf"),
        ("tensor(x[3])", "[1, 2,3]", "tensor(x[3]):[1,2,3]"),
        ("tensor<float>(x[2])", "tensor(x[2]):[1,0.1]", "tensor<float>(x[2]):[1,0.1]"),
        ("tensor(x[2],y[2])", "[[1,2],[3,4]]", "tensor(x[2],y[2]):[[1,2],[3,4]]"),
        ("tensor(x[2],y[2])", "[1,2,3,4]", "tensor(x[2],y[2]):[[1,2],[3,4]]"),
        ("tensor(x[])", "[1,2,3]", "tensor(x[3]):[1,2,3]"),
        ("tensor(x[],y[])", "[[1,2,3]]", "tensor(x[1],y[3]):[[1,2,3]]"),
        ("tensor(x[],y[2])", "[1,2,3,4]", "tensor(x[2],y[2]):[[1,2],[3,4]]"),
        (
            "tensor(d0[],d1[])",
            "{{d0:0,d1:0}:1,{d0:0,d1:1}:2, {d1:2,d0:0}: 3}",
            "tensor(d0[1],d1[3]):[[1,2,3]]",
        ),
        (
            "tensor<float>(d0[],d1[3])",
            "tensor<float>(d0[],d1[3]):{{d0:0,d1:0}:0.5,{d0:1,d1:2}:0.25}",
            "tensor<float>(d0[2],d1[3]):[[0.5,0,0],[0,0,0.25]]",
        ),
        ("tensor(x[])", "tensor(x[3]):{{x:1}:7}", "tensor(x[3]):[0,7,0]"),
        ("tensor(x[])", "{0:1,2:3}", "tensor(x[3]):[1,0,3]"),
        ("tensor(x[3])", "{}", "tensor(x[3]):[0,0,0]"),
        ("tensor(x{})", "{a:1,'b c':2,\"d\\n\":3}", "tensor(x{}):{a:1,'b c':2,'d\\n':3}"),
        ("tensor(x{})", "{{x:a}:1}", "tensor(x{}):{a:1}"),
        ("tensor(x{})", "{}", "tensor(x{}):{}"),
        ("tensor(x{},y{})", "{a:{p:1,q:2}}", "tensor(x{},y{}):{{x:a,y:p}:1,{x:a,y:q}:2}"),
        ("tensor(x{},y[])", "{a:[1,2],b:[3,4]}", "tensor(x{},y[2]):{a:[1,2],b:[3,4]}"),
        ("tensor(x{},y[2])", "{{x:a,y:1}:5}", "tensor(x{},y[2]):{a:[0,5]}"),
        ("tensor<int8>(x[])", "0fF0", "tensor<int8>(x[2]):[15,-16]"),
        ("tensor<float>(k{},x[1])", "{a:3F800000}", "tensor<float>(k{},x[1]):{a:[1]}"),
        (
            "tensor<int64>(x[2])",
            "[9007199254740993,-9223372036854775808]",
            "tensor<int64>(x[2]):[9007199254740993,-9223372036854775808]",
        ),
    ] {
        let found = from_literal(&parse_type(kind).unwrap(), text);
        assert_eq!(found.map(|value| value.to_string()), Ok(expected.to_owned()), "{kind} {text}");
    }
}

#[test]
fn what_is_no_literal_is_refused() {
    let deep = "[".repeat(100_000);
    let braces = "{a:".repeat(100_000);
    for (kind, text, message) in [
        ("double", "", "expected a number at byte 0, found the end"),
        ("double", "abc", "expected a number at byte 0, found abc"),
        ("double", "1 2", "expected the end at byte 2, found 2"),
        ("double", "{5", "expected } at byte 2, found the end"),
        ("double", "1+1", "expected a number at byte 0, found 1+1"),
        ("tensor(x[2])", "[1,query(a)]", "expected a number at byte 3, found query(a)]"),
        ("tensor(x[2])", "[1]", "tensor(x[2]) needs 2 cells in a block, got 1"),
        ("tensor(x[2])", "[1,2", "expected , or ] at byte 4, found the end"),
        ("tensor(x[2])", "[1,]", "expected a number at byte 3, found ]"),
        ("tensor(x[2])", "[]", "tensor(x[2]) needs 2 cells in a block, got 0"),
        ("tensor(x[2])", "[1,2]]", "expected the end at byte 5, found ]"),
        ("tensor(x[2])", "tensor(y[2]):[1,2]", "expected a tensor(x[2]), found a tensor(y[2])"),
        ("tensor(x[2])", "tensor(x[3]):[1,2,3]", "expected a tensor(x[2]), found a tensor(x[3])"),
        ("tensor(x[2])", "tensor(x[2]", "expected a tensor(x[2]), found a tensor(x[2]"),
        ("tensor(x[2])", "{{x:2}:1}", "\"2\" is no index below 2 along dimension x"),
        (
            "tensor(x[2])",
            "{{y:2}:1}",
            "expected a dimension of tensor(x[2]) at byte 2, found y:2}:1}",
        ),
        ("tensor(x[2])", "{{x:0}:1,{x:0}:2}", "the cell {} stands twice"),
        (
            "tensor(x[],y[])",
            "[[1,2],[3]]",
            "expected brackets of 2 members, not 1, at byte 10, found ]",
        ),
        ("tensor(x[],y[])", "[[1,2],3]", "expected [ at byte 7, found 3]"),
        ("tensor(x[],y[])", "[1,2]", "the size of dimension x of tensor(x[],y[]) is in no cell"),
        ("tensor(x[],y[])", "[[],[]]", "the size of dimension y of tensor(x[],y[]) is in no cell"),
        (
            "tensor(x[])",
            "{{x:99999999999}:1}",
            "a block is larger than 67108864 cells at dimension x",
        ),
        ("tensor(x[])", "{}", "the size of dimension x of tensor(x[]) is in no cell"),
        (
            "tensor(x[2],y[2])",
            "[[1,2,3,4]]",
            "expected brackets of tensor(x[2],y[2]), found sizes [1, 4]",
        ),
        (
            "tensor(x{})",
            "[1]",
            "expected { before the labels of a mapped dimension at byte 0, found [1]",
        ),
        ("tensor(x{})", "{a:1,a:2}", "the cell {x:a} stands twice"),
        ("tensor(x{})", "{a:}", "expected a number at byte 3, found }"),
        (
            "tensor(x{})",
            "{'a:1}",
            "expected the quote at the end of a label at byte 6, found the end",
        ),
        ("tensor(x{},y{})", "{{x:a}:1}", "an address without dimension y"),
        (
            "tensor(x{},y[2])",
            "{a:1}",
            "tensor(x{},y[2]) needs 32 hexadecimal digits in a block, got 1",
        ),
        ("tensor(x[])", &deep, "expected a number at byte 17, found [[[[[[[[[[[[[[[[[[[["),
        ("tensor(x{})", &braces, "expected a number at byte 3, found {a:{a:{a:{a:{a:{a:{a"),
    ] {
        let found = from_literal(&parse_type(kind).unwrap(), text);
        let shown: String = text.chars().take(40).collect();
        assert_eq!(found.map_err(|e| e.to_string()).unwrap_err(), message, "{kind} {shown}");
    }
}
