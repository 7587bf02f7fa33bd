"""Options of the compiled backend, fallback to NumPy code, and the cache on disk."""

import copy
import importlib.util
import os
import pickle
import runpy
import stat
import subprocess
import sys
import time
import warnings
from pathlib import Path

import cloudpickle
import numpy as np
import pytest

import srcad
from srcad.__main__ import main
from srcad.arguments.options import compiler_is_disabled
from srcad.backends.interface import NotCovered
from srcad.backends.numba.folder import _is_safe, private
from srcad.backends.numba.lowering import Parameter
from srcad.backends.numba.running import kernels
from srcad.errors import NonFiniteError, NotCompiledError, OptionError
from srcad.types.numeric import Numeric
from tests.marks import some

ROOT = Path(__file__).resolve().parents[3]
HAS_NUMBA = importlib.util.find_spec("numba") is not None
needs_numba = pytest.mark.skipif(not HAS_NUMBA, reason="needs the extra: pip install '.[numba]'")
X = np.linspace(-1.0, 1.0, 5)


def smooth(x, scale):
    return np.sum(np.tanh(scale * x) ** 2)


def spectrum(x):
    return np.sum(np.abs(np.fft.fft(x)) ** 2)


def kernel_of(gradient):
    return gradient._newest().run.__globals__["kernel"]


# ------------------------------------------------------------------------------- options
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"strict": 1}, "strict is True or False"),
        ({"wait": None}, "wait is True or False"),
        ({"cache": 3}, "cache is a folder"),
        ({"parallel": 2}, "parallel is True or False"),
    ],
)
def test_option_of_invalid_value_rejected(options, said):
    with pytest.raises(OptionError, match=said):
        srcad.Numba(**options)


@needs_numba
def test_name_and_default_options_share_compilations():
    named, given = srcad.grad(smooth, backend="numba"), srcad.grad(smooth, backend=srcad.Numba())
    strict = srcad.grad(smooth, backend=srcad.Numba(strict=True))

    named(X, 2.0)

    assert given.cache_info().compilations == 1
    assert strict.cache_info().compilations == 0


@needs_numba
@pytest.mark.parametrize("mode", [srcad.grad, srcad.value_and_grad, srcad.jacobian, srcad.hessian,
                                  srcad.elementwise_grad, srcad.jacfwd, srcad.jacrev])  # fmt: skip
def test_every_mode_accepts_options(mode):
    here = mode(smooth, backend=srcad.Numba(strict=False))

    assert here.request.backend == srcad.Numba()
    assert mode(smooth, backend="numba").request == here.request


@needs_numba
def test_decorated_function_uses_compiled_backend():
    decorated = srcad.differentiate(backend=srcad.Numba())(smooth)

    y, back = decorated.pullback(X, 2.0)

    np.testing.assert_allclose(y, smooth(X, 2.0), rtol=1e-14)
    np.testing.assert_allclose(back(1.0)[0], srcad.grad(smooth)(X, 2.0), rtol=1e-13)


def test_backend_without_numba_raises_import_error(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)

    for ask in (srcad.grad, srcad.hvp, srcad.differentiate):
        for backend in ("numba", srcad.Numba()):
            with pytest.raises(ImportError, match=r"pip install 'srcad\[numba\]'"):
                ask(smooth, backend=backend)


def test_automatic_backend_without_numba_runs_numpy(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    gradient = srcad.grad(lambda x: np.sum(x * x), backend="auto")

    assert gradient(X).tolist() == (2 * X).tolist()
    assert gradient.inspect(X).backend == "numpy: no Numba"


def test_importing_srcad_does_not_import_numba():
    code = "import sys, srcad; srcad.grad(lambda x: x); print('numba' in sys.modules)"

    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT,
                         check=True)  # fmt: skip

    assert run.stdout.strip() == "False"


