"""Errors: anatomy, kinds, pickling, and how little of srcad stands in a traceback."""

import linecache
import pickle
import sys
import traceback
import types
from pathlib import Path

import numpy as np
import pytest

import srcad
from srcad import errors
from srcad.ir.core import Location

CLASSES = [
    c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, errors.SrcadError)
]


@pytest.fixture
def model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "model.py"
    path.write_text(
        "def loss(w):\n    ü = 1; h = await fetch(w)\n\tx = 2\n    return (h +\n        1)\n"
    )
    linecache.checkcache(str(path))
    return str(path)


def test_error_message_layout(model):
    error = errors.UnsupportedSyntaxError(
        "cannot differentiate through 'await' in 'loss'",
        where=Location(model, 2, 16, 2, 30),
        second=Location(model, 1, 4, 1, 8),
        why="the event loop decides.",
        help=("await first:\nh = await fetch(w)", "or do not"),
    )

    assert str(error).splitlines() == [
        "[SRCAD-101] cannot differentiate through 'await' in 'loss'",
        "  --> model.py:2:16",
        "   2 |     ü = 1; h = await fetch(w)",
        "     |                ^^^^^^^^^^^^^^",
        "  and model.py:1:5",
        "   1 | def loss(w):",
        "     |     ^^^^",
        "  why:  the event loop decides.",
        "  help: await first:",
        "        h = await fetch(w)",
        "  help: or do not",
    ]


def test_caret_aligned_with_tabs_and_line_end(model):
    tab = errors.SrcadError("x", where=Location(model, 3, 1, 3, 2))
    lines = errors.SrcadError("x", where=Location(model, 4, 11, 5, 10))

    assert str(tab).splitlines()[-1] == "     | \t^"
    assert str(lines).splitlines()[-1] == "     |            ^^^^"


def test_location_without_columns_marks_whole_line(model):
    error = errors.SrcadError("x", where=Location(model, 2))

    assert str(error).splitlines()[-1] == "     |     " + "^" * len("ü = 1; h = await fetch(w)")


def test_location_without_source_only_named():
    error = errors.SrcadError("x", where=Location("<nowhere>", 7))

    assert str(error) == "[SRCAD-000] x\n  --> <nowhere>:7:1"


def test_file_outside_working_directory_shown_with_full_path():
    assert errors.short_path("/elsewhere/model.py") == "/elsewhere/model.py"


@pytest.fixture
def notebook(monkeypatch):
    """The file name of cell 12 of a notebook, as IPython knows it."""
    file = "/tmp/ipykernel_7/123456.py"
    text = "import numpy as np\ndef f(x):\n    return np.sin(x)\n"
    monkeypatch.setitem(linecache.cache, file, (len(text), None, text.splitlines(True), file))
    names = {file: ("Cell", "In[12]")}
    shell = types.SimpleNamespace(compile=types.SimpleNamespace(format_code_name=names.get))
    module = types.SimpleNamespace(get_ipython=lambda: shell)
    monkeypatch.setitem(sys.modules, "IPython", module)
    space = {}
    exec(compile(text, file, "exec"), space)
    return space["f"]


def test_place_in_notebook_names_cell_and_line(notebook):
    with pytest.raises(errors.SrcadError) as caught:
        srcad.grad(notebook)(np.ones(2))

    assert str(caught.value).splitlines()[1] == "  --> cell 12, line 2"
    assert str(caught.value).splitlines()[2] == "   2 | def f(x):"
    assert "# f  (cell 12, line 2)" in srcad.elementwise_grad(notebook).source


def test_place_in_generated_code_of_notebook_names_cell_and_line(notebook):
    file = notebook.__code__.co_filename

    assert errors.short_place_of(file, 7) == errors.place_of(file, 7) == "cell 12, line 7"
    assert errors.file_title(file) == "cell 12"
    assert errors.short_place_of("/elsewhere/model.py", 7) == "model.py:7"
    assert errors.place_of("/elsewhere/model.py", 7) == "/elsewhere/model.py:7"


def test_every_code_is_used_once():
    codes = [c.code for c in CLASSES]

    assert len(set(codes)) == len(codes)


@pytest.mark.parametrize("cls", CLASSES)
def test_errors_are_picklable(cls, model):
    error = cls("sentence", where=Location(model, 1, 4, 1, 8), why="because", help="do")

    again = pickle.loads(pickle.dumps(error))

    assert type(again) is cls
    assert str(again) == str(error)
    assert again.help == ("do",)


@pytest.mark.parametrize(
    ("cls", "kind"),
    [
        (errors.NonScalarOutputError, TypeError),
        (errors.UnsupportedTypeError, TypeError),
        (errors.RuleError, TypeError),
        (errors.WrtError, ValueError),
        (errors.SeedError, ValueError),
        (errors.OptionError, ValueError),
        (errors.SourceUnavailableError, OSError),
        (errors.SourceChangedError, errors.SourceUnavailableError),
        (errors.UndefinedNameError, NameError),
    ],
)
def test_error_subclasses_builtin_exception(cls, kind):
    assert issubclass(cls, kind)


# ------------------------------------------------------------------------- tracebacks
def scalar_of(x):
    return 2 * x


def indexes(x):
    y = x[5]
    return y * y


def frames(error):
    return traceback.extract_tb(error.__traceback__)


def ours(error):
    package = str(Path(srcad.__file__).parent)
    return [f for f in frames(error) if f.filename.startswith(package)]


@pytest.mark.parametrize("times", [1, 2])
def test_rejection_traceback_has_one_srcad_frame(times):
    g = srcad.grad(scalar_of)
    g(2.0)
    for _ in range(times):
        with pytest.raises(srcad.errors.NonScalarOutputError) as caught:
            g(np.ones(3))

        assert len(frames(caught.value)) == 2


@pytest.mark.parametrize("call", [srcad.gradient, srcad.pullback])
def test_rejection_traceback_of_other_modes_has_one_srcad_frame(call):
    with pytest.raises(srcad.errors.UnsupportedSyntaxError) as caught:
        call(refused, 1.0)

    assert len(ours(caught.value)) == 1


def refused(x):
    class Square:
        y = x * x

    return Square.y


def test_an_error_of_the_primal_names_the_users_line():
    g = srcad.grad(indexes)
    for _ in range(2):
        with pytest.raises(IndexError) as caught:
            g(np.ones(3))

        line = indexes.__code__.co_firstlineno + 1
        assert f"test_errors.py:{line}" in caught.value.__notes__[0]
        assert len(caught.value.__notes__) == 1
        assert frames(caught.value)[-1].line == "y = x[5]"


def test_the_users_own_error_is_not_wrapped():
    def f(x):
        if x > 1:
            raise ValueError("too large")
        return x * x

    with pytest.raises(ValueError, match="too large") as caught:
        srcad.grad(f)(2.0)

    assert type(caught.value) is ValueError


@pytest.mark.parametrize("args", [(), (1.0, 2.0)])
def test_wrong_call_raises_type_error_of_function(args):
    g = srcad.grad(scalar_of)
    for _ in range(2):
        with pytest.raises(TypeError, match=r"scalar_of\(\)"):
            g(*args)
        g(1.0)
