"""
Handwritten digits with Adam
============================

Train a two-layer network on handwritten digits: minibatches, Adam, saved parameters, NumPy alone.

The network is an ordinary function of its parameters, a dict of arrays, and
``srcad.value_and_grad`` returns its loss and a dict of gradients. Adam is six lines. The largest
score is subtracted before ``np.exp`` to avoid overflow; it cancels, so that
``srcad.stop_gradient`` spares its derivative. At the end the parameters are written to a file and
read again, and the same step is timed as NumPy code and, if Numba is installed, compiled:
``srcad.Numba(strict=True)`` would refuse a function that it cannot compile.
"""

from __future__ import annotations

import argparse
import functools
import importlib.util
import tempfile
import timeit

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import srcad


def scores(params, x):
    """Return unnormalised log-probabilities, shape (n, 10), of images ``x``, shape (n, 64)."""
    h = np.tanh(x @ params["W1"] + params["b1"])
    return h @ params["W2"] + params["b2"]


def loss(params, x, t):
    """Return the mean cross entropy of one-hot labels ``t``, shape (n, 10), with weight decay."""
    z = scores(params, x)
    z = z - srcad.stop_gradient(np.max(z, axis=1, keepdims=True))
    log_p = z - np.log(np.sum(np.exp(z), axis=1, keepdims=True))
    decay = np.sum(params["W1"] ** 2) + np.sum(params["W2"] ** 2)
    return -np.mean(np.sum(t * log_p, axis=1)) + 1e-4 * decay


def train(params, data, epochs, rng):
    """Train by Adam, with a rate that falls to 0; return losses and accuracies."""
    x, x_test, y, y_test = data
    step, t, count = srcad.value_and_grad(loss), np.eye(10)[y], 0
    mean = {key: np.zeros_like(p) for key, p in params.items()}
    square = {key: np.zeros_like(p) for key, p in params.items()}
    losses, accuracies = [], []
    for epoch in range(epochs):
        rate = 3e-3 * 0.5 * (1.0 + np.cos(np.pi * epoch / epochs))
        noisy = x + rng.normal(0.0, 0.15, x.shape)  # against learning by heart
        for batch in np.array_split(rng.permutation(len(x)), len(x) // 32):
            value, gradient = step(params, noisy[batch], t[batch])
            losses.append(value)
            count += 1
            for key, g in gradient.items():
                mean[key] += 0.1 * (g - mean[key])
                square[key] += 0.001 * (g**2 - square[key])
                size = np.sqrt(square[key] / (1.0 - 0.999**count)) + 1e-8
                params[key] -= rate * mean[key] / (1.0 - 0.9**count) / size
        accuracies.append(np.mean(np.argmax(scores(params, x_test), axis=1) == y_test))
    return losses, accuracies


def draw(losses, accuracies, misread, times):
    """Draw the learning curve, images that are misread, and the time of a step."""
    figure, ((top, images), (below, bars)) = plt.subplots(
        2, 2, figsize=(8, 6), layout="constrained"
    )
    top.semilogy(np.reshape(losses, (len(accuracies), -1)).mean(axis=1))
    top.set(ylabel="loss", title="training")
    below.plot(np.multiply(accuracies, 100.0))
    below.set(xlabel="epoch", ylabel="recognised (%)", title="images not seen in training")
    for k, (image, label, answer) in enumerate(misread[:9]):
        left, bottom = 10 * (k % 3), 24 - 12 * (k // 3)
        images.imshow(image.reshape(8, 8), cmap="gray", extent=(left, left + 8, bottom, bottom + 8))
        images.text(left, bottom + 8.5, f"{label}: {answer}?")
    images.set(xlim=(-1, 30), ylim=(-1, 36), title=f"the {len(misread)} that are misread")
    images.set_axis_off()
    bars.bar(list(times), [1e6 * seconds for seconds in times.values()])
    bars.set(ylabel="microseconds", title="one loss with its gradient")
    return figure


def main():
    """Train, save, time and draw."""
    parser = argparse.ArgumentParser(description="Train a network on handwritten digits.")
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--out", help="a file for the picture")
    options = parser.parse_args()
    images, labels = load_digits(return_X_y=True)
    data = x, x_test, y, y_test = train_test_split(
        images / 16.0, labels, test_size=0.25, random_state=0, stratify=labels
    )
    rng = np.random.default_rng(0)
    params = {"W1": rng.normal(0.0, 0.125, (64, 128)), "b1": np.zeros(128),
              "W2": rng.normal(0.0, 0.125, (128, 10)), "b2": np.zeros(10)}  # fmt: skip
    losses, accuracies = train(params, data, options.epochs, rng)
    with tempfile.TemporaryFile() as file:  # a dict of arrays needs no format of its own
        np.savez(file, **params)
        file.seek(0)
        loaded = dict(np.load(file))
    answers = np.argmax(scores(loaded, x_test), axis=1)
    same = np.mean(answers == y_test) == accuracies[-1]
    print(f"test accuracy {accuracies[-1]:.2%}, of the saved parameters the same: {same}")

    backends = {"NumPy": "numpy"}
    if importlib.util.find_spec("numba"):
        backends["Numba"] = srcad.Numba(strict=True)
    times = {}
    for name, backend in backends.items():
        step = srcad.value_and_grad(loss, backend=backend)
        call = functools.partial(step, params, x[:32], np.eye(10)[y[:32]])
        times[name] = min(timeit.repeat(call, number=1, repeat=30))
        print(f"one loss with its gradient by {name}: {1e6 * times[name]:.0f} microseconds")
    misread = [one for one in zip(x_test, y_test, answers, strict=True) if one[1] != one[2]]
    figure = draw(losses, accuracies, misread, times)
    if options.out:
        figure.savefig(options.out, dpi=120)
    plt.show()
    return 0 if accuracies[-1] > 0.97 and same else 1


if __name__ == "__main__":
    if main() != 0:
        raise SystemExit(1)
