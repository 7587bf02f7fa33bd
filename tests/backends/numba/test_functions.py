import functools
import math
import platform
import re

import mpmath
import numpy as np
import pytest
from scipy import special

numba = pytest.importorskip("numba")

from llvmlite import binding  # noqa: E402 - not before Numba is known to exist

from srcad.backends.numba import functions  # noqa: E402 - not before Numba is known to exist

MAX = np.finfo(np.float64).max
TINY = 2.0**-1022
SMALLEST = 2.0**-1074

UNARY = {
    "exp": mpmath.exp,
    "expm1": mpmath.expm1,
    "log": mpmath.log,
    "log1p": mpmath.log1p,
    "log2": lambda x: mpmath.log(x, 2),
    "log10": mpmath.log10,
    "tanh": mpmath.tanh,
    "sin": mpmath.sin,
    "cos": mpmath.cos,
    "tan": mpmath.tan,
    "sinh": mpmath.sinh,
    "cosh": mpmath.cosh,
    "erf": mpmath.erf,
    "expit": lambda x: 1 / (1 + mpmath.exp(-x)),
}
BINARY = {
    "power": mpmath.power,
    "logaddexp": lambda x, y: mpmath.log(mpmath.exp(x) + mpmath.exp(y)),
}
SELECTIONS = ["maximum", "minimum", "fmax", "fmin"]
# where the function leaves the range of floats, or changes its formula
THRESHOLDS = {
    "exp": [709.782712893384, 710.0, 709.0, -708.3964185322641, -745.1332191019412, -744.0, -750.0],
    "expm1": [709.782712893384, 710.0, 709.4, -37.4, -60.0, -0.34657359, 0.34657359],
    "log": [1.0, math.sqrt(0.5), math.sqrt(2.0)],
    "log1p": [-1.0, math.sqrt(0.5) - 1.0, math.sqrt(2.0) - 1.0, 2.0**-53],
    "log2": [1.0, math.sqrt(0.5), math.sqrt(2.0)],
    "log10": [1.0, math.sqrt(0.5), math.sqrt(2.0), 1000.0],
    "tanh": [0.1732868, 19.0, 22.0, 30.0],
    "sin": [math.pi / 4, 2.0**52, 2.0**83, 2.0**84, 2.0**116],
    "cos": [math.pi / 4, 2.0**52, 2.0**83, 2.0**84, 2.0**116],
    "tan": [math.pi / 4, 2.0**52, 2.0**83, 2.0**84, 2.0**116],
    "sinh": [0.34657359, 709.782712893384, 710.4758600739439, 710.5],
    "cosh": [0.34657359, 709.782712893384, 710.4758600739439, 710.5],
    "erf": [1.0, 5.9, 6.0],
    "expit": [-709.782712893384, -745.1332191019412, 37.0],
}
EXACT_PRODUCTS = ["log10", "power", "sin", "cos", "tan"]
IS_X86 = platform.machine() in {"x86_64", "AMD64"}
POSITIVE = ["log", "log2", "log10"]


@functools.cache
def loop(name):
    function = getattr(functions, name)
    if name in BINARY or name in SELECTIONS:

        @numba.njit("void(float64[::1], float64[::1], float64[::1])", error_model="numpy")
        def run_binary(x, y, out):
            for i in range(x.size):
                out[i] = function(x[i], y[i])

        return run_binary

    @numba.njit("void(float64[::1], float64[::1])", error_model="numpy")
    def run(x, out):
        for i in range(x.size):
            out[i] = function(x[i])

    return run


def values(name, *arguments):
    arguments = [np.ascontiguousarray(argument, dtype=np.float64) for argument in arguments]
    result = np.empty_like(arguments[0])
    loop(name)(*arguments, result)
    return result


def numpy_values(name, *arguments):
    with np.errstate(all="ignore"):
        return (getattr(np, name, None) or getattr(special, name))(*arguments)


