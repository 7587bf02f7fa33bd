# ruff: noqa: D103 - the primals and their adjoints are formulas
"""A recurrent network whose time loop overwrites rows of its state, in the form of ADBench."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.problems.registry import problem


def _text(rng: np.random.Generator, layers: int, characters: int) -> tuple[Any, ...]:
    hidden, rows = 14, 2 * layers
    return (
        rng.random((rows, 4 * hidden)),
        rng.random((3, hidden)),
        rng.random((rows, hidden)),
        (rng.random((characters, hidden)) < 0.5).astype(float),
    )


def lstm_by_hand(main, extra, state, seq):
    H = state.shape[1]
    s = state.copy()
    cells, outputs = [], []
    n = seq.shape[0] - 1
    for t in range(n):
        x = seq[t] * extra[0]
        for i in range(0, s.shape[0], 2):
            joined = np.concatenate((x, s[i], x, s[i]))
            g = joined * main[i] + main[i + 1]
            forget, keep, out = (sigmoid(g[k * H : (k + 1) * H]) for k in range(3))
            change = np.tanh(g[3 * H :])
            before = s[i + 1].copy()
            c = before * forget + keep * change
            shown = np.tanh(c)
            x = out * shown
            cells.append((joined, forget, keep, out, change, before, shown))
            s[i] = x
            s[i + 1] = c
        outputs.append((x, np.exp(x * extra[1] + extra[2])))
    total_bar = -1.0 / (n * H)
    main_bar, extra_bar, s_bar = np.zeros_like(main), np.zeros_like(extra), np.zeros_like(s)
    g_bar = np.empty(4 * H)
    for t in range(n - 1, -1, -1):
        x, e = outputs.pop()
        z_bar = total_bar * seq[t + 1]
        y_bar = z_bar - (np.sum(z_bar) / (np.sum(e) + 2.0)) * e
        extra_bar[2] += y_bar
        extra_bar[1] += y_bar * x
        x_bar = y_bar * extra[1]
        for i in range(s.shape[0] - 2, -1, -2):
            joined, forget, keep, out, change, before, shown = cells.pop()
            x_bar = x_bar + s_bar[i]
            c_bar = s_bar[i + 1] + x_bar * out * (1.0 - shown * shown)
            g_bar[:H] = c_bar * before * forget * (1.0 - forget)
            g_bar[H : 2 * H] = c_bar * change * keep * (1.0 - keep)
            g_bar[2 * H : 3 * H] = x_bar * shown * out * (1.0 - out)
            g_bar[3 * H :] = c_bar * keep * (1.0 - change * change)
            s_bar[i + 1] = c_bar * forget
            main_bar[i + 1] += g_bar
            main_bar[i] += g_bar * joined
            joined_bar = g_bar * main[i]
            x_bar = joined_bar[:H] + joined_bar[2 * H : 3 * H]
            s_bar[i] = joined_bar[H : 2 * H] + joined_bar[3 * H :]
        extra_bar[0] += x_bar * seq[t]
    return main_bar, extra_bar


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


@problem(lstm_by_hand, _text, {"l2_c64": (2, 64), "l2_c256": (2, 256)}, (0, 1))
def lstm(main, extra, state, seq):
    H = state.shape[1]
    s = state.copy()
    total = 0.0
    count = 0
    inp = seq[0]
    for t in range(seq.shape[0] - 1):
        x = inp * extra[0]
        for i in range(0, s.shape[0], 2):
            g = np.concatenate((x, s[i], x, s[i])) * main[i] + main[i + 1]
            c = s[i + 1] * sigmoid(g[:H]) + sigmoid(g[H : 2 * H]) * np.tanh(g[3 * H :])
            x = sigmoid(g[2 * H : 3 * H]) * np.tanh(c)
            s[i] = x
            s[i + 1] = c
        y = x * extra[1] + extra[2]
        y = y - np.log(np.sum(np.exp(y)) + 2.0)
        gold = seq[t + 1]
        total = total + np.sum(gold * y)
        count = count + H
        inp = gold
    return -total / count
