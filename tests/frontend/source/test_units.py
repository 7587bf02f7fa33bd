"""What was compiled at once: cells statement by statement, parts of a file, reloaded functions."""

import ast
import linecache
import textwrap
import types
from itertools import count

import numpy as np
import pytest

from srcad import differentiate, grad
from srcad.errors import SourceChangedError, SourceUnavailableError
from srcad.frontend.source.definition import definition

NUMBERS = count()
X = np.array([0.3, -0.7, 1.1])


def registered(text, name=None):
    name = name or f"<cell {next(NUMBERS)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    return name


def ran_as_a_cell(text, space=None):
    """Run a cell as IPython does: each statement at the margin is compiled by itself."""
    name = registered(text)
    space = {"__name__": "cell"} if space is None else space
    for statement in ast.parse(text).body:
        exec(compile(ast.Module([statement], []), name, "exec", dont_inherit=True), space)
    return space


def slope(function, x):
    h = 1e-6
    steps = h * np.eye(len(x))
    return np.array([(function(x + e) - function(x - e)) / (2 * h) for e in steps])


CELLS = {
    "a function below the import": """
        import numpy as np
        def f(x):
            return np.sum(np.sin(x) * x)
        """,
    "a lambda among others on its line": """
        import numpy as np
        g = lambda x: np.sum(np.sin(x)); f = lambda x: np.sum(np.cos(x))
        """,
    "a statement on the line of the import": """
        import numpy as np; f = lambda x: np.sum(np.sin(x))
        """,
    "a function in a branch": """
        import numpy as np
        if True:
            def f(x):
                return np.sum(np.sin(x))
        """,
    "a branch that imports": """
        if True:
            import numpy as np
            def f(x):
                return np.sum(np.sin(x))
        """,
    "a closure": """
        import numpy as np
        def outer(k):
            def f(x):
                return k * np.sum(np.sin(x))
            return f
        f = outer(2.0)
        """,
    "a method": """
        import numpy as np
        class Model:
            __scale = 3.0
            def loss(self, x):
                return self.__scale * np.sum(np.sin(x))
        f = Model().loss
        """,
    "two modules, one imported from the other": """
        import numpy as np
        from numpy import linalg
        def f(x):
            return np.exp(linalg.norm(np.sin(x)))
        """,
    "a helper with a lambda in it": """
        import numpy as np
        def applied(k, x):
            return k(x)
        def f(x):
            return applied(lambda y: np.sum(np.sin(y)), x)
        """,
    "a decorated function": """
        import numpy as np
        import functools
        @functools.lru_cache
        def constants(n):
            return np.arange(n) + 1.0
        def f(x):
            return np.sum(constants(3) * np.sin(x))
        """,
    "an import inside the function": """
        import numpy as np
        def f(x):
            import math
            return math.sin(x[0]) + np.sum(np.sin(x))
        """,
}


@pytest.mark.parametrize("title", CELLS)
def test_a_cell_that_imports_numpy_and_defines_the_function(title):
    f = ran_as_a_cell(textwrap.dedent(CELLS[title]).lstrip())["f"]

    np.testing.assert_allclose(grad(f)(X), slope(f, X), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("title", CELLS)
def test_cell_source_compiled_as_one_file(title):
    text = textwrap.dedent(CELLS[title]).lstrip()
    space = {"__name__": "file"}
    exec(compile(text, registered(text), "exec", dont_inherit=True), space)

    np.testing.assert_allclose(grad(space["f"])(X), slope(space["f"], X), rtol=1e-6, atol=1e-8)


def test_a_part_of_a_file_that_imports_some_of_its_modules():
    text = (
        "import numpy as np\n# %%\nimport math\ndef f(x):\n    return math.sin(np.sum(np.sin(x)))\n"
    )
    name, space = registered(text), {"__name__": "part"}
    first, *rest = ast.parse(text).body
    exec(compile(ast.Module([first], []), name, "exec"), space)
    exec(compile(ast.Module(rest, []), name, "exec"), space)

    np.testing.assert_allclose(grad(space["f"])(X), slope(space["f"], X), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(
    "take",
    [
        lambda tree: tree.body[1].body[1],
        lambda tree: tree.body[1],
    ],
    ids=["function", "class"],
)
def test_file_part_compiled_separately(take):
    text = (
        "import numpy as np\nclass Model:\n    scale = 2.0\n"
        "    def loss(self, x):\n        return self.scale * np.sum(np.sin(x))\n"
    )
    name, space = registered(text), {"__name__": "part", "np": np}
    reloaded = ast.parse(ast.unparse(take(ast.parse(text))))
    exec(compile(reloaded, name, "exec"), space)
    loss = space["loss"] if "loss" in space else space["Model"].loss
    model = types.SimpleNamespace(scale=2.0)

    np.testing.assert_allclose(
        grad(lambda x: loss(model, x))(X), slope(lambda x: loss(model, x), X), rtol=1e-6
    )


def test_private_names_of_a_function_that_was_compiled_without_its_class():
    text = "class Model:\n    def loss(self, x):\n        return __scale * x * x\n"
    name, space = registered(text), {"__scale": 2.0, "_Model__scale": 5.0}
    exec(compile(ast.Module([ast.parse(text).body[0].body[0]], []), name, "exec"), space)
    whole = dict(space)
    exec(compile(text, name, "exec"), whole)

    assert grad(space["loss"], wrt=1)(None, 3.0) == 12.0
    assert grad(whole["Model"].loss, wrt=1)(None, 3.0) == 30.0
    assert grad(space["loss"], wrt=1)(None, 3.0) == 12.0


def test_a_nonlocal_name_keeps_a_function_from_being_compiled_by_itself():
    text = (
        "import numpy as np\ndef outer():\n    n = 0\n    def f(x):\n        nonlocal n\n"
        "        n = 1\n        return np.sum(np.sin(x))\n    return f\n"
    )
    f = ran_as_a_cell(text)["outer"]()
    moved = ran_as_a_cell("\n\n" + text)["outer"]()

    assert definition(f).tree.lineno == 4
    assert definition(moved).tree.lineno == 6


def test_a_decorated_function_of_a_cell():
    text = "import numpy as np\n@differentiate\ndef f(x):\n    return np.sum(np.sin(x))\n"
    f = ran_as_a_cell(text, {"differentiate": differentiate})["f"]

    np.testing.assert_allclose(f.grad(X), slope(f, X), rtol=1e-6)


def test_rewritten_cell_error_suggests_rerun():
    text = "import numpy as np\ndef f(x):\n    return np.sum(x * 2)\n"
    name, space = registered(text), {}
    exec(compile(text.replace("2", "3"), name, "exec"), space)

    with pytest.raises(SourceChangedError, match="run the cell that defines 'f' again"):
        grad(space["f"])(X)


@pytest.mark.parametrize(("file", "magic"), [("<timed exec>", "%%time"),
                                             ("<magic-timeit>", "%%timeit")])  # fmt: skip
def test_magic_cell_without_source_error_suggests_remedy(file, magic):
    space = {}
    exec(compile("def f(x):\n    return x * x\n", file, "exec"), space)

    with pytest.raises(SourceUnavailableError, match=f"in a cell without {magic}, and time"):
        grad(space["f"])(2.0)
