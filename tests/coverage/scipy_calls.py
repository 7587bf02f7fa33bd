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
    "scipy.special.jv": "scipy.special.jv(2, x)",
    "scipy.special.yv": "scipy.special.yv(2, x)",
    "scipy.special.iv": "scipy.special.iv(2, x)",
    "scipy.special.kv": "scipy.special.kv(2, x)",
    "scipy.special.jve": "scipy.special.jve(2, x)",
    "scipy.special.yve": "scipy.special.yve(2, x)",
    "scipy.special.ive": "scipy.special.ive(2, x)",
    "scipy.special.kve": "scipy.special.kve(2, x)",
    "scipy.special.hankel1": "scipy.special.hankel1(2, x)",
    "scipy.special.hankel2": "scipy.special.hankel2(2, x)",
    "scipy.special.jn": "scipy.special.jn(2, x)",
    "scipy.special.yn": "scipy.special.yn(2, x)",
    "scipy.special.kn": "scipy.special.kn(2, x)",
    "scipy.special.struve": "scipy.special.struve(2, x)",
    "scipy.special.modstruve": "scipy.special.modstruve(2, x)",
    "scipy.special.expn": "scipy.special.expn(2, x)",
    "scipy.special.jvp": "scipy.special.jvp(2, x)",
    "scipy.special.eval_legendre": "scipy.special.eval_legendre(2, x)",
    "scipy.special.eval_chebyt": "scipy.special.eval_chebyt(2, x)",
    "scipy.special.eval_chebyu": "scipy.special.eval_chebyu(2, x)",
    "scipy.special.eval_laguerre": "scipy.special.eval_laguerre(2, x)",
    "scipy.special.hyp0f1": "scipy.special.hyp0f1(2, x)",
    "scipy.special.spherical_jn": "scipy.special.spherical_jn(2, x)",
    "scipy.special.spherical_yn": "scipy.special.spherical_yn(2, x)",
    "scipy.special.spherical_in": "scipy.special.spherical_in(2, x)",
    "scipy.special.spherical_kn": "scipy.special.spherical_kn(2, x)",
    "scipy.special.eval_genlaguerre": "scipy.special.eval_genlaguerre(2, 3, x)",
    "scipy.special.eval_gegenbauer": "scipy.special.eval_gegenbauer(2, 3, x)",
    "scipy.special.lpmv": "scipy.special.lpmv(1, 3, 0.9 * x)",
    "scipy.special.hyp1f1": "scipy.special.hyp1f1(2, 3, x)",
    "scipy.special.hyperu": "scipy.special.hyperu(2, 3, x)",
    "scipy.special.log_wright_bessel": "scipy.special.log_wright_bessel(2, 3, x)",
    "scipy.special.eval_jacobi": "scipy.special.eval_jacobi(3, 2, 1, x)",
    "scipy.special.hyp2f1": "scipy.special.hyp2f1(2, 3, 4, 0.9 * x)",
    "scipy.special.sph_harm_y": "scipy.special.sph_harm_y(2, 1, x, y)",
    "scipy.special.multigammaln": "scipy.special.multigammaln(x + 2.0, 3)",
    "scipy.special.comb": "scipy.special.comb(x + 3.0, 2)",
    "scipy.special.perm": "scipy.special.perm(x + 3.0, 2)",
    "scipy.special.pdtr": "scipy.special.pdtr(2, x)",
    "scipy.special.pdtrc": "scipy.special.pdtrc(2, x)",
    "scipy.special.bdtr": "scipy.special.bdtr(2, 5, x)",
    "scipy.special.nbdtr": "scipy.special.nbdtr(2, 5, x)",
    "scipy.special.ndtri_exp": "scipy.special.ndtri_exp(-x)",
    "scipy.special.zeta wrt s": "scipy.special.zeta(x + 1.5, 2.0)",
    "scipy.special.zeta": "scipy.special.zeta(3, x)",
    "scipy.special.gammainc wrt a": "scipy.special.gammainc(y, 0.7)",
    "scipy.special.betainc wrt a": "scipy.special.betainc(y, x, 0.4)",
    "scipy.special.betainc": "scipy.special.betainc(y, y, x)",
    "scipy.special.betaincc": "scipy.special.betaincc(y, y, x)",
    "scipy.special.betaincinv": "scipy.special.betaincinv(y, y, x)",
    "scipy.special.betainccinv": "scipy.special.betainccinv(y, y, x)",
    "scipy.special.lambertw": "scipy.special.lambertw(x)",
    "scipy.special.binom": "scipy.special.binom(x + 2.0, y)",
    "scipy.special.elliprj": "scipy.special.elliprj(x, y, 1.5, y + 1.0)",
    "scipy.special.elliprd": "scipy.special.elliprd(x, y, 1.5)",
    "scipy.special.elliprf": "scipy.special.elliprf(x, y, 1.5)",
    "scipy.special.elliprg": "scipy.special.elliprg(x, y, 1.5)",
    "scipy.special.voigt_profile": "scipy.special.voigt_profile(x, y, 0.3)",
    "scipy.special.gammaincinv": "scipy.special.gammaincinv(y, x)",
    "scipy.special.gammainccinv": "scipy.special.gammainccinv(y, x)",
    "scipy.special.stdtrit": "scipy.special.stdtrit(y + 1.0, x)",
    "scipy.special.gammaln complex": "scipy.special.loggamma(x + 0.5j)",
    "scipy.special.wofz": "scipy.special.wofz(x + 0.5j)",
    "scipy.special.ellipkinc": "scipy.special.ellipkinc(y, x)",
    "scipy.special.ellipeinc": "scipy.special.ellipeinc(y, x)",
    "scipy.special.ellipj": "scipy.special.ellipj(y, x)",
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
    "scipy.spatial.distance.cdist": "scipy.spatial.distance.cdist(m, m + 1.0)",
    "scipy.spatial.distance.pdist": "scipy.spatial.distance.pdist(m)",
    "scipy.spatial.distance.squareform": "scipy.spatial.distance.squareform(w)",
    "scipy.spatial.distance.cdist(metric=every differentiable one)":
        'scipy.spatial.distance.cdist(m, m + 1.0, "minkowski", p=3)',
    "scipy.spatial.distance.mahalanobis": "scipy.spatial.distance.mahalanobis(w, -w, s)",
    "scipy.spatial.distance.minkowski": "scipy.spatial.distance.minkowski(x, y, 3)",
    "scipy.spatial.distance.seuclidean": "scipy.spatial.distance.seuclidean(x, y, y)",
    "scipy.fft.fft": "scipy.fft.fft(x)",
    "scipy.integrate.romb": "scipy.integrate.romb(x)",
    "scipy.integrate.newton_cotes": "scipy.integrate.newton_cotes(3)[0] * c",
    "scipy.integrate.simpson": "scipy.integrate.simpson(x, np.cumsum(y))",
    "scipy.integrate.cumulative_trapezoid": "scipy.integrate.cumulative_trapezoid(x, y)",
    "scipy.optimize.rosen": "scipy.optimize.rosen(x)",
    "scipy.optimize.linear_sum_assignment": "m[scipy.optimize.linear_sum_assignment(m)]",
    "scipy.spatial.distance.euclidean": "scipy.spatial.distance.euclidean(x, y)",
    "scipy.spatial.distance.sqeuclidean": "scipy.spatial.distance.sqeuclidean(x, y)",
    "scipy.spatial.distance.cosine": "scipy.spatial.distance.cosine(x, y)",
    "scipy.spatial.distance.cityblock": "scipy.spatial.distance.cityblock(x, y)",
    "scipy.spatial.distance.correlation": "scipy.spatial.distance.correlation(x, y)",
    "scipy.spatial.distance.braycurtis": "scipy.spatial.distance.braycurtis(x, y)",
    "scipy.spatial.distance.canberra": "scipy.spatial.distance.canberra(x, y)",
    "scipy.spatial.distance.chebyshev": "scipy.spatial.distance.chebyshev(x, y)",
    "scipy.spatial.distance.jensenshannon": "scipy.spatial.distance.jensenshannon(x, y)",
    "scipy.fft.rfft": "scipy.fft.rfft(x)",
    "scipy.fft.ifft": "scipy.fft.ifft(x)",
    "scipy.fft.dct": "scipy.fft.dct(x)",
    "scipy.fft.idct": "scipy.fft.idct(x)",
    "scipy.fft.dst": "scipy.fft.dst(x)",
    "scipy.fft.idst": "scipy.fft.idst(x)",
    "scipy.fft.fftshift": "scipy.fft.fftshift(x)",
    "scipy.fft.ifftshift": "scipy.fft.ifftshift(x)",
    "scipy.fft.irfft": "scipy.fft.irfft(x)",
    "scipy.fft.fft2": "scipy.fft.fft2(m)",
    "scipy.fft.ifft2": "scipy.fft.ifft2(m)",
    "scipy.fft.fftn": "scipy.fft.fftn(m)",
    "scipy.fft.ifftn": "scipy.fft.ifftn(m)",
    "scipy.fft.dctn": "scipy.fft.dctn(m)",
    "scipy.fft.idctn": "scipy.fft.idctn(m)",
    "scipy.optimize.brentq": "scipy.optimize.brentq(lambda u: u * u - c, 0.0, 2.0)",
    "scipy.stats.norm(loc, scale).logpdf(x)": "scipy.stats.norm(c, 2.0 * c).logpdf(x)",
    "scipy.stats.norm.logpdf wrt loc,scale": "scipy.stats.norm.logpdf(x, c, 2.0 * c)",
    "scipy.stats.norm.logpdf": "scipy.stats.norm.logpdf(x)",
}  # fmt: skip

