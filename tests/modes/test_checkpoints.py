"""Checkpoints and loops that are cut: the same derivative, to the bit, with less kept."""

from __future__ import annotations

import pickle
import random
import tracemalloc

import numpy as np
import pytest

import srcad
from srcad import checkpoint, checkpointed_range
from tests.marks import named_some
from tests.modes.checkpointed import CALLS, LOOPS, Net, W, X, drops_out, layer, masked, plain
from tests.numeric import assert_close, difference

USUAL = named_some([*LOOPS, *CALLS], [
    "stencil", "breaks", "appends", "two_levels", "several_results", "one_in_another",
    "writes_into_its_argument", "containers", "noisy",
])  # fmt: skip


def same(a, b):
    """Whether two answers are equal to the bit."""
    if isinstance(a, tuple):
        return isinstance(b, tuple) and len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and np.array_equal(a, b)


# ------------------------------------------------------------------------------- derivatives
@pytest.mark.parametrize("f", USUAL, ids=lambda f: f.__name__)
def test_checkpointed_gradient_bitwise_equal_to_uncheckpointed(f):
    gradient, wanted = srcad.value_and_grad(f), srcad.value_and_grad(plain(f))

    for rest in (W,) if f in CALLS else (7, 1, 0):
        got, want = gradient(X, rest), wanted(X, rest)

        assert same(got, want)
        assert same(got[0], f(X.copy(), rest))


@pytest.mark.parametrize("f", USUAL, ids=lambda f: f.__name__)
def test_checkpointed_pullback_reusable(f):
    rest = W if f in CALLS else 7
    want = srcad.gradient(plain(f), X, rest)

    _, back = srcad.pullback(f, X, rest)

    assert same(back(1.0), want)
    assert same(back(1.0), want)


SECOND = named_some([*LOOPS, *CALLS], ["stencil"])


@pytest.mark.parametrize("f", SECOND, ids=lambda f: f.__name__)
def test_checkpointed_hvp_and_jvp_equal_to_uncheckpointed(f):
    g, rest = plain(f), W if f in CALLS else 7
    v = np.array([1.0, -2.0, 0.5])

    got = srcad.hvp(f)(X, rest, v=v)
    want = srcad.hvp(g)(X, rest, v=v)
    again = srcad.grad(lambda x: np.sum(srcad.grad(f)(x, rest) * v))(X)
    tangent = srcad.jvp(lambda x: f(x, rest), (X,), (v,))

    assert_close(got, want, rtol=1e-11)
    assert_close(again, want, rtol=1e-11)
    assert same(tangent, srcad.jvp(lambda x: g(x, rest), (X,), (v,)))


def test_masked_zeros_preserved_inside_checkpoint():
    got = srcad.grad(masked)(X, W)

    assert same(got, srcad.grad(plain(masked))(X, W))
    assert np.all(np.isfinite(got))


# ------------------------------------------------------------------------------- memory
def growing(x, a, n):
    for _ in checkpointed_range(n):
        x = x + 0.001 * np.tanh(a * x)
    return np.sum(x)


def growing_on_two_levels(x, a, n):
    for _ in checkpointed_range(n, levels=2):
        x = x + 0.001 * np.tanh(a * x)
    return np.sum(x)


def peak(gradient, *args):
    """The most memory that was in use during a call, in arrays of the first argument's size."""
    gradient(*args)
    tracemalloc.start()
    gradient(*args)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most / args[0].nbytes


def test_checkpointed_loop_peak_memory_square_root():
    x, n = np.linspace(0.1, 1.0, 5000), 216

    assert peak(srcad.grad(plain(growing)), x, 1.5, n) > n
    assert peak(srcad.grad(growing), x, 1.5, n) < 4 * n**0.5
    assert peak(srcad.grad(growing_on_two_levels), x, 1.5, n) < 6 * n ** (1 / 3)


def test_checkpoint_saves_only_arguments():
    def deep(x):
        for _ in range(20):
            x = np.sin(np.cos(np.exp(-x)))
        return np.sum(x)

    saved = srcad.inspect(lambda x: checkpoint(deep)(x) ** 2, np.ones(3)).saved

    assert len(saved) <= 2


# ------------------------------------------------------------------------------- effects
def test_checkpointed_print_runs_once(capsys):
    def told(x, n):
        for i in checkpointed_range(n):
            x = np.sin(x)
            print("trip", i)
        return np.sum(checkpoint(lambda v: (print("end"), v * v)[1])(x))

    srcad.grad(told)(X, 4)

    assert capsys.readouterr().out == "".join(f"trip {i}\n" for i in range(4)) + "end\n"


