"""What derivatives say of themselves: to notebooks, `help`, `inspect`, doctest and pickle."""

import copy
import doctest
import functools
import html
import inspect
import operator
import pickle
import pydoc
import re
import types

import numpy as np
import pytest

import srcad
import srcad.calling.showing
from srcad import differentiate, elementwise_grad, grad, value_and_grad


def energy(x, k: int = 2) -> float:
    """The energy of a state.

    >>> energy(2.0)
    4.0
    """
    return x * x  # "twice" & <once>


def without_docstring(x):
    return x * x


class Scaled:
    """A callable object."""

    def __call__(self, x):
        return 3 * x * x

    @differentiate
    def method(self, x):
        """The method."""
        return x * x


def typed_in():
    space = {"__name__": "typed_in"}
    exec(
        'def unseen(x):\n    """Not to be found.\n\n    >>> 1\n    1\n    """\n    return x * x',
        space,
    )
    return space["unseen"]


FUNCTIONS = {
    "plain": energy,
    "without docstring": without_docstring,
    "without source": typed_in(),
    "ufunc": np.sin,
    "numpy": np.linalg.norm,
    "builtin": abs,
    "operator": operator.neg,
    "partial": functools.partial(energy, k=3),
    "partial of a ufunc": functools.partial(np.add, 1.0),
    "object": Scaled(),
    "method": Scaled().method,
    "gradient": grad(energy),
    "cached": functools.lru_cache(energy),
    "class": float,
    "unreadable": lambda x: [(yield), x],
}
KINDS = {
    "grad": grad,
    "value_and_grad": value_and_grad,
    "elementwise_grad": elementwise_grad,
    "differentiate": differentiate,
}
OBJECTS = [
    pytest.param(make, function, id=f"{kind} of {name}")
    for kind, make in KINDS.items()
    for name, function in FUNCTIONS.items()
]
ASKED = (
    inspect.unwrap,
    inspect.signature,
    inspect.getdoc,
    inspect.getmembers,
    inspect.isroutine,
    inspect.getmodule,
    pydoc.render_doc,
    dir,
    repr,
    copy.copy,
    functools.wraps,
    lambda made: hasattr(made, "__wrapped__"),
    lambda made: made.source,
    lambda made: doctest.DocTestFinder().find(made, name="made"),
)


@pytest.mark.parametrize(("make", "function"), OBJECTS)
def test_display_of_derivative_never_raises(make, function):
    made = make(function)

    for ask in ASKED:
        ask(made)


@pytest.mark.parametrize(("make", "function"), OBJECTS)
def test_doctest_finder_on_module_containing_derivative(make, function):
    module = types.ModuleType("holder")
    module.made = make(function)

    doctest.DocTestFinder().find(module)


def test_the_docstring_of_a_derivative_is_that_of_the_function():
    said = grad(energy, wrt="x").__doc__

    assert said.startswith("Gradient of energy with respect to x.\n\nThe energy of a state.\n")
    title = "Value and gradient of energy with respect to x."
    assert value_and_grad(energy).__doc__.startswith(title)
    title = "Gradient of the sum of sin with respect to "
    assert elementwise_grad(np.sin).__doc__.startswith(title)
    assert grad(without_docstring).__doc__ == "Gradient of without_docstring with respect to x."
    assert type(grad(energy)).__doc__.startswith("A derivative of a function")


def mixed(a, *rest, k=2.0):
    return a * rest[1] * k


@pytest.mark.parametrize(
    ("made", "title"),
    [
        (grad(energy, wrt=(0, "k")), "Gradient of energy with respect to x, k."),
        (grad(energy, wrt=-1), "Gradient of energy with respect to k."),
        (grad(mixed, wrt=(0, 2)), "Gradient of mixed with respect to a, rest[1]."),
        (srcad.jacobian(energy, wrt="x.W"), "Jacobian of energy with respect to x.W."),
        (srcad.hvp(energy), "Product of the Hessian with a vector of energy with respect to x."),
    ],
)
def test_help_names_what_a_derivative_is_with_respect_to(made, title):
    assert made.__doc__.splitlines()[0] == title