def error_in_ulp(result, true, size=0.0):
    if abs(true) > MAX:
        limit = mpmath.mpf(2) ** 1024
        return 0.0 if abs(result) == math.inf else float((limit - abs(result)) / 2**971)
    if math.isinf(result):
        return float((mpmath.mpf(2) ** 1024 - abs(true)) / 2**971)
    unit = np.spacing(max(abs(float(true)), size))
    return float(abs(mpmath.mpf(float(result)) - true) / unit)


def worst_arguments_of_trigonometric_functions():
    """Floats next to multiples of pi/2: denominators of continued fractions."""
    arguments = [6381956970095103.0 * 2.0**797]
    with mpmath.workprec(1400):
        for exponent in range(-40, 970, 11):
            rest = mpmath.ldexp(2 / mpmath.pi, exponent)
            before, denominator = 0, 1
            while denominator < 2**53:
                arguments.append(math.ldexp(denominator, exponent))
                rest = 1 / (rest - mpmath.floor(rest))
                before, denominator = denominator, int(rest) * denominator + before
    return [x for x in arguments if x > 0.1]


def points(name, generator, count):
    magnitudes = 10.0 ** generator.uniform(-300, 300, count)
    subnormal = generator.integers(1, 2**52, count // 4) * SMALLEST
    medium = generator.uniform(0, 10, count)
    large = generator.uniform(0, 750, count)
    near_one = 1.0 + generator.uniform(-1, 1, count) * 2.0 ** -generator.integers(1, 52, count)
    thresholds = np.array([*THRESHOLDS[name], TINY, SMALLEST, MAX / 2])
    near = np.concatenate([thresholds, thresholds * (1 - 2.0**-52), thresholds * (1 + 2.0**-52)])
    x = np.concatenate([magnitudes, subnormal, medium, large, near_one, near])
    if name in {"sin", "cos", "tan"}:
        multiples = generator.integers(1, 2**30, count) * (math.pi / 2)
        small_multiples = np.arange(1, count) * (math.pi / 2)
        x = np.concatenate([x, multiples, small_multiples])
    if name in POSITIVE:
        return np.abs(x[x != 0.0])
    x = np.concatenate([x, -x])
    return x[x > -1.0] if name == "log1p" else x


def errors(name, *arguments):
    true = (UNARY | BINARY)[name]
    with mpmath.workprec(200):
        return [
            error_in_ulp(
                result,
                true(*map(mpmath.mpf, row)),
                max(map(abs, row)) if name == "logaddexp" else 0.0,
            )
            for *row, result in zip(*map(np.ndarray.tolist, arguments), values(name, *arguments))
        ]


def assert_accurate(name, *arguments):
    found = errors(name, *arguments)
    worst = int(np.argmax(found))

    assert found[worst] <= 4.0, [found[worst], *(float(argument[worst]) for argument in arguments)]


@pytest.mark.parametrize("name", UNARY)
def test_error_is_at_most_four_ulp(name):
    assert_accurate(name, points(name, np.random.default_rng(0), 60))


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_error_next_to_multiples_of_half_pi(name):
    x = np.array(worst_arguments_of_trigonometric_functions()[::7])

    assert_accurate(name, np.concatenate([x, -x]))


def pairs_of_power(generator, count):
    x = 10.0 ** generator.uniform(-300, 300, count)
    y = generator.uniform(-745, 709.7, count) / np.log(x)
    near_one = 1.0 + generator.uniform(0.1, 1, count) * 2.0 ** -generator.integers(1, 48, count)
    y_near_one = generator.uniform(-745, 709.7, count) / np.log(near_one)
    subnormal = generator.integers(1, 2**52, count) * SMALLEST
    y_subnormal = generator.uniform(-0.95, 1.0, count)
    negative = -generator.uniform(0.1, 20, count)
    integers = np.rint(generator.uniform(-200, 200, count))
    usual, y_usual = generator.uniform(0.0, 5.0, (2, count))
    return (
        np.concatenate([x, near_one, subnormal, negative, usual]),
        np.concatenate([y, y_near_one, y_subnormal, integers, y_usual]),
    )


def test_error_of_power():
    assert_accurate("power", *pairs_of_power(np.random.default_rng(0), 100))


def pairs_of_logaddexp(generator, count):
    x = generator.uniform(-1000, 1000, count)
    y = x + generator.uniform(-50, 50, count)
    small, other = generator.uniform(-2, 2, (2, count))
    far = -generator.uniform(700, 745, count)
    return (
        np.concatenate([x, small, np.zeros(count), 10.0 ** generator.uniform(-300, 300, count)]),
        np.concatenate([y, other, far, generator.uniform(-2, 2, count)]),
    )


def test_error_of_logaddexp():
    x, y = pairs_of_logaddexp(np.random.default_rng(0), 60)
    usual = np.abs(x) < 1e4

    assert_accurate("logaddexp", x[usual], y[usual])
    np.testing.assert_array_equal(values("logaddexp", x[~usual], y[~usual]), x[~usual])


SPECIAL = np.array(
    [math.nan, math.inf, 0.0, 1.0, 0.5, 1.5, 2.0, 3.0, 745.5, 746.0, 1e15, 2.0**53 - 1, 2.0**53]
    + [SMALLEST, TINY, MAX, 1e-300, 1e300]
)
SPECIAL = np.concatenate([SPECIAL, -SPECIAL])


def assert_same_special_results(found, expected):
    # others are accurate to a few ulp, and not equal
    exact = ~np.isfinite(expected) | (expected == 0.0) | (np.abs(expected) == 1.0)

    assert np.count_nonzero(exact)
    np.testing.assert_array_equal(found[exact], expected[exact])
    numbers = exact & ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found[numbers]), np.signbit(expected[numbers]))