# ------------------------------------------------------------------------------- results
@needs_numba
def test_compiled_gradient_equals_numpy_gradient():
    compiled = srcad.value_and_grad(smooth, wrt=(0, 1), backend="numba")

    found, expected = compiled(X, 2.0), srcad.value_and_grad(smooth, wrt=(0, 1))(X, 2.0)

    assert compiled.inspect(X, 2.0).backend == "numba"
    assert "for i in range(" in compiled.source
    assert [type(v) for v in (found[0], *found[1])] == [
        type(v) for v in (expected[0], *expected[1])
    ]
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-13)
    for one, other in zip(found[1], expected[1], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13)


def mean_of_products(x, s):
    return np.mean(x * s - s * x)


def sum_of_rows(x, s):
    return np.sum(np.sum(x * s - x * s, axis=1))


def mean_in_single_precision(x, s):
    return np.mean((s * x - x * s).astype(np.float32))


def variance(x, s):
    return np.var(-(s * x) + s * x)


@needs_numba
@pytest.mark.parametrize(
    "function", some([mean_of_products, sum_of_rows, mean_in_single_precision, variance], 1)
)
def test_compiled_sum_of_terms_that_cancel_is_nan(function):
    compiled = srcad.value_and_grad(function, wrt="s", backend="numba")
    finite, special = np.ones((2, 3)), np.array([[1.0, np.inf, 2.0], [3.0, 4.0, np.nan]])

    assert compiled(finite, 2.0) == (0.0, 0.0)
    for column in range(3):
        x = special[:, [column]] * np.ones((2, 3))
        is_nan = not np.isfinite(x).all()  # x * s - x * s, and its derivative x - x
        assert np.isnan(compiled(x, 2.0)).tolist() == [is_nan, is_nan]


@needs_numba
def test_source_lines_name_lines_of_user():
    gradient = srcad.grad(smooth, backend="numba")
    gradient(X, 2.0)

    shown = gradient.inspect(X, 2.0)

    assert "# return np.sum(np.tanh(scale * x) ** 2)" in gradient.source
    assert smooth.__code__.co_firstlineno + 1 in shown.line_map.values()


@needs_numba
def test_inspection_shows_both_compiled_halves():
    shown = srcad.differentiate(backend="numba")(smooth).inspect(X, 2.0)

    assert "for i in range(" in shown.primal_source
    assert "for i in range(" in shown.adjoint_source
    assert "runs on numba" in repr(shown)


@needs_numba
def test_arrays_in_other_order_are_served():
    gradient = srcad.grad(smooth, wrt="scale", backend="numba")
    gradient(np.ones((2, 3)), 2.0)
    strided = np.linspace(0, 1, 12).reshape(3, 4).T[::2]
    readonly = np.ones((2, 3))
    readonly.flags.writeable = False

    for x in (strided, strided, readonly, np.asfortranarray(np.ones((2, 3)))):
        expected = srcad.grad(smooth, wrt="scale")(x, 2.0)
        np.testing.assert_allclose(gradient(x, 2.0), expected, rtol=1e-13)
    assert kernel_of(gradient) is not None


@needs_numba
def test_large_integer_runs_on_numpy():
    def f(x, n):
        return np.sum(x) * n

    gradient = srcad.grad(f, backend="numba")

    assert gradient(X, 2).tolist() == [2.0] * 5
    assert gradient(X, 2**60).tolist() == [2.0**60] * 5
    assert gradient(X, 2**70).tolist() == [2.0**70] * 5


@needs_numba
def test_user_error_raised_once_with_user_line():
    def f(x, k):
        return x[k] * x[k]

    gradient = srcad.grad(f, backend="numba")
    gradient(X, 1)

    with pytest.raises(IndexError) as found:
        gradient(X, 7)

    assert found.value.__context__ is None
    assert [note.count("x[k] * x[k]") for note in found.value.__notes__] == [1]