# Shapes of the families, and arguments inside of their supports.
_SHAPES = {
    "t": "3.0 * c", "gamma": "2.0 * c", "beta": "2.0 * c, 3.0 * c", "chi2": "5.0 * c",
    "pareto": "2.0 * c", "truncnorm": "-2.0 * c, 4.0 * c", "vonmises": "2.0 * c",
    "lognorm": "c", "weibull_min": "2.0 * c", "invgamma": "2.0 * c", "skewnorm": "c",
    "gennorm": "2.0 * c", "f": "4.0 * c, 6.0 * c", "poisson": "4.0 * c", "binom": "5, c",
    "bernoulli": "c", "nbinom": "4.0 * c, 0.5 * c", "geom": "0.5 * c", "genextreme": "0.2 * c",
    "genpareto": "0.5 * c", "triang": "0.9 * c", "exponnorm": "2.0 * c", "loglaplace": "2.0 * c",
    "wrapcauchy": "0.5 * c", "betabinom": "5, 2.0 * c, 3.0 * c", "hypergeom": "9, 4, 5",
}  # fmt: skip
_FAMILIES = (
    *_SHAPES, "norm", "expon", "laplace", "cauchy", "logistic", "uniform", "gumbel_r", "gumbel_l",
    "halfnorm", "halfcauchy", "rayleigh",
)  # fmt: skip
_ARGUMENTS = {"pareto": "x + 1.0", "bernoulli": "np.array([0, 1])"}
_METHODS = ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf", "pmf", "logpmf")
_COUNTED = ("poisson", "binom", "nbinom", "geom", "betabinom", "hypergeom")
for _family in _FAMILIES:
    for _method in _METHODS:
        _first = "np.array([1, 3, 2])" if _family in _COUNTED else _ARGUMENTS.get(_family, "x")
        _given = ", ".join(filter(None, (_first, _SHAPES.get(_family))))
        CALLS.setdefault(
            f"scipy.stats.{_family}.{_method}", f"scipy.stats.{_family}.{_method}({_given})"
        )
