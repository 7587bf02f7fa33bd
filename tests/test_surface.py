"""The public objects: what they are, say, and survive."""

import inspect
import os
import pathlib
import pickle
import pydoc
import re
import subprocess
import sys

import numpy as np
import pytest

import srcad
from srcad.errors import OptionError, SourceUnavailableError, WrtError
from srcad.startup.names_elsewhere import INSTEAD


def poly(x):
    """Return a polynomial."""
    return 3 * x**2 + 2 * x + 1


@srcad.differentiate
def cube(x):
    """Return the cube."""
    return x**3


@srcad.differentiate(wrt="b")
def product(a, b):
    return a * a * b


class Model:
    def __init__(self, k):
        self.k = k

    @srcad.differentiate
    def loss(self, x):
        return self.k * x * x

    slope = srcad.grad(lambda self, x: self.k * x * x, wrt="x")


grad_poly = srcad.grad(poly)


# --------------------------------------------------------------------------- names
def test_the_public_names():
    assert set(srcad.__all__) == {
        "BackendWarning", "Numba", "SolverWarning", "checkpoint", "checkpointed_range", "cotangent",
        "differentiate", "elementwise_grad",
        "errors", "grad", "gradient", "hessian", "hook", "hvp", "inspect", "jacfwd", "jacobian",
        "jacrev", "jvp", "pullback", "rules", "sparsity", "stop_gradient", "testing",
        "trace_table", "value_and_grad", "vjp",
    }  # fmt: skip
    assert srcad.vjp is srcad.pullback
    assert set(srcad.__all__) <= set(dir(srcad))


def test_names_of_other_systems_answered_with_one_sentence_and_a_page():
    root = pathlib.Path(srcad.__file__).parent.parent
    assert len(INSTEAD) >= 20
    for name in INSTEAD:
        with pytest.raises(AttributeError) as found:
            getattr(srcad, name)

        before, _, page = str(found.value).rpartition(" (")
        assert before.startswith(f"module 'srcad' has no attribute {name!r}: ")
        assert ". " not in before
        assert (root / page.rstrip(")")).is_file(), page
        assert not hasattr(srcad, name)


def test_names_of_srcad_in_advice_for_other_systems_exist():
    for advice, _ in INSTEAD.values():
        for name in re.findall(r"srcad\.(\w+)", advice):
            assert name in srcad.__all__


@pytest.mark.parametrize("name", ["vmap"])
def test_unimplemented_names_absent(name):
    with pytest.raises(AttributeError, match=name):
        getattr(srcad, name)


# --------------------------------------------------------------------------- arguments
def test_wrt_and_argnums_together_are_refused():
    with pytest.raises(TypeError, match="only one"):
        srcad.grad(poly, wrt=0, argnums=0)


def weighted(a, b=2.0, *, c=3.0):
    return a * b + a * c * c


@pytest.mark.parametrize(
    ("f", "wrt", "listed"),
    [(poly, wrt, "0: 'x'") for wrt in (1, -2, "y")]
    + [(weighted, wrt, "0: 'a', 1: 'b', 2: 'c'") for wrt in (3, -4, "d", (0, "nothing"))],
)
def test_an_unknown_wrt_lists_the_parameters(f, wrt, listed):
    with pytest.raises(WrtError, match=listed):
        srcad.grad(f, wrt=wrt)


@pytest.mark.parametrize("wrt", [True, 0.0, None, (0, None), {"x"}])
def test_wrt_of_invalid_type_rejected(wrt):
    with pytest.raises(WrtError, match="neither a position nor a name"):
        srcad.grad(poly, wrt=wrt)


def test_numpy_integers_are_positions():
    assert srcad.grad(poly, wrt=np.int64(0))(2.0) == 14.0


def test_other_backends_are_refused():
    assert srcad.grad(poly, backend="numpy")(1.0) == 8.0
    for call in (srcad.grad, srcad.value_and_grad, srcad.elementwise_grad, srcad.differentiate):
        with pytest.raises(OptionError, match="'numpy'"):
            call(poly, backend="abacus")