@pytest.mark.parametrize("name", [*UNARY, "sign"])
def test_special_values(name):
    assert_same_special_results(values(name, SPECIAL), numpy_values(name, SPECIAL))


@pytest.mark.parametrize("name", [*BINARY, *SELECTIONS])
def test_special_values_of_two_operands(name):
    x, y = (grid.ravel() for grid in np.meshgrid(SPECIAL, SPECIAL))
    if name in SELECTIONS:  # NumPy does not define which of two zeros it returns
        x, y = (operand[(x != 0.0) | (y != 0.0)] for operand in (x, y))

    assert_same_special_results(values(name, x, y), numpy_values(name, x, y))


@pytest.mark.parametrize("name", ["sin", "tan", "tanh", "sinh", "expm1", "log1p"])
def test_subnormal_argument_is_the_result(name):
    x = np.array([SMALLEST, 3 * SMALLEST, TINY / 3, TINY])

    np.testing.assert_array_equal(values(name, x), x)
    np.testing.assert_array_equal(values(name, -x), -x)


def test_logarithms_of_powers_are_exact():
    two, ten = np.arange(-1074.0, 1024.0), np.arange(0.0, 23.0)

    np.testing.assert_array_equal(values("log2", np.exp2(two)), two)
    np.testing.assert_array_equal(values("log10", np.array([10.0**k for k in range(23)])), ten)


@pytest.mark.parametrize("name", [*SELECTIONS, "sign"])
def test_selections_equal_numpy(name):
    generator = np.random.default_rng(0)
    arguments = [generator.standard_normal(1000) for _ in range(1 if name == "sign" else 2)]

    np.testing.assert_array_equal(values(name, *arguments), numpy_values(name, *arguments))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sum_in_any_order_is_vectorised(dtype):
    @numba.njit(f"{dtype}({dtype}[::1])", error_model="numpy")
    def total(x):
        s = x[0] - x[0]
        for i in range(x.size):
            s = functions.add_any_order(s, x[i])
        return s

    x = np.random.default_rng(0).uniform(0, 1, 1000).astype(dtype)

    assert np.isclose(total(x), x.sum(), rtol=1e-5 if dtype == "float32" else 1e-13)
    if IS_X86:
        suffix = "ps" if dtype == "float32" else "pd"
        assert re.search(rf"\bv?add{suffix}\s.*[xyz]mm", assembly(total))