@needs_numba
def test_kernel_that_refuses_repeatedly_is_not_used_again():
    def f(x, k):
        return x[k] * x[k]

    gradient = srcad.grad(f, backend="numba")
    gradient(X, 1)

    for _ in range(3):
        with pytest.raises(IndexError):
            gradient(X, 7)

    assert kernel_of(gradient) is None
    assert gradient.inspect(X, 1).backend.startswith("numpy: the compiled code did not serve")
    assert gradient(X, 1).tolist() == srcad.grad(f)(X, 1).tolist()


@needs_numba
def test_numpy_code_runs_where_numpy_raises():
    gradient = srcad.grad(lambda x: np.sum(np.exp(x)), backend="numba")

    assert np.isinf(gradient(np.array([1e4]))).all()
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        gradient(np.array([1e4]))


# ------------------------------------------------------------------------------- not covered
@needs_numba
def test_uncovered_function_runs_on_numpy_and_warns_once():
    gradient = srcad.grad(spectrum, backend="numba")

    with pytest.warns(srcad.BackendWarning, match=r"runs on NumPy: .*test_options.py:\d+") as found:
        value = gradient(X)

    assert len(found) == 1
    assert value.tolist() == srcad.grad(spectrum)(X).tolist()
    assert gradient(X.reshape(1, 5)).shape == (1, 5)
    assert "np.fft.fft(" in gradient.source
    assert gradient.inspect(X).backend.startswith("numpy: ")


@needs_numba
def test_strict_backend_refuses_uncovered_function():
    gradient = srcad.grad(spectrum, backend=srcad.Numba(strict=True))

    with pytest.raises(NotCompiledError, match=r"the derivative of 'spectrum' is not compiled"):
        gradient(X)
    with pytest.raises(NotCompiledError, match=r"(?s)test_options.py.*\^.*strict=True"):
        gradient(X)


@needs_numba
def test_checked_values_run_on_numpy():
    gradient = srcad.grad(lambda x: np.sum(np.log(x)), check_finite=True, backend="numba")

    with pytest.warns(srcad.BackendWarning, match="check_finite=True"):
        gradient(np.ones(2))

    with np.errstate(all="ignore"), pytest.raises(NonFiniteError):
        gradient(np.zeros(2))


@needs_numba
def test_hook_runs_on_numpy():
    seen = []

    def f(x):
        return np.sum(srcad.hook(x, lambda bar: seen.append(bar) or bar) ** 2)

    gradient = srcad.grad(f, backend="numba")

    with pytest.warns(srcad.BackendWarning):
        gradient(X)

    assert len(seen) == 1
    assert gradient.inspect(X).backend.startswith("numpy: ")


@needs_numba
def test_compiled_derivative_is_exported_as_numpy_code(tmp_path):
    file = tmp_path / "slope.py"

    srcad.grad(smooth, backend="numba").export(file, X, 2.0)

    assert "np.tanh(" in file.read_text()


@needs_numba
def test_cotangent_block_runs_on_numpy():
    def f(x):
        y = np.sin(x)
        with srcad.cotangent(y) as y_bar:
            y_bar = np.clip(y_bar, -1.0, 1.0)
        return np.sum(5.0 * y)

    gradient = srcad.grad(f, backend="auto")

    assert gradient(X).tolist() == srcad.grad(f)(X).tolist()


# ------------------------------------------------------------------------------- command line
@needs_numba
def test_show_prints_loops(tmp_path, capsys):
    file = tmp_path / "shown_loops.py"
    file.write_text("import numpy as np\ndef f(x):\n    return np.sum(np.tanh(x))\n")

    assert main(["show", f"{file}:f", "--backend", "numba", "--args", "np.ones(3)"]) == 0

    assert "for i in range(n_x):" in capsys.readouterr().out


def test_demo_without_numba_says_how_to_install_it(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)

    with pytest.raises(SystemExit, match=r"pip install 'srcad\[numba\]'"):
        main(["demo", "--backend", "numba"])