def test_non_callable_rejected():
    with pytest.raises(TypeError, match="not callable"):
        srcad.grad(3)


def test_wrt_positions_exclude_self():
    m = Model(3.0)

    assert srcad.grad(m.loss)(2.0) == 12.0
    assert srcad.grad(Model(5.0).loss, wrt=-1)(2.0) == 20.0


# --------------------------------------------------------------------------- gradient objects
def test_gradient_object_repr_name_and_signature():
    assert repr(grad_poly) == "<srcad.grad of 'poly' by 0>"
    assert grad_poly.__name__ == "grad_poly"
    assert str(inspect.signature(grad_poly)) == "(x)"
    assert callable(grad_poly)


def test_help_includes_gradient_name():
    assert "grad_poly" in pydoc.render_doc(grad_poly, renderer=pydoc.plaintext)


def test_getsource_returns_generated_code():
    g = srcad.grad(poly)
    g(2.0)

    assert inspect.getsource(g).startswith("def grad_poly(x):")
    assert inspect.getsource(g) in g.source


def test_the_source_before_the_first_call_is_the_readable_form():
    g = srcad.grad(lambda x: np.sum(np.sin(x)))

    assert "np.cos(x)" in g.source
    assert inspect.getsource(g).startswith("def ")


def test_a_gradient_pickles():
    again = pickle.loads(pickle.dumps(grad_poly))

    assert again(2.0) == 14.0
    assert again.request == grad_poly.request


def test_a_gradient_is_a_method_of_a_class():
    assert Model(3.0).slope(2.0) == 12.0


def test_cache_info_empty_before_first_call():
    g = srcad.grad(lambda x: x * x)

    assert g.cache_info().compilations == 0
    assert g.cache_info().patterns == ()


def test_specialised_function_skips_checks():
    bare = srcad.grad(poly).specialize(2.0)

    assert bare(5.0) == 32.0
    assert not isinstance(bare, type(grad_poly))


def test_specialize_keeps_defaults_and_captures():
    k = 4.0

    def f(x, y=2.0, *, z=3.0):
        return k * x * y * z

    bare = srcad.grad(f).specialize(1.0)

    assert bare(1.0) == 24.0
    assert bare(1.0, 1.0, z=1.0) == 4.0


# --------------------------------------------------------------------------- differentiate
def test_decorated_function_keeps_value_and_name():
    assert cube(2.0) == 8.0
    assert cube.__name__ == "cube"
    assert cube.__doc__ == "Return the cube."
    assert cube.__module__ == __name__
    assert str(inspect.signature(cube)) == "(x)"
    assert inspect.unwrap(cube).__code__.co_name == "cube"
    assert "cube" in repr(cube)


def test_decorated_function_has_derivative_methods():
    assert cube.grad(2.0) == 12.0
    assert cube.value_and_grad(2.0) == (8.0, 12.0)
    assert cube.gradient(2.0) == (12.0,)
    y, back = cube.pullback(2.0)
    assert (y, back(10.0)) == (8.0, (120.0,))
    assert cube.grad is cube.grad


def test_a_decorated_function_has_further_modes():
    m = Model(3.0)

    assert cube.jvp((2.0,), (1.0,)) == (8.0, 12.0)
    assert cube.jacobian(2.0) == 12.0
    assert cube.hessian(2.0) == cube.hvp(2.0, 1.0) == 12.0
    assert product.jacobian(2.0, 3.0) == 4.0
    assert product.hvp(2.0, 3.0, v=1.0) == 0.0
    assert product.jvp((2.0, 3.0), (1.0, None)) == (12.0, 12.0)
    assert m.loss.jvp((2.0,), (1.0,)) == (12.0, 12.0)
    assert m.loss.hvp(2.0, 1.0) == 6.0
    assert cube.hvp is cube.hvp


