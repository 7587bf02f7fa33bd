"""
Handwritten digits
==================

Train a two-layer network on handwritten digits, in plain NumPy.

Run it with ``pip install -e '.[examples]'`` and ``python examples/digits.py``.
The network is an ordinary function of its parameters; ``srcad.value_and_grad`` differentiates it.
The learning curve goes to ``digits.png``.
"""

from __future__ import annotations

import argparse
import sys

import matplotlib as mpl
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from tqdm import tqdm

import srcad

mpl.use("Agg")
import matplotlib.pyplot as plt


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


def train(epochs, batch=32, rate=0.5, noise=0.15, seed=0):
    """Train by stochastic gradient descent; return losses, test accuracies and parameters.

    A little noise on the images keeps the network from learning them by heart.
    """
    images, labels = load_digits(return_X_y=True)
    x, x_test, y, y_test = train_test_split(
        images / 16.0, labels, test_size=0.25, random_state=seed, stratify=labels
    )
    t = np.eye(10)[y]
    rng = np.random.default_rng(seed)
    params = initial(rng)
    step = srcad.value_and_grad(loss)
    losses, accuracies = [], []
    progress = tqdm(range(epochs), unit="epoch", file=sys.stdout, disable=None)
    for epoch in progress:
        order = rng.permutation(len(x))
        rate_now = rate * 0.5 * (1 + np.cos(np.pi * epoch / epochs))
        total = 0.0
        for k in range(0, len(x), batch):
            chosen = order[k : k + batch]
            seen = x[chosen] + rng.normal(0.0, noise, (len(chosen), 64))
            value, gradient = step(params, seen, t[chosen])
            params = {key: params[key] - rate_now * gradient[key] for key in params}
            total += value * len(chosen)
        losses.append(total / len(x))
        accuracies.append(accuracy(params, x_test, y_test))
        progress.set_postfix(loss=f"{losses[-1]:.4f}", test=f"{accuracies[-1]:.2%}")
    return losses, accuracies, params


def draw(losses, accuracies, file):
    """Write the learning curve to a PNG file."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
    left.semilogy(losses)
    left.set(xlabel="epoch", ylabel="training loss")
    right.plot(np.multiply(accuracies, 100.0))
    right.set(xlabel="epoch", ylabel="test accuracy (%)")
    figure.suptitle("Handwritten digits: a two-layer network in plain NumPy")
    figure.savefig(file, dpi=120)


def main():
    """Train, report and draw."""
    parser = argparse.ArgumentParser(description="Train a network on handwritten digits.")
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--out", default="digits.png", help="file of the learning curve")
    options = parser.parse_args()
    losses, accuracies, _ = train(options.epochs)
    draw(losses, accuracies, options.out)
    print(f"test accuracy {accuracies[-1]:.2%}; learning curve in {options.out}")
    return 0 if accuracies[-1] > 0.97 else 1


if __name__ == "__main__":
    if main() != 0:
        raise SystemExit(1)