def test_source_before_the_first_call_says_how_to_see_the_form_of_a_call():
    def energy_of(x, *, k):
        return np.sum(np.tanh(k * x))

    made = grad(energy_of)
    before = made.source
    after = made.specialize(np.ones(3), k=2.0) and made.source

    assert before.startswith("# This is the form for arguments of unknown types.")
    assert ".specialize(x, k=k), and print .source again.\n" in before
    assert max(map(len, before.splitlines()[:2])) <= 88
    assert "unknown" not in after


def test_source_before_the_first_call_of_what_needs_types_says_how_to_see_it():
    def energy_of(state, temperature, field, coupling):
        return state.energy(temperature, field, coupling)

    first, second, third = grad(energy_of).source.splitlines()[:3]

    assert first.startswith("# This is the function:")
    assert second == "# call the derivative once, or .specialize(...), and print .source again."
    assert third.startswith("# decided at the call: ")


def test_help_includes_signature_and_docstring():
    text = re.sub(".\b", "", pydoc.render_doc(grad(energy)))

    assert "grad_energy(x, k: int = 2)\n" in text
    assert "The energy of a state." in text
    assert "energy(x, k: int = 2) -> float" in re.sub(".\b", "", pydoc.render_doc(
        differentiate(energy)))  # fmt: skip


def test_signature_of_callable_without_valid_signature():
    class Silent:
        __signature__ = 3

        def __call__(self, x):
            return x * x

    assert str(inspect.signature(grad(Silent()))) == "(*args, **kwargs)"


@pytest.mark.parametrize("make", [grad, value_and_grad])
def test_notebook_repr_contains_highlighted_code(make):
    g = make(energy)
    g(2.0)

    for shown in (g, g.source):
        page = shown._repr_html_()
        assert html.unescape(re.sub("<[^>]*>", "", page)).rstrip() == g.source.rstrip()
        assert ">def</span>" in page
        assert ">return</span>" in page


def test_notebook_repr_of_inspection_contains_primal_and_adjoint():
    seen = srcad.inspect(energy, np.ones(3))
    text = html.unescape(re.sub("<[^>]*>", "", seen._repr_html_()))

    assert "def energy_primal(" in text
    assert "def energy_adjoint(" in text
    assert "t1" in seen.ssa._repr_html_()
    assert differentiate(energy).source._repr_html_().count("<span") > 3


def test_notebook_repr_escapes_html():
    g = grad(energy)

    assert "# return x * x" in g.source
    assert "<once>" not in differentiate(energy).source._repr_html_()
    assert "&lt;once&gt;" in differentiate(energy).source._repr_html_()


@pytest.mark.parametrize(
    "text", ["", "a ?? b", "'open", "(", "x = 1\n  y", "\n\n", "\t<b>", "é = 'ü'"]
)
def test_notebook_repr_of_arbitrary_string(text):
    page = srcad.calling.showing.Code(text)._repr_html_()

    assert html.unescape(re.sub("<[^>]*>", "", page)).rstrip() == text.rstrip()


class Printer:
    def __init__(self):
        self.written = ""

    def text(self, text):
        self.written += text


def test_terminal_repr_is_code_without_quotes():
    g = grad(energy)
    g(2.0)
    for shown in (g, g.source, g.inspect(2.0)):
        printer = Printer()
        shown._repr_pretty_(printer, False)
        assert printer.written.endswith(g.source.rstrip().rpartition("\n")[2])


def test_source_is_plain_string():
    source = grad(energy).source

    assert isinstance(source, str)
    assert pickle.loads(pickle.dumps(source)) == source
    assert source == str(source)
    assert {source: 1}[str(source)] == 1
