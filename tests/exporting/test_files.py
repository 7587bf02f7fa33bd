"""What an exported file refuses, holds, and says of itself."""

from __future__ import annotations

import ast
import copy
import functools
import importlib.util
import linecache
import py_compile
import runpy
import shutil
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import srcad
from benchmarks.problems import PROBLEMS
from srcad import rules
from srcad.__main__ import main
from srcad.api.asking import derivative
from srcad.calling.gradient import exported
from srcad.errors import ExportError, SrcadError
from srcad.exporting.layout import import_lines, narrowed
from srcad.exporting.module import MODES_OF_FILES
from srcad.modes.registry import MODES
from tests.programs import golden_primals
from tests.test_golden import WRT, arguments

SCALE = 2.0
TABLE = np.array([0.5, 1.5, -1.0])
LARGE = np.linspace(0.0, 1.0, 5000)


def written(folder: Any, function: Any, *args: Any, wrt: Any = 0, **kwargs: Any) -> Any:
    """The exported module, imported."""
    file = folder / "exported.py"
    srcad.grad(function, wrt=wrt).export(file, *args, **kwargs)
    return imported(file)


def imported(file: Any) -> Any:
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def scaled(x, k=2):
    return SCALE * np.sum(x**k * TABLE)


# ------------------------------------------------------------------------------- other arguments
@pytest.mark.parametrize(
    ("args", "error", "words"),
    [
        ((np.arange(3),), TypeError, "x has to be an array of float64, and is one of int64"),
        ((np.ones(3, np.float32),), TypeError, "one of float32"),
        ((np.ones((3, 1)),), ValueError, r"x has to have 1 axes, and has the shape \(3, 1\)"),
        (([1.0, 2.0, 3.0],), TypeError, "x has to be an array of float64, and is of type list"),
        ((2.0,), TypeError, "is of type float"),
        ((np.ones(4),), ValueError, r"x.shape\[0\] == 3|3 == x.shape\[0\]"),
        ((np.ones(3), 2.0), TypeError, "k has to be of type int, and is of type float"),
        ((np.ma.ones(3),), TypeError, "MaskedArray|masked"),
    ],
)
def test_arguments_of_another_pattern_are_refused(args, error, words, tmp_path):
    module = written(tmp_path, scaled, np.ones(3))

    with pytest.raises(error, match=words):
        module.grad_scaled(*args)


def test_exported_function_keeps_defaults(tmp_path):
    x = np.array([1.0, 2.0, 3.0])
    module = written(tmp_path, scaled, x)

    np.testing.assert_array_equal(module.grad_scaled(x), srcad.grad(scaled)(x))
    np.testing.assert_array_equal(module.grad_scaled(x, k=3), srcad.grad(scaled)(x, 3))


def test_flags_are_part_of_the_pattern(tmp_path):
    def f(x, mode="sum", flag=True):
        return np.sum(x * x) if mode == "sum" and flag else x[0]

    module = written(tmp_path, f, np.ones(3))

    with pytest.raises(ValueError, match="mode has to be 'sum', and is 'first'"):
        module.grad_f(np.ones(3), "first")
    with pytest.raises(ValueError, match="flag has to be True"):
        module.grad_f(np.ones(3), flag=1)


def test_structures_are_checked_part_by_part(tmp_path):
    def f(params, xs):
        total = 0.0
        for x in xs:
            total = total + np.sum(np.tanh(x @ params["w"] + params["b"]))
        return total

    params = {"w": np.ones((2, 3)), "b": np.zeros(3)}
    module = written(tmp_path, f, params, [np.ones(2), np.ones(2)])

    assert list(module.grad_f(params, [np.ones(2)])) == ["w", "b"]
    with pytest.raises(ValueError, match="the keys"):
        module.grad_f({"b": params["b"], "w": params["w"]}, [np.ones(2)])
    with pytest.raises(TypeError, match="item has to be an array of float64, and is of type float"):
        module.grad_f(params, [np.ones(2), 1.0])
    with pytest.raises(ValueError, match="shape"):
        module.grad_f(params, [np.ones(5)])


