"""The rows about SciPy, spelled as programs over the names of `inputs`.

What is spelled nowhere and has no rule is refused as it stands; a test says when a row gets a rule
and no program.
"""

from __future__ import annotations

CALLS: dict[str, str] = {
    "scipy.special.polygamma": "scipy.special.polygamma(1, x)",
    "scipy.special.eval_hermite": "scipy.special.eval_hermite(3, x)",
    "scipy.special.eval_hermitenorm": "scipy.special.eval_hermitenorm(3, x)",
    "scipy.sparse.csr_matrix @ x": "scipy.sparse.csr_matrix(np.eye(5)) @ x",
    "scipy.sparse.csr_array(data, indices, indptr)":
        "scipy.sparse.csr_array((w, k, np.array([0, 1, 2, 3])), shape=(3, 3)) @ np.ones(3)",
    "scipy.special.logsumexp": "scipy.special.logsumexp(m)",
    "scipy.special.logsumexp(axis,b)": "scipy.special.logsumexp(m, axis=0, b=2.0)",
    "scipy.special.logsumexp(return_sign=True)":
        "scipy.special.logsumexp(m, b=-1.0, return_sign=True)",
    "scipy.special.softmax(axis)": "scipy.special.softmax(m, axis=0)",
    "scipy.linalg.solve": "scipy.linalg.solve(a, w)",
    "scipy.linalg.solve_triangular": "scipy.linalg.solve_triangular(a, w, lower=True)",
    "scipy.linalg.cho_factor/cho_solve":
        "scipy.linalg.cho_solve(scipy.linalg.cho_factor(a @ a.T + np.eye(3)), w)",
    "scipy.linalg.lu_factor/lu_solve": "scipy.linalg.lu_solve(scipy.linalg.lu_factor(a), w)",
    "scipy.integrate.trapezoid": "scipy.integrate.trapezoid(x, y)",
    "scipy.integrate.quad": "scipy.integrate.quad(lambda u: u * c, 0.0, 1.0)[0]",
    "scipy.interpolate.CubicSpline": "scipy.interpolate.CubicSpline(np.arange(5.0), x)(c)",
    "scipy.optimize.brentq": "scipy.optimize.brentq(lambda u: u * u - c, 0.0, 2.0)",
    "scipy.stats.norm(loc, scale).logpdf(x)": "scipy.stats.norm(c, 2.0 * c).logpdf(x)",
    "scipy.stats.norm.logpdf wrt loc,scale": "scipy.stats.norm.logpdf(x, c, 2.0 * c)",
    "scipy.stats.norm.logpdf": "scipy.stats.norm.logpdf(x)",
}  # fmt: skip
