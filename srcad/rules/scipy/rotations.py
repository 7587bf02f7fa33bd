"""Rotations of `scipy.spatial.transform`, as unit quaternions ``(x, y, z, w)``.

The functions here are SciPy's own steps on the quaternions that a `Rotation` keeps, without
normalising them once more, so that their results have the same bits.  A quaternion, or a vector,
is the last axis.
"""

import numpy as np
from scipy.spatial.transform import Rotation

from srcad.rules.declare import adjoint, nondifferentiable
from srcad.rules.row import NoPartial
from srcad.runtime import unbroadcast

_AXIS = NoPartial("the mean along an axis of rotations has no derivative rule")
SIGNS = np.array([-1.0, -1.0, -1.0, 1.0])  # times a unit quaternion: its inverse


def quaternion_of_vector(rotvec, degrees):
    return Rotation.from_rotvec(rotvec, degrees).as_quat()


def quaternion_of_angles(seq, angles, degrees):
    return Rotation.from_euler(seq, angles, degrees).as_quat()


def normalised(quat, scalar_first):
    return Rotation.from_quat(quat, scalar_first=scalar_first).as_quat()


def quaternion_of_matrix(matrix, assume_valid):
    options = {"assume_valid": True} if assume_valid else {}
    # SciPy 1.18 may write into an argument with more than three axes.
    return Rotation.from_matrix(np.array(matrix), **options).as_quat()


def quaternion_of_parameters(mrp):
    return Rotation.from_mrp(mrp).as_quat()


def composed(first, second):
    return (Rotation(first, normalize=False) * Rotation(second, normalize=False)).as_quat()


def quaternion_of(quat, canonical, scalar_first):
    return Rotation(quat, normalize=False).as_quat(canonical, scalar_first=scalar_first)


def vector_of(quat, degrees):
    return Rotation(quat, normalize=False).as_rotvec(degrees)


def parameters_of(quat):
    return Rotation(quat, normalize=False).as_mrp()


def powered(quat, n):
    return (Rotation(quat, normalize=False) ** n).as_quat()


def mean_of(quat, weights, axis):
    options = {} if axis is None else {"axis": axis}
    return Rotation(quat, normalize=False).mean(weights, **options).as_quat()


def angle_of(quat):
    return Rotation(quat, normalize=False).magnitude()


def angles_of(quat, seq, degrees, suppress_warnings):
    options = {"suppress_warnings": True} if suppress_warnings else {}
    return Rotation(quat, normalize=False).as_euler(seq, degrees, **options)


def matrix_of(quat):
    return Rotation(quat, normalize=False).as_matrix()


def rotated(quat, vectors, inverse):
    # SciPy 1.17 takes no read-only array.
    return Rotation(quat, normalize=False).apply(np.require(vectors, None, "W"), inverse)


# ------------------------------------------------------------------------ to quaternions
@adjoint(
    quaternion_of_vector, active=("rotvec",),
    samples=lambda f, w, array: [f(w, False), f(30 * array(2, 3), True)],
)  # fmt: skip
def quaternion_of_vector_rule(y_bar, y, rotvec, degrees):
    """Differentiate ``y = (v * sin(t / 2) / t, cos(t / 2))``, where ``t`` is the norm of ``v``."""
    bar = vector_cotangent(y_bar, np.deg2rad(rotvec) if degrees else rotvec)
    return np.deg2rad(bar) if degrees else bar


def vector_cotangent(y_bar, v):
    square = np.sum(v * v, axis=-1, keepdims=True)
    near = square < 1e-2
    far = np.where(near, 1.0, square)
    t = np.sqrt(far)
    c, s = 0.5 * np.cos(0.5 * t), np.sin(0.5 * t) / t
    slope = np.where(near, (square / 960 - 1 / 24) - square * square / 107520, (c - s) / far)
    s = np.where(near, 0.5 - square / 48 + square * square / 3840, s)
    g = y_bar[..., :3]
    along = slope * np.sum(v * g, axis=-1, keepdims=True)
    return s * g + v * (along - 0.5 * s * y_bar[..., 3:])


