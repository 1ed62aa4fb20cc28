"""Components through stead.testing, and so through the glue that stead calls."""

import asyncio
import json
import logging
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Dict

import stead
from stead import Hit, Query, Response, Result, Tensor, _arrays, _components, _host
from stead.testing import Application
from stead.values import decode

from .common import BothWays, hidden_numpy, numpy


@dataclass
class Options:
    word: str
    times: int = 1


class Hello(stead.RequestHandler):
    def __init__(self, options: Options, logger: logging.Logger, models: stead.Models, extra=None):
        self.options, self.logger, self.models = options, logger, models

    def handle(self, request):
        return Response(" ".join([self.options.word] * self.options.times + [request.parameter("name", "")]))


class Components(BothWays):
    def created(self, kind, settings=None, **application):
        app = Application(**application)
        app.__enter__()
        self.addCleanup(app.__exit__, None, None, None)
        return app, app.create(kind, settings)


class Constructors(Components):
    def test_constructors_get_what_they_ask_for(self):
        app, hello = self.created(Hello, {"word": "hi", "times": 2})
        self.assertEqual(app.handle(hello, "/x?name=you").text(), "hi hi you")
        self.assertEqual(hello.instance.logger.name, hello.id)
        self.assertEqual(hello.description["class"], "tests.test_components.Hello")

        class Dicts(stead.RequestHandler):
            def __init__(self, a: stead.Settings, b: dict, c: Dict[str, str], *rest, **more):
                self.all = [a, b, c]

            def handle(self, request):
                return Response(self.all)

        app, dicts = self.created(Dicts, {"x": [1, {"y": None}]})
        self.assertEqual(app.handle(dicts, "/").json(), [{"x": [1, {"y": None}]}] * 3)

    def test_what_cannot_be_made_says_why(self):
        class Unknown(stead.RequestHandler):
            def __init__(self, database: int):
                pass

            def handle(self, request):
                pass

        class Nameless(Unknown):
            def __init__(self, database):
                pass

        class Forward(Unknown):
            def __init__(self, database: "Nothing"):  # noqa: F821
                pass

        class Wrong(stead.Searcher):
            after = "name"

            def search(self, query, execution):
                pass

        class NoMethod(stead.Searcher):
            pass

        class NoSpecs(stead.Model):
            def infer(self, inputs):
                pass

        for kind, settings, message in [
            (Hello, {}, "the setting word is missing"),
            (Hello, {"word": "x", "wrod": 1}, "there is no setting wrod; there are times, word"),
            (Unknown, {}, "the parameter database of"),
            (Unknown, {}, "is annotated with <class 'int'>; known are stead.Models"),
            (Nameless, {}, "has no annotation; known are"),
            (Forward, {}, "cannot be read: name 'Nothing' is not defined"),
            (Wrong, {}, "after is a list of names"),
            (NoMethod, {}, "has no method search"),
            (NoSpecs, {}, "has no inputs or no outputs"),
        ]:
            with Application() as app:
                self.refused(message, app.create, kind, settings, error=stead.ComponentError)
        with Application() as app:
            self.refused("is derived from none of", app.create, dict, error=TypeError)

    def test_components_are_closed(self):
        closed = []

        class Closing(stead.RequestHandler):
            def handle(self, request):
                return Response()

            def close(self):
                closed.append(1)
                raise OSError("not this one either")

        logging.disable(logging.CRITICAL)
        self.addCleanup(logging.disable, logging.NOTSET)
        with Application() as app:
            app.create(Closing)
            app.create(Closing)
        self.assertEqual(closed, [1, 1])