def test_options_of_the_decorator():
    assert product.grad(2.0, 3.0) == 4.0
    assert product.gradient(2.0, 3.0) == (12.0, 4.0)


def test_decorated_function_source_attributes():
    assert cube.source.startswith("@srcad.differentiate\ndef cube(x):")
    assert "def cube_adjoint(" in cube.adjoint_source
    assert "def cube_primal(" in cube.primal_source
    assert "t1 = pow(x, 3)  # line" in cube.ssa


def test_decorated_method():
    m = Model(3.0)

    assert m.loss(2.0) == 12.0
    assert m.loss.grad(2.0) == 12.0
    assert Model.loss(m, 2.0) == 12.0


def test_it_pickles_by_name():
    assert pickle.loads(pickle.dumps(cube)) is cube
    assert pickle.loads(pickle.dumps(cube.grad))(2.0) == 12.0


def test_gradient_of_decorated_function():
    assert srcad.grad(cube)(2.0) == 12.0
    assert srcad.grad(lambda x: cube(x) + cube.grad(x))(2.0) == 24.0


def test_decorating_runs_no_code_and_needs_no_source():
    space = {}
    exec("def f(x):\n    raise RuntimeError", space)

    d = srcad.differentiate(space["f"])

    with pytest.raises(RuntimeError):
        d(1.0)
    with pytest.raises(SourceUnavailableError):
        d.grad(1.0)


# --------------------------------------------------------------------------- inspection
def energy(W, x, n):
    y = W @ x
    for _ in range(n):
        y = np.tanh(y)
    return np.sum(y)


def test_inspect_attributes():
    shown = srcad.inspect(energy, np.eye(2), np.ones(2), 3)

    assert "def energy_primal(W, x, n):" in shown.primal_source
    assert "def energy_adjoint(" in shown.adjoint_source
    assert "W" in shown.active
    assert "n" not in shown.active
    assert "seed" in shown.adjoint_ssa
    assert shown.ast.name == "energy"
    assert any("y" in name for name in shown.saved)
    lines = {energy.__code__.co_firstlineno + k for k in range(1, 5)}
    assert set(shown.line_map.values()) <= lines
    assert shown.line_map


def test_inspect_has_exactly_these_attributes():
    shown = srcad.inspect(energy)

    assert {name for name in dir(shown) if not name.startswith("_")} == {
        "primal_source", "adjoint_source", "ssa", "adjoint_ssa", "ast", "saved", "active",
        "graph", "helpers", "line_map", "definition", "backend",
    }  # fmt: skip


def test_inspect_runs_no_user_code():
    def f(x):
        raise RuntimeError(x)

    assert "RuntimeError" in srcad.inspect(f).ssa


def test_source_without_arguments_notes_dynamic_decision():
    def f(x):
        return x.nothing(3)

    assert "decided at the call" in srcad.grad(f).source


# --------------------------------------------------------------------------- pullbacks
def test_a_seed_has_the_structure_of_the_value():
    def f(x):
        return {"a": x * x, "b": (x, 3 * x)}

    _, back = srcad.pullback(f, 2.0)

    assert back({"a": 1.0, "b": (0.0, 0.0)}) == (4.0,)
    assert back({"a": 0.0, "b": (1.0, 1.0)}) == (4.0,)
    assert back(1.0) == (8.0,)


@pytest.mark.parametrize(
    "seed", [np.ones(3), np.ones((2, 1)), [1.0, 2.0, 3.0], np.ones((1, 2)), np.ones((3, 2))]
)
def test_a_seed_of_another_shape_is_refused(seed):
    _, back = srcad.pullback(lambda x: x * x, np.ones(2))

    with pytest.raises(srcad.errors.SeedError, match=r"\(2,\)") as caught:
        back(seed)

    assert str(np.shape(seed)) in str(caught.value)