@adjoint(
    quaternion_of_angles, active=("angles",),
    samples=lambda f, array: [
        f("zyx", array(3), False), f("XZ", 30 * array(2, 2), True), f("y", array(2, 1), False)],
)  # fmt: skip
def quaternion_of_angles_rule(y_bar, y, seq, angles, degrees):
    """The product of rotations about axes: about fixed ones, the last stands on the left."""
    a = np.deg2rad(angles) if degrees else angles
    g = product(y_bar, y * SIGNS)
    if np.ndim(a) == 0:
        bar = 0.5 * g[axis_number(seq)]
    else:
        bars = []
        for k in order_of_axes(seq):
            axis = axis_number(seq[k])
            bars.append(0.5 * g[..., axis])
            turn = about(axis, a[..., k])
            g = product(product(turn * SIGNS, g), turn)
        bar = np.stack(bars if is_intrinsic(seq) else bars[::-1], -1)
    return np.deg2rad(bar) if degrees else bar


@nondifferentiable
def order_of_axes(seq):
    """The numbers of the axes, from the left factor on."""
    return range(len(seq)) if is_intrinsic(seq) else range(len(seq) - 1, -1, -1)


@nondifferentiable
def is_intrinsic(seq):
    """Whether the axes turn with the object."""
    return seq.isupper()


@nondifferentiable
def axis_number(name):
    """The number of an axis of the coordinate system."""
    return "xyz".index(name.lower())


def about(axis, angle):
    """The quaternions of rotations about an axis of the coordinate system."""
    half = 0.5 * angle[..., None]
    return np.sin(half) * np.eye(4)[axis] + np.cos(half) * np.eye(4)[3]


@adjoint(
    normalised, active=("quat",),
    samples=lambda f, v, array: [f(v, False), f(array(2, 4), True)],
)  # fmt: skip
def normalised_rule(y_bar, y, quat, scalar_first):
    """The part of the cotangent across the quaternion, over its length."""
    bar = across(y_bar, y) / np.sqrt(np.sum(quat * quat, axis=-1, keepdims=True))
    return np.roll(bar, 1, axis=-1) if scalar_first else bar


def across(g, y):
    """The part of `g` that is orthogonal to unit vectors."""
    return g - y * np.sum(y * g, axis=-1, keepdims=True)


@adjoint(
    quaternion_of_matrix, active=("matrix",),
    samples=lambda f, array: [
        f(array(3, 3) / 2 + 2 * np.eye(3), False), f(array(2, 3, 3) / 2 + 2 * np.eye(3), False),
        f(np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]), True)],
)  # fmt: skip
def quaternion_of_matrix_rule(y_bar, y, matrix, assume_valid):
    """Differentiate the rotation ``R`` of the polar decomposition ``matrix = R H``.

    For a perturbation ``d`` of the matrix, ``R`` changes by ``R [w]``, where ``[w]`` is the matrix
    of the cross product with ``w``, and ``(tr(H) I - H) w = p`` with ``[p] = R.T d - d.T R``.  The
    cotangent of ``w`` is half of the vector part of ``conj(y) y_bar``.

    SciPy does not orthogonalise a matrix whose columns are orthonormal to 1e-12.  Its derivative is
    that of the polar decomposition, too: perturbations across the rotations have none.
    """
    r = matrix_of(y)
    h = np.swapaxes(r, -1, -2) @ matrix
    eye = np.eye(3)
    system = np.trace(h, axis1=-2, axis2=-1)[..., None, None] * eye - h
    g = 0.5 * product(y * SIGNS, y_bar)[..., :3]
    p = np.linalg.solve(system, g[..., None])
    return r @ np.swapaxes(np.cross(p[..., None, :, 0], eye), -1, -2)