class Handlers(Components):
    def answered(self, answer):
        class Answer(stead.RequestHandler):
            def handle(self, request):
                return answer(request) if callable(answer) else answer

        app, handler = self.created(Answer)
        return app.handle(
            handler, "/a%20b?x=1&x=2", "POST", b"y=3", {"Content-Type": "application/x-www-form-urlencoded"}
        )

    def test_requests_arrive(self):
        seen = []
        self.answered(lambda request: seen.append(request) or Response())
        (request,) = seen
        self.assertEqual(
            (request.method, request.path, request.query, request.body), ("POST", "/a b", "x=1&x=2", b"y=3")
        )
        self.assertEqual(request.parameters, [("x", "1"), ("x", "2"), ("y", "3")])

    def test_wrong_answers_are_named(self):
        for answer, message in [
            (None, ".handle gave nothing; expected a stead.Response"),
            ({"a": 1}, ".handle gave a value of type dict; expected a stead.Response"),
            (Response(status=99), "gave the status 99"),
            (Response(status="200"), "gave the status '200'"),
        ]:
            self.refused(message, self.answered, answer, error=stead.ComponentError)
        broken = Response()
        broken.body = "text"
        self.refused(
            "whose body is a value of type str; expected bytes", self.answered, broken, error=stead.ComponentError
        )

    def test_coroutines_and_errors(self):
        async def later(request):
            await asyncio.sleep(0)
            return Response("later")

        self.assertEqual(self.answered(later).text(), "later")

        def refuse(request):
            raise stead.InvalidInput("no")

        self.refused("no", self.answered, refuse, error=stead.InvalidInput)


class Searchers(Components):
    def backend(self, query):
        self.queries.append(query)
        hits = [Hit(f"h{n}", float(n), {"n": n, "list": [n]}, "content") for n in range(query.hits)]
        return Result(hits, total=100)

    def search(self, *methods, **application):
        self.queries = []
        app = Application(backend=self.backend, **application)
        app.__enter__()
        self.addCleanup(app.__exit__, None, None, None)
        chain = [app.create(type(f"S{n}", (stead.Searcher,), {"search": method})) for n, method in enumerate(methods)]
        return app.search(chain, {"hits": 2})

    def test_chains_of_functions_and_coroutines(self):
        def more(self, query, execution):
            query.hits += 1
            return execution.search(query)

        async def more_later(self, query, execution):
            query.hits += 1
            await asyncio.sleep(0)
            return await execution.search(query)

        for chain in [(more, more), (more_later, more), (more, more_later), (more_later, more, more_later, more)]:
            result = self.search(*chain)
            self.assertEqual((len(result.hits), result.total, len(self.queries)), (2 + len(chain), 100, 1))

    def test_several_searches_at_once(self):
        meeting = threading.Barrier(2, timeout=30)

        def both(query):
            meeting.wait()
            return Result([Hit(query.yql, 1.0)])

        async def gather(self, query, execution):
            queries = [Query({"yql": name}) for name in "ab"]
            results = await asyncio.gather(*map(execution.search, queries))
            return Result([hit for result in results for hit in result.hits])

        app, searcher = self.created(type("S", (stead.Searcher,), {"search": gather}), backend=both)
        self.assertEqual([hit.id for hit in app.search(searcher, {}).hits], ["a", "b"])

    def test_hits_are_changed_added_and_dropped(self):
        def change(self, query, execution):
            result = execution.search(query)
            first, second = result.hits
            first.relevance = 9
            first["list"].append(5)
            del second["n"]
            result.hits = [second, first, Hit("new", 1.5, {"t": Tensor("tensor(x[1])", [1])})]
            result.errors.append((5, "not all"))
            return result

        result = self.search(change)
        second, first, new = result.hits
        self.assertEqual((second.id, dict(second.fields), second.source), ("h1", {"list": [1]}, "content"))
        self.assertEqual((first.relevance, dict(first.fields)), (9.0, {"n": 0, "list": [0, 5]}))
        self.assertEqual(new["t"], Tensor("tensor(x[1])", [1]))
        self.assertEqual(result.errors, [(5, "not all")])

    def test_wrong_searchers_are_named(self):
        kept = []

        def keep(self, query, execution):
            kept.append(execution)
            return execution.search(query)

        self.search(keep)
        self.refused("goes on with a search that is over", kept[0].search, Query(), error=RuntimeError)

        async def forgets(self, query, execution):
            return execution.search(query)

        for method, message in [
            (lambda self, query, execution: None, "S0-1.search gave nothing; expected a stead.Result"),
            (
                lambda self, query, execution: execution.search("x"),
                "S0-1 goes on with a value of type str; expected a stead.Query",
            ),
            (lambda self, query, execution: Result([], total="many"), "whose total is no number"),
            (lambda self, query, execution: Result([], errors=["late"]), "whose errors are no pairs"),
            (lambda self, query, execution: Result([1]), "with a hit of type int; hits are of type stead.Hit"),
            (lambda self, query, execution: Result([Hit("a", "x")]), "gave hit a with could not convert"),
            (
                lambda self, query, execution: Result([Hit("a", 1, {"b": object()})]),
                "gave hit a with a value of type object",
            ),
            (forgets, "gave a coroutine that it does not await; expected a stead.Result"),
        ]:
            with self.subTest(message):
                self.refused(message, self.search, method, error=stead.ComponentError)


