"""Shapes: where they are read, and that a write keeps them."""

import numpy as np

import srcad
from srcad import testing


def convolved(image, kernel):
    height, width = image.shape
    out = np.zeros((height - kernel.shape[0] + 1, width - kernel.shape[1] + 1))
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            rows = image[i : i + kernel.shape[0]]
            out[i, j] = np.sum(rows[:, j : j + kernel.shape[1]] * kernel)
    return np.sum(out**2)


def test_shape_not_saved_across_array_write():
    """``out.shape[1]`` was saved in every trip, as if what the trip has written could change it."""
    image, kernel = np.cos(np.arange(30.0)).reshape(5, 6), np.array([[1.0, -0.5], [0.3, 2.0]])

    text = srcad.grad(convolved).inspect(image, kernel).adjoint_source

    assert "append" not in text
    assert "copy" not in text
    testing.check_grads(convolved, (image, kernel), order=1)


def test_length_of_reassigned_array_reevaluated():
    def f(x):
        total, y = 0.0, x
        for _ in range(3):
            y = np.concatenate([y, y[:1] * 2.0])
            y[0] = 0.5 * y[-1]
            for k in range(y.size):
                total = total + y[k] ** 2
        return total * len(y)

    testing.check_grads(f, (np.array([0.3, -0.4]),), order=1)