def test_argument_of_other_memory_order_rejected(tmp_path):
    a = np.arange(6.0).reshape(2, 3)
    module = written(tmp_path, lambda a: np.sum(np.ravel(a) * np.arange(6.0)), a)

    np.testing.assert_array_equal(module.grad_f(a), np.arange(6.0).reshape(2, 3))
    with pytest.raises(ValueError, match="C order"):
        module.grad_f(np.asfortranarray(a))


def test_overlapping_arguments_are_refused(tmp_path):
    def f(x, y):
        x[0] = 2.0 * y[1]
        return np.sum(x * y)

    module = written(tmp_path, f, np.ones(3), np.ones(3), wrt=(0, 1))
    x = np.ones(3)

    module.grad_f(np.ones(3), x)
    with pytest.raises(ValueError, match="shares memory"):
        module.grad_f(x, x)


# ------------------------------------------------------------------------------- what it holds
def test_closure_values_exported(tmp_path):
    def made(rate, names):
        def f(x):
            return rate * x[0] * len(names)

        return f

    module = written(tmp_path, made(np.float32(0.5), ("a", "b")), np.ones(2))

    np.testing.assert_array_equal(module.grad_f(np.ones(2)), [1.0, 0.0])


def with_globals(count):
    """A function that reads as many globals."""
    names = [f"c{k}" for k in range(count)]
    lines = [f"    s = s + {name} * x" for name in names]
    text = "\n".join(["def f(x):", "    s = x * 0.5", *lines, "    return s", ""])
    space = {name: k / 8 for k, name in enumerate(names)}
    file = f"<with {count} globals>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec"), space)
    return space["f"]


def with_cells(count):
    """A function that reads as many variables of the function around it."""
    names = [f"c{k}" for k in range(count)]
    text = "\n".join(
        [
            f"def around({', '.join(names)}):",
            "    def f(x):",
            f"        return ({' + '.join(f'{name} * x' for name in names)}) * x",
            "    return f",
            "",
        ]
    )
    space = {}
    file = f"<with {count} cells>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec"), space)
    return space["around"](*range(count))


@pytest.mark.parametrize("made", [with_globals, with_cells])
def test_export_parses_texts_as_often_for_many_captures_as_for_few(made, tmp_path, monkeypatch):
    counts, parse = [], ast.parse
    for count in (1, 2, 5):  # the first export reads srcad's own modules
        derivative = srcad.grad(made(count))
        derivative(0.5)
        parsed = []
        monkeypatch.setattr(
            ast, "parse", lambda *args, **kw: parsed.append(1) or parse(*args, **kw)
        )
        derivative.export(tmp_path / f"f{count}.py", 0.5)
        monkeypatch.undo()
        counts.append(len(parsed))

    assert counts[1] == counts[2]


def test_large_captured_array_becomes_parameter(tmp_path):
    def f(x):
        return np.sum(LARGE * x)

    module = written(tmp_path, f, np.ones(5000))

    with pytest.raises(TypeError, match="LARGE"):
        module.grad_f(np.ones(5000))
    with pytest.raises(TypeError, match="LARGE has to be an array of float64"):
        module.grad_f(np.ones(5000), LARGE=LARGE.astype(np.float32))
    np.testing.assert_array_equal(module.grad_f(np.ones(5000), LARGE=LARGE), LARGE)


def softened(x):
    return np.log1p(np.exp(x)) * SCALE


@rules.adjoint(softened)
def softened_adjoint(y_bar, y, x):
    return y_bar * SCALE / (1.0 + np.exp(-x))


def test_a_function_with_a_rule_of_its_own_is_written_out(tmp_path):
    def f(x):
        return np.sum(softened(x) ** 2)

    x = np.array([0.3, -1.0])
    module = written(tmp_path, f, x)

    np.testing.assert_array_equal(module.grad_f(x), srcad.grad(f)(x))
    assert "def softened(x):" in (tmp_path / "exported.py").read_text()


def test_exported_method_includes_object_attributes(tmp_path):
    class Model:
        def __init__(self):
            self.w = np.array([1.0, -2.0])

        def loss(self, x):
            return np.sum(np.sin(self.w * x))

    x, model = np.array([0.1, 0.7]), Model()
    module = written(tmp_path, model.loss, x)

    np.testing.assert_array_equal(module.grad_loss(x), srcad.grad(model.loss)(x))