# ------------------------------------------------------------------------------- copies
@needs_numba
def test_compiled_derivative_pickles_and_copies():
    gradient = srcad.grad(smooth, backend=srcad.Numba(strict=True))
    expected = gradient(X, 2.0)

    for same in (pickle.loads(pickle.dumps(gradient)), copy.deepcopy(gradient),
                 cloudpickle.loads(cloudpickle.dumps(gradient))):  # fmt: skip
        assert same.request == gradient.request
        assert same(X, 2.0).tolist() == expected.tolist()


@needs_numba
def test_compiled_pullback_is_pickled_as_numpy_code():
    _, back = srcad.differentiate(backend="numba")(smooth).pullback(X, 2.0)

    same = pickle.loads(pickle.dumps(back))

    np.testing.assert_allclose(same(1.0)[0], back(1.0)[0], rtol=1e-13)
    assert not hasattr(same._adjoint, "numpy_form")


# ------------------------------------------------------------------------------- later
def until(condition):
    end = time.monotonic() + 60.0
    while not condition() and time.monotonic() < end:
        time.sleep(0.1)
    return condition()


@needs_numba
def test_background_compilation_replaces_numpy_code():
    gradient = srcad.grad(smooth, backend=srcad.Numba(wait=False))

    first = gradient(X, 2.0)

    assert until(lambda: kernel_of(gradient) is not None)
    assert gradient.inspect(X, 2.0).backend == "numba"
    np.testing.assert_allclose(gradient(X, 2.0), first, rtol=1e-13)


@needs_numba
def test_failed_background_compilation_warns_at_next_call(monkeypatch):
    def fails(*_):
        raise NotCovered("a defect")

    monkeypatch.setattr(kernels(), "compiled", fails)
    gradient = srcad.grad(lambda x: np.sum(x * x), backend=srcad.Numba(wait=False))

    gradient(X)

    assert until(lambda: gradient.inspect(X).backend == "numpy: a defect")
    with pytest.warns(srcad.BackendWarning, match="a defect"):
        gradient(X)
    assert gradient(X).tolist() == (2 * X).tolist()


@needs_numba
def test_automatic_backend_compiles_after_enough_time(monkeypatch):
    from srcad.backends.numba import running

    def f(x):
        return np.sum(np.exp(x) * x)

    gradient, x = srcad.grad(f, backend="auto"), np.linspace(0, 1, 1000)

    first = gradient(x)
    assert gradient.inspect(x).backend == "numpy: not compiled yet"
    monkeypatch.setattr(running, "WORTH", 0.0)
    assert until(lambda: gradient(x) is not None and kernel_of(gradient) is not None)

    assert gradient.inspect(x).backend == "numba"
    np.testing.assert_allclose(gradient(x), first, rtol=1e-13)


@needs_numba
def test_automatic_backend_does_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error", srcad.BackendWarning)
        gradient = srcad.grad(spectrum, backend="auto")

        assert gradient(X).tolist() == srcad.grad(spectrum)(X).tolist()


# ------------------------------------------------------------------------------- on disk
PROGRAM = """
import numpy as np
import srcad
def smooth(x, scale):
    return np.sum(np.tanh(scale * x) ** 2)
gradient = srcad.grad(smooth, backend=srcad.Numba(strict=True))
found = gradient(np.linspace(-1.0, 1.0, 5), 2.0)
kernel = gradient._newest().run.__globals__["kernel"]
"""
REPORT = "print(found.tobytes().hex(), sum(kernel.stats.cache_hits.values()))"


@needs_numba
def test_second_process_loads_compiled_code(tmp_path, monkeypatch):
    folder = tmp_path / "kept"
    env = {**os.environ, "SRCAD_CACHE_DIR": str(folder), "PYTHONPATH": str(ROOT)}
    file = tmp_path / "program.py"
    file.write_text(PROGRAM + REPORT)
    monkeypatch.setenv("SRCAD_CACHE_DIR", str(folder))
    here = runpy.run_path(str(file))

    run = subprocess.run([sys.executable, file], capture_output=True, text=True, env=env,
                         check=True)  # fmt: skip

    assert not here["kernel"].stats.cache_hits
    assert run.stdout.split() == [here["found"].tobytes().hex(), "1"]


