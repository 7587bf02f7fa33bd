"""Texts that a person has read and liked: conjugates only where numbers are complex."""

import textwrap

import numpy as np

import srcad

Z, H = np.array([1 + 2j, 0.5j]), np.array([[1, 0.2j], [-0.2j, 2]])


def evolved(psi, h, step):
    psi = psi - 1j * step * (h @ psi)
    return np.vdot(psi, psi).real


def fitted(matrix, right):
    x = np.linalg.solve(matrix, right)
    return np.linalg.norm(x) ** 2


def phasor(theta):
    z = np.exp(1j * theta)
    return np.abs(np.sum(z * np.array([1.0, 2j])))


def holomorphic(z):
    return z * z * np.exp(z)


def body(g, *args):
    """The generated text without its comments."""
    g(*args)
    lines = [line for line in g.source.splitlines() if not line.strip().startswith("#")]
    return "\n".join(lines[1:]).strip("\n")


def written(text):
    return textwrap.indent(textwrap.dedent(text).strip("\n"), "    ")


def test_a_step_of_quantum_mechanics():
    assert body(srcad.grad(evolved, wrt=(0, 2)), Z, H, 0.1) == written("""
        product = h @ psi
        psi = psi - 1.0j * step * product
        psi_bar = psi + psi
        g = -psi_bar
        step_bar = np.imag(np.sum(g * np.conj(product)))
        psi_bar = psi_bar + np.conj(h).T @ (g * (-1.0j * step))
        return psi_bar, float(step_bar)
    """)


def test_a_system_of_equations():
    assert body(srcad.grad(fitted, wrt=(0, 1)), H, Z) == written("""
        x = np.linalg.solve(matrix, right)
        norm_x = np.linalg.norm(x)
        x_bar = x * (2.0 * norm_x / (norm_x + (norm_x == 0)))
        right_bar = np.linalg.solve(np.conj(matrix.T), x_bar)
        matrix_bar = -np.outer(right_bar, np.conj(x))
        return matrix_bar, right_bar
    """)


def test_a_sum_of_phasors_by_real_angles():
    assert body(srcad.grad(phasor), np.array([0.1, 0.2])) == written("""
        z = np.exp(1.0j * theta)
        array = np.array([1.0, 2.0j])
        sum_value = np.sum(z * array)
        absolute = np.abs(sum_value)
        z_bar = sum_value / (absolute + (absolute == 0)) * np.conj(array)
        return np.ascontiguousarray(np.imag(z_bar * np.conj(z)))
    """)


def test_a_holomorphic_function_has_no_conjugate():
    assert body(srcad.grad(holomorphic, holomorphic=True), 1j) == written("""
        exp_z = np.exp(z)
        g = exp_z * z
        return complex(z * z * exp_z + g + g)
    """)
