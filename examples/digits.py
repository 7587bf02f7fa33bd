"""
Handwritten digits with Adam
============================

Train a two-layer network on handwritten digits: minibatches, Adam, saved parameters, NumPy alone.

The network is an ordinary function of its parameters, a dict of arrays, and
``srcad.value_and_grad`` returns its loss and a dict of gradients. Adam is six lines. At the end the
parameters are written to a file and read again, and the same step is timed as NumPy code and, if
Numba is installed, compiled.
"""

from __future__ import annotations

import argparse
import importlib.util
import tempfile
import time
from pathlib import Path

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
    z = z - np.max(z, axis=1, keepdims=True)
    log_p = z - np.log(np.sum(np.exp(z), axis=1, keepdims=True))
    decay = np.sum(params["W1"] ** 2) + np.sum(params["W2"] ** 2)
    return -np.mean(np.sum(t * log_p, axis=1)) + 1e-4 * decay


def initial(rng, hidden=128):
    """Return random parameters."""
    return {
        "W1": rng.normal(0.0, 0.125, (64, hidden)),
        "b1": np.zeros(hidden),
        "W2": rng.normal(0.0, 0.125, (hidden, 10)),
        "b2": np.zeros(10),
    }


def accuracy(params, x, labels):
    """Return the share of images that are recognised."""
    return float(np.mean(np.argmax(scores(params, x), axis=1) == labels))


def minibatches(rng, x, t, size=32, noise=0.15):
    """Yield all images in random order, in small parts, with noise against learning by heart."""
    order = rng.permutation(len(x))
    for k in range(0, len(x), size):
        chosen = order[k : k + size]
        yield x[chosen] + rng.normal(0.0, noise, (len(chosen), 64)), t[chosen]


def train(data, epochs, rng):
    """Train by Adam, with a rate that falls to 0; return parameters, losses and accuracies."""
    x, x_test, y, y_test = data
    step = srcad.value_and_grad(loss)
    params, t, count = initial(rng), np.eye(10)[y], 0
    mean = {key: np.zeros_like(p) for key, p in params.items()}
    square = {key: np.zeros_like(p) for key, p in params.items()}
    losses, accuracies = [], []
    for epoch in range(epochs):
        rate = 3e-3 * 0.5 * (1.0 + np.cos(np.pi * epoch / epochs))
        for seen, wanted in minibatches(rng, x, t):
            value, gradient = step(params, seen, wanted)
            losses.append(value)
            count += 1
            for key, g in gradient.items():
                mean[key] += 0.1 * (g - mean[key])
                square[key] += 0.001 * (g**2 - square[key])
                size = np.sqrt(square[key] / (1.0 - 0.999**count)) + 1e-8
                params[key] -= rate * mean[key] / (1.0 - 0.9**count) / size
        accuracies.append(accuracy(params, x_test, y_test))
    return params, losses, accuracies


def saved_and_loaded(params):
    """Write the parameters to a file and read them: a dict of arrays needs no format of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "digits.npz"
        np.savez(path, **params)
        with np.load(path) as file:
            return dict(file)


def seconds_per_step(backend, params, x, t):
    """Return the time of one loss with its gradient, the shortest of several."""
    step = srcad.value_and_grad(loss, backend=backend)
    times = []
    for _ in range(30):
        begin = time.perf_counter()
        step(params, x, t)
        times.append(time.perf_counter() - begin)
    return min(times)


def draw(losses, accuracies, misread, times):
    """Draw the learning curve, images that are misread, and the time of a step."""
    figure, ((top, images), (below, bars)) = plt.subplots(
        2, 2, figsize=(8, 6), layout="constrained"
    )
    top.semilogy(np.reshape(losses, (len(accuracies), -1)).mean(axis=1))
    top.set(ylabel="loss", title="training")
    below.plot(np.multiply(accuracies, 100.0))
    below.set(xlabel="epoch", ylabel="recognised (%)", title="images not seen in training")
    mosaic = np.zeros((3, 12, 3, 10))
    for k, (image, label, answer) in enumerate(misread[:9]):
        mosaic[k // 3, 3:11, k % 3, 1:9] = image.reshape(8, 8)
        images.text(k % 3 * 10, k // 3 * 12 + 2, f"{label}: {answer}?", color="orange")
    images.imshow(mosaic.reshape(36, 30), cmap="gray")
    images.set(xticks=[], yticks=[], title=f"the {len(misread)} that are misread")
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
    params, losses, accuracies = train(data, options.epochs, np.random.default_rng(0))
    loaded = saved_and_loaded(params)
    answers = np.argmax(scores(loaded, x_test), axis=1)
    same = np.mean(answers == y_test) == accuracies[-1]
    misread = [one for one in zip(x_test, y_test, answers, strict=True) if one[1] != one[2]]
    backends = ["numpy", *(["numba"] if importlib.util.find_spec("numba") else [])]
    batch = x[:32], np.eye(10)[y[:32]]
    times = {backend: seconds_per_step(backend, params, *batch) for backend in backends}
    print(f"test accuracy {accuracies[-1]:.2%}, of the saved parameters the same: {same}")
    print(", ".join(f"{name} {1e6 * each:.0f} microseconds" for name, each in times.items()))
    figure = draw(losses, accuracies, misread, times)
    if options.out:
        figure.savefig(options.out, dpi=120)
    plt.show()
    return 0 if accuracies[-1] > 0.97 and same else 1


if __name__ == "__main__":
    if main() != 0:
        raise SystemExit(1)
