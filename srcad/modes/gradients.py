"""``grad``, ``value_and_grad`` and ``elementwise_grad``: gradients by one reverse pass."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from srcad.arguments.request import Request
from srcad.ir.core import Function
from srcad.modes.asked import in_one_function
from srcad.modes.mode import Mode
from srcad.modes.results import summed_output
from srcad.modes.reverse import derived


def of_the_sum(function: Function, request: Request, wrt: Sequence[int]) -> Function:
    """Return the function of the sum of the result and of its gradients."""
    return derived(summed_output(function, complex_too=request.holomorphic), request, wrt)


_gradients = partial(in_one_function, gives_value=False)
_with_value = partial(in_one_function, gives_value=True)

GRAD = Mode("grad", "Gradient", derived, _gradients, nests=True)
VALUE_AND_GRAD = Mode(
    "value_and_grad", "Value and gradient", derived, _with_value, gives_value=True, nests=True
)
ELEMENTWISE_GRAD = Mode(
    "elementwise_grad", "Gradient of the sum", of_the_sum, _gradients, nests=True
)
