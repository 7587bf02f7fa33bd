"""The adjoints of `golden_primals` as a careful person writes them: the measure."""

import math

import numpy as np


def grad_poly(x):
    return 6 * x + 2


def grad_mlp(params, x, t):
    W1, b1, W2, b2 = params["W1"], params["b1"], params["W2"], params["b2"]
    h = np.tanh(x @ W1 + b1)
    y = h @ W2 + b2
    r = y - t
    # r**2, mean
    dr = 2 * r / r.size
    # y = h @ W2 + b2
    dW2 = h.T @ dr
    db2 = np.sum(dr, axis=0)
    dh = dr @ W2.T
    # h = np.tanh(x @ W1 + b1)
    dz = dh * (1 - h * h)
    dW1 = x.T @ dz
    db1 = np.sum(dz, axis=0)
    return {"W1": dW1, "b1": db1, "W2": dW2, "b2": db2}


def grad_newton_sqrt(a):
    x = a
    x_saved = []
    while abs(x * x - a) > 1e-6 * a:
        x_saved.append(x)
        x = 0.5 * (x + a / x)
    dx, da = 1.0, 0.0
    for x in reversed(x_saved):
        # x = 0.5 * (x + a / x)
        dn = 0.5 * dx
        da += dn / x
        dx = dn - dn * a / (x * x)
    # x = a
    da += dx
    return da


def grad_recurrence(a, x):
    s = 0.0
    s_saved = []
    for i in range(len(x)):
        s_saved.append(s)
        s = a * s + x[i] * x[i]
    ds, da = 1.0, 0.0
    dx = np.zeros_like(x)
    for i in reversed(range(len(x))):
        # s = a * s + x[i] * x[i]
        dx[i] += 2 * x[i] * ds
        da += s_saved[i] * ds
        ds = a * ds
    return da, dx


def grad_huber(r, delta):
    if abs(r) <= delta:
        return r
    else:
        return delta * math.copysign(1.0, r)


def grad_rnn(W, h0, xs):
    h = h0
    hs = []
    for x in xs:
        h = np.tanh(W @ h + x)
        hs.append(h)
    # np.sum(np.stack(hs) ** 2)
    dhs = 2 * np.stack(hs)
    dW = np.zeros_like(W)
    dh = np.zeros_like(h0)
    dxs = np.empty_like(xs)
    for k in reversed(range(len(xs))):
        # hs.append(h)
        dh += dhs[k]
        # h = np.tanh(W @ h + x)
        dz = dh * (1 - hs[k] * hs[k])
        dW += np.outer(dz, hs[k - 1] if k else h0)
        dh = W.T @ dz
        dxs[k] = dz
    return dW, dh, dxs


def power_primal(x, n):
    if n == 0:
        return 1.0, None
    p, saved = power_primal(x, n - 1)
    return x * p, (x, p, saved)


def power_adjoint(saved, dy):
    if saved is None:
        return 0.0
    x, p, inner = saved
    return p * dy + power_adjoint(inner, x * dy)


def grad_power(x, n):
    _, saved = power_primal(x, n)
    return power_adjoint(saved, 1.0)


def grad_diffuse(u0, steps):
    u = u0.copy()
    for _ in range(steps):
        u[1:-1] = u[1:-1] + 0.1 * (u[:-2] - 2 * u[1:-1] + u[2:])
    du = 2 * u
    for _ in range(steps):
        # u[1:-1] = u[1:-1] + 0.1 * (u[:-2] - 2 * u[1:-1] + u[2:])
        g = du[1:-1].copy()
        du[1:-1] = 0.8 * g
        du[:-2] += 0.1 * g
        du[2:] += 0.1 * g
    return du