class AroundComponents(Components):
    def test_what_is_not_there_is_told(self):
        def asking(ask):
            class Ask(stead.RequestHandler):
                def handle(self, request):
                    ask()

            app, handler = self.created(Ask)
            app.handle(handler, "/")

        for ask, code, message in [
            (lambda: stead.models.evaluator("m").evaluate(), "not_found", "there is no model m; the test has none"),
            (lambda: stead.Embedders().embed("x", "double"), "not_found", "there is no embedder ''"),
        ]:
            with self.assertRaises(stead.HostError) as caught:
                asking(ask)
            self.assertEqual((caught.exception.code, message in str(caught.exception)), (code, True))

    def test_outside_of_an_application_nothing_is_there(self):
        with self.assertRaises(stead.HostError) as caught:
            stead.models.names()
        self.assertIn("this is no interpreter of stead", str(caught.exception))

    def test_onnx_files_need_onnx_runtime(self):
        try:
            import onnxruntime  # noqa: F401
        except ImportError:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "m.onnx"
                self.refused("needs the package onnxruntime", Application, models={"m": path}, error=ImportError)


class ModelsWithoutNumpyToo(Components):
    def test_lists_are_arrays(self):
        class Given(stead.Model):
            inputs = {"x": stead.TensorSpec("float32", [None, 2]), "text": stead.TensorSpec("string", [None])}
            outputs = {
                "y": stead.TensorSpec("float32", [None, 2]),
                "n": stead.TensorSpec("int64", []),
                "words": stead.TensorSpec("string", [None, 1]),
            }
            state = {"total": stead.TensorSpec("float64", [None, 1])}
            max_batch = 4

            def infer(self, inputs, state):
                rows = inputs["x"].tolist()
                total = [[before + sum(row)] for (before,), row in zip(state["total"].tolist(), rows)]
                words = [[text.decode() + "!"] for text in inputs["text"]]
                return {"y": [[2 * x for x in row] for row in rows], "n": len(rows), "words": words}, {"total": total}

        app, model = self.created(Given)
        x = _arrays.of_lists([[1, 2], [3, 4.5]], "float32")
        texts = _arrays.of_lists(["a", "b"], "string")
        texts = decode(texts) if isinstance(texts, dict) else texts
        given, state = {"x": x, "text": texts}, None
        for expected in [[[3.0], [7.5]], [[6.0], [15.0]]]:
            outputs, state = app.infer(model, given, state)
            self.assertEqual(outputs["y"].tolist(), [[2, 4], [6, 9]])
            self.assertEqual(int(outputs["n"].tolist()), 2)
            words = outputs["words"]
            self.assertEqual(words if isinstance(words, list) else words.tolist(), [[b"a!"], [b"b!"]])
            self.assertEqual(state["total"].tolist(), expected)

    def test_elements_have_to_fit(self):
        for value, dtype, message in [
            ([1, 2.5], "int32", "not all of its elements are of int32"),
            ([1 << 40], "int8", "not all of its elements are of int8"),
            ([[1], [1, 2]], "float32", "its lists are of different lengths"),
        ]:
            self.refused(message, _arrays.of_lists, value, dtype)
        with hidden_numpy():
            self.refused("an empty array cannot be made without numpy", _arrays.of_lists, [[]], "float32")
            self.refused("an array of float16 cannot be made without numpy", _arrays.of_lists, [1], "float16")

    def test_models_are_called_where_they_are_asked_for(self):
        class Twice(stead.Model):
            inputs = {"x": stead.TensorSpec("float32", [None])}
            outputs = {"y": stead.TensorSpec("float32", [None]), "n": stead.TensorSpec("int32", [])}

            def __init__(self, models: stead.Models, settings: stead.Settings):
                self.models, self.inner = models, settings.get("inner")

            async def infer(self, inputs):
                if self.inner:
                    await self.models.evaluator(self.inner).bind("x", inputs["x"]).evaluate_async()
                x = inputs["x"].tolist()
                if x[0] == 0:
                    raise KeyError("a secret")
                if x[0] == 1:
                    raise stead.InvalidInput("x is 1")
                return {"y": [2 * one for one in x], "n": len(x)}

        class Steps(stead.Model):
            inputs = outputs = {"x": stead.TensorSpec("float32", [1])}
            state = {"s": stead.TensorSpec("float32", [1])}

            def infer(self, inputs, state):
                return inputs, state

        class Ask(stead.RequestHandler):
            def __init__(self, models: stead.Models):
                self.models = models

            def handle(self, request):
                evaluator = self.models.evaluator(request.parameter("model"), request.parameter("output"))
                evaluator.bind(request.parameter("input", "x"), json.loads(request.parameter("x")))
                found = {name: value.tolist() for name, value in evaluator.run().items()}
                return stead.Response([found, evaluator.evaluate().to_literal()])

        app, ask = self.created(Ask)
        for id, settings in [("twice", {}), ("own", {"inner": "own"}), ("a", {"inner": "b"}), ("b", {"inner": "a"})]:
            app.create(Twice, settings, id)
        app.create(Steps, id="steps")
        self.assertEqual(
            app.handle(ask, "/?model=twice&x=[3,4.5]").json(),
            [{"y": [6.0, 9.0], "n": 2}, "tensor<float>(d0[2]):[6,9]"],
        )
        self.assertEqual(app.handle(ask, "/?model=twice&x=[3]&output=n").json()[0], {"n": 1})
        for query, code, message in [
            ("model=twice&x=[[1]]", "invalid", "model twice cannot take the input x: it is float32[1, 1]"),
            ("model=twice&x=[3]&output=z", "invalid", "model twice has no output z; it has y, n"),
            ("model=twice&x=[3]&input=z", "invalid", "model twice has no input z; it has x"),
            ("model=twice&x=[1]", "invalid", "component twice: x is 1"),
            ("model=twice&x=[0]", "internal", "component twice: its code raised KeyError"),
            ("model=own&x=[3]", "invalid", "model own cannot be asked by itself: own asks own"),
            ("model=a&x=[3]", "invalid", "model a cannot be asked by itself: a asks b asks a"),
            ("model=steps&x=[3]", "invalid", "model steps is one of sequences"),
            ("model=none&x=[3]", "not_found", "there is no model none"),
        ]:
            with self.subTest(query), self.assertRaises(stead.HostError) as caught:
                app.handle(ask, "/?" + query)
            self.assertEqual((caught.exception.code, str(caught.exception)[: len(message)]), (code, message))


