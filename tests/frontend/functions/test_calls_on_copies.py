"""Calls without a rule that run as they stand: no derivative flows on from their results."""

import collections
import io
import queue
import random
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import srcad
from srcad.errors import MissingRuleError, MutationError
from tests.marks import some

signal = pytest.importorskip("scipy.signal")
spatial = pytest.importorskip("scipy.spatial")
optimize = pytest.importorskip("scipy.optimize")
hierarchy = pytest.importorskip("scipy.cluster.hierarchy")
blas = pytest.importorskip("scipy.linalg.blas")

X = np.array([0.3, 0.9, 0.5, 1.3, 0.2])

# Statements after ``y = np.sin(x)``, each of which leaves the gradient of ``np.sum(y)`` alone.
STATEMENTS = """\
np.save(io.BytesIO(), y)
np.savez(io.BytesIO(), y=y, x=x)
np.savez_compressed(io.BytesIO(), y)
np.savetxt(io.StringIO(), y)
np.lib.format.write_array(io.BytesIO(), y)
scipy.io.savemat(io.BytesIO(), {"y": y})
np.testing.assert_allclose(y, np.sin(x))
np.testing.assert_array_less(y, 2.0)
np.testing.assert_array_equal(y, y)
np.testing.assert_equal(y.shape, x.shape)
json.dumps({"y": y.tolist()})
json.dumps(list(y))
json.dump({"y": float(y[0])}, io.StringIO())
pickle.dumps(y)
pickle.dump({"y": y}, io.BytesIO())
csv.writer(io.StringIO()).writerow(y)
csv.writer(io.StringIO()).writerows([y, x])
table = csv.DictWriter(io.StringIO(), ["a"]); table.writerow({"a": y[0]})
plt.plot(y)
plt.plot(x, y, label="y")
axes = plt.Axes(); axes.plot(x, y)
y.tofile(os.devnull)
y.tobytes()
y.dumps()
np.array2string(y, precision=3)
np.array_repr(y)
np.array_str(y)
y.flags
logger = logging.getLogger("fit"); logger.info("y = %s", y)
logger = logging.getLogger("fit"); logger.debug(f"y = {y}")
LOGGER.info("y = %s", y)
logging.debug("y %s", y.sum())
_ = np.emath.sqrt(y)
_ = scipy.signal.find_peaks(y)
print(y, file=io.StringIO())
repr(y)
str(y[0])
f"{y[0]:.3f}"
"%g" % y[0]
assert np.all(np.isfinite(y))
pprint.pformat(y)
copy.deepcopy(y)
hash(float(y[0]))
isinstance(y, np.ndarray)
hashlib.sha1(y.tobytes()).hexdigest()
struct.pack("d", y[0])
memoryview(y)
sys.getsizeof(y)
io.BytesIO().write(y)
io.StringIO().write(str(y))
np.may_share_memory(x, y)""".splitlines()

PYPLOT = """
shown = []

class Axes:
    def __init__(self):
        self.lines = []

    def plot(self, *args, **options):
        self.lines.append([memoryview(array).tolist() for array in args])

def plot(*args, **options):
    shown.append([memoryview(array).tolist() for array in args])
"""


@pytest.fixture(scope="module")
def pyplot(tmp_path_factory):
    """A module that draws, as one of an installed library."""
    folder = tmp_path_factory.mktemp("installed") / "site-packages"
    folder.mkdir()
    (folder / "pyplot_stub.py").write_text(PYPLOT)
    sys.path.insert(0, str(folder))
    try:
        import pyplot_stub  # noqa: PLC0415 - made here

        yield pyplot_stub
    finally:
        sys.path.remove(str(folder))
        sys.modules.pop("pyplot_stub", None)


def looking(statement, pyplot, folder: Path):
    lines = [
        "import copy, csv, hashlib, io, json, logging, os, pickle, pprint, struct, sys",
        "import numpy as np, scipy.io, scipy.signal",
        "import pyplot_stub as plt",
        "LOGGER = logging.getLogger('of the module')",
        "def f(x):",
        "    y = np.sin(x)",
        *(f"    {part}" for part in statement.split("; ")),
        "    return np.sum(y)",
    ]
    file = folder / "program.py"
    file.write_text("\n".join(lines))
    made = types.ModuleType("program")
    exec(compile(file.read_text(), str(file), "exec"), made.__dict__)
    return made.f


@pytest.mark.parametrize("statement", some(STATEMENTS, lambda k, _: k % 6 == 0 and k != 12))
def test_statement_that_only_looks_leaves_gradient(statement, pyplot, tmp_path):
    f = looking(statement, pyplot, tmp_path)

    np.testing.assert_allclose(srcad.grad(f)(X), np.cos(X), rtol=1e-12)


