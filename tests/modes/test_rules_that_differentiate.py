"""Rules of users that call derivatives, in all modes and to second order."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import srcad
from srcad import rules
from srcad.errors import RuleError
from tests.marks import named_some

X = np.array([0.3, 0.8])
P = np.array([1.5, 2.5])
V = np.array([0.4, -0.7])

# The law is ``sin(x) * p**3``; of ``sin(law)`` the first and the second derivative by ``p``:
LAW = np.sin(X) * P**3
FIRST = np.cos(LAW) * np.sin(X) * 3 * P**2
SECOND = -np.sin(LAW) * (np.sin(X) * 3 * P**2) ** 2 + np.cos(LAW) * np.sin(X) * 6 * P


# ------------------------------------------------------------------------------- the rules
def by_grad(y_bar, y, x, p):
    return srcad.grad(lambda q: np.sum(y_bar * (np.sin(x) * q**3)))(p)


def by_value_and_grad(y_bar, y, x, p):
    return srcad.value_and_grad(lambda q: np.sum(y_bar * (np.sin(x) * q**3)))(p)[1]


def by_gradient(y_bar, y, x, p):
    return srcad.gradient(lambda q: np.sum(y_bar * (np.sin(x) * q**3)), p)[0]


def by_pullback(y_bar, y, x, p):
    return srcad.pullback(lambda q: np.sin(x) * q**3, p)[1](y_bar)[0]


def by_jvp(y_bar, y, x, p):
    return srcad.jvp(lambda q: np.sin(x) * q**3, (p,), (y_bar,))[1]


def by_jacfwd(y_bar, y, x, p):
    return y_bar @ srcad.jacfwd(lambda q: np.sin(x) * q**3)(p)


def by_jacrev(y_bar, y, x, p):
    return y_bar @ srcad.jacrev(lambda q: np.sin(x) * q**3)(p)


def by_hessian(y_bar, y, x, p):
    return y_bar @ srcad.hessian(lambda q: np.sum(np.sin(x) * q**4 / 4))(p)


def by_hvp(y_bar, y, x, p):
    return srcad.hvp(lambda q: np.sum(np.sin(x) * q**4 / 4))(p, y_bar)


def by_elementwise_grad(y_bar, y, x, p):
    return y_bar * srcad.elementwise_grad(lambda q: np.sin(x) * q**3)(p)


def by_gradient_of_list(y_bar, y, x, p):
    return srcad.grad(lambda qs: np.sum(y_bar * (np.sin(qs[1]) * qs[0] ** 3)))([p, x])[0]


def in_loop(y_bar, y, x, p):
    p_bar = np.zeros(2)
    for k in range(2):
        p_bar[k] = srcad.grad(lambda q, k=k: y_bar[k] * np.sin(x[k]) * q**3)(p[k])
    return p_bar


def in_branch(y_bar, y, x, p):
    if p[0] > 0:
        return srcad.grad(lambda q: np.sum(y_bar * (np.sin(x) * q**3)))(p)
    return np.zeros_like(p)


def of_writes(y_bar, y, x, p):
    def total(q):
        z = np.zeros(2)
        for i in range(2):
            z[i] = np.sin(x[i]) * q[i] ** 3
        return np.sum(z * y_bar)

    return srcad.grad(total)(p)


RULES = {
    rule.__name__: rule
    for rule in (by_grad, by_value_and_grad, by_gradient, by_pullback, by_jvp, by_jacfwd,
                 by_jacrev, by_hessian, by_hvp, by_elementwise_grad, by_gradient_of_list,
                 in_loop, in_branch, of_writes)
}  # fmt: skip


def _law_with(rule: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    def law(x, p):
        return np.sin(x) * p**3

    rules.adjoint(law, active=("p",))(rule)
    return law


LAWS = {name: _law_with(rule) for name, rule in RULES.items()}


# ------------------------------------------------------------------------------- uses of them
def _row_by_row(f: Any, p: np.ndarray) -> Any:
    return srcad.jacobian(f, mode="rev")(p)


def grad_of_sum(law):
    return srcad.grad(lambda p: np.sum(np.sin(law(X, p))))(P), FIRST


def grad_after_other_work(law):
    p = np.sqrt(P)
    return srcad.grad(lambda p: np.sum(np.sin(law(X, p * p))))(p), FIRST * 2 * p


def grad_by_item_of_list(law):
    return srcad.grad(lambda ps: np.sum(np.sin(law(X, ps[0]))))([P, X])[0], FIRST


def grad_by_item_of_dict(law):
    return srcad.grad(lambda ps: np.sum(np.sin(law(X, ps["a"]))))({"a": P})["a"], FIRST


def grad_through_list(law):
    def total(p):
        return sum([np.sum(np.sin(law(X, q))) for q in [p, 2 * p / 2]])

    return srcad.grad(total)(P), 2 * FIRST


def grad_in_loop(law):
    def total(p):
        s = 0.0
        for k in range(3):
            s = s + np.sum(k * np.sin(law(X, p)))
        return s

    return srcad.grad(total)(P), 3 * FIRST


def value_and_grad(law):
    y, p_bar = srcad.value_and_grad(lambda p: np.sum(np.sin(law(X, p))))(P)
    return np.append(p_bar, y), np.append(FIRST, np.sum(np.sin(LAW)))


def pullback(law):
    return srcad.pullback(lambda p: np.sin(law(X, p)), P)[1](V)[0], V * FIRST


def elementwise_grad(law):
    return srcad.elementwise_grad(lambda p: np.sin(law(X, p)))(P), FIRST


def jacrev(law):
    return srcad.jacrev(lambda p: np.sin(law(X, p)) + 0 * p)(P), np.diag(FIRST)


def jacfwd(law):
    return srcad.jacfwd(lambda p: np.sin(law(X, p)) + 0 * p)(P), np.diag(FIRST)


def jacrev_in_chunks(law):
    found = srcad.jacrev(lambda p: np.sin(law(X, p)) + 0 * p, chunk_size=1)(P)
    return found, np.diag(FIRST)


def hessian(law):
    return srcad.hessian(lambda p: np.sum(np.sin(law(X, p))))(P), np.diag(SECOND)


def hvp(law):
    return srcad.hvp(lambda p: np.sum(np.sin(law(X, p))))(P, V), SECOND * V


def jacobian_of_grad_row_by_row(law):
    return _row_by_row(srcad.grad(lambda p: np.sum(np.sin(law(X, p)))), P), np.diag(SECOND)


def jacobian_of_grad_in_loop_row_by_row(law):
    def total(p):
        s = 0.0
        for k in range(3):
            s = s + np.sum(k * np.sin(law(X, p)))
        return s

    return _row_by_row(srcad.grad(total), P), np.diag(3 * SECOND)


USES = (grad_of_sum, grad_after_other_work, grad_by_item_of_list, grad_by_item_of_dict,
        grad_through_list, grad_in_loop, value_and_grad, pullback, elementwise_grad, jacrev, jacfwd,
        jacrev_in_chunks, hessian, hvp, jacobian_of_grad_row_by_row,
        jacobian_of_grad_in_loop_row_by_row)  # fmt: skip


@pytest.mark.parametrize("use", USES, ids=lambda use: use.__name__)
@pytest.mark.parametrize("rule", named_some(RULES, ["by_grad", "by_pullback", "by_jvp"]))
def test_rule_that_calls_derivative_agrees_with_closed_form(rule: str, use: Any):
    found, expected = use(LAWS[rule])

    np.testing.assert_allclose(found, expected, rtol=1e-10)


# ------------------------------------------------------------------------------- other rules
def test_rule_that_calls_grad_by_list_returns_both_cotangents():
    def law(ps):
        return ps[0] ** 3 * ps[1]

    @rules.adjoint(law)
    def rule(y_bar, y, ps):
        return srcad.grad(lambda qs: np.sum(y_bar * qs[0] ** 3 * qs[1]))(ps)

    found = srcad.grad(lambda ps: np.sum(np.sin(law(ps))))([P, X])

    outer = np.cos(P**3 * X)
    np.testing.assert_allclose(found, [outer * 3 * P**2 * X, outer * P**3], rtol=1e-12)


@dataclass
class Pair:
    a: Any
    b: Any


class NamedPair(NamedTuple):
    a: Any
    b: Any


@pytest.mark.parametrize("cls", [Pair, NamedPair])
def test_rule_that_calls_pullback_by_record_returns_both_cotangents(cls):
    def law(pair):
        return pair.a**3 * pair.b

    @rules.adjoint(law)
    def rule(y_bar, y, pair):
        return srcad.pullback(lambda q: q.a**3 * q.b, pair)[1](y_bar)[0]

    found = srcad.grad(lambda pair: np.sum(law(pair)))(cls(P, X))

    np.testing.assert_allclose([found.a, found.b], [3 * P**2 * X, P**3], rtol=1e-12)


def test_rule_that_calls_grad_by_dict_to_second_order():
    def law(ps):
        return ps["a"] ** 3 * ps["b"]["c"]

    @rules.adjoint(law)
    def rule(y_bar, y, ps):
        return srcad.grad(lambda qs: np.sum(y_bar * qs["a"] ** 3 * qs["b"]["c"]))(ps)

    def total(p):
        return np.sum(law({"a": p, "b": {"c": p}}))

    np.testing.assert_allclose(srcad.grad(total)(P), 4 * P**3, rtol=1e-12)
    np.testing.assert_allclose(srcad.hessian(total)(P), np.diag(12 * P**2), rtol=1e-12)


def test_entry_for_dict_with_keys_in_other_order():
    def law(ps):
        return ps["a"] ** 3 * ps["b"]

    @rules.adjoint(law)
    def rule(y_bar, y, ps):
        return {"b": y_bar * ps["a"] ** 3, "a": y_bar * 3 * ps["a"] ** 2 * ps["b"]}

    found = srcad.grad(lambda ps: np.sum(law(ps)))({"a": P, "b": X})

    np.testing.assert_allclose([found["a"], found["b"]], [3 * P**2 * X, P**3], rtol=1e-12)


def test_entry_for_dict_with_other_keys_rejected():
    def law(ps):
        return ps["a"] ** 3

    @rules.adjoint(law)
    def rule(y_bar, y, ps):
        return {"c": y_bar * 3 * ps["a"] ** 2}

    with pytest.raises(RuleError, match="has the keys 'c' where 'a' are needed"):
        srcad.grad(lambda ps: np.sum(law(ps)))({"a": P})


def test_derivative_rule_that_calls_elementwise_grad_to_second_order():
    def law(p):
        return p**3

    @rules.derivative(law)
    def rule(p):
        return srcad.elementwise_grad(lambda q: q**3)(p)

    def total(p):
        return np.sum(np.sin(law(p)))

    second = -np.sin(P**3) * 9 * P**4 + np.cos(P**3) * 6 * P
    np.testing.assert_allclose(srcad.grad(total)(P), np.cos(P**3) * 3 * P**2, rtol=1e-12)
    np.testing.assert_allclose(srcad.hessian(total)(P), np.diag(second), rtol=1e-12)


def test_tangent_rule_that_calls_jvp_forwards():
    def law(p):
        return p**3

    @rules.adjoint(law)
    def rule(y_bar, y, p):
        return srcad.pullback(lambda q: q**3, p)[1](y_bar)[0]

    @rules.tangent(law)
    def push(p_dot, y, p):
        return srcad.jvp(lambda q: q**3, (p,), (p_dot,))[1]

    _, tangent = srcad.jvp(lambda p: np.sin(law(p)), (P,), (V,))
    np.testing.assert_allclose(tangent, np.cos(P**3) * 3 * P**2 * V, rtol=1e-12)
    found = srcad.jacfwd(lambda p: np.sin(law(p)) + 0 * p)(P)
    np.testing.assert_allclose(found, np.diag(np.cos(P**3) * 3 * P**2), rtol=1e-12)


def test_rule_with_two_results_may_seed_pullback_with_none():
    def law(p):
        return p**3, np.sin(p)

    @rules.adjoint(law)
    def rule(y_bar, y, p):
        return srcad.pullback(lambda q: (q**3, np.sin(q)), p)[1](y_bar)[0]

    found = srcad.grad(lambda p: np.sum(law(p)[1]))(P)
    second = srcad.hessian(lambda p: np.sum(law(p)[0]))(P)

    np.testing.assert_allclose(found, np.cos(P), rtol=1e-12)
    np.testing.assert_allclose(second, np.diag(6 * P), rtol=1e-12)
