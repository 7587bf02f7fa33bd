"""Every program of the documents as one cell of a notebook, in a real kernel.

It needs the extra `notebook`; ``.ci/run`` installs it on every interpreter.
"""

import re
import warnings

import pytest

from tests.frozen.table import normal
from tests.test_documents import DOCUMENTS, PAIR, ROOT

nbformat = pytest.importorskip("nbformat", reason="needs the extra: pip install -e '.[notebook]'")
nbclient = pytest.importorskip("nbclient", reason="needs the extra: pip install -e '.[notebook]'")
pytest.importorskip("ipykernel", reason="needs the extra: pip install -e '.[notebook]'")
from traitlets.config import Config  # noqa: E402 - a dependency of ipykernel

pytestmark = pytest.mark.together
# Whatever the name of the host is, the kernel listens on the loopback interface.
LOCAL = {"KernelManager": {"ip": "127.0.0.1"}}

PROGRAMS = {
    f"{document.name}-{k}": (found[1], found[2])
    for document in DOCUMENTS
    for k, found in enumerate(PAIR.finditer(document.read_text()))
    if "__file__" not in found[1]  # about a file
}
TIMES = re.compile("CPU times|Wall time")
OWN = {
    "everything in one cell": (
        "import numpy as np\n"
        "from srcad import grad\n"
        "def f(x):\n"
        "    return np.sum(np.sin(x))\n"
        "print(grad(f)(np.zeros(2)))\n",
        "[1. 1.]",
    ),
    "a capture, a line magic and a shell command": (
        "%%capture kept\nimport numpy as np\nfrom srcad import grad\n%pwd\n!true\n"
        "def f(x):\n    return np.sum(np.sin(x))\nprint(grad(f)(np.zeros(2)))\n",
        "",
    ),
    "a class and an await": (
        "import numpy as np\nfrom srcad import grad\n"
        "async def ready():\n    return 2.0\n"
        "class Model:\n    def loss(self, x):\n        return scale * np.sum(np.sin(x))\n"
        "scale = await ready()\nprint(grad(Model().loss)(np.zeros(2)))\n",
        "[2. 2.]",
    ),
    "a module under %autoreload": (
        "%load_ext autoreload\n%autoreload 2\nimport pathlib, sys\nimport numpy as np\n"
        "from srcad import grad\nsys.path.insert(0, '.')\nsys.dont_write_bytecode = True\n"
        "text = 'import numpy as np\\nclass A:\\n    def f(self, x):\\n'\n"
        "text += '        return np.sum(np.sin(x))\\n\\ndef h(x):\\n    return A().f(2 * x)\\n'\n"
        "pathlib.Path('edited.py').write_text(text)\nfrom edited import h\n"
        "print(grad(h)(np.zeros(2)))\n",
        "[2. 2.]",
    ),
    "an edit of the module": (
        "text = '\\n# new\\n' + text.replace('np.sum', '3 * np.sum')\n"
        "saved = pathlib.Path('edited.py').write_text(text)\n",
        "",
    ),
    "a module that was edited and reloaded function by function": (
        "print(grad(h)(np.zeros(2)))\n",
        "[6. 6.]",
    ),
    "a cell under %%time": (
        "%%time\nfrom srcad import grad\ndef f(x):\n    return x * x\ngrad(f)(1.0)\n",
        "SourceUnavailableError: [SRCAD-401] the source of 'f' is not available\n"
        "  why:  a cell under %%time is run without its text.\n"
        "  help: define 'f' in a cell without %%time, and time the call of it",
    ),
}


SHOWN = ("def f(x):\n    return x * x\ng = grad(f)\ng", "g.source")


@pytest.fixture(scope="module")
def notebook(tmp_path_factory):
    """The cells with their outputs, all run in one kernel."""
    start = f"import sys\nsys.path.insert(0, {str(ROOT)!r})\nimport srcad"
    texts = (start, *(program for program, _ in {**PROGRAMS, **OWN}.values()), *SHOWN)
    cells = [nbformat.v4.new_code_cell(text) for text in texts]
    notebook = nbformat.v4.new_notebook(cells=cells)
    folder = str(tmp_path_factory.mktemp("notebook"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        nbclient.NotebookClient(
            notebook, timeout=120, allow_errors=True, resources={"metadata": {"path": folder}},
            config=Config(LOCAL),
        ).execute()  # fmt: skip
    return cells


@pytest.fixture(scope="module")
def outputs(notebook):
    """What each cell printed."""
    cells = notebook[1 : len(notebook) - len(SHOWN)]
    return dict(zip({**PROGRAMS, **OWN}, map(printed, cells), strict=True))


def printed(cell):
    """The text of a cell's outputs, with the file's name as in the documents."""
    parts = []
    for output in cell.outputs:
        if output.output_type == "stream" and output.name == "stdout":
            parts.append(output.text)
        elif output.output_type == "error":
            parts.append(f"{output.ename}: {output.evalue}\n")
    return re.sub(r"\bcell \d+, line (\d+)", r"model.py:\1", "".join(parts)).rstrip()


def test_derivative_and_source_displayed_as_code(notebook):
    for cell in notebook[-2:]:
        (output,) = cell.outputs
        assert output.data["text/html"].startswith("<pre")
        lines = output.data["text/plain"].splitlines()
        assert re.fullmatch(r"# f  \(cell \d+, line 1\)", lines[2])
        assert lines[3].startswith("def grad_f(x):")


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_of_the_documents_prints_the_same_in_a_notebook(name, outputs):
    if "numba" in PROGRAMS[name][0].lower():
        pytest.importorskip("numba", reason="needs the extra: pip install '.[numba]'")
    expected = re.sub(r"(\bmodel\.py:\d+):\d+", r"\1", PROGRAMS[name][1]).rstrip()
    shown = outputs[name]
    if "variants  calls" in expected:  # columns are as wide as the names of files
        expected, shown = (re.sub(r"(?<=\S) {3,}(?=\S)", "  ", text) for text in (expected, shown))

    # Notes of an error are shown elsewhere, and comments have room for less beside long places.
    assert normal(expected).startswith(normal(shown))
    assert outputs[name]


@pytest.mark.parametrize("name", OWN)
def test_a_cell(name, outputs):
    kept = [line for line in outputs[name].splitlines() if not TIMES.match(line)]

    assert "\n".join(kept).strip() == OWN[name][1]