@adjoint(quaternion_of_parameters, samples=lambda f, array: [f(array(3)), f(array(2, 3))])
def quaternion_of_parameters_rule(y_bar, y, mrp):
    """Differentiate ``y = (2 m, 1 - m @ m) / (1 + m @ m)``, where ``m`` is `mrp`."""
    scale = 1 + y[..., 3:]  # 2 / (1 + m @ m)
    g = y_bar[..., :3]
    along = np.sum(g * y[..., :3], axis=-1, keepdims=True) + scale * y_bar[..., 3:]
    return scale * (g - mrp * along)


# ------------------------------------------------------------------------ of quaternions
@adjoint(composed, samples=lambda f, v, array: [
    f(v, array(4)), f(array(2, 4), v), f(v, array(2, 4))])  # fmt: skip
def composed_rule(y_bar, y, first, second):
    """SciPy normalises the product of quaternions; those of ``p q`` are ``g q*`` and ``p* g``."""
    length = np.sum(first * first, -1, keepdims=True) * np.sum(second * second, -1, keepdims=True)
    g = across(y_bar, y) / np.sqrt(length)
    first_bar = unbroadcast(product(g, second * SIGNS), first)
    return first_bar, unbroadcast(product(first * SIGNS, g), second)


def product(p, q):
    """Hamilton's product."""
    a, b, v, w = p[..., :3], q[..., :3], p[..., 3:], q[..., 3:]
    vector = v * b + w * a + np.cross(a, b)
    return np.concatenate((vector, v * w - np.sum(a * b, axis=-1, keepdims=True)), -1)


@adjoint(
    quaternion_of, active=("quat",),
    samples=lambda f, v, array: [
        f(v, False, False), f(-v, True, False), f(array(2, 4), True, True)],
)  # fmt: skip
def quaternion_of_rule(y_bar, y, quat, canonical, scalar_first):
    g = np.roll(y_bar, -1, axis=-1) if scalar_first else y_bar
    return g * sign_of(quat) if canonical else g


@nondifferentiable
def sign_of(quat):
    """1, or -1 where a rotation's other quaternion is the canonical one."""
    own = Rotation(quat, normalize=False)
    return np.sign(np.sum(own.as_quat() * own.as_quat(True), axis=-1, keepdims=True))


@adjoint(
    vector_of, active=("quat",),
    samples=lambda f, v, array: [f(v, False), f(array(2, 4), True)],
)  # fmt: skip
def vector_of_rule(y_bar, y, quat, degrees):
    """Differentiate ``y = v * 2 h / sin(h)``, ``h = atan2(|v|, w)``, of ``(v, w)``."""
    return quaternion_cotangent(np.rad2deg(y_bar) if degrees else y_bar, quat)


def quaternion_cotangent(g, quat):
    unit = quat * sign_of(quat)
    v, w = unit[..., :3], unit[..., 3:]
    square = np.sum(v * v, axis=-1, keepdims=True)
    h = np.arctan2(np.sqrt(square), w)
    near = h < 0.02
    far = np.where(near, 1.0, h)
    scale = np.where(near, 2 + h**2 / 3 + 7 * h**4 / 180, 2 * far / np.sin(far))
    slope = np.where(
        near, 2 / 3 + 4 * h**2 / 15 + 4 * h**4 / 63, 2 * (1 - far / np.tan(far)) / np.sin(far) ** 2
    )
    along = slope * np.sum(g * v, axis=-1, keepdims=True) / (square + w * w)
    length = np.sqrt(square + w * w)
    bar = np.concatenate((scale * g + along * w * v / length, -along * square / length), -1)
    return bar * sign_of(quat)


@adjoint(parameters_of, samples=lambda f, v, array: [f(v), f(array(2, 4))])
def parameters_of_rule(y_bar, y, quat):
    """Differentiate ``y = v / (w + sign(w))``, where ``(v, w)`` is the quaternion."""
    w = quat[..., 3:]
    denominator = np.where(w < 0, w - 1, w + 1)
    w_bar = -np.sum(y_bar * y, axis=-1, keepdims=True)
    return np.concatenate((y_bar, w_bar), -1) / denominator