@needs_numba
@pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")
def test_cache_in_writable_folder_is_refused(tmp_path):
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o777)
    gradient = srcad.grad(smooth, backend=srcad.Numba(cache=folder))

    with pytest.raises(OptionError, match="other users may write"):
        gradient(X, 2.0)


@needs_numba
@pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")
def test_cache_below_folder_that_others_may_exchange_is_refused(tmp_path):
    parent = tmp_path / "shared"
    parent.mkdir()
    parent.chmod(0o777)
    gradient = srcad.grad(smooth, backend=srcad.Numba(cache=parent / "mine"))

    with pytest.raises(OptionError, match="other users may put another one in its place"):
        gradient(X, 2.0)


@pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")
def test_folder_below_link_into_shared_folder_is_refused(tmp_path):
    shared, link = tmp_path / "shared", tmp_path / "link"
    (shared / "mine").mkdir(parents=True, mode=0o700)
    shared.chmod(0o777)
    link.symlink_to(shared / "mine")

    with pytest.raises(OptionError, match="may change '.*shared'"):
        private(str(link / "kept"))


@pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")
def test_new_folders_below_sticky_folder_are_private(tmp_path):
    sticky = tmp_path / "temporary"
    sticky.mkdir()
    sticky.chmod(0o1777)
    before = os.umask(0)
    try:
        inner = Path(private(str(sticky / "a" / "b")))
    finally:
        os.umask(before)

    found = [stat.S_IMODE(place.stat().st_mode) for place in (inner, *inner.parents[:3])]
    assert found == [0o700, 0o700, 0o700, 0o1777]


@pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")
@pytest.mark.parametrize(
    ("mode", "owner", "group", "is_safe"),
    [
        (0o40755, 1000, 50, True),
        (0o40755, 0, 0, True),
        (0o40755, 1001, 50, False),
        (0o41777, 0, 0, True),
        (0o41777, 1001, 50, False),
        (0o40757, 1000, 1000, False),
        (0o40775, 1000, 50, False),
        (0o40775, 1000, 1000, True),
        (0o120777, 1000, 50, True),
        (0o120777, 1001, 50, False),
    ],
)
def test_directory_is_safe_if_only_the_user_and_root_may_rename(
    monkeypatch, mode, owner, group, is_safe
):
    monkeypatch.setattr(os, "getuid", lambda: 1000)
    monkeypatch.setattr(os, "getgid", lambda: 1000)

    found = os.stat_result((mode, 1, 1, 1, owner, group, 0, 0, 0, 0))

    assert _is_safe(found) is is_safe


def small_kernel(kept):
    """Compile ``x + 1`` and return it, the number of its loads from disk, and its files."""
    number = Numeric(np.dtype(np.float64), ())
    kernel = kernels().compiled(
        "def kernel(x):\n    return x + 1.0\n", "kernel", [Parameter("x", (), number)],
        None if kept is None else str(kept),
    )  # fmt: skip
    files = [] if kept is None else sorted(kept.glob("*"))
    return kernel, sum(kernel.stats.cache_hits.values()), files