def test_sum_in_any_order_keeps_terms_that_cancel():
    add = functions.add_any_order

    @numba.njit("UniTuple(float64, 4)(float64[::1], float64)", error_model="numpy")
    def totals(x, w):
        a = b = c = d = 0.0
        for i in range(x.size):
            a = add(a, x[i] * w - x[i] * w)
            b = add(b, ((x[i] + w) - x[i]) - w)
            c = add(c, x[i])
            d = add(d, -x[i])
        return a, b, add(c, d), add(add(0.0, w - x[0]), x[0])

    for value in (np.nan, np.inf, -np.inf):
        assert np.isnan(totals(np.array([value, 2.0, 3.0]), 1.0)).all()
    rounded = totals(np.full(100, 1.0), 1e-20)
    assert np.isclose(rounded[1], -100 * 1e-20, rtol=1e-14, atol=0.0)


def test_sum_of_other_types_is_of_float64():
    @numba.njit("float64(float32, float64)")
    def add(x, y):
        return functions.add_any_order(x, y)

    assert add(np.float32(1.0), 2.0**-40) == 1.0 + 2.0**-40


def assembly(compiled):
    (text,) = compiled.inspect_asm().values()
    return text


def is_vectorised(compiled):
    """Return True if the loop has instructions of vectors of doubles, and no call of libm."""
    text = assembly(compiled)
    packed = re.search(r"\bv?(?:mul|max|min|cmp|blendv|and)\w*pd\s.*[xyz]mm", text)
    calls = re.search(r"\b(?:exp|expm1|log|sin|cos|pow|fma|rint|floor)\b", text)
    return packed is not None and calls is None


@pytest.mark.skipif(not IS_X86, reason="names of instructions of x86")
@pytest.mark.parametrize("name", [*UNARY, *BINARY, *SELECTIONS, "sign"])
def test_loop_is_vectorised(name):
    if name in EXACT_PRODUCTS and not binding.get_host_cpu_features().get("fma"):
        pytest.skip("the processor has no instruction for exact products")

    assert is_vectorised(loop(name))


@pytest.mark.skipif(not IS_X86, reason="names of instructions of x86")
def test_loop_that_calls_libm_is_not_vectorised():
    @numba.njit("void(float64[::1], float64[::1])", error_model="numpy")
    def run(x, out):
        for i in range(x.size):
            out[i] = math.exp(x[i])

    assert not is_vectorised(run)


@pytest.mark.random
@pytest.mark.parametrize("name", UNARY)
def test_many_points_against_numpy(name):
    x = points(name, np.random.default_rng(1), 4000)
    found, expected = values(name, x), numpy_values(name, x)
    finite = np.isfinite(expected)

    np.testing.assert_array_equal(found[~finite], expected[~finite])
    found, expected, x = found[finite], expected[finite], x[finite]
    far = np.abs(found - expected) > 8.0 * np.spacing(np.abs(expected))
    if far.any():  # NumPy and SciPy may be less accurate than 4 ulp
        assert_accurate(name, x[far])


@pytest.mark.random
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", UNARY)
def test_error_of_many_points(name, seed):
    assert_accurate(name, points(name, np.random.default_rng(2 + seed), 1000))


@pytest.mark.random
@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_error_next_to_many_multiples_of_half_pi(name):
    assert_accurate(name, np.array(worst_arguments_of_trigonometric_functions()))


@pytest.mark.random
def test_error_of_power_at_many_points():
    assert_accurate("power", *pairs_of_power(np.random.default_rng(1), 4000))
