"""Formulas that act on each entry by itself, or nearly so."""

import numpy as np

from benchmarks.npbench.registry import kernel, weighted


def arc_distance(theta_1, phi_1, theta_2, phi_2):
    """Return the angle between points of the sphere."""
    temp = (
        np.sin((theta_2 - theta_1) / 2) ** 2
        + np.cos(theta_1) * np.cos(theta_2) * np.sin((phi_2 - phi_1) / 2) ** 2
    )
    return 2 * np.arctan2(np.sqrt(temp), np.sqrt(1 - temp))


@kernel(
    lambda rng, n: (*(start + rng.random(n) for start in (0.1, 0.0, -1.2, 1.2)),),
    (6,),
    (20_000,),
    complex_step=False,
    peer=True,
)
def sum_of_arc_distance(theta_1, phi_1, theta_2, phi_2):
    """The angles."""
    return weighted(arc_distance(theta_1, phi_1, theta_2, phi_2))


def compute(array_1, array_2, a, b, c):
    """Clip an array, and combine it with another one."""
    return np.clip(array_1, 2, 10) * a + array_2 * b + c


def some_clipped(rng, n, m):
    """Two tables of floats, the first with entries below, between and above the limits."""
    array_1 = rng.choice([0.0, 4.0, 11.0], (n, m)) + rng.random((n, m))
    return array_1, 10 * rng.random((n, m)), 4.5, 3.5, 9.5


@kernel(some_clipped, (3, 4), (100, 120))
def sum_of_compute(array_1, array_2, a, b, c):
    """The combination."""
    return weighted(compute(array_1, array_2, a, b, c))


def go_fast(a):
    """Add the sum of the squashed diagonal to every entry."""
    trace = 0.0
    for i in range(a.shape[0]):
        trace += np.tanh(a[i, i])
    return a + trace


@kernel(lambda rng, n: (rng.normal(size=(n, n)),), (4,), (300,))
def sum_of_go_fast(a):
    """The table."""
    return weighted(go_fast(a))
