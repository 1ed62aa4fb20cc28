"""Makes the seeds of the targets of ranking expressions from Vespa's cases: python make_tensors.py (needs nothing but Python)."""

import json
import pathlib

here = pathlib.Path(__file__).parent
cases = here.parent.parent / "crates/expr/tests/data/vespa"


def save(target, name, data):
    folder = here / target
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(data)


for number, line in enumerate((cases / "binary_format_test_spec.jsonl").read_text().splitlines()):
    encodings = json.loads(line).get("binary", [])
    # The first encoding of each fifth tensor shows every form; the others differ in size.
    if encodings and number % 5 == 0:
        save("tensor_binary", f"tensor{number}", bytes.fromhex(encodings[0][2:]))

expressions = {
    "arithmetic": "-a^2*3/(a+1)%7 >= 2 && !(a ~= 1) || a in [1,'two']",
    "condition": "if(a>1, if(a<2,1,2,0.5), 3)",
    "switch": "switch(a){case 1: 2, case 'x': 3, default: a}",
    "join": "join(v,s,f(p,q)(p*q+1)) + map(v,f(x)(exp(-x)))",
    "merge": "merge(l,l*2,f(p,q)(max(p,q)))",
    "reduce": "reduce(m*v,sum,x) / avg(m,y) - median(l)",
    "rename": "rename(m,(x,y),(y,x)) + rename(l,t,u)",
    "concat": "concat(v,m{y:0},x)",
    "generate": "tensor<float>(x[3],z[2])(v{x:(x)}*z+a)",
    "literal": "tensor<bfloat16>(t{},x[2]):{a:[1,2],'b c':[a,4]}",
    "verbose": "tensor(l{},x[2]):{{l:p,x:0}:1,{x:1,l:q}:2}",
    "places": "s{t:a}{x:(a-1)} + l{l:a,t:(a)}",
    "subspaces": "filter_subspaces(map_subspaces(s,f(b)(b*2)),f(b)(sum(b)>3))",
    "convenience": "softmax(v,x)*matmul(m,v,x)+cosine_similarity(v,v,x)+unpack_bits(m)",
    "order": "top(2,l) * cell_order(l,min)",
    "feature": "fieldMatch(title).completeness + foo(1,'b c',bar(2))",
}
for name, text in expressions.items():
    save("expression", name, text.encode())
