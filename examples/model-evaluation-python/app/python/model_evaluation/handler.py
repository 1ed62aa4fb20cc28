"""A handler: tokens in, what the model makes of them out."""

import stead

from .embedding import outputs


class Evaluate(stead.RequestHandler):
    """`/models/?model=transformer&input={{x:0}:1,{x:1}:2}`"""

    def __init__(self, models: stead.Models):
        self.models = models

    def handle(self, request):
        name = request.parameter("model", "")
        if name.lower() != "transformer":
            raise stead.InvalidInput(f"the parameter model is {name!r}; expected transformer")
        try:
            tokens = stead.Tensor.from_literal(request.parameter("input", ""), "tensor<int8>(x[])")
        except ValueError as error:
            raise stead.InvalidInput(f"the parameter input: {error}") from error
        return stead.Response(outputs(self.models, tokens))