def test_partial_and_star_arguments(tmp_path):
    def f(a, *rest, scale=1.0, **options):
        return scale * a * rest[0] * options["gain"]

    g = functools.partial(f, 2.0)
    module = written(tmp_path, g, 3.0, scale=0.5, gain=4.0)

    assert module.grad_f(3.0, scale=0.5, gain=4.0) == 4.0


def test_exported_function_with_names_used_by_file(tmp_path):
    def main(check_array, np_1, value, example):
        inner = np.sum(check_array * np_1)
        return inner * value + example

    module = written(tmp_path, main, np.ones(2), np.ones(2), 2.0, 3.0)

    np.testing.assert_array_equal(module.grad_main(np.ones(2), np.ones(2), 2.0, 3.0), [2.0, 2.0])


def test_the_last_pattern_is_written_without_arguments(tmp_path):
    g = srcad.grad(lambda x: np.sum(x * x) if np.ndim(x) else x * x)
    g(2.0)
    g(np.ones(3))
    g.export(tmp_path / "f.py")

    np.testing.assert_array_equal(imported(tmp_path / "f.py").grad_f(np.ones(4)), [2.0] * 4)


# ------------------------------------------------------------------------------- refusals
def test_export_before_first_call_needs_arguments(tmp_path):
    def scaled_anew(x):
        return x * x

    with pytest.raises(ExportError, match="no derivative of 'scaled_anew' has been compiled"):
        srcad.grad(scaled_anew).export(tmp_path / "f.py")


def test_export_of_process_local_object_rejected(tmp_path):
    class Holder:
        def __matmul__(self, x):
            return np.sum(x)

    holder = Holder()

    def f(x, h):
        return x[0] * 2.0

    with pytest.raises(ExportError, match="Holder"):
        written(tmp_path, f, np.ones(2), holder)


