"""Vectors of tokens, by the model `transformer`."""


def outputs(models, tokens):
    """What the model gives for tokens, a tensor with one indexed dimension: `tensor<float>(d0[1],d1[n],d2[16])`."""
    dimension = tokens.type.dimensions[0].name
    # The model has a batch of one row.
    rows = tokens.rename({dimension: "d1"}).with_dimension("d0")
    return models.evaluator("transformer").bind("input", rows).evaluate()


def vector(models, tokens):
    """The vector of the first token, which stands for all: `tensor<float>(x[16])`."""
    return outputs(models, tokens).slice(d0=0, d1=0).rename({"d2": "x"})
