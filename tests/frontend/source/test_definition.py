"""Finding the exact source of a function object."""

import ast
import doctest
import functools
import importlib.util
import linecache
import subprocess
import sys
from pathlib import Path

import pytest

from srcad.errors import SourceChangedError, SourceUnavailableError
from srcad.frontend.source.definition import definition
from srcad.frontend.source.text import Text

ROOT = Path(__file__).resolve().parents[3]
PAIR = (lambda x: x + 1, lambda x: x + 2)
TWINS = [lambda x: x * 3, lambda x: x * 3]


def plain(x):
    return 2 * x


def with_assert(x, limit=[1, 2]):
    assert x > limit[0], f"too small: {x}"
    y = [k for k in limit if k]
    assert len(y) > (x == 3)
    return x


def doubled(function):
    @functools.wraps(function)
    def wrapper(*args):
        return 2 * function(*args)

    return wrapper


@doubled
def decorated(x):
    return x


class Model:
    __private = 3
    helper = lambda self, x: x + self.__private  # noqa: E731

    def method(self, x):
        def inner(y):
            return y + self.__private

        return inner(x), (lambda: self.__private)


@pytest.fixture
def module(tmp_path):
    """A function that writes a text to a file and imports it."""
    count = 0

    def load(text, name="model.py"):
        nonlocal count
        count += 1
        path = tmp_path / name
        path.write_text(text)
        spec = importlib.util.spec_from_file_location(f"model_{count}", path)
        loaded = importlib.util.module_from_spec(spec)
        sys.dont_write_bytecode, before = True, sys.dont_write_bytecode
        try:
            spec.loader.exec_module(loaded)
        finally:
            sys.dont_write_bytecode = before
        loaded.path = path
        return loaded

    return load


def body(function):
    return ast.unparse(definition(function).tree)


def test_definition_of_unindented_def():
    source = definition(plain)

    assert source.name == "plain"
    assert source.text == "def plain(x):\n    return 2 * x\n"
    assert source.line(source.tree.body[0].lineno) == "    return 2 * x"


def test_function_with_asserts_rewritten_by_pytest():
    assert "assert x > limit[0]" in body(with_assert)


def test_nested_function_with_rewritten_asserts():
    def local(x):
        assert x
        return x - 1

    assert body(local).endswith("return x - 1")


def test_file_of_nested_function_without_asserts_is_not_rewritten(monkeypatch):
    def local(x):
        return [x - k for k in range(2)]

    monkeypatch.setattr(Text, "_as_pytest_has_it", None)

    assert body(local).endswith("return [x - k for k in range(2)]")
    assert body(lambda x: x + 3) == "lambda x: x + 3"


def test_lambdas_on_one_line_distinguished():
    assert [body(f) for f in PAIR] == ["lambda x: x + 1", "lambda x: x + 2"]


def test_equal_lambdas_on_one_line_have_their_own_columns():
    columns = [definition(f).tree.col_offset for f in TWINS]

    assert columns[0] < columns[1]


def test_a_lambda_inside_a_lambda():
    outer = lambda x: lambda y: x + y  # noqa: E731

    assert body(outer) == "lambda x: lambda y: x + y"
    assert body(outer(1)) == "lambda y: x + y"


def test_definition_of_wrapper_is_not_unwrapped():
    assert definition(decorated).name == "wrapper"
    assert definition(decorated.__wrapped__).name == "decorated"


def test_decorated_function_source_includes_decorator():
    assert definition(decorated.__wrapped__).text.startswith("@doubled\n")


def test_method_definition_has_class_name():
    inner, private = Model.method.__code__, Model().method(1)[1]

    assert definition(Model.method).class_name == "Model"
    assert definition(private).class_name == "Model"
    assert definition(Model.helper).class_name == "Model"
    assert inner.co_name == "method"


def test_closures_share_one_source():
    def make(k):
        return lambda x: x * k

    assert definition(make(1)) is definition(make(2))


def test_a_location_spans_the_node():
    source = definition(plain)

    where = source.location(source.tree.body[0])

    assert (where.column, where.end_column, where.function) == (4, 16, "plain")


def test_an_unindented_string_inside(module):
    f = module('def f(x):\n    s = """\ndef f(x):\n    return 5\n"""\n    return x\n').f

    assert definition(f).tree.body[-1].lineno == 6


def test_future_annotations(module):
    loaded = module("from __future__ import annotations\n\ndef f(x: Missing) -> Missing:\n"
                    "    def g(y: Missing):\n        return y\n    return g\n")  # fmt: skip

    assert definition(loaded.f).name == "f"
    assert definition(loaded.f(1)).name == "g"


def test_two_definitions_of_one_name(module):
    loaded = module("def f(x):\n    return x\n\nfirst = f\n\ndef f(x):\n    return -x\n")

    assert body(loaded.first).endswith("return x")
    assert body(loaded.f).endswith("return -x")


