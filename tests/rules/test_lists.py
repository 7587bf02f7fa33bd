"""A list in place of an array has the gradient of the array: for each differentiable function."""

import linecache

import numpy as np
import pytest

import srcad
from srcad import errors
from srcad.rules import lookup, registry
from tests.marks import some
from tests.rules.harness import leaves
from tests.rules.samples import CALLS
from tests.rules.spellings import plain_program

FIRST = {}
for call in CALLS:
    row = lookup(call[0])
    if row is not None and row.kind != "nondifferentiable" and registry.qualified_name(call[0]):
        FIRST.setdefault(registry.qualified_name(call[0]), call)


def of_lists(f, operands, name):
    """Return ``f`` of lists of the rows of its arrays."""
    names = [f"x{k}" for k in range(len(operands))]
    is_array = [isinstance(x, np.ndarray) and x.ndim > 0 for x in operands]
    given = [f"list({n})" if listed else n for n, listed in zip(names, is_array, strict=True)]
    text = f"def g({', '.join(names)}):\n    return f({', '.join(given)})\n"
    file = f"<lists {name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    namespace = {"f": f}
    exec(compile(text, file, "exec"), namespace)
    return namespace["g"] if any(is_array) else None


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", some(FIRST, lambda k, _: k % 32 == 0, every=8))
def test_gradient_of_lists_equals_that_of_arrays(name):
    f, operands = plain_program(FIRST[name])
    g = of_lists(f, operands, name)
    if g is None:
        return
    try:
        g(*operands)
    except Exception:
        return  # the function does not take lists

    wrt = tuple(range(len(operands)))
    expected = srcad.grad(f, wrt=wrt)(*operands)
    try:
        found = srcad.grad(g, wrt=wrt)(*operands)
    except errors.SrcadError:
        return

    for one, other in zip(leaves(found), leaves(expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)
