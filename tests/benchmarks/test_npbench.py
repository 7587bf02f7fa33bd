"""The kernels of NPBench and PolyBench: what they compute, and that their gradients are right."""

import dataclasses

import numpy as np
import pytest

import srcad
from benchmarks.npbench import KERNELS, check, floating, oracle, stencils
from benchmarks.npbench.registry import weighted
from tests.benchmarks import npbench_references
from tests.marks import some

try:
    from benchmarks.npbench import peers
except ImportError:
    peers = None

LONG = ("channel_flow", "lenet", "cavity_flow", "nbody", "vadv", "resnet_basicblock")
each_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
each_kernel_but_long_ones = pytest.mark.parametrize(
    "kernel", some(KERNELS.values(), lambda _, kernel: kernel.name not in LONG), ids=KERNELS
)


def inputs_of(kernel, seed=check.SEED):
    return kernel.inputs("test", np.random.default_rng(seed))


# ---------------------------------------------------------------------------- the kernels
def test_there_are_forty_two_kernels_and_twelve_have_a_peer():
    assert len(KERNELS) == 42
    assert sum(kernel.peer for kernel in KERNELS.values()) == 12


@each_kernel
def test_kernel_matches_reference(kernel):
    inputs = inputs_of(kernel)

    outputs = getattr(npbench_references, kernel.name)(*inputs)

    expected = sum(weighted(output) for output in outputs)
    assert kernel.function(*oracle.copied(inputs)) == pytest.approx(expected, rel=1e-11, abs=1e-11)


@each_kernel_but_long_ones
def test_a_kernel_depends_on_every_size_and_seed(kernel):
    values = {
        float(kernel.function(*kernel.inputs(size, np.random.default_rng(seed))))
        for size, seed in (("test", 1), ("test", 2), ("bench", 1))
    }

    assert len(values) == 3
    assert np.isfinite(list(values)).all()


@pytest.mark.skipif(peers is None, reason="autograd is not installed")
@pytest.mark.parametrize("name", [k.name for k in KERNELS.values() if k.peer])
def test_peer_matches_kernel(name):
    inputs = inputs_of(KERNELS[name])

    value = peers.PEERS[name](*oracle.copied(inputs))

    assert KERNELS[name].function(*inputs) == pytest.approx(value, rel=1e-11)


# ----------------------------------------------------------------------------- the oracle
@each_kernel_but_long_ones
def test_complex_steps_agree_with_differences(kernel):
    """Where complex steps cannot be taken, differences with another step take their place."""
    inputs = inputs_of(kernel)
    rng = np.random.default_rng(1)
    for position in floating(inputs):
        direction = rng.normal(size=np.shape(inputs[position]))

        taken = oracle.slope(kernel, inputs, position, direction)

        step = 1e-5 if kernel.complex_step else 3e-5
        expected = oracle.difference_slope(kernel, inputs, position, direction, step)
        assert taken == pytest.approx(expected, rel=1e-6, abs=1e-7)


def test_check_detects_wrong_gradient(monkeypatch):
    monkeypatch.setattr(
        check.srcad, "grad", lambda f, wrt: lambda *args: [1.001 * args[k] for k in wrt]
    )

    found = check.finding(KERNELS["go_fast"], "test")

    assert found.verdict == "wrong"
    assert "input 0: differs from the oracle" in found.reason


def test_check_detects_changed_input(monkeypatch):
    kernel = KERNELS["gemm"]

    def mutating(f, wrt):
        def gradient(*args):
            args[2][0, 0] += 1.0
            return [args[k] for k in wrt]

        return gradient

    monkeypatch.setattr(check.srcad, "grad", mutating)

    assert check.finding(kernel, "test").reason == "an input was changed"


def test_check_distinguishes_rejection_from_crash():
    def refused(x):
        return x  # not one number

    def crashing(x):
        return x[70, 70]

    kernel = KERNELS["go_fast"]

    assert check.finding(dataclasses.replace(kernel, function=refused), "test").verdict == "refused"
    assert check.finding(dataclasses.replace(kernel, function=crashing), "test").verdict == "failed"


def test_the_table_has_a_row_per_kernel(capsys):
    check.main(["softmax", "atax", "--time"])

    table = capsys.readouterr().out.splitlines()
    assert table[2].startswith("| kernel | gradient | primal (ms) |")
    assert [line.split()[1:4] for line in table[4:6]] == [["softmax", "|", "right"],
                                                          ["atax", "|", "right"]]  # fmt: skip
    assert table[-1] == "2 right"


# -------------------------------------------------------------------------- the gradients
@each_kernel_but_long_ones
def test_the_gradient_is_right(kernel):
    assert str(check.finding(kernel, "test")) == "right"


def test_a_gradient_of_many_entries_is_right_in_random_directions():
    assert str(check.finding(KERNELS["softmax"], "bench")) == "right"


def jacobi(steps, a, b):
    stencils.jacobi_2d(steps, b, a)
    return np.sum(a) + np.sum(b)


def seidel(steps, n, a):
    stencils.seidel_2d(steps, n, a)
    return np.sum(a)


@pytest.mark.parametrize(
    ("f", "inputs", "wrt"),
    [(jacobi, (4, np.ones((5, 6)), np.ones((5, 6))), (1, 2)), (seidel, (3, 5, np.ones((5, 5))), 2)],
)
def test_linear_updates_save_no_residual_array(f, inputs, wrt):
    seen = srcad.inspect(f, *inputs, wrt=wrt)

    assert {"a", "b"}.isdisjoint(seen.saved)
    assert ".append(" not in seen.primal_source
    assert seen.primal_source.count("copy(") <= 2  # the arguments, which the function writes into
