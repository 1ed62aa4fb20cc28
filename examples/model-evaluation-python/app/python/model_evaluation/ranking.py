"""A searcher for results: a model compares every two hits, and the one that wins most often comes first."""

import numpy as np
import stead


class ComparePairs(stead.Searcher):
    """Orders hits by how often the model `pairwise_ranker` puts them above another, for the vector of the query."""

    def __init__(self, models: stead.Models):
        self.models = models

    def search(self, query, execution):
        result = execution.search(query)
        count = len(result.hits)
        if count < 2:
            return result
        vectors = np.stack([hit["embedding"].to_numpy() for hit in result.hits])
        # Row i * (count - 1) + j compares hit i with the others in their order: one run for all.
        first = np.repeat(np.arange(count), count - 1)
        second = np.concatenate([np.delete(np.arange(count), at) for at in range(count)])
        wanted = query.features["embedding"].to_numpy()
        output = (
            self.models.evaluator("pairwise_ranker")
            .bind("query", np.tile(wanted, (len(first), 1)))
            .bind("doc1", vectors[first])
            .bind("doc2", vectors[second])
            .evaluate()
            .to_numpy()
        )
        wins = (output > output.mean()).reshape(count, count - 1).sum(axis=1)
        for hit, won in zip(result.hits, wins):
            hit.relevance = float(won)
        result.sort()
        return result
