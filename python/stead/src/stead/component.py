"""What applications derive their classes from.

Methods may be `async def`. The constructor gets what its parameters are annotated with: `stead.Models`,
`stead.Embedders`, `stead.Settings` (or `dict`, or a dataclass, whose members are the settings), `logging.Logger`.
"""

from ._arrays import dtype_of, zeros


class Component:
    """A component. Chains order their components by the names that these attributes list."""

    provides = ()
    before = ()
    after = ()

    def close(self):
        """Called when the component is not used any more."""


class RequestHandler(Component):
    """Answers requests of HTTP."""

    def handle(self, request):
        """Takes a `stead.Request` and gives a `stead.Response`."""
        raise NotImplementedError


class DocumentProcessor(Component):
    """Sees what is done with documents before it is done."""

    def process(self, operations):
        """Takes a list of `stead.DocumentPut`, `DocumentUpdate` and `DocumentRemove`, and gives the list of what is
        done
        instead: the same ones, changed, others, or none."""
        raise NotImplementedError


class Searcher(Component):
    """Sees queries before they are searched for, and their results."""

    def search(self, query, execution):
        """Takes a `stead.Query` and gives a `stead.Result`. `execution.search(query)` goes on with the chain, as
        often as it is called; in an `async def` it is awaited."""
        raise NotImplementedError


class TensorSpec:
    """An input, output or state of a model: the name of its elements in numpy (or `string`) and its shape, -1 for
    any size."""

    def __init__(self, dtype, shape):
        self.dtype, self.shape = str(dtype), [-1 if size is None else int(size) for size in shape]

    def __repr__(self):
        return f"TensorSpec({self.dtype!r}, {self.shape!r})"

    def problem(self, value):
        """What is wrong with an array, or None."""
        is_texts = isinstance(value, dict) and value.get("$") == "strings"
        name = "string" if is_texts else dtype_of(value)
        if name is None:
            return f"is of type {type(value).__name__}"
        shape = value["shape"] if is_texts else value.shape
        fits = len(shape) == len(self.shape) and all(w in (-1, n) for w, n in zip(self.shape, shape))
        if name == self.dtype and fits:
            return None
        return f"is {name}{list(shape)}"

    def __str__(self):
        return f"{self.dtype}[{', '.join('any' if size < 0 else str(size) for size in self.shape)}]"


class Model(Component):
    """A model that is served like any other.

    `inputs`, `outputs` and, for sequences, `state` are dicts of names and `stead.TensorSpec`. With `max_batch` above
    0 the first axis of all of them counts rows of requests, of which stead joins at most so many. `durability` says
    what of its sequences is there after a restart of a server with `--state_path`: `memory` (nothing), `snapshot` or
    `every_step`.
    """

    inputs = {}
    outputs = {}
    state = {}
    max_batch = 0
    durability = "memory"

    def infer(self, inputs, state=None):
        """Takes a dict of arrays and gives one, or nested lists in place of arrays; with a state, a pair of outputs and
        state."""
        raise NotImplementedError

    def first_state(self):
        """The state before the first step of a sequence: zeros, 1 for sizes that may be any."""
        return {name: zeros(spec) for name, spec in self.state.items()}


class Embedder(Component):
    """Makes tensors of texts."""

    def embed(self, text, type):
        """Takes a text and the `stead.TensorType` of what is wanted, and gives a `stead.Tensor` or an array."""
        raise NotImplementedError

    def embed_all(self, texts, type):
        """The same for several texts; override it to do them together."""
        return [self.embed(text, type) for text in texts]
