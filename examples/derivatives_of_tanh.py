"""
Six derivatives of tanh, and the trace of Heron's method
========================================================

Nest derivatives six deep, and follow a derivative through a loop.

``srcad.elementwise_grad`` of a derivative is the next one; ``srcad.inspect`` shows the code of the
first. The results are compared with the polynomials in ``tanh(x)`` that the rule
``y' = 1 - y**2`` gives. ``srcad.trace_table`` lists the values of Heron's method for a square root,
and the derivatives of the result by each of them. ``srcad.gradient`` shows that the method forgets
its start, and that its derivative converges as fast as its value.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from numpy.polynomial import Polynomial

import srcad


def tanh(x):
    """Return the hyperbolic tangent, written out."""
    y = np.exp(-2.0 * x)
    return (1.0 - y) / (1.0 + y)


def closed_forms(count):
    """Return the first derivatives of tanh as polynomials in its value."""
    forms = [Polynomial([0.0, 1.0])]
    for _ in range(count):
        forms.append(forms[-1].deriv() * Polynomial([1.0, 0.0, -1.0]))
    return forms


def heron(a, start, iterations):
    """Return the square root of ``a`` by the method of Heron."""
    x = start
    for _ in range(iterations):
        x = 0.5 * (x + a / x)
    return x


def draw_derivatives(x, curves):
    """Draw tanh and its derivatives, each scaled by its maximum."""
    _, axes = plt.subplots(figsize=(7, 7), layout="constrained")
    for order, curve in enumerate(curves):
        peak = np.max(np.abs(curve))
        axes.axhline(-2.3 * order, color="0.85", lw=0.8)
        axes.plot(x, curve / peak - 2.3 * order, color=plt.cm.viridis(order / len(curves)))
        axes.text(4.1, -2.3 * order, f"order {order}, maximum {peak:.4g}", va="center")
    axes.set(xlabel="x", xlim=(-4, 7.4), xticks=range(-4, 5), yticks=[])
    axes.set_title("tanh and six derivatives, each divided by its maximum")


def draw_convergence(values, slopes, memory):
    """Draw how value and derivative of Heron's method converge."""
    _, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    tiny = 1e-17
    axes.semilogy(np.abs(values / np.sqrt(2.0) - 1.0) + tiny, "o-", label="value")
    axes.semilogy(np.abs(slopes * np.sqrt(8.0) - 1.0) + tiny, "s-", label="derivative by a")
    axes.semilogy(np.abs(memory) + tiny, "^-", label="derivative by the start")
    axes.set(xlabel="iteration", ylabel="relative error, or derivative", title="Heron's method")
    axes.legend()


def main():
    """Compare derivatives with closed forms, print a trace, and draw both."""
    x = np.linspace(-4.0, 4.0, 401)
    derivative, curves = tanh, [tanh(x)]
    for _ in range(6):
        derivative = srcad.elementwise_grad(derivative)
        curves.append(derivative(x))
    exact = [form(np.tanh(x)) for form in closed_forms(6)]
    errors = [np.max(np.abs(c - e)) / np.max(np.abs(e)) for c, e in zip(curves, exact, strict=True)]
    for order, error in enumerate(errors):
        print(f"order {order}: relative error {error:.0e}")
    print(srcad.inspect(tanh, x[0]).adjoint_source)
    draw_derivatives(x, curves)

    print(srcad.trace_table(heron, 2.0, 8.0, 7))
    values = np.array([heron(2.0, 8.0, k) for k in range(8)])
    slopes, memory = np.array([srcad.gradient(heron, 2.0, 8.0, k)[:2] for k in range(8)]).T
    draw_convergence(values, slopes, memory)
    plt.show()
    root = abs(values[-1] - np.sqrt(2.0)) + abs(slopes[-1] - np.sqrt(0.125))
    return 0 if max(errors) < 1e-11 and root < 1e-9 else 1


if __name__ == "__main__":
    if main() != 0:
        raise SystemExit(1)