def test_foreign_file_not_overwritten(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text("x = 1\n")

    with pytest.raises(ExportError, match="was not written by srcad"):
        srcad.grad(scaled).export(file, np.ones(3))
    assert file.read_text() == "x = 1\n"


def test_export_runs_no_user_code(tmp_path):
    ran = []

    def f(x):
        ran.append(1)
        return x * x

    def g(x):
        print("the body runs")
        return x * x

    with pytest.raises(ExportError, match="outside itself"):
        srcad.grad(f).export(tmp_path / "f.py", 2.0)
    srcad.grad(g).export(tmp_path / "g.py", 2.0)

    assert not ran


def test_export_does_not_run_body(tmp_path, capsys):
    def g(x):
        print("the body runs")
        return x * x

    srcad.grad(g).export(tmp_path / "g.py", 2.0)

    assert capsys.readouterr().out == ""


# ------------------------------------------------------------------------------- the text
def test_export_is_deterministic(tmp_path):
    for name in ("a.py", "b.py"):
        srcad.grad(scaled).export(tmp_path / name, np.ones(3))

    assert (tmp_path / "a.py").read_text() == (tmp_path / "b.py").read_text()


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    folder = tmp_path_factory.mktemp("many")
    for name in ("mlp", "newton_sqrt", "power", "rnn"):
        g = srcad.grad(getattr(golden_primals, name), wrt=WRT.get(name, (0,)))
        g.export(folder / f"golden_{name}.py", *arguments(name))
    for name in ("gmm", "rosenbrock", "jacobi_2d"):
        problem = PROBLEMS[name]
        args = problem.make(np.random.default_rng(0))
        srcad.api.asking.derivative(problem.primal, "pullback", problem.wrt).export(
            folder / f"problem_{name}.py", *args
        )
    return folder


@pytest.mark.skipif(shutil.which("ruff") is None, reason="ruff is not installed")
@pytest.mark.parametrize(
    "words", [("check", "--extend-select=E501,I"), ("format", "--check", "--line-length=88")]
)
def test_exported_files_pass_ruff(many, words):
    done = subprocess.run(["ruff", *words, "--isolated", "--no-cache", str(many)],
                          capture_output=True, text=True, check=False)  # fmt: skip

    assert done.returncode == 0, done.stdout


def test_lines_of_exported_loop_have_at_most_88_columns(tmp_path):
    def f(x):
        y = 0.0
        for v in x:
            y = y * np.tanh(v) + v
        return y

    srcad.grad(f).export(tmp_path / "loop.py", np.array([0.5, -1.0, 2.0]))

    lines = (tmp_path / "loop.py").read_text().splitlines()
    assert [line for line in lines if len(line) > 88] == []


def test_lines_of_long_names_constants_and_commands_have_at_most_88_columns(tmp_path):
    table_of_all_the_measured_coefficients = {"first": np.linspace(0.0, 1.0, 30), "second": 2.0}

    def function_with_a_long_name(first_of_the_parameters, second_of_the_parameters):
        weights = np.tanh(first_of_the_parameters) * table_of_all_the_measured_coefficients["first"]
        return np.sum(weights, axis=-1, keepdims=False) * second_of_the_parameters["a"][0] * 2.0

    args = (np.linspace(0.0, 1.0, 30), {"a": (2.0, 3.0), "b": [1.0, 2.0, 3.0]})
    made = srcad.jacobian(function_with_a_long_name, (0, 1))
    names = "first_of_the_parameters,second_of_the_parameters"
    recipe = [f"python -m srcad export model:f --mode jacobian --wrt {names} -o a_file.py"]
    text = exported(made, args, {}, recipe)
    (tmp_path / "long.py").write_text(text)

    assert [line for line in text.splitlines() if len(line) > 88] == []
    assert imported(tmp_path / "long.py").main() == 0


# ------------------------------------------------------------------------------- layout
NAMES_OF_VALUES = ["alpha_alpha", "beta_beta_beta", "gamma_gamma", "delta_delta_delta"]


@pytest.mark.parametrize(
    "line",
    [
        "raise TypeError(f'{{{0} + {1}}} is one of {{{2}!r}}')",
        "x = {0}({1}, {2}({3}, 1.0), [1, 2, 3], first_option=False, second=True) + 123",
        "x[{0}({1})] = {2}({1}) if {3}({2}) else {0}({1}) + 12345678901",
        "x = {0} * {1} + {2} - {3} * {0} + {1} - {2} * {3}",
        "assert {0} and {1} and {2} and {3} and {0} and {1}",
        "x = {{key: value for key, value in zip({0}, {1}, {2}, {3}, strict=True) if key}}",
        "if {0}({1}):\n    x = 1\nelif {0}({1}) and {2}({3}) or {1}({2}) and {1} is {2}:\n    pass",
        "for name, value in zip({0}, {1}, {2}({3}), {3}({2}), strict=True):\n    pass",
    ],
)
def test_narrowed_statement_is_the_same_program(line):
    line = line.format(*NAMES_OF_VALUES)
    text = "def f():\n" + textwrap.indent(line, "    ") + "\n"

    made = narrowed(text)

    assert all(len(row) <= 88 for row in made.splitlines())
    assert ast.dump(ast.parse(made)) == ast.dump(ast.parse(text))


def test_narrowed_keeps_strings_that_cannot_be_broken():
    text = f"x = '{'a' * 100}'\n"

    assert ast.dump(ast.parse(narrowed(text))) == ast.dump(ast.parse(text))


def test_import_lines_join_parts_of_a_module():
    lines = {
        "from scipy.special import psi",
        "from scipy.special import erf",
        "import copy",
        "import numpy as np",
        "from model import A",
        "from scipy.stats import norm as n",
    }

    assert import_lines(lines, {"model"}) == [
        "import copy",
        "",
        "import numpy as np",
        "from scipy.special import erf, psi",
        "from scipy.stats import norm as n",
        "",
        "from model import A",
    ]


def test_every_file_compiles(many):
    for file in many.glob("*.py"):
        py_compile.compile(str(file), cfile=str(file) + "c", doraise=True)


# ------------------------------------------------------------------------------- as a program
MODEL = """
import numpy as np

rate = 2.0


def loss(w, x):
    return np.sum(np.tanh(rate * w * x))
"""


@pytest.fixture
def model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (tmp_path / "exported_model.py").write_text(MODEL)
    yield tmp_path
    sys.modules.pop("exported_model", None)


WORDS = ["export", "exported_model.py:loss", "--args", "np.ones(3), 0.5", "-o", "slope.py"]


def test_the_command_writes_a_program_that_checks_itself(model):
    assert main(WORDS) == 0

    done = subprocess.run([sys.executable, "-I", "slope.py"], capture_output=True, text=True,
                          check=False)  # fmt: skip
    assert done.stdout.startswith("grad_loss: ok, slope ")
    assert done.returncode == 0


def test_a_wrong_derivative_fails_its_own_check(model):
    main(WORDS)
    text = (model / "slope.py").read_text()
    (model / "wrong.py").write_text(text.replace("(1.0 - ", "(1.1 - "))
    assert "(1.0 - " in text

    done = subprocess.run([sys.executable, "-I", "wrong.py"], capture_output=True, text=True,
                          check=False)  # fmt: skip
    assert "DIFFERS" in done.stdout
    assert done.returncode == 1


def test_check_detects_stale_export(model, capsys):
    main(WORDS)
    file, source = model / "slope.py", model / "exported_model.py"

    assert main([*WORDS, "--check"]) == 0
    assert capsys.readouterr().out == "slope.py: up to date\n"
    text = file.read_text()
    file.write_text(text.replace("return _grad_loss", "return 2 * _grad_loss"))
    assert main([*WORDS, "--check"]) == 1
    assert capsys.readouterr().out == "slope.py: stale, it was edited\n"
    file.write_text(text)
    source.write_text(MODEL.replace("np.sum", "np.mean"))
    assert main([*WORDS, "--check"]) == 1
    assert "the source of the function has changed" in capsys.readouterr().out
    source.write_text(MODEL.replace("rate = 2.0", "rate = 3.0"))
    assert main([*WORDS, "--check"]) == 1
    assert "srcad writes another text now" in capsys.readouterr().out
    file.unlink()
    assert main([*WORDS, "--check"]) == 1


def test_modes_on_the_command_line_are_those_that_can_be_exported(model, capsys):
    for mode in MODES.names():
        words = [*WORDS[:4], "--mode", mode, "-o", f"{mode}.py"]
        if mode in MODES_OF_FILES:
            assert main(words) == 0, mode
            assert imported(model / f"{mode}.py").main() == 0, mode
        else:
            with pytest.raises(SystemExit):
                main(words)
            assert "invalid choice" in capsys.readouterr().err
            made = derivative(lambda x: np.sum(x**2), mode)
            with pytest.raises(SrcadError):
                made.export(model / "refused.py", np.ones(2))


def test_modes_and_variables_are_named_on_the_command_line(model):
    words = [*WORDS[:4], "--mode", "value_and_grad", "--wrt", "w,x", *WORDS[4:]]

    assert main(words) == 0
    value, gradients = imported(model / "slope.py").value_and_grad_loss(np.ones(3), 0.5)
    assert value == pytest.approx(3 * np.tanh(1.0))
    assert len(gradients) == 2


# ------------------------------------------------------------------------------- classes
GAIN = 3.0


@dataclass
class Well:
    depth: float

    def energy(self, x):
        return GAIN * self.depth * np.sum(x * x)

    def __mul__(self, x):
        return self.depth * x


@dataclass
class WideWell(Well):
    width: float = 2.0
    FORCE = np.array([1.0, 3.0])

    def energy(self, x):
        return super().energy(x) + self.width * np.sum(self.FORCE * x)

    @property
    def area(self):
        return self.depth * self.width


class Box:
    def __init__(self, weights):
        self.weights = weights

    def load(self, x):
        return np.sum(self.weights * x**2)


@pytest.mark.parametrize(
    ("function", "held"),
    [
        (lambda held, x: held.energy(x) ** 2, Well(2.0)),
        (lambda held, x: held.energy(x) ** 2, WideWell(0.5)),
        (lambda held, x: held.area * np.sum((held * x) ** 2), WideWell(0.5)),
        (lambda held, x: sum(well.energy(x) ** 2 for well in held), [Well(0.5), Well(2.0)]),
        (lambda held, x: held["well"].energy(x) ** 2, {"well": WideWell(0.5)}),
        (lambda held, x: held.load(x) ** 2, Box(np.array([1.0, 2.0]))),
    ],
)
def test_exported_methods_of_classes_of_arguments(function, held, tmp_path):
    x, step = np.array([0.5, -1.2]), 1e-6
    sides = [[function(held, x + s * e) for s in (step, -step)] for e in np.eye(2)]

    gradient = written(tmp_path, function, held, x, wrt=1).grad_f(held, x)

    np.testing.assert_allclose(gradient, [(a - b) / (2 * step) for a, b in sides], rtol=1e-7)


@pytest.mark.parametrize(
    ("held", "name", "own"),
    [
        (WideWell(0.5), "energy", lambda x: 0.0),
        (WideWell(0.5), "FORCE", np.zeros(2)),
        (Box(np.array([1.0, 2.0])), "weights", np.array([1.0, 2.0j])),
    ],
)
def test_exported_method_refuses_object_with_own_attribute(held, name, own, tmp_path):
    def f(held, x):
        return held.load(x) if isinstance(held, Box) else held.energy(x)

    x = np.array([0.5, -1.2])
    module = written(tmp_path, f, held, x, wrt=1)
    changed = copy.copy(held)
    setattr(changed, name, own)

    with pytest.raises((TypeError, ValueError), match=f"held.{name} has to be"):
        module.grad_f(changed, x)


def test_mark_of_export_depends_on_methods_of_classes(tmp_path):
    def f(held, x):
        return held.energy(x) ** 2

    first, second = tmp_path / "first.py", tmp_path / "second.py"
    srcad.grad(f, wrt="x").export(first, Well(0.5), np.ones(2))
    energy = Well.energy
    try:
        Well.energy = lambda self, x: self.depth * np.sum(x)
        srcad.grad(f, wrt="x").export(second, Well(0.5), np.ones(2))
    finally:
        Well.energy = energy
    marks = [
        next(line for line in file.read_text().splitlines() if line.startswith("# source"))
        for file in (first, second)
    ]

    assert marks[0].split(",")[0] != marks[1].split(",")[0]


# ------------------------------------------------------------------------------- marks
def clip_to_one(x_bar):
    return np.minimum(x_bar, 1.0)


def with_stop(x):
    return np.sum(x * srcad.stop_gradient(np.sum(x)))


def with_hook(x):
    return np.sum(5.0 * srcad.hook(x * x, clip_to_one))


def with_cotangent(x):
    y = x * x
    with srcad.cotangent(y) as y_bar:
        y_bar = np.minimum(y_bar, 1.0)
    return np.sum(5.0 * y)


def with_stop_in_a_branch(x):
    return np.sum(x * (srcad.stop_gradient(x) if x[0] > 0.0 else x))


def with_stopped_shift(x):
    shift = srcad.stop_gradient(np.max(x))
    return np.log(np.sum(np.exp(x - shift))) + shift


@pytest.mark.parametrize(
    ("f", "status"),
    [
        (with_stop, 2),
        (with_hook, 2),
        (with_cotangent, 2),
        (with_stop_in_a_branch, 2),
        (with_stopped_shift, 0),
    ],
)
def test_self_check_of_marked_function_calls_no_right_derivative_wrong(f, status, tmp_path, capsys):
    file = tmp_path / "marked.py"
    srcad.grad(f).export(file, np.array([1.0, 2.0, 3.0]))

    assert imported(file).main() == status
    assert ("nothing to compare" in capsys.readouterr().out) == (status == 2)


# ------------------------------------------------------------------- functions that stay functions
def rates(y, p):
    drag = p["c"] * np.abs(y[1]) * y[1]
    return np.array([y[1], -p["k"] * np.sin(y[0]) - drag])


def rk4(y, p, h):
    k1 = rates(y, p)
    k2 = rates(y + 0.5 * h * k1, p)
    k3 = rates(y + 0.5 * h * k2, p)
    k4 = rates(y + h * k3, p)
    return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def misfit(p, y, data, h):
    s = 0.0
    for d in data:
        y = rk4(y, p, h)
        s = s + (y[0] - d) ** 2
    return s


class Layers:
    def __init__(self, w, b):
        self.w, self.b = w, b

    def layer(self, x):
        y = np.tanh(self.w @ x + self.b) * x
        z = np.sin(y) + np.cos(y) * y
        return z * np.exp(-y) + y

    def cost(self, x):
        return np.sum(self.layer(self.layer(x)) ** 2)


def halves(x, n):
    if n == 0:
        return np.sum(x * x)
    return np.sum(np.sin(x)) * halves(x * 0.5, n - 1)


def test_file_has_each_pair_once_and_compares_itself(tmp_path):
    x = np.array([0.3, -0.4])
    cost = Layers(np.array([[0.1, 0.2], [0.3, 0.4]]), x).cost
    jobs = {
        "rk4_value": (srcad.value_and_grad(misfit), ({"c": 0.3, "k": 1.2}, x + 1.0, x, 0.1)),
        "method": (srcad.grad(cost), (x,)),
        "recursive": (srcad.grad(halves), (np.array([0.7, 1.3, 0.4]), 3)),
    }
    pairs = {
        "rk4_value": ["rk4_primal", "rk4_adjoint", "rates_primal", "rates_adjoint"],
        "method": ["Layers_layer_primal", "Layers_layer_adjoint"],
        "recursive": ["halves_primal", "halves_adjoint"],
    }
    for name, (gradient, args) in jobs.items():
        gradient.export(tmp_path / f"{name}.py", *args)
        names = [
            node.name
            for node in ast.parse((tmp_path / f"{name}.py").read_text()).body
            if isinstance(node, ast.FunctionDef)
        ]
        assert len(names) == len(set(names))
        assert [n for n in names if "_primal" in n or "_adjoint" in n] == pairs[name]

    run = f"import runpy\nfor name in {[*jobs]}:\n"
    run += "    try: runpy.run_path(f'{name}.py', run_name='__main__')\n"
    run += "    except SystemExit as ended: assert ended.code == 0"
    done = subprocess.run([sys.executable, "-I", "-c", run], capture_output=True, text=True,
                          check=False, cwd=tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(": ok, slope ") == len(jobs)


def test_file_compares_what_its_pairs_return(tmp_path):
    file = tmp_path / "wrong.py"
    srcad.grad(halves).export(file, np.array([0.7, 1.3, 0.4]), 3)
    text = file.read_text()
    name = "def halves_adjoint("
    head, _, body = text.partition(name)
    (line,) = [one for one in body.partition("\ndef ")[0].splitlines() if "return " in one][-1:]
    file.write_text(head + name + body.replace(line, line.replace("return ", "return 2.0 * "), 1))

    assert imported(file).main() == 1


class Part:
    def __init__(self, place, speed):
        self.place, self.speed = place, speed

    def step(self, dt):
        self.place = self.place + dt * self.speed


def moved_apart(parts, dt):
    for part in parts:
        part.step(dt)
    return sum(part.place**2 for part in parts)


def moved_once(part, other, dt):
    part.step(dt)
    other.step(2.0 * dt)
    return part.place * other.place


@pytest.mark.parametrize(
    ("function", "make"),
    [
        (moved_apart, lambda: ([Part(1.0, 2.0), Part(0.5, -1.0)], 0.1)),
        (moved_once, lambda: (Part(1.0, 2.0), Part(0.5, -1.0), 0.1)),
    ],
)
def test_file_has_the_helpers_that_tell_apart_objects_written_into(function, make, tmp_path):
    made = srcad.grad(function, wrt=tuple(range(len(make()))))
    made.export(tmp_path / "moved.py", *make())
    space = runpy.run_path(str(tmp_path / "moved.py"))
    found = space[f"grad_{function.__name__}"](*make())[-1]
    ends = [function(*make()[:-1], 0.1 + h) for h in (1e-6, -1e-6)]
    np.testing.assert_allclose(found, (ends[0] - ends[1]) / 2e-6, rtol=1e-8)