@needs_numba
@pytest.mark.parametrize(
    "damage",
    some(
        [
            lambda data: data[:100] + bytes([data[100] ^ 1]) + data[101:],
            lambda data: data[: len(data) // 2],
            lambda data: b"",
            lambda data: data[:7],
            lambda data: np.random.default_rng(0).bytes(len(data)),
            lambda data: data + b"x",
        ],
        3,
    ),
)
def test_damaged_file_of_compiled_code_is_replaced(tmp_path, damage):
    _, _, (file,) = small_kernel(tmp_path)
    file.write_bytes(damage(file.read_bytes()))

    kernel, loads, files = small_kernel(tmp_path)

    assert (kernel(2.0), loads, files) == (3.0, 0, [file])
    again, loads, _ = small_kernel(tmp_path)
    assert (again(2.0), loads) == (3.0, 1)


@needs_numba
def test_kernel_is_compiled_if_its_folder_is_gone(tmp_path):
    kernel, loads, files = small_kernel(tmp_path / "gone")

    assert (kernel(2.0), loads, files) == (3.0, 0, [])


@needs_numba
def test_full_disk_leaves_no_file(tmp_path, monkeypatch):
    def replace(old, new):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", replace)

    kernel, _, files = small_kernel(tmp_path)

    assert (kernel(2.0), files) == (3.0, [])


@needs_numba
@pytest.mark.parametrize("given", [True, False])
def test_folder_of_numba_is_not_used(tmp_path, monkeypatch, given):
    config = importlib.import_module("numba.core.config")
    mine, other = tmp_path / "mine", tmp_path / "other"
    mine.mkdir()
    other.mkdir()
    monkeypatch.setattr(config, "CACHE_DIR", str(other))

    small_kernel(mine if given else None)

    assert [*other.rglob("*")] == []
    assert len([*mine.iterdir()]) == given


# ----------------------------------------------------------------------- Numba switched off
@needs_numba
def test_disabled_compiler_runs_numpy_code(monkeypatch):
    monkeypatch.setattr(importlib.import_module("numba.core.config"), "DISABLE_JIT", 1)
    gradient = srcad.grad(lambda x: np.sum(np.sin(x) ** 2), backend=srcad.Numba(strict=True))

    np.testing.assert_allclose(gradient(X), np.sin(2 * X), rtol=1e-14, atol=1e-16)
    assert gradient.inspect(X).backend == "numpy: NUMBA_DISABLE_JIT is set"


@needs_numba
def test_compiler_disabled_after_the_loops_were_written_is_not_used(tmp_path, monkeypatch):
    kernels()
    monkeypatch.setattr(importlib.import_module("numba.core.config"), "DISABLE_JIT", 1)

    with pytest.raises(NotCovered, match="set to compile nothing"):
        small_kernel(tmp_path)


@pytest.mark.parametrize(("value", "expected"), [("1", True), ("0", False), ("yes", False)])
def test_disabled_compiler_is_known_before_numba_is_imported(monkeypatch, value, expected):
    monkeypatch.delitem(sys.modules, "numba.core.config", raising=False)
    monkeypatch.setenv("NUMBA_DISABLE_JIT", value)

    assert compiler_is_disabled() is expected


@needs_numba
def test_few_operations_on_numbers_run_on_numpy_without_warning():
    gradient = srcad.grad(lambda x, y: (y - x**2) ** 2 + y * x, backend=srcad.Numba(strict=True))

    assert gradient(2.0, 3.0) == 11.0
    assert gradient.inspect(2.0, 3.0).backend.startswith("numpy: a few operations on numbers")


@needs_numba
def test_parallel_loops_return_the_same_gradient():
    x = np.linspace(-2.0, 2.0, 120_000).reshape(300, 400)

    def rows(x):
        largest = np.max(x, axis=1, keepdims=True)
        return np.sum(np.log(np.sum(np.exp(x - largest), axis=1)))

    parallel = srcad.grad(rows, backend=srcad.Numba(parallel=True))

    np.testing.assert_allclose(parallel(x), srcad.grad(rows)(x), rtol=1e-12)
    assert "for i in numba.prange(n0_x):" in parallel.source
    assert "total = np.empty" not in parallel.source


@needs_numba
def test_sums_and_small_arrays_stay_on_one_core():
    def total(x):
        return np.sum(x * x)

    options = srcad.Numba(parallel=True)
    small, value = srcad.grad(total, backend=options), srcad.value_and_grad(total, backend=options)

    small(np.ones(10))
    value(np.ones(200_000))

    assert "prange" not in small.source
    assert "prange" not in value.source