@pytest.mark.parametrize("mode", ["jvp", "hvp"])
def test_statement_that_only_looks_leaves_other_modes(mode):
    def f(x):
        np.testing.assert_array_less(x, 2.0)
        np.save(io.BytesIO(), x)
        return np.sum(np.sin(x))

    found = srcad.jvp(f, (X,), (X,))[1] if mode == "jvp" else srcad.hvp(f)(X, X)

    np.testing.assert_allclose(found, np.cos(X) @ X if mode == "jvp" else -np.sin(X) * X)


def test_call_that_looks_runs_with_values(pyplot):
    def f(x):
        y = x * x
        pyplot.plot(y)
        return np.sum(y)

    pyplot.shown.clear()
    srcad.grad(f)(X)

    assert pyplot.shown == [[[*(X * X)]]]


def test_check_that_fails_raises():
    def f(x):
        np.testing.assert_array_less(x * x, 1.0)
        return np.sum(x)

    with pytest.raises(AssertionError, match="not strictly"):
        srcad.grad(f)(X)


# ------------------------------------------------------------------------------ constants
def peaks(x):
    return np.sum(x[srcad.stop_gradient(signal.find_peaks(x * x)[0])] ** 2)


def peaks_in_two_statements(x):
    found = signal.find_peaks(x * x)
    return np.sum(x[srcad.stop_gradient(found[0])] ** 2)


def peaks_as_index(x):
    places, _ = signal.find_peaks(x * x)
    return np.sum(x[places] ** 2)


def neighbour(x):
    tree = spatial.KDTree(x[:, None] ** 2)
    _, place = tree.query(np.array([0.2]))
    return x[srcad.stop_gradient(place)] ** 2


def triangles(x):
    points = np.stack((x, np.cos(5 * x)), axis=1)
    corners = srcad.stop_gradient(spatial.Delaunay(points).simplices)
    return np.sum(x[corners[:, 0]] ** 2)


def peaks_in_loop(x):
    total = 0.0
    for k in range(3):
        total = total + np.sum(x[srcad.stop_gradient(signal.find_peaks(k * x * x)[0])])
    return total


def branch_on_count(x):
    if len(signal.find_peaks(x * x)[0]) > 1:
        return np.sum(x**3)
    return np.sum(x)


CONSTANT = [peaks, peaks_in_two_statements, peaks_as_index, neighbour, triangles, peaks_in_loop,
            branch_on_count]  # fmt: skip


@pytest.mark.parametrize("f", CONSTANT)
def test_places_of_call_without_rule_are_constant(f):
    step = 1e-6
    slopes = [(f(X + step * e) - f(X - step * e)) / (2 * step) for e in np.eye(len(X))]

    np.testing.assert_allclose(srcad.grad(f)(X), slopes, rtol=1e-6, atol=1e-8)


def rooted(x):
    return srcad.stop_gradient(np.emath.sqrt(x * x))


def heights(x):
    return srcad.stop_gradient(signal.find_peaks(x * x, height=0.0)[1]["peak_heights"])


def solution(x):
    found, _ = optimize.nnls(np.vander(x * x, 3), np.ones(5))
    return srcad.stop_gradient(found)


def merged(x):
    return srcad.stop_gradient(hierarchy.linkage(x[:, None] ** 2))[:, 2]


@pytest.mark.parametrize("constant", [rooted, heights, solution, merged])
def test_stopped_numbers_of_call_without_rule_are_constant(constant):
    def f(x):
        c = constant(x)
        return np.sum(c * x[: len(c)])

    c = constant(X)
    want = np.zeros(5)
    want[: len(c)] = c

    np.testing.assert_allclose(srcad.grad(f)(X), want)


def test_remedy_of_missing_rule_works_when_pasted(tmp_path):
    text = "import numpy as np, srcad\ndef f(x):\n    h = x * x\n    c = {}\n"
    text += "    return np.sum(c * x)\n"

    def made(call):
        file = tmp_path / f"model{len(call)}.py"
        file.write_text(text.format(call))
        space = {}
        exec(compile(file.read_text(), str(file), "exec"), space)
        return space["f"]

    with pytest.raises(MissingRuleError) as caught:
        srcad.grad(made("np.emath.sqrt(h)"))(X)
    remedy = caught.value.help[-1].rpartition(":  ")[2]

    np.testing.assert_allclose(srcad.grad(made(remedy))(X), X)