@adjoint(
    powered, active=("quat", "n"),
    samples=lambda f, v, array: [f(v, 0.3), f(array(2, 4), -2), f(-v, 2.5), f(v, 0.0)],
)  # fmt: skip
def powered_rule(y_bar, y, quat, n):
    """Differentiate the rotation by the vector ``n * v``, where ``v`` is the rotation vector."""
    v = vector_of(quat, False)
    v_bar = vector_cotangent(y_bar * sign_of_power(y, n * v), n * v)
    return quaternion_cotangent(n * v_bar, quat), np.sum(v_bar * v)


@nondifferentiable
def sign_of_power(y, v):
    """Return -1 if `y` is the negative of the quaternion of the rotation vector `v`, else 1.

    SciPy returns the first power as it is, and computes others from a canonical quaternion.
    """
    return np.sign(np.sum(y * quaternion_of_vector(v, False), axis=-1, keepdims=True))


@adjoint(
    mean_of, active=("quat", "weights"),
    samples=lambda f, array, v: [
        f(array(3, 4), None, None), f(array(4, 4), np.abs(v), None),
        f(array(2, 4), np.array([1.0, 0.3]), None)],
)  # fmt: skip
def mean_of_rule(y_bar, y, quat, weights, axis):
    """Differentiate the eigenvector of the largest eigenvalue of ``K = sum(w * outer(q, q))``.

    Its derivative ``dy`` is orthogonal to ``y``, and ``(y @ K @ y * I - K) dy = dK y`` up to a
    multiple of ``y``.

    Source: Markley, Cheng, Crassidis and Oshman (2007), *Averaging quaternions*, Journal of
    Guidance, Control, and Dynamics 30(4).
    """
    if axis is not None:
        return _AXIS, _AXIS
    w = 1.0 if weights is None else np.asarray(weights, dtype=float)[..., None]
    rows, weighted = np.reshape(quat, (-1, 4)), np.reshape(w * quat, (-1, 4))
    k = weighted.T @ rows
    system = (y @ k @ y) * np.eye(4) - k + y[:, None] * y
    t = np.linalg.solve(system, across(y_bar, y))
    q_t, q_y = (quat @ t)[..., None], (quat @ y)[..., None]
    quat_bar = w * (q_y * t + q_t * y)
    return quat_bar, None if weights is None else unbroadcast((q_t * q_y)[..., 0], weights)


@adjoint(
    angle_of, samples=lambda f, v, array: [f(v), f(array(2, 4))],
    kinks=lambda f: [(f([0, 0, 0, 1]), [0, 0, 0, 0])],
)  # fmt: skip
def angle_of_rule(y_bar, y, quat):
    """Differentiate ``y = 2 atan2(|v|, |w|)`` of ``(v, w)``; the cotangent is 0 where ``v`` is."""
    v, w = quat[..., :3], quat[..., 3:]
    square = np.sum(v * v, axis=-1, keepdims=True)
    length = np.sqrt(square)
    g = 2 * np.asarray(y_bar)[..., None] / (square + w * w)
    v_bar = g * np.abs(w) * v / (length + (length == 0))
    return np.concatenate((v_bar, -g * length * np.sign(w)), -1)