CALLS |= {
    "scipy.stats.gamma.logpdf wrt a": "scipy.stats.gamma.logpdf(0.7, 2.0 * c)",
    "scipy.stats.gamma.cdf wrt a": "scipy.stats.gamma.cdf(0.7, 2.0 * c)",
    "scipy.stats.t.logpdf wrt df": "scipy.stats.t.logpdf(0.7, 3.0 * c)",
    "scipy.stats.gamma(a, scale=s).logpdf(x)": "scipy.stats.gamma(2.0 * c, scale=c).logpdf(x)",
    "scipy.stats.multivariate_normal.logpdf":
        "scipy.stats.multivariate_normal.logpdf(w, w * c, a @ a.T)",
    "scipy.stats.multivariate_normal.pdf": "scipy.stats.multivariate_normal.pdf(w, w * c, a @ a.T)",
    "scipy.stats.multivariate_normal.logpdf wrt cov":
        "scipy.stats.multivariate_normal.logpdf(np.ones(3), np.zeros(3), a @ a.T)",
    "scipy.stats.multivariate_normal(m, C).logpdf(x)":
        "scipy.stats.multivariate_normal(w * c, a @ a.T).logpdf(w)",
    "scipy.stats.multivariate_t.logpdf":
        "scipy.stats.multivariate_t.logpdf(w, w * c, a @ a.T, 3.0 * c)",
    "scipy.stats.dirichlet.logpdf wrt alpha":
        "scipy.stats.dirichlet.logpdf(np.array([0.2, 0.3, 0.5]), np.exp(w))",
    "scipy.stats.dirichlet.pdf": "scipy.stats.dirichlet.pdf(np.array([0.2, 0.3, 0.5]), np.exp(w))",
    "scipy.stats.wishart.logpdf":
        "scipy.stats.wishart.logpdf(a @ a.T, 7.0 * c, a @ a.T + np.eye(3))",
    "scipy.stats.entropy": "scipy.stats.entropy(x, y)",
    "scipy.stats.norm.entropy": "scipy.stats.norm.entropy(c, 2.0 * c)",
    "scipy.stats.gamma.entropy": "scipy.stats.gamma.entropy(2.0 * c, scale=c)",
    "scipy.stats.beta.entropy": "scipy.stats.beta.entropy(2.0 * c, 3.0 * c)",
    "scipy.stats.zscore": "scipy.stats.zscore(m, axis=1)",
    "scipy.stats.skew": "scipy.stats.skew(m, axis=1)",
    "scipy.stats.kurtosis": "scipy.stats.kurtosis(m, axis=1)",
    "scipy.stats.gmean": "scipy.stats.gmean(x)",
    "scipy.stats.hmean": "scipy.stats.hmean(x)",
    "scipy.stats.pmean": "scipy.stats.pmean(x, 2.5)",
    "scipy.stats.sem": "scipy.stats.sem(m)",
    "scipy.stats.multinomial.logpmf":
        "scipy.stats.multinomial.logpmf(np.array([1, 0, 3]), 4, np.abs(w) / np.sum(np.abs(w)))",
    "scipy.stats.invwishart.logpdf":
        "scipy.stats.invwishart.logpdf(a @ a.T, 7.0 * c, a @ a.T + np.eye(3))",
    "scipy.stats.matrix_normal.logpdf": "scipy.stats.matrix_normal.logpdf(a, a * c, a @ a.T)",
    "scipy.stats.multivariate_normal.entropy":
        "scipy.stats.multivariate_normal.entropy(w, a @ a.T)",
    "scipy.stats.moment": "scipy.stats.moment(m, 3, axis=1)",
    "scipy.stats.pearsonr": "scipy.stats.pearsonr(x, y).statistic",
    "scipy.stats.linregress": "scipy.stats.linregress(x, y).slope",
    "scipy.stats.trim_mean": "scipy.stats.trim_mean(m, 0.25, axis=1)",
    "scipy.stats.iqr": "scipy.stats.iqr(m, axis=1)",
    "scipy.stats.boxcox": "scipy.stats.boxcox(x, c)",
    "scipy.stats.wasserstein_distance": "scipy.stats.wasserstein_distance(x, y)",
}  # fmt: skip
