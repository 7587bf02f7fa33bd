"""Programs as people write them: scripts that teach, and collections of test objectives."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import srcad
from tests.adapter import with_value
from tests.marks import some
from tests.numeric import assert_close, assert_gradient
from tests.programs import objectives, practice


def generator():
    return np.random.default_rng(7)


def assert_right(f, *args):
    """Value to the bit, gradients against differences; the function may remember things."""
    want = f(*copy.deepcopy(args))

    value, gradients = with_value(f, *args)(*args)

    assert_close(value, want, rtol=0, atol=0)
    assert_gradient(lambda *_: gradients, f, *args)


# ---------------------------------------------------------------------------- objectives
@pytest.mark.parametrize(("cls", "n"), objectives.CASES)
def test_an_objective_that_counts_its_calls(cls, n):
    objective = cls(n)
    x = generator().uniform(0.5, 1.5, n)

    assert_right(objective.fun, x)
    before = objective.nfev
    srcad.grad(objective.fun)(x)

    assert objective.nfev == before + 1


@pytest.mark.parametrize("case", some(objectives.CASES, lambda k, _: k % 4 == 0))
def test_an_objective_through_its_class(case):
    cls, n = case
    objective = cls(n)
    x = generator().uniform(0.5, 1.5, n)

    unbound = srcad.grad(cls.fun, wrt="x")(objective, x)

    assert_close(unbound, srcad.grad(objective.fun)(x), rtol=0, atol=0)
    assert objective.nfev == 2


def test_an_objective_with_more_arguments():
    objective = objectives.Shifted(2)

    assert_right(objective.fun, np.array([0.3, 2.0]), np.array([1.0, 2.0]), 3.0)


# ---------------------------------------------------------------------------- networks
def test_a_character_network_with_states_by_time():
    draw = generator().normal
    shapes = {"Wxh": (3, 4), "Whh": (3, 3), "Why": (4, 3), "bh": (3, 1), "by": (4, 1)}
    model = {name: 0.5 * draw(size=shape) for name, shape in shapes.items()}
    chars, places = practice.characters("abcad")
    inputs = [places[c] for c in "abca"]
    targets = [places[c] for c in "bcad"]

    assert len(chars) == 4
    assert_right(lambda m, h: practice.rnn_loss(m, inputs, targets, h), model, np.zeros((3, 1)))


def test_a_gated_network_with_caches_by_time():
    draw = generator().normal
    params = (draw(size=(12, 6)), draw(size=12), draw(size=(4, 3)))

    assert_right(lambda p: practice.lstm_loss(p, [0, 2, 1, 3], 3), params)


def test_a_language_model_with_heads():
    params = practice.gpt_params(generator())

    assert_right(lambda p: practice.lm_loss(p, [0, 2, 1, 3], n_head=2), params)


def test_stateful_layers_storing_input():
    network = practice.Network(
        [practice.Dense(2, 3, generator()), practice.Tanh(), practice.Dense(3, 1, generator())]
    )
    X, t = generator().normal(size=(4, 2)), generator().normal(size=(4, 1))

    assert_right(network.loss, X, t)
    calls, entries = network.layers[0].calls, len(network.history)
    value, _ = srcad.value_and_grad(network.loss)(X, t)

    assert network.layers[0].calls == calls + 1
    assert network.history[entries:] == [value]
    assert_close(network.layers[2].X, network.layers[1].out, rtol=0, atol=0)


# ---------------------------------------------------------------------------- fits
def layers():
    draw = generator().normal
    return [(draw(size=(2, 3)), draw(size=3)), (draw(size=(3, 1)), draw(size=1))]


def test_parameters_that_are_flattened_by_recursion():
    X, t = generator().normal(size=(4, 2)), generator().normal(size=(4, 1))

    assert_right(practice.ridge, layers(), X, t, 0.1)
    assert_right(practice.squared_norm, layers())


def test_a_fit_with_data_in_more_arguments():
    data = np.arange(4.0), generator().normal(size=4), np.ones(4)

    assert_right(practice.chi_square, np.array([1.0, 0.5, 0.1]), *data)


def test_a_likelihood_with_options():
    X = generator().normal(size=(3, 2))
    theta = generator().normal(size=2)

    def f(theta):
        return practice.negative_log_likelihood(theta, np.array([0.0, 1.0, 1.0]), X, ridge=0.1)

    assert_right(f, theta)


def test_a_curve_in_a_dict_by_year():
    flows = [(2024, 5.0), (2026, 100.0)]

    assert_right(
        lambda rates: practice.discount(rates, [2024, 2025, 2026], flows),
        np.array([0.01, 0.02, 0.03]),
    )
