"""
An automaton that grows an image
================================

Train the rule of a cellular automaton so that an image grows from one cell.

All cells follow the same rule: a small network reads the cell and the slopes around it, and changes
its channels; three of them are the colours (Mordvintsev and others, "Growing Neural Cellular
Automata", 2020). ``srcad.value_and_grad`` differentiates all generations by the weights of the
network, a dict, and Adam trains it.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.animation import FuncAnimation

import srcad

SIZE, CHANNELS, HIDDEN, GENERATIONS = 20, 10, 48, 16


def perceive(cells):
    """Return the channels of each cell, their slopes in two directions, and their Laplacian."""
    up, down = np.roll(cells, 1, axis=0), np.roll(cells, -1, axis=0)
    left, right = np.roll(cells, 1, axis=1), np.roll(cells, -1, axis=1)
    around = up + down + left + right - 4.0 * cells
    return np.concatenate((cells, down - up, right - left, around), axis=2)


def grow(rule, generations):
    """Return all generations that grow from one cell, arrays of shape (size, size, channels).

    The network has no biases, so that empty cells stay empty until a neighbour is alive.
    """
    cells = np.zeros((SIZE, SIZE, CHANNELS))
    cells[SIZE // 2, SIZE // 2, 3:] = 1.0
    history = [cells]
    for _ in range(generations):
        h = np.tanh(perceive(cells) @ rule["W1"])
        cells = cells + h @ rule["W2"]
        history.append(cells)
    return history


def loss(rule, target):
    """Return the mean squared difference of the last generations from the image."""
    last = grow(rule, GENERATIONS)[-3:]
    return sum(np.mean((cells[:, :, :3] - target) ** 2) for cells in last) / 3.0


def flower():
    """Return an image of a flower on black ground, shape (size, size, 3)."""
    y, x = (SIZE // 2 - np.mgrid[:SIZE, :SIZE]) / (SIZE / 2)
    radius, angle = np.hypot(x, y), np.arctan2(y, x)
    petals = (radius < 0.6 + 0.25 * np.cos(5 * angle - np.pi / 2))[:, :, None]
    centre = (radius < 0.25)[:, :, None]
    image = petals * np.array([0.9, 0.2, 0.5]) * (1.0 - 0.4 * radius[:, :, None])
    return np.where(centre, np.array([1.0, 0.85, 0.2]), image)


def train(rule, target, iterations):
    """Train the rule by Adam, with a normalised gradient; return rule and losses."""
    objective = srcad.value_and_grad(loss)
    first = {key: np.zeros_like(value) for key, value in rule.items()}
    second = {key: np.zeros_like(value) for key, value in rule.items()}
    losses = []
    for k in range(1, iterations + 1):
        value, gradient = objective(rule, target)
        losses.append(value)
        rate = 8e-3 * 0.5 * (1.0 + np.cos(np.pi * k / iterations)) + 1e-5
        for key, g in gradient.items():
            g = g / (np.linalg.norm(g) + 1e-8)
            first[key] = 0.9 * first[key] + 0.1 * g
            second[key] = 0.999 * second[key] + 0.001 * g**2
            step = first[key] / (1.0 - 0.9**k) / (np.sqrt(second[key] / (1.0 - 0.999**k)) + 1e-8)
            rule[key] = rule[key] - rate * step
    return rule, losses


def animate(history, target, losses):
    """Draw the target, the losses, and the image as it grows."""
    figure, axes = plt.subplots(1, 3, figsize=(9, 3.2), layout="constrained")
    axes[0].imshow(target)
    axes[0].set(title="target", xticks=[], yticks=[])
    picture = axes[1].imshow(target)
    axes[1].set(xticks=[], yticks=[])
    axes[2].semilogy(losses)
    axes[2].set(xlabel="iteration", ylabel="mean squared difference", title="training")

    def show(k):
        k = min(k, len(history) - 1)
        picture.set_data(np.clip(history[k][:, :, :3], 0.0, 1.0))
        axes[1].set_title(f"generation {k}")

    show(GENERATIONS)
    figure.animation = FuncAnimation(figure, show, frames=len(history) + 8, interval=150)


def main():
    """Train the rule and let it grow."""
    first = np.random.default_rng(0).normal(0.0, 0.15, (4 * CHANNELS, HIDDEN))
    rule = {"W1": first, "W2": np.zeros((HIDDEN, CHANNELS))}
    target = flower()
    rule, losses = train(rule, target, 350)
    history = grow(rule, GENERATIONS)
    error = np.mean((history[-1][:, :, :3] - target) ** 2)
    empty = np.mean(target**2)
    print(f"mean squared difference {error:.5f}; of a black image {empty:.5f}")
    animate(history, target, losses)
    plt.show()
    return 0 if error < 0.08 * empty else 1


if __name__ == "__main__":
    if main() != 0:
        raise SystemExit(1)