@adjoint(
    angles_of, active=("quat",),
    samples=lambda f, v, array: [
        f(v, "xyz", False, False), f(array(2, 4), "ZXZ", True, False), f(v, "YXZ", False, False)],
)  # fmt: skip
def angles_of_rule(y_bar, y, quat, seq, degrees, suppress_warnings):
    """Differentiate Euler angles; the outer two are ``atan2(b, a) -+ atan2(d, c)``.

    ``(a, b, c, d)`` are linear in the quaternion.  The angle between these two is
    ``2 atan2(|(c, d)|, |(a, b)|)``.  Where one of these lengths is 0, only the sum or the
    difference of the outer angles is determined, and the cotangent is nan.

    Source: Bernardes and Viollet (2022), *Quaternion to Euler angles conversion*, PLoS ONE 17(11).
    """
    g = np.rad2deg(y_bar) if degrees else y_bar
    terms = quat @ terms_of(seq).T
    ab, cd = terms[..., :2], terms[..., 2:]
    near = np.sum(ab * ab, axis=-1, keepdims=True)
    far = np.sum(cd * cd, axis=-1, keepdims=True)
    one, other = (g[..., 2], g[..., 0]) if is_intrinsic(seq) else (g[..., 0], g[..., 2])
    other = sign_of_last(seq) * other
    tilt = 2 * g[..., 1:2] / (near + far)
    ab_bar = (one + other)[..., None] * turned(ab) / near - tilt * np.sqrt(far / near) * ab
    cd_bar = (other - one)[..., None] * turned(cd) / far + tilt * np.sqrt(near / far) * cd
    return np.concatenate((ab_bar, cd_bar), -1) @ terms_of(seq)


def turned(pair):
    """``(-b, a)`` for ``(a, b)``."""
    return np.stack((-pair[..., 1], pair[..., 0]), -1)


@nondifferentiable
def axes_of_angles(seq):
    """The numbers of the axes, about fixed ones, and 1 or -1 for their order."""
    i, j, k = (axis_number(name) for name in (seq[::-1] if is_intrinsic(seq) else seq))
    last = 3 - i - j if i == k else k
    return i, j, last, i == k, (i - j) * (j - last) * (last - i) // 2


@nondifferentiable
def sign_of_last(seq):
    """The sign of the last angle about fixed axes."""
    *_, is_symmetric, sign = axes_of_angles(seq)
    return 1.0 if is_symmetric else float(sign)


@nondifferentiable
def terms_of(seq):
    """The matrix of the four terms in the quaternion."""
    i, j, k, is_symmetric, sign = axes_of_angles(seq)
    x, y, z, w = np.eye(4)[[i, j, k, 3]]
    if is_symmetric:
        return np.stack((w, x, y, sign * z))
    return np.stack((w - y, x + sign * z, y + w, sign * z - x))


@adjoint(matrix_of, samples=lambda f, v, array: [f(v), f(array(2, 4))])
def matrix_of_rule(y_bar, y, quat):
    """``R = (w**2 - v v) I + 2 outer(v, v) + 2 w [v]`` of the quaternion ``(v, w)``."""
    return matrix_cotangent(y_bar, quat)


def matrix_cotangent(y_bar, quat):
    v, w = quat[..., :3], quat[..., 3:]
    trace = np.trace(y_bar, axis1=-2, axis2=-1)[..., None]
    both = y_bar + np.swapaxes(y_bar, -1, -2)
    twist = np.stack(
        (
            y_bar[..., 2, 1] - y_bar[..., 1, 2],
            y_bar[..., 0, 2] - y_bar[..., 2, 0],
            y_bar[..., 1, 0] - y_bar[..., 0, 1],
        ),
        -1,
    )
    v_bar = 2 * ((both @ v[..., None])[..., 0] - trace * v + w * twist)
    w_bar = 2 * (trace * w + np.sum(twist * v, axis=-1, keepdims=True))
    return np.concatenate((v_bar, w_bar), -1)


@adjoint(
    rotated, active=("quat", "vectors"),
    samples=lambda f, v, array: [
        f(v, array(3), False), f(array(2, 4), array(3), True), f(v, array(2, 3), False)],
)  # fmt: skip
def rotated_rule(y_bar, y, quat, vectors, inverse):
    """``R.T y_bar``; the cotangent of ``R`` is ``outer(y_bar, vectors)``."""
    turn = quat * SIGNS if inverse else quat
    back = rotated(turn * SIGNS, y_bar, False)
    bar = matrix_cotangent(y_bar[..., None] * np.asarray(vectors)[..., None, :], turn)
    quat_bar = unbroadcast(bar, quat)
    return quat_bar * SIGNS if inverse else quat_bar, unbroadcast(back, vectors)