class Models(Components):
    only_with_numpy = True

    def test_models_and_embedders_are_asked(self):
        np = numpy()

        class Ask(stead.RequestHandler):
            def __init__(self, models: stead.Models, embedders: stead.Embedders):
                self.models, self.embedders = models, embedders

            async def handle(self, request):
                evaluator = (
                    self.models.evaluator("sum")
                    .bind("x", Tensor("tensor<float>(b[2],a[1])", [[1, 2]]))
                    .bind("y", [[1.0, 1.0]])
                )
                tensors = [
                    evaluator.evaluate(),
                    await evaluator.evaluate_async(),
                    stead.models.evaluator("two", "b").bind("x", 1).evaluate(),
                    self.embedders.embed("abc", "tensor<float>(x[1])"),
                ]
                return Response([tensor.to_literal() for tensor in tensors] + [self.models.names()])

        models = {"sum": lambda x, y: x + y, "two": lambda x: {"a": x, "b": x + np.uint32(1)}}
        app, ask = self.created(Ask, models=models, embedders={"e": lambda text, kind: [len(text)]})
        self.assertEqual(
            app.handle(ask, "/").json(),
            [
                "tensor(d0[1],d1[2]):[[2,3]]",
                "tensor(d0[1],d1[2]):[[2,3]]",
                "2",
                "tensor<float>(x[1]):[3]",
                ["sum", "two"],
            ],
        )

    def test_outputs_are_checked(self):
        np = numpy()

        def given(outputs, state=None):
            class Given(stead.Model):
                inputs = {"x": stead.TensorSpec("float32", [None, 2])}
                outputs = {"y": stead.TensorSpec("float32", [None]), "text": stead.TensorSpec("string", [-1])}

                def infer(self, inputs):
                    return given.outputs

            given.outputs = outputs
            app, model = self.created(Given)
            return app.infer(model, {"x": np.ones((1, 2), "float32")})

        y, text = np.ones(3, "float32"), np.array(["a", "\u00fc"])
        found = given({"y": y, "text": text})
        self.assertEqual((found["y"].tolist(), found["text"].tolist()), ([1, 1, 1], [b"a", "\u00fc".encode()]))
        for outputs, message in [
            (None, ".infer gave nothing; expected a dict of y, text"),
            ({"y": y}, "gave no output text; expected string[any]"),
            ({"y": y.astype("float64"), "text": text}, "output y is float64[3]; expected float32[any]"),
            ({"y": y.reshape(3, 1), "text": text}, "output y is float32[3, 1]; expected"),
            ({"y": {1, 2}, "text": text}, "output y is of type set; expected"),
            ({"y": [[1], [2, 3]], "text": text}, "output y: its lists are of different lengths; expected"),
            ({"y": [[1], [2]], "text": text}, "output y is float32[2, 1]; expected"),
            ({"y": ["a"], "text": text}, "output y: elements of string become no float32; expected"),
            ({"y": y, "text": text, "z": y}, "gave the output z, which it does not declare"),
        ]:
            self.refused(message, given, outputs, error=stead.ComponentError)

    def test_sequences_carry_their_state(self):
        class Sums(stead.Model):
            inputs = {"x": stead.TensorSpec("float32", [])}
            outputs = {"sum": stead.TensorSpec("float32", [1])}
            state = {"total": stead.TensorSpec("float32", [1])}

            def infer(self, inputs, state):
                if inputs["x"] < 0:
                    return {"sum": state["total"]}
                total = state["total"] + inputs["x"]
                return {"sum": total}, {"total": total}

        np, state = numpy(), None
        app, sums = self.created(Sums)
        for expected in [2.0, 4.0]:
            outputs, state = app.infer(sums, {"x": np.float32(2)[()] + np.zeros((), "float32")}, state)
            self.assertEqual(outputs["sum"].tolist(), [expected])
        self.refused(
            "gave a value of type dict; expected a pair of outputs and state",
            app.infer,
            sums,
            {"x": np.array(-1, "float32")},
            error=stead.ComponentError,
        )

    def test_first_states_have_the_rows_of_the_inputs(self):
        class Counts(stead.Model):
            inputs = {"x": stead.TensorSpec("float32", [None, 2])}
            outputs = {"count": stead.TensorSpec("int64", [None])}
            state = {"count": stead.TensorSpec("int64", [None])}
            max_batch = 4

            def first_state(self):
                return {"count": numpy().array([7])}

            def infer(self, inputs, state):
                found = {"count": state["count"] + 1}
                return found, found

        np = numpy()
        app, counts = self.created(Counts)
        x = np.zeros((3, 2), "float32")
        outputs, state = app.infer(counts, {"x": x})
        self.assertEqual(outputs["count"].tolist(), [8, 8, 8])
        outputs, _ = app.infer(counts, {"x": x}, state)
        self.assertEqual(outputs["count"].tolist(), [9, 9, 9])

    def test_what_a_component_is_its_class_tells(self):
        class Same(stead.Embedder):
            def embed(self, text, type):
                return [len(text)]

        spec = {"id": "c", "generation": 1, "kind": "component", "package": "p", "module": "m", "settings": {}}
        self.addCleanup(_components.forget, "p")
        self.assertEqual(_components.create({**spec, "class": Same}, {})["kind"], "embedder")
        message = "c: m:<class 'object'> is no class derived from stead.Model or stead.Embedder, as a component is"
        self.refused(message, _components.create, {**spec, "class": object}, {}, error=stead.ComponentError)

    def test_embedders_are_called_where_they_are_asked_for(self):
        class Lengths(stead.Embedder):
            def embed(self, text, type):
                return [len(text)]

        class Ask(stead.RequestHandler):
            def __init__(self, embedders: stead.Embedders):
                self.embedders = embedders

            def handle(self, request):
                return stead.Response(self.embedders.embed(request.parameter("text"), "tensor(x[1])").to_literal())

        spec = {"id": "e", "generation": 8, "kind": "component", "package": "p", "module": "m", "settings": {}}
        here, asked = {**spec, "class": Lengths, "role": "embedder", "here": True}, []

        def ask(name, *arguments):
            asked.append(name)
            return {"components": [here], "complete": True} if name == "components" else None

        self.addCleanup(_components.forget, "p")
        with _host.standing_in(ask):
            _components.create({**spec, "id": "h", "kind": "handler", "class": Ask}, {})
            for _ in range(2):
                found = _components.handle(["h"], 8, {"method": "GET", "path": "/", "parameters": [["text", "abc"]]})
                self.assertEqual(found["body"], b"tensor(x[1]):[3]")
        self.assertEqual(asked, ["components"])

    def test_embedders_are_checked(self):
        class One(stead.Embedder):
            async def embed(self, text, type):
                return {"a": Tensor(type, [1, 2]), "b": [1, 2], "c": numpy().ones(2), "d": [1], "e": None}[text]

        class All(stead.Embedder):
            def embed_all(self, texts, type):
                return [[0, len(text)] for text in texts][:2]

        app, one = self.created(One)
        self.assertEqual(
            [t.to_literal() for t in app.embed(one, "abc", "tensor<float>(x[2])")],
            ["tensor<float>(x[2]):[1,2]"] * 2 + ["tensor<float>(x[2]):[1,1]"],
        )
        self.refused(
            ".embed: dimension x of tensor<float>(x[2]) has size 2, not 1; expected a tensor of type",
            app.embed,
            one,
            "d",
            "tensor<float>(x[2])",
            error=stead.ComponentError,
        )
        self.refused(".embed gave nothing", app.embed, one, "e", "tensor<float>(x[2])", error=stead.ComponentError)
        app, all = self.created(All)
        self.assertEqual(app.embed(all, ["a", "bb"], "tensor(x[2])")[1].to_literal(), "tensor(x[2]):[0,2]")
        self.refused(
            ".embed_all gave a value of type list; expected a list of 3 tensors",
            app.embed,
            all,
            "abc",
            "tensor(x[2])",
            error=stead.ComponentError,
        )
