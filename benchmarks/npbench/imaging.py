"""Images: a recursive filter, and averages along rings."""

import numpy as np

from benchmarks.npbench.registry import kernel, weighted


def deriche(alpha, image):
    """Smooth an image by Deriche's recursive filter, forth and back along both axes."""
    k = (1.0 - np.exp(-alpha)) * (1.0 - np.exp(-alpha)) / (
        1.0 + 2.0 * alpha * np.exp(-alpha) - np.exp(2.0 * alpha)
    )  # fmt: skip
    a1 = a5 = k
    a2 = a6 = k * np.exp(-alpha) * (alpha - 1.0)
    a3 = a7 = k * np.exp(-alpha) * (alpha + 1.0)
    a4 = a8 = -k * np.exp(-2.0 * alpha)
    b1 = 2.0 ** (-alpha)
    b2 = -np.exp(-2.0 * alpha)
    c1 = c2 = 1
    W, H = image.shape
    y1 = np.empty_like(image)
    y2 = np.empty_like(image)
    out = np.empty_like(image)

    y1[:, 0] = a1 * image[:, 0]
    y1[:, 1] = a1 * image[:, 1] + a2 * image[:, 0] + b1 * y1[:, 0]
    for j in range(2, H):
        y1[:, j] = a1 * image[:, j] + a2 * image[:, j - 1] + b1 * y1[:, j - 1] + b2 * y1[:, j - 2]
    y2[:, -1] = 0.0
    y2[:, -2] = a3 * image[:, -1]
    for j in range(H - 3, -1, -1):
        y2[:, j] = (
            a3 * image[:, j + 1] + a4 * image[:, j + 2] + b1 * y2[:, j + 1] + b2 * y2[:, j + 2]
        )
    out[:] = c1 * (y1 + y2)

    y1[0, :] = a5 * out[0, :]
    y1[1, :] = a5 * out[1, :] + a6 * out[0, :] + b1 * y1[0, :]
    for i in range(2, W):
        y1[i, :] = a5 * out[i, :] + a6 * out[i - 1, :] + b1 * y1[i - 1, :] + b2 * y1[i - 2, :]
    y2[-1, :] = 0.0
    y2[-2, :] = a7 * out[-1, :]
    for i in range(W - 3, -1, -1):
        y2[i, :] = a7 * out[i + 1, :] + a8 * out[i + 2, :] + b1 * y2[i + 1, :] + b2 * y2[i + 2, :]
    out[:] = c2 * (y1 + y2)
    return out


@kernel(lambda rng, w, h: (0.25, rng.random((w, h))), (5, 6), (150, 200))
def sum_of_deriche(alpha, image):
    """The smooth image."""
    return weighted(deriche(alpha, image))


def azimint_naive(data, radius, npt):
    """Average `data` over the rings between equidistant radii."""
    rmax = radius.max()
    res = []
    for i in range(npt):
        r1 = rmax * i / npt
        r2 = rmax * (i + 1) / npt
        ring = np.logical_and(r1 <= radius, radius < r2)
        values = data[ring]
        res.append(values.mean())
    return np.array(res)


def rings(rng, n, npt):
    """Data whose radii keep away from the edges of the rings; the largest one is in none."""
    radius = (rng.permutation(n) % npt + rng.uniform(0.1, 0.9, n)) / npt
    radius[-1] = 1.0
    return rng.random(n), radius, npt


@kernel(rings, (12, 3), (40_000, 50))
def sum_of_azimint_naive(data, radius, npt):
    """The averages."""
    return weighted(azimint_naive(data, radius, npt))
