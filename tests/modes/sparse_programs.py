"""Programs with sparse Jacobians and Hessians."""

import numpy as np


def burgers(u, nu):
    """The right-hand side of Burgers' equation on a line, between walls."""
    n = u.shape[0]
    h = 1.0 / (n + 1)
    padded = np.concatenate((np.zeros(1), u, np.zeros(1)))
    left, right = padded[:-2], padded[2:]
    return nu * (right - 2.0 * u + left) / h**2 - u * (right - left) / (2.0 * h)


def rosenbrock(x):
    """The chained Rosenbrock function."""
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def rosenbrock_loop(x):
    total = 0.0
    for i in range(x.shape[0] - 1):
        total += 100.0 * (x[i + 1] - x[i] ** 2) ** 2 + (1.0 - x[i]) ** 2
    return total


def stencil_in_place(u):
    v = np.zeros_like(u)
    v[1:-1] = u[:-2] * u[2:] - u[1:-1] ** 2
    v[0] = u[0] ** 3
    v[-1] += np.sin(u[-1])
    return v


def branches(x):
    y = x.copy()
    for i in range(x.shape[0]):
        if x[i] > 0.0:
            y[i] = x[i] ** 2
        else:
            y[i] = x[i] * x[0]
    return y


def heat_2d(u):
    v = np.pad(u, 1)
    return v[1:-1, :-2] + v[1:-1, 2:] + v[:-2, 1:-1] + v[2:, 1:-1] - 4.0 * u + u**3


def rows(x):
    return np.sum(x * x, axis=1) * x[:, 0]


def sorted_pairs(x):
    return np.maximum(x[::2], x[1::2]) + np.max(x.reshape(-1, 2), axis=1)


def systems(a):
    return np.linalg.solve(a + 4.0 * np.eye(2), np.ones((2, 1)))


def layers(x):
    m = np.diag(np.arange(1.0, x.shape[0] + 1))
    return np.tanh(m @ x) + np.cumsum(x)


def collected(x):
    out = []
    for i in range(x.shape[0]):
        out.append(x[i] * (out[-1] if i % 2 else 1.0))
    return np.stack(out)


def gathered(x, index):
    return x[index] * x[::-1][index]


def powers(x, n):
    return x if n <= 0 else x * powers(np.roll(x, 1), n - 1)


def recursive(x):
    return powers(x, 2)


def caught(x):
    try:
        y = x[1:] * 2.0
        if np.sum(x) > 1.0:
            raise ValueError
    except ValueError:
        y = x[:-1] ** 2
    return y


def many_records(x):
    p = {"a": x[:2], "b": [x[2:], x[1:-1]]}
    return p["a"] * p["b"][0][:2] + p["b"][1][:2]


def burgers_in_time(t, u):
    return burgers(u, 0.01)


# ------------------------------------------------------------ rows of very different scales
def rates(c, order):
    return np.array([1e9 * c[0] * c[1], 1e-5 * c[order[0]], 1e-5 * c[order[1]]])


def largest_concentration(c):
    return np.array([1e9 * c[0] * c[1], 1e-7 * c[np.argmax(c)] ** 2, 1e-7 * c[np.argsort(c)[0]]])


def logarithm_beside(x, k):
    return np.array([np.log(x[0]) + x[k] ** 2, x[1] * x[2]])


def roots_beside(x, k):
    weights = np.ones(3)
    return np.stack([np.sqrt(x[i]) + np.sum(weights * x[k]) * x[3] for i in range(3)])


def cancelling(x, k):
    large = 1e9 * x[0] * x
    return np.concatenate((large - 1e9 * (x[0] * x), np.array([1e-5 * x[k]])))


def energy(x, pairs):
    total = 1e6 * x[0] ** 2 * x[1]
    for i, j in pairs:
        total = total + 1e-6 * x[i] * x[j]
    return total


def energy_of_largest(x):
    k = np.argmax(x)
    return 1e8 * x[0] ** 2 * x[1] + 1e-8 * x[k] ** 2 * x[k - 1]


def energy_of_roots(x, k):
    return np.sum(x[1:] ** 1.5) + x[0] * x[k] ** 2


# ------------------------------------------------------------ a number times a constant array
WEIGHTS = np.array([1.0, -2.0, 4.0])


class Basis:
    """A constant in an object."""

    def __init__(self):
        self.weights = np.array([3.0, 0.5])

    def scaled(self, amplitude):
        return self.weights * amplitude


BASIS = Basis()
OF_NUMBERS = {
    "constant times an entry": lambda x: np.arange(3.0) * x[0],
    "constant times a sum": lambda x: WEIGHTS * np.sum(x**2),
    "method of an object": lambda x: BASIS.scaled(x[1] * x[2]),
    "entry over a constant": lambda x: x[1] / WEIGHTS,
    "difference": lambda x: (x[0] - WEIGHTS) - x[2] * np.ones((2, 3)),
    "constant over an entry": lambda x: WEIGHTS / x[0] + x,
}


# ------------------------------------------------------------ conditions on counters
def upper_neighbours(x):
    r = np.zeros(len(x))
    for i in range(len(x)):
        r[i] = x[i] ** 2
        if i > 0:
            r[i] -= x[i - 1]
    return r


def by_comprehension(x):
    n = len(x)
    return np.array([x[i] - (x[i + 1] if 0 <= i < n - 1 else 0.0) for i in range(n)])


def by_while(x):
    r = x * x
    i = len(x) - 1
    while i >= 0:
        if i % 3 == 1:
            r[i] = r[i] + x[0]
        i -= 1
    return r


def by_option(x, order=1):
    y = x.copy()
    for i, v in enumerate(x, 1):
        if i == x.size:
            break
        if order > 1:
            y[0] = y[0] + v
        else:
            y[i] = y[i] + v
    return y


def neighbour_product(x, i):
    if i == 0:
        return x[i]
    return x[i] * x[max(i - 2, 0)]


def by_helper(x):
    return np.stack([neighbour_product(x, i) for i in range(len(x))])


def by_data(x):
    """The counter depends on numbers: both branches count."""
    positive = 0
    r = x * 1.0
    for i in range(len(x)):
        if x[i] > 0.0:
            positive += 1
        if positive > 2:
            r[i] = r[i] * x[0]
    return r


def by_end_of_loop(x):
    """Numbers decide where the counter ends: both branches count."""
    j = 0
    while j < len(x) and x[j] > 0.0:
        j += 1
    r = x * 2.0
    if j > 2:
        r[0] = r[0] * x[3]
    return r
