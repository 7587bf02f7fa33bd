"""Rotations of `scipy.spatial.transform`, written in Python: the front end interprets them.

A rotation that is made inside of a differentiated function is its unit quaternion.
"""

import numpy as np

from srcad.frontend.prelude.containers import LibraryObject

# mypy: ignore-errors

SIGNS = np.array([-1.0, -1.0, -1.0, 1.0])  # times a unit quaternion: its inverse


class Rotated(LibraryObject):
    """A rotation, or a stack of them."""

    described = "a rotation"

    def __init__(self, quat):
        self.quat = quat

    def as_matrix(self):
        return matrix_of(self.quat)

    def as_quat(self, canonical=False, *, scalar_first=False):
        return quaternion_of(self.quat, canonical, scalar_first)

    def as_rotvec(self, degrees=False):
        return vector_of(self.quat, degrees)

    def as_euler(self, seq, degrees=False, *, suppress_warnings=False):
        return angles_of(self.quat, seq, degrees, suppress_warnings)

    def magnitude(self):
        return angle_of(self.quat)

    def apply(self, vectors, inverse=False):
        return rotated(self.quat, vectors, inverse)

    def inv(self):
        return Rotated(self.quat * SIGNS)

    def __mul__(self, other):
        return Rotated(composed(self.quat, other.as_quat()))

    def __rmul__(self, other):
        if not hasattr(other, "as_quat"):
            return NotImplemented
        return Rotated(composed(other.as_quat(), self.quat))

    def __getitem__(self, index):
        if self.quat.ndim == 1:
            raise TypeError("Single rotation is not subscriptable.")
        return Rotated(self.quat[index])

    def __len__(self):
        if self.quat.ndim == 1:
            raise TypeError("Single rotation has no len().")
        return len(self.quat)

    def __pow__(self, n):
        return Rotated(powered(self.quat, n))

    def as_mrp(self):
        return parameters_of(self.quat)

    def mean(self, weights=None, axis=None):
        return Rotated(mean_of(self.quat, weights, axis))

    @property
    def single(self):
        return self.quat.ndim == 1

    @property
    def shape(self):
        return self.quat.shape[:-1]


def from_rotvec(rotvec, degrees=False):
    return Rotated(quaternion_of_vector(rotvec, degrees))


def from_quat(quat, *, scalar_first=False):
    return Rotated(normalised(quat, scalar_first))


def from_euler(seq, angles, degrees=False):
    return Rotated(quaternion_of_angles(seq, angles, degrees))


def from_matrix(matrix, *, assume_valid=False):
    return Rotated(quaternion_of_matrix(matrix, assume_valid))


def from_mrp(mrp):
    return Rotated(quaternion_of_parameters(mrp))


def concatenate(rotations):
    return Rotated(np.concatenate([np.atleast_2d(r.as_quat()) for r in rotations]))


def applied(rotation, vectors, inverse=False):
    return rotated(rotation.as_quat(), vectors, inverse)


def quaternion_of_vector(rotvec, degrees):
    """Stand for the function of that name beside the rules, which need SciPy, as all below do."""


def quaternion_of_angles(seq, angles, degrees): ...


def normalised(quat, scalar_first): ...


def quaternion_of_matrix(matrix, assume_valid): ...


def quaternion_of_parameters(mrp): ...


def parameters_of(quat): ...


def powered(quat, n): ...


def mean_of(quat, weights, axis): ...


def composed(first, second): ...


def quaternion_of(quat, canonical, scalar_first): ...


def vector_of(quat, degrees): ...


def angle_of(quat): ...


def angles_of(quat, seq, degrees, suppress_warnings): ...


def matrix_of(quat): ...


def rotated(quat, vectors, inverse): ...
