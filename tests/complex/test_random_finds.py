"""What random programs with complex numbers have found, each by itself."""

import numpy as np

from srcad import grad, hvp

Z, X = np.array([1.0 + 2.0j, 0.5, 0.3j]), np.array([0.4, -1.1, 0.7])


def differences(function, z, h=1e-6):
    """The gradient of a real function, by both parts of every entry."""
    steps = np.eye(z.size) * h
    real = [(function(z + d) - function(z - d)) / 2 / h for d in steps]
    imaginary = [(function(z + 1j * d) - function(z - 1j * d)) / 2 / h for d in steps]
    return np.array(real) + 1j * np.array(imaginary)


def test_conditionally_complex_array_has_complex_buffer():
    """The buffer was made like the other factor, which is real: to NumPy, None means float64."""

    def f(z, x, t):
        if t > 0:
            b = np.exp(1j * z * x)
        else:
            b = np.abs(z)
        m = np.zeros(3, complex)
        m[1:] += (b * np.tanh(z * 0.2).real)[:2]
        return np.sum(np.abs(m) ** 2)

    for t in (1.0, -1.0):
        np.testing.assert_allclose(
            grad(f)(Z + 0.1, X, t), differences(lambda z, t=t: f(z, X, t), Z + 0.1), rtol=1e-6
        )


def test_scalar_plus_array_tangent_has_array_shape():
    """``z_bar_dot[i] += ...`` failed: the tangent of ``number + array`` was a number."""

    def f(z, x, t):
        total = t
        for i in range(3):
            total = total * z[1] * 0.3 + z[i] * x[0]
        return np.sum((z * x).imag) + np.mean(np.imag(z * (total + t)))

    v = np.array([0.3 - 0.2j, 1.0j, -0.7])

    product = hvp(f)(Z, X, 0.3, v=v)

    g, h = grad(f), 1e-6
    along = (g(Z + h * v, X, 0.3) - g(Z - h * v, X, 0.3)) / 2 / h
    np.testing.assert_allclose(product, along, rtol=1e-6)
