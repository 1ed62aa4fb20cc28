"""A searcher for queries: the vector of a query, of the tokens that it brings."""

import stead

from .embedding import vector


class EmbedQuery(stead.Searcher):
    """Makes `query(embedding)` of the parameter `input`, and searches all documents."""

    def __init__(self, models: stead.Models):
        self.models = models

    def search(self, query, execution):
        text = query.get("input")
        if text is None:
            raise stead.InvalidInput("the parameter input is missing: tokens, such as {{x:0}:1,{x:1}:2}")
        tokens = stead.Tensor.from_literal(text, "tensor<int8>(x[])")
        query.features["embedding"] = vector(self.models, tokens)
        query.yql = "select * from mydoc where true"
        return execution.search(query)
