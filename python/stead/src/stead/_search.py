"""Chains of searchers."""

import inspect

from . import _host
from ._raised import raised_by
from ._run import finish
from .errors import ComponentError
from .fields import Fields
from .query import Hit, Query, Result
from .values import decode, encode


def query_of(raw):
    """A query that stead gave."""
    return Query(raw["parameters"], {name: decode(value) for name, value in raw.get("features", {}).items()})


def raw_query(query):
    """A query as stead takes it."""
    features = {name: encode(value) for name, value in query.features.own.items()}
    return {"parameters": [[name, value] for name, value in query.parameters.items()], "features": features}


def result_of(raw):
    """A result that stead gave."""
    hits = []
    for found in raw["hits"]:
        hit = Hit(found["id"], found["relevance"], source=found.get("source", ""))
        hit.fields, hit._ref = Fields(found["fields"]), found["ref"]
        hits.append(hit)
    result = Result(hits, raw["total"], [(error["code"], error["message"]) for error in raw.get("errors", [])])
    result.coverage, result._ref = raw.get("coverage"), raw["ref"]
    return result


def raw_result(result, name):
    """A result as stead takes it; what a searcher made of it is checked."""
    try:
        total = int(result.total)
        errors = [{"code": int(code), "message": str(message)} for code, message in result.errors]
    except (TypeError, ValueError) as error:
        raise ComponentError(
            f"{name}.search gave a result whose total is no number or whose errors are no pairs: {error}"
        ) from None
    hits = [_raw_hit(hit, name) for hit in result.hits]
    return {"ref": result._ref, "total": total, "hits": hits, "errors": errors}


def _raw_hit(hit, name):
    if not isinstance(hit, Hit):
        raise ComponentError(
            f"{name}.search gave a result with a hit of type {type(hit).__name__}; hits are of type stead.Hit"
        )
    try:
        changed, gone = hit.fields.changes()
        relevance = float(hit.relevance)
    except (TypeError, ValueError) as error:
        raise ComponentError(f"{name}.search gave hit {hit.id} with {error}") from None
    return {
        "ref": hit._ref,
        "id": str(hit.id),
        "relevance": relevance,
        "source": str(hit.source),
        "fields": changed,
        "removed": gone,
    }


class Execution:
    """The rest of the chain, for one searcher."""

    def __init__(self, chain, at):
        self._chain, self._at, self._is_open = chain, at, True

    def search(self, query):
        """The result of the components behind this one and of the documents."""
        self._check(query)
        return finish(self._chain.started(self._at + 1, query))

    def fill(self, result, summary=None):
        """Nothing: results have their fields."""
        return result

    def _check(self, query):
        if not self._is_open:
            raise RuntimeError(f"{self._chain.name(self._at)} goes on with a search that is over")
        if not isinstance(query, Query):
            raise ComponentError(
                f"{self._chain.name(self._at)} goes on with a value of type {type(query).__name__}; "
                "expected a stead.Query"
            )


class AsyncExecution(Execution):
    """The rest of the chain, for one searcher that is an `async def`."""

    async def search(self, query):
        self._check(query)
        if self._chain.is_last(self._at):
            import asyncio

            # On a thread of its own, so that several searches run together.
            return await asyncio.get_running_loop().run_in_executor(None, self._chain.started, self._at + 1, query)
        found = self._chain.started(self._at + 1, query)
        return await found if inspect.iscoroutine(found) else found


class Chain:
    """Searchers in their order; `components` are pairs of a name and a searcher."""

    def __init__(self, components):
        self._components = components

    def name(self, at):
        return self._components[at][0]

    def is_last(self, at):
        return at + 1 == len(self._components)

    def started(self, at, query):
        """The result of the searchers from one on, or a coroutine of it."""
        if at == len(self._components):
            return result_of(_host.ask("search.next", raw_query(query)))
        name, searcher = self._components[at]
        is_async = inspect.iscoroutinefunction(searcher.search)
        execution = (AsyncExecution if is_async else Execution)(self, at)
        try:
            with raised_by(name):
                found = searcher.search(query, execution)
                if inspect.iscoroutine(found):
                    return self._awaited(found, execution, name)
                return self._checked(found, name)
        finally:
            execution._is_open = is_async

    async def _awaited(self, coroutine, execution, name):
        try:
            with raised_by(name):
                return self._checked(await coroutine, name)
        finally:
            execution._is_open = False

    @staticmethod
    def _checked(found, name):
        if isinstance(found, Result):
            return found
        what = "nothing" if found is None else f"a value of type {type(found).__name__}"
        if inspect.iscoroutine(found):
            found.close()
            what = "a coroutine that it does not await"
        raise ComponentError(f"{name}.search gave {what}; expected a stead.Result")

    def search(self, query):
        """The result as stead takes it."""
        with raised_by(self.name(0)):
            return raw_result(finish(self.started(0, query)), self.name(0))