def test_checkpoint_recomputation_repeats_random_draws():
    rng = drops_out.__defaults__[0]

    def outcome(f):
        rng.seed(5)
        random.seed(1)
        answer = srcad.value_and_grad(f)(X, W)
        return answer, rng.uniform(), random.random()

    got, want = outcome(drops_out), outcome(plain(drops_out))

    assert same(got[0], want[0])
    assert got[1:] == want[1:]


def test_unseeded_generator_in_checkpoint_rejected():
    def noise(x):
        return x * x * np.random.default_rng().normal()

    with pytest.raises(srcad.errors.UnsupportedSyntaxError, match="a second time"):
        srcad.grad(lambda x: checkpoint(noise)(x))(3.0)


SEEDED = [
    lambda x: np.sum(np.sin(x) ** 2 * np.random.default_rng(seed=3).normal(size=2)),
    lambda x: np.sum(np.sin(x) ** 2 * np.random.default_rng([1, 2]).normal(size=2)),
    lambda x: np.sum(np.sin(x) ** 2 * np.random.default_rng((1, 2)).normal(size=2)),
    lambda x: np.sum(
        np.sin(x) ** 2 * np.random.default_rng(np.random.SeedSequence(5)).normal(size=2)
    ),
    lambda x: np.sum(np.sin(x) ** 2 * np.random.RandomState(seed=3).normal(size=2)),
    lambda x: np.sum(np.sin(x) ** 2 * np.random.Generator(np.random.PCG64(3)).normal(size=2)),
    lambda x: np.sum(
        np.sin(x) ** 2 * np.random.Generator(bit_generator=np.random.Philox(seed=3)).normal(size=2)
    ),
]


@pytest.mark.parametrize("noise", SEEDED)
def test_generator_seeded_in_checkpoint_draws_the_same_again(noise):
    x = np.array([1.0, 2.0])
    np.testing.assert_allclose(
        srcad.grad(lambda x: checkpoint(noise)(x))(x), difference(noise, (x,)), rtol=1e-6
    )


def test_generator_of_bits_made_outside_of_checkpoint_rejected():
    bits = np.random.PCG64(3)

    def noise(x):
        return x * x * np.random.Generator(bits).normal()

    with pytest.raises(srcad.errors.UnsupportedSyntaxError, match="a second time"):
        srcad.grad(lambda x: checkpoint(noise)(x))(3.0)


def test_unrepeatable_call_in_checkpoint_rejected_with_location(tmp_path):
    path = tmp_path / "scale"
    path.write_text("2.0")

    def read(x):
        return x * float(path.open().read()) * x

    with pytest.raises(srcad.errors.UnsupportedSyntaxError, match="a second time") as caught:
        srcad.grad(lambda x: checkpoint(read)(x))(3.0)

    assert "path.open()" in str(caught.value) or "float(path" in str(caught.value)


def test_checkpointed_range_in_zip_rejected():
    def zipped(x):
        s = 0.0
        for _, v in zip(checkpointed_range(3), x, strict=True):
            s += v * v
        return s

    with pytest.raises(srcad.errors.UnsupportedSyntaxError, match="index"):
        srcad.grad(zipped)(X)


# ------------------------------------------------------------------------------- plain calls
def test_checkpoint_preserves_function_metadata():
    assert layer(X, W).tolist() == layer.function(X, W).tolist()
    assert (layer.__name__, layer.__doc__) == ("layer", "A layer.")
    assert layer.__wrapped__ is layer.function
    assert repr(layer) == "<checkpointed 'layer'>"
    assert Net(W).forward(X, k=1.0).tolist() == np.tanh(W @ X).tolist()


def test_a_checkpointed_function_can_be_pickled():
    assert pickle.loads(pickle.dumps(layer)) is layer
    assert pickle.loads(pickle.dumps(checkpoint(np.sin)))(1.0) == np.sin(1.0)


def test_checkpointed_method_includes_object():
    net = Net(W)

    def loss(x, net):
        return np.sum(net.forward(net.forward(x), k=3.0))

    def written_out(x, w):
        return np.sum(np.tanh(w @ (np.tanh(w @ x) * 2.0)) * 3.0)

    assert_close(srcad.grad(loss)(X, net), srcad.grad(written_out)(X, W), rtol=1e-14)


def test_checkpointed_range_is_range_when_not_differentiated():
    assert checkpointed_range(2, 9, 3, every=2, levels=2) == range(2, 9, 3)


@pytest.mark.parametrize("option", ["every", "levels"])
def test_zero_segment_length_or_levels_rejected(option):
    def loop(x, k):
        for _ in checkpointed_range(3, **{"every": k} if option == "every" else {"levels": 0}):
            x = x * x
        return x

    for call in (loop, srcad.grad(loop), lambda *a: srcad.jvp(loop, a, (1.0, 0))):
        with pytest.raises(ValueError, match=option):
            call(2.0, 0)
