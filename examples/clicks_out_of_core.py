"""
Logistic regression out of core
===============================

Fit a logistic regression to data on disk, chunk by chunk, on a cluster of Dask.

The data are two arrays of zarr, and no process reads more than one chunk of them. Each worker reads
a chunk and computes its part of the loss with its gradient; the sums go to L-BFGS, and from there
come the next weights. The loss is a sum over rows, which is tested first: on two parts of a sample.
The penalty is not one, so it is added once, outside. :doc:`Many machines </many-machines>` has the
same with joblib, Ray and MPI.

It needs ``pip install 'srcad[scale]'``.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import srcad

ROWS, CHUNKS, FEATURES = 100_000, 10, 12
TRUE = np.concatenate([np.linspace(-1.0, 1.0, 8), np.zeros(FEATURES - 8)])
PENALTY = 1.0


def loss(w, x, clicked):
    """Return the negative log-likelihood of some rows: x (n, k), clicked (n,)."""
    z = x @ w
    return np.sum(np.logaddexp(0.0, z) - clicked * z)


value_and_gradient = srcad.value_and_grad(loss)


def write_data(folder):
    """Write the data, a chunk at a time."""
    import zarr  # an optional package

    random, size = np.random.default_rng(0), ROWS // CHUNKS
    how = {"store": folder, "dtype": "float64", "overwrite": True}
    x = zarr.create_array(name="x", shape=(ROWS, FEATURES), chunks=(size, FEATURES), **how)
    clicked = zarr.create_array(name="clicked", shape=(ROWS,), chunks=(size,), **how)
    for k in range(CHUNKS):
        rows = slice(k * size, (k + 1) * size)
        features = random.standard_normal((size, FEATURES))
        x[rows] = features
        clicked[rows] = random.random(size) < 1.0 / (1.0 + np.exp(-features @ TRUE))


def chunk(folder, k):
    """Return the rows of a chunk."""
    import zarr  # an optional package

    size = ROWS // CHUNKS
    data = zarr.open_group(folder, mode="r")
    return tuple(data[name][k * size : (k + 1) * size] for name in ("x", "clicked"))


def part(w, folder, k):
    """Return the loss of a chunk and its gradient; a worker runs this."""
    return value_and_gradient(w, *chunk(folder, k))


def is_sum_over_rows(x, clicked):
    """Return True if the losses of two parts of a sample add up to that of the sample."""
    w = np.ones(FEATURES)
    whole = loss(w, x, clicked)
    return np.allclose(loss(w, x[:70], clicked[:70]) + loss(w, x[70:], clicked[70:]), whole)


def fitted(client, folder, losses):
    """Return the result of L-BFGS; the losses are noted, and drawn as a bar in a terminal."""

    def whole(w):
        parts = client.gather(client.map(part, [w] * CHUNKS, [folder] * CHUNKS, range(CHUNKS)))
        values, gradients = zip(*parts, strict=True)
        losses.append(sum(values) + PENALTY * np.sum(w**2))
        return losses[-1], sum(gradients) + 2.0 * PENALTY * w

    def show(_):
        done = int(20 * (1.0 - losses[-1] / losses[0]))
        if sys.stdout.isatty():
            print(f"\r[{'#' * done:20}] {len(losses):3d} passes, loss {losses[-1]:.1f}", end="")

    return minimize(whole, np.zeros(FEATURES), jac=True, method="L-BFGS-B", callback=show)


def draw(losses, w, errors):
    """Draw the loss over the passes, and the weights."""
    _, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
    left.plot(np.array(losses) / ROWS, ".-")
    left.set(xlabel="pass over the data", ylabel="loss per row", title="L-BFGS")
    right.errorbar(range(FEATURES), w, 2.0 * errors, fmt="o", label="fitted, two errors")
    right.plot(TRUE, "kx", label="true")
    right.set(xlabel="feature", title="weights")
    right.legend()


def main():
    """Write the data, fit on two workers, compare with the true weights."""
    from dask.distributed import Client, LocalCluster  # an optional package

    losses = []
    with tempfile.TemporaryDirectory() as name:
        folder = str(Path(name) / "clicks.zarr")
        write_data(folder)
        sample = [array[:200] for array in chunk(folder, 0)]
        if not is_sum_over_rows(*sample):
            return 1
        how = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
        with LocalCluster(**how) as cluster, Client(cluster) as client:
            result = fitted(client, folder, losses)
        curvature = srcad.hessian(loss)(result.x, *chunk(folder, 0)) * CHUNKS
    errors = np.sqrt(np.diag(np.linalg.inv(curvature)))
    print(f"\n{len(losses)} passes over {ROWS:,} rows in {CHUNKS} chunks, loss {losses[-1]:.1f}")
    print("largest error of a weight, in standard errors:",
          round(np.max(np.abs(result.x - TRUE) / errors), 2))  # fmt: skip
    draw(losses, result.x, errors)
    plt.show()
    good = result.success and np.all(np.abs(result.x - TRUE) < 4.0 * errors)
    return 0 if good and np.max(np.abs(result.jac)) < 1.0 else 1


if __name__ == "__main__":
    if main() != 0:
        raise SystemExit(1)
