"""Random calls of Attention, for differential.py."""

import numpy as np


def attention(r):
    batch, heads, groups = r.size(1, 2), r.pick(1, 2), r.pick(1, 2)
    queries, keys, width, wide = r.size(1, 7), r.size(1, 9), r.pick(4, 8), r.pick(4, 8)
    all_heads = heads * groups
    attributes = {}
    if r.pick(True, False):
        q, k, v = (r.floats(batch, h, n, w) for h, n, w in
                   ((all_heads, queries, width), (heads, keys, width), (heads, keys, wide)))
    else:
        q, k, v = (r.floats(batch, n, h * w) for h, n, w in
                   ((all_heads, queries, width), (heads, keys, width), (heads, keys, wide)))
        attributes.update(q_num_heads=all_heads, kv_num_heads=heads)
    feeds = {"q": q, "k": k, "v": v}
    mask = r.pick(None, "float", "bool")
    if mask:
        shape = r.pick((queries, keys), (batch, 1, queries, keys), (1, all_heads, queries, keys))
        values = r.floats(*shape)
        # Each query sees its first key: rows that see nothing are nobody's truth.
        feeds["mask"] = values if mask == "float" else (values > 0) | (np.arange(keys) == 0)
    attributes["is_causal"] = 0 if mask else r.size(0, 1)
    if r.pick(True, False):
        attributes["scale"] = 0.4
    if r.pick(True, False, False):
        attributes["softcap"] = 2.0
    return "Attention", feeds, attributes, 1, 23


FAMILIES = (attention,)