# ------------------------------------------------------------------------------ refusals
def used(x):
    return np.sum(np.emath.sqrt(x * x))


def used_in_part(x):
    places, found = signal.find_peaks(x * x, height=0.0)
    return np.sum(x[srcad.stop_gradient(places)] * found["peak_heights"])


def used_by_file(x):
    file = io.BytesIO()
    np.save(file, x * x)
    file.seek(0)
    return np.sum(np.load(file) * 1.0)


def used_inside(x):
    return np.sum(srcad.grad(lambda v: np.sum(np.emath.sqrt(v * v)))(x) * x)


def used_in_recursion(x, n=2):
    return np.sum(np.emath.sqrt(x * x)) if n == 0 else used_in_recursion(x, n - 1) * x[0]


def used_by_second_call(x):
    srcad.stop_gradient(signal.find_peaks(x)[0])
    return np.sum(np.emath.sqrt(x * x))


@pytest.mark.parametrize(
    "f", [used, used_in_part, used_by_file, used_inside, used_in_recursion, used_by_second_call]
)
def test_result_of_call_without_rule_that_is_used_is_refused(f):
    name = {used_in_part: "find_peaks", used_by_file: "numpy.save"}.get(f, "numpy.emath.sqrt")

    with pytest.raises(MissingRuleError, match=name):
        srcad.grad(f)(X)


def test_call_that_writes_into_its_array_is_refused():
    def f(x):
        y = np.sin(x)
        signal.sosfilt(np.array([[1.0, 0, 0, 1.0, 0, 0]]), y)
        random.Random(0).shuffle(y)
        return np.sum(y * np.arange(5.0))

    with pytest.raises(MutationError):
        srcad.grad(f)(X)


def test_look_at_array_that_is_written_is_refused():
    from srcad import runtime  # noqa: PLC0415 - what generated code calls

    with pytest.raises(MutationError, match="has written into"):
        runtime.call_on_copies(np.copyto, np.zeros(3), np.ones(3))
    with pytest.raises(MutationError, match="has written into"):
        runtime.call_method_on_copies(np.ones(3), "fill", 2.0)
    with pytest.raises(MissingRuleError, match="at compile time"):
        runtime.call_on_copies(lambda y: None, np.ones(3))


def test_write_behind_perhaps_view_is_refused():
    def f(x):
        h = x * x
        c = srcad.stop_gradient(np.emath.sqrt(h))
        h[0] = 7.0
        return np.sum(c * x)

    with pytest.raises(MutationError):
        srcad.grad(f)(X)


def test_key_by_identity_of_list_is_refused():
    def f(x):
        row, seen = [x, x], {}
        seen[id(row)] = x
        return seen[id(row)]

    with pytest.raises(srcad.errors.UnsupportedSyntaxError, match="identity"):
        srcad.grad(f)(2.0)


def set_of_a_table(x):
    table = collections.defaultdict(set)
    for v, k in zip(x, "aba", strict=True):
        table[k].add(float(v * v))
    return sum(sum(numbers) for numbers in table.values())


def item_of_an_array_of_objects(x):
    lists = np.empty(2, dtype=object)
    lists[0] = [1.0, 2.0]
    lists[0].append(x[0])
    return lists[0][2] * x[1]


def queue_that_is_read(x):
    waiting = queue.Queue()
    waiting.put(x[0] * x[0])
    return waiting.get() * x[1]


def file_that_is_read(x):
    name = f"never_{3}.npy"
    np.save(name, x * x)
    return np.sum(np.load(name))


@pytest.mark.parametrize(
    "f",
    [set_of_a_table, item_of_an_array_of_objects, queue_that_is_read, file_that_is_read],
    ids=lambda f: f.__name__,
)
def test_what_a_call_has_written_into_carries_no_derivative(f):
    with pytest.raises(srcad.errors.SrcadError):
        srcad.grad(f)(np.array([1.0, 2.0, 3.0]))


def test_a_text_beside_a_call_that_looks_is_no_file():
    def f(p):
        np.array2string(p["w"], prefix="w")
        return np.sum(p["w"] ** 2)

    np.testing.assert_allclose(srcad.grad(f)({"w": X})["w"], 2.0 * X)


def test_written_argument_names_a_fortran_routine_as_the_user_does():
    def f(x):
        return np.sum(x) + 0.0 * srcad.stop_gradient(np.sum(blas.dscal(2.0, x)))

    with pytest.raises(MutationError, match="'dscal' has written into") as caught:
        srcad.grad(f)(np.ones(3))
    assert "function dscal" not in str(caught.value)
