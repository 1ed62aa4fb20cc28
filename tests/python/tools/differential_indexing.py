"""Families of random models that read and write by indices, for differential.py. The generator of values is its `Random`."""

import numpy as np


def indices_below(r, bounds, shape):
    """Indices into dimensions of these sizes, from either end."""
    bounds = np.broadcast_to(np.asarray(bounds), shape)
    return r.rng.integers(-bounds, bounds).astype(np.int64)


def gathered(r):
    rank = r.size(1, 4)
    shape = r.sizes(rank, 1, 6)
    x = r.floats(*shape)
    if r.pick(True, False):
        axis = r.size(-rank, rank - 1)
        of = [r.size(1, d) for d in shape]
        of[axis] = r.size(1, 7)
        return "GatherElements", {"x": x, "indices": indices_below(r, shape[axis], of)}, dict(axis=axis), 1
    batch = r.size(0, rank - 1)
    depth = r.size(1, rank - batch)
    of = shape[:batch] + r.sizes(r.size(0, 2), 1, 4) + [depth]
    indices = indices_below(r, shape[batch:batch + depth], of)
    return "GatherND", {"x": x, "indices": indices}, dict(batch_dims=batch), 1


def scattered(r):
    rank = r.size(1, 4)
    shape = r.sizes(rank, 1, 6)
    x = r.floats(*shape)
    reduction = r.pick("none", "add", "mul", "max", "min")
    if r.pick(True, False):
        axis = r.size(-rank, rank - 1)
        of = [r.size(1, d) for d in shape]
        if reduction == "none":
            # Of indices that come twice nobody says which one wins.
            order = np.argsort(r.rng.random([*of[:axis % rank], shape[axis], *of[axis % rank + 1:]]), axis=axis)
            indices = np.take(order, range(of[axis]), axis=axis).astype(np.int64)
        else:
            indices = indices_below(r, shape[axis], of)
        feeds = {"x": x, "indices": indices, "updates": r.floats(*of)}
        return "ScatterElements", feeds, dict(axis=axis, reduction=reduction), 1, 18
    depth = r.size(1, rank)
    count = r.size(1, 5)
    bounds = shape[:depth]
    if reduction == "none":
        count = min(count, int(np.prod(bounds)))
        flat = r.rng.permutation(int(np.prod(bounds)))[:count]
        indices = np.stack(np.unravel_index(flat, bounds), axis=-1).astype(np.int64)
    else:
        indices = indices_below(r, bounds, [count, depth])
    feeds = {"x": x, "indices": indices, "updates": r.floats(count, *shape[depth:])}
    return "ScatterND", feeds, dict(reduction=reduction), 1, 18


def ordered(r):
    rank = r.size(1, 4)
    shape = r.sizes(rank, 1, 9)
    axis = r.size(-rank, rank - 1)
    x = r.floats(*shape)
    op = r.pick("TopK", "CumSum", "ArgMax", "Trilu")
    if op == "TopK":
        k = np.array([r.size(1, shape[axis])], np.int64)
        return op, {"x": x, "k": k}, dict(axis=axis, largest=r.size(0, 1)), 2
    if op == "CumSum":
        return op, {"x": x, "axis": np.array(axis, np.int64)}, dict(exclusive=r.size(0, 1), reverse=r.size(0, 1)), 1
    if op == "ArgMax":
        return r.pick("ArgMax", "ArgMin"), {"x": x}, dict(axis=axis, keepdims=r.size(0, 1)), 1
    x = r.floats(*r.sizes(r.size(0, 2), 1, 3), *r.sizes(2, 1, 8))
    return op, {"x": x, "k": np.array(r.size(-9, 9), np.int64)}, dict(upper=r.size(0, 1)), 1


EQUATIONS = ("ij,jk->ik", "bij,bjk->bik", "ij->ji", "i,j->ij", "bhid,bhjd->bhij", "bhij,bhjd->bihd", "abc,cd->abd", "ij,ij->i",
             "ij->", "ii->i", "bii->bi", "...ij,...jk->...ik", "ij,jk", "abcd,ab->cd", "ij,ik,il->jkl")


def summed(r):
    """Einsum."""
    equation = r.pick(*EQUATIONS)
    sizes = {letter: r.size(1, 6) for letter in equation if letter.isalpha()}
    batch = r.sizes(r.size(0, 2), 1, 3)
    operands = {}
    for name, term in zip("abc", equation.split("->")[0].split(",")):
        shape = [sizes[letter] for letter in term if letter.isalpha()]
        operands[name] = r.floats(*(batch if term.startswith("...") else []), *shape)
    return "Einsum", operands, dict(equation=equation), 1


FAMILIES = (gathered, scattered, ordered, summed)
