"""Plain NumPy functions whose generated adjoints are kept as golden files."""

import numpy as np


def poly(x):
    return 3 * x**2 + 2 * x + 1


def mlp(params, x, t):
    h = np.tanh(x @ params["W1"] + params["b1"])
    y = h @ params["W2"] + params["b2"]
    r = y - t
    return np.mean(r**2)


def newton_sqrt(a):
    x = a
    while abs(x * x - a) > 1e-6 * a:
        x = 0.5 * (x + a / x)
    return x


def recurrence(a, x):
    s = 0.0
    for i in range(len(x)):
        s = a * s + x[i] * x[i]
    return s


def huber(r, delta):
    if abs(r) <= delta:
        y = 0.5 * r * r
    else:
        y = delta * (abs(r) - 0.5 * delta)
    return y


def cell(W, h, x):
    return np.tanh(W @ h + x)


def rnn(W, h0, xs):
    h = h0
    hs = []
    for x in xs:
        h = cell(W, h, x)
        hs.append(h)
    return np.sum(np.stack(hs) ** 2)


def power(x, n):
    if n == 0:
        return 1.0
    return x * power(x, n - 1)


def diffuse(u0, steps):
    u = u0.copy()
    for t in range(steps):
        u[1:-1] = u[1:-1] + 0.1 * (u[:-2] - 2 * u[1:-1] + u[2:])
    return np.sum(u**2)
