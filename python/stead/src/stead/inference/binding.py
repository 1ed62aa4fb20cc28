"""Inputs and outputs that are bound once and used by many runs."""

import ctypes

import numpy as np

from .values import OrtValue, array_type, check_device


class IOBinding:
    """Values for the inputs and places for the outputs of a session."""

    def __init__(self, session):
        self._session = session
        self._inputs = {}
        self._places = {}
        self._results = {}

    def bind_cpu_input(self, name, arr_on_cpu):
        self._inputs[name] = arr_on_cpu

    def bind_ortvalue_input(self, name, ortvalue):
        self._inputs[name] = ortvalue

    def bind_input(self, name, device_type, device_id, element_type, shape, buffer_ptr):
        check_device(device_type, device_id)
        self._inputs[name] = _over(element_type, shape, buffer_ptr)

    def bind_output(self, name, device_type="cpu", device_id=0, element_type=None, shape=None, buffer_ptr=None):
        """Asks for an output; where there is a buffer it is copied there."""
        check_device(device_type, device_id)
        if buffer_ptr is None:
            self._places[name] = None
        elif element_type is None or shape is None:
            raise ValueError("`element_type` and `shape` are to be provided if pre-allocated memory is provided")
        else:
            self._places[name] = _over(element_type, shape, buffer_ptr)

    def bind_ortvalue_output(self, name, ortvalue):
        self._places[name] = ortvalue.array

    def get_outputs(self):
        """The outputs of the last run, in the order in which they were bound."""
        return [OrtValue(self._results[name]) for name in self._places if name in self._results]

    def copy_outputs_to_cpu(self):
        return [self._results[name] for name in self._places if name in self._results]

    def get_outputs_as_ortvaluevector(self):
        raise NotImplementedError("stead has no IOBinding.get_outputs_as_ortvaluevector")

    def clear_binding_inputs(self):
        self._inputs.clear()

    def clear_binding_outputs(self):
        self._places.clear()
        self._results.clear()

    def synchronize_inputs(self):
        """Without effect: inputs are in memory."""

    def synchronize_outputs(self):
        """Without effect: a run ends when its outputs are there."""

    def _run(self, run_options):
        names = list(self._places)
        if not names:
            raise ValueError("no output is bound")
        results = self._session.run(names, self._inputs, run_options)
        for name, result in zip(names, results):
            place = self._places[name]
            if place is not None:
                if place.shape != result.shape or place.dtype != result.dtype:
                    raise ValueError(
                        f"output {name!r} of {result.dtype} and shape {result.shape} is bound to a place for "
                        f"{place.dtype} and shape {place.shape}"
                    )
                np.copyto(place, result)
                result = place
            self._results[name] = result


def _over(element_type, shape, address):
    """An array over memory that the caller answers for."""
    _, dtype = array_type(element_type)
    size = int(np.prod(shape)) * dtype.itemsize
    memory = (ctypes.c_uint8 * size).from_address(address)
    return np.frombuffer(memory, np.uint8).view(dtype).reshape(tuple(shape))