@pytest.mark.parametrize("seed", [(1.0,), {"b": 1.0}, {"a": 1.0, "c": 1.0}])
def test_a_seed_of_another_structure_is_refused(seed):
    _, back = srcad.pullback(lambda x: {"a": x, "b": x}, 2.0)

    with pytest.raises(srcad.errors.SeedError, match="structure"):
        back(seed)


@pytest.mark.parametrize("seed", [np.array([1, 2]), np.array([1.0, 2.0])])
def test_a_seed_takes_the_dtype_of_the_value(seed):
    _, back = srcad.pullback(lambda x: x * x, np.ones(2, np.float32))

    assert back(seed)[0].dtype == np.float32


# --------------------------------------------------------------------- many kinds of arguments
def test_starred_arguments():
    def f(x, *rest, **named):
        return x * rest[0] * rest[1] * named["k"]

    assert srcad.gradient(f, 1.0, 2.0, 3.0, k=4.0) == (24.0, 12.0, 8.0)
    assert srcad.grad(f, wrt=("rest", "named"))(1.0, 2.0, 3.0, k=4.0) == ((12.0, 8.0), {"k": 6.0})
    _, back = srcad.pullback(f, 1.0, 2.0, 3.0, k=4.0)
    assert back(1.0) == (24.0, 12.0, 8.0)


def test_inactive_arguments_have_none_gradient():
    def f(x, flag, name, n, k, nothing):
        return x**2 * k if flag and name == "a" and n > 1 else -x

    arguments = (1.0, True, "a", 2, 3, None)
    assert srcad.gradient(f, *arguments) == (6.0, None, None, None, 1.0, None)
    with pytest.raises(WrtError, match="'n'"):
        srcad.grad(f, wrt="n")(*arguments)


def test_has_aux():
    def f(x):
        y = x * x
        return y, {"y": y, "seen": [x, "text"], "list": [1, 2]}

    aux = {"y": 9.0, "seen": [3.0, "text"], "list": [1, 2]}
    assert srcad.grad(f, has_aux=True)(3.0) == (6.0, aux)
    assert srcad.value_and_grad(f, has_aux=True)(3.0) == ((9.0, aux), 6.0)
    with pytest.raises(srcad.errors.NonScalarOutputError, match="pair"):
        srcad.grad(poly, has_aux=True)(3.0)


@pytest.mark.parametrize(
    ("result", "shown"),
    [
        (lambda x: x > 1, "a bool"),
        (lambda x: None, "None"),
        (lambda x: "a", "a str"),
        (lambda x: (x, x), "a tuple"),
        (lambda x: [x], "a list"),
        (lambda x: {"a": x}, "a dict"),
        (lambda x: np.ones(1) * x, "an array"),
    ],
)
def test_non_real_result_rejected(result, shown):
    with pytest.raises(srcad.errors.NonScalarOutputError, match=shown):
        srcad.grad(result)(2.0)


def test_elementwise_grad_of_a_structure():
    with pytest.raises(srcad.errors.NonScalarOutputError):
        srcad.elementwise_grad(lambda x: "a")(2.0)
    np.testing.assert_array_equal(
        srcad.elementwise_grad(lambda x: (x * x, 3 * x))(np.array([1.0, 2.0])), [5.0, 7.0]
    )


LOADING = """
import gc
{before}
frozen = gc.get_freeze_count()
import srcad
assert srcad.grad(lambda x: x * x)(3.0) == 6.0
assert gc.isenabled() == {enabled}
assert (gc.get_freeze_count() > 0) == (frozen > 0)
"""


@pytest.mark.parametrize(
    ("before", "enabled"),
    [
        pytest.param("", True, marks=pytest.mark.random),
        pytest.param("gc.disable()", False, marks=pytest.mark.random),
        ("gc.freeze()", True),
    ],
)
def test_compiler_import_preserves_gc_state(before, enabled, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(LOADING.format(before=before, enabled=enabled))

    paths = {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, program], capture_output=True, text=True, env=os.environ | paths
    )

    assert done.returncode == 0, done.stderr