def test_statement_sharing_its_line(module):
    loaded = module("a = 1; f = lambda x: x\nif a:\n    def g(x): return x\nelse:\n    pass\n")

    assert body(loaded.f) == "lambda x: x"
    assert definition(loaded.g).name == "g"


def test_code_after_the_last_instruction_is_part_of_the_tree(module):
    f = module("def f(x):\n    return x\n    raise ValueError\n\n# end\n").f

    assert len(definition(f).tree.body) == 2


def test_moved_source_accepted(module):
    loaded = module("def f(x):\n    return x + 1\n")
    loaded.path.write_text("# one more line\n\ndef f(x):\n    return x + 1\n")
    linecache.checkcache()

    assert definition(loaded.f).tree.lineno == 3


def test_moved_source_with_duplicate_rejected(module):
    loaded = module("def f(x):\n    return x + 1\n")
    text = "def f(x):\n    return x + 1\n"
    loaded.path.write_text("#\n" + text + text)
    linecache.checkcache()

    with pytest.raises(SourceChangedError):
        definition(loaded.f)


def test_an_edited_file_is_refused(module):
    loaded = module("def f(x):\n    return x + 1\n")
    loaded.path.write_text("def f(x):\n    return x + 2\n")
    linecache.checkcache()

    with pytest.raises(SourceChangedError, match="changed since it was imported") as caught:
        definition(loaded.f)

    assert "model.py:1:1" in str(caught.value)


def test_file_with_syntax_error_after_edit_rejected(module):
    loaded = module("def f(x):\n    return x + 1\n")
    loaded.path.write_text("def f(x:\n")
    linecache.checkcache()

    with pytest.raises(SourceChangedError):
        definition(loaded.f)


def test_reloaded_function_found_with_stale_linecache(module):
    first = module("def f(x):\n    return x + 1\n").f
    definition(first)

    second = module("def f(x):\n    return x + 22\n").f

    assert body(second).endswith("x + 22")


def test_source_only_in_linecache():
    text = "def f(x):\n    return x * 5\n"
    linecache.cache["<cell 1>"] = (len(text), None, text.splitlines(keepends=True), "<cell 1>")
    space = {}
    exec(compile(text, "<cell 1>", "exec"), space)

    assert body(space["f"]).endswith("return x * 5")


def test_a_function_of_a_doctest():
    case = (
        ">>> def f(x):\n...     return x ** 7\n>>> print(body(f))\ndef f(x):\n    return x ** 7\n"
    )
    parsed = doctest.DocTestParser().get_doctest(case, {"body": body}, "case", None, 0)

    assert doctest.DocTestRunner().run(parsed).failed == 0


@pytest.mark.parametrize("callee", [len, sys.getsizeof, functools.partial(plain), Model])
def test_non_python_callable_has_no_source(callee):
    with pytest.raises(SourceUnavailableError, match="has no Python source") as caught:
        definition(callee)

    assert isinstance(caught.value, OSError)


def test_exec_without_source_rejected():
    space = {}
    exec("def f(x): return x", space)

    with pytest.raises(SourceUnavailableError, match="the source of 'f' is not available"):
        definition(space["f"])


def test_syntax_warnings_not_repeated(module, recwarn):
    loaded = module("import warnings\nwith warnings.catch_warnings():\n    pass\n"
                    "def f(x):\n    return x if x is not 1 else '\\d'\n")  # fmt: skip
    recwarn.clear()

    definition(loaded.f)

    assert not recwarn.list


def test_lambdas_of_two_statements_on_one_line_distinguished():
    first = [lambda x: x * 5.0]; second = [lambda x: x * 7.0]  # noqa: E702  # fmt: skip

    assert "5.0" in ast.unparse(definition(first[0]).tree)
    assert "7.0" in ast.unparse(definition(second[0]).tree)


PROGRAM = "import srcad\ndef f(x): return x * x\nprint(srcad.grad(f)(3.0))\n"


@pytest.mark.parametrize("flags", [["-c"], ["-Bc"], ["-W", "ignore", "-Xutf8", "-c"]])
def test_program_on_command_line_differentiated(flags):
    done = subprocess.run([sys.executable, *flags, PROGRAM], capture_output=True, text=True,
                          check=False, cwd=ROOT)  # fmt: skip

    assert (done.stdout, done.stderr) == ("6.0\n", "")


def test_program_of_a_pipe_rejected():
    done = subprocess.run([sys.executable, "-"], input=PROGRAM, capture_output=True, text=True,
                          check=False, cwd=ROOT)  # fmt: skip

    assert "read from standard input, which keeps no text" in done.stderr
    assert "save it to a file, and run that" in done.stderr


def test_function_of_a_prompt_without_text_rejected(monkeypatch):
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    space = {}
    exec(compile("def f(x): return x", "<stdin>", "exec"), space)

    with pytest.raises(SourceUnavailableError, match="save it to a file, and import it"):
        definition(space["f"])
