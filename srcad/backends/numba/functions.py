"""Elementary functions that LLVM inlines and vectorises.

The ``llvmlite`` wheels have no vector library, so a call of libm keeps a loop scalar. Here every
function is a sequence of arithmetic, bit operations and selects on ``float64`` scalars, without
branches and calls. It is inlined into the loop that calls it, and LLVM vectorises the loop for the
width of the machine. Special values (nan, infinities, signed zeros), subnormal numbers and overflow
are those of NumPy, floating-point warnings are not raised. The errors are below 4 units in the last
place in the whole range of the arguments (of the larger operand in `logaddexp`, as in NumPy, since
the sum may cancel).

The functions reduce their argument to a small interval and evaluate a polynomial there. A quantity
that needs more than 53 bits is a pair of floats, the sum of a rounded value and its error (T. J.
Dekker, "A floating-point technique for extending the available precision", 1971).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

_Function = TypeVar("_Function")


def _inlined(function: _Function) -> _Function:
    """Compile a function into the code of each caller."""
    compiled: _Function = njit(error_model="numpy", forceinline=True)(function)
    return compiled


# ------------------------------------------------------------------------- single instructions
def _emit_bits(typing_context: Any, x: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.IntType(64))

    return types.int64(types.float64), emit


def _emit_from_bits(typing_context: Any, bits: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.int64), emit


def _emit_select(typing_context: Any, condition: Any, x: Any, y: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.select(*arguments)

    return types.float64(types.boolean, types.float64, types.float64), emit


def _emit_fma(typing_context: Any, x: Any, y: Any, z: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fma(*arguments)

    return types.float64(types.float64, types.float64, types.float64), emit


def _call(builder: Any, name: str, *arguments: Any) -> Any:
    """Emit a call of an LLVM intrinsic function of doubles."""
    double = ir.DoubleType()
    function = builder.module.declare_intrinsic(
        name, (double,), ir.FunctionType(double, [double] * len(arguments))
    )
    return builder.call(function, arguments)


def _emit_multiply_add(typing_context: Any, x: Any, y: Any, z: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _call(builder, "llvm.fmuladd", *arguments)

    return types.float64(types.float64, types.float64, types.float64), emit


def _emit_nearest(typing_context: Any, x: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _call(builder, "llvm.rint", *arguments)

    return types.float64(types.float64), emit


def _emit_add_any_order(typing_context: Any, s: Any, x: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fadd(*arguments, flags=("reassoc",))

    both = types.float32 if s == x == types.float32 else types.float64
    return both(both, both), emit


_bits: Callable[[float], int] = intrinsic(_emit_bits)
_from_bits: Callable[[int], float] = intrinsic(_emit_from_bits)
# Conditional expressions are branches until an optimisation of LLVM has removed them.
_select: Callable[[Any, float, float], float] = intrinsic(_emit_select)
# x * y + z, rounded once. A machine without the instruction calls libm, so this is only for exact
# products; `_multiply_add` rounds once or twice, whichever is faster.
_fma: Callable[[float, float, float], float] = intrinsic(_emit_fma)
_multiply_add: Callable[[float, float, float], float] = intrinsic(_emit_multiply_add)
_nearest: Callable[[float], float] = intrinsic(_emit_nearest)
# s + x in a sum that may be evaluated in any order: the only operation that LLVM may reassociate.
# Two operands of float32 are added as float32, all others as float64. "reassoc" alone lets the loop
# be vectorised. With "nsz" LLVM also looks into the operands, which have no flags themselves, and
# cancels equal terms: s + (x - x) would be s for nan and infinities, s + ((x + y) - x) would be
# s + y.
add_any_order: Callable[..., float] = intrinsic(_emit_add_any_order)


def _polynomial(*coefficients: float) -> Callable[[float], float]:
    """Return a function that evaluates a polynomial by Horner's rule, lowest power first."""

    def emit_polynomial(typing_context: Any, x: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            double = ir.DoubleType()
            result = ir.Constant(double, coefficients[-1])
            for coefficient in coefficients[-2::-1]:
                constant = ir.Constant(double, coefficient)
                result = _call(builder, "llvm.fmuladd", result, arguments[0], constant)
            return result

        return types.float64(types.float64), emit

    evaluate: Callable[[float], float] = intrinsic(emit_polynomial)
    return evaluate


# ----------------------------------------------------------------------------------- constants
_INFINITY = math.inf
_NAN = math.nan
_SMALLEST_NORMAL = 2.0**-1022

# 1.5 * 2**52: the sum with a float of less than 2**51 is rounded to an integer, and its lowest bits
# are those of the integer in two's complement.
_ROUNDER = 1.5 * 2.0**52
_BITS_OF_ONE = 1023 << 52
_BITS_OF_HALF_ROOT = 0x3FE6A09E667F3BCD  # of sqrt(1/2)
_FRACTION_MASK = (1 << 52) - 1
_BITS_OF_INTEGERS = 1075 << 52  # of 2**52, whose fraction counts integers

_LOG2_E = 1.4426950408889634
# log(2) as a sum: the first has 32 bits, so its product with an exponent is exact.
_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10
# log(10)**-1 and pi/2 as pairs
_LOG10_E = (0.4342944819032518, 1.098319650216765e-17)
_HALF_PI = (1.5707963267948966, 6.123233995736766e-17)
_THIRD = (1.0 / 3.0, 1.850371707708594e-17)

# (exp(r) - 1 - r) / r**2 for abs(r) <= log(2)/2: the polynomial that interpolates it at Chebyshev
# nodes, computed with mpmath. The error of exp(r) - 1 is 4e-17 times its value.
_exp_tail = _polynomial(
    0.5000000000000001,
    0.16666666666666669,
    0.04166666666662413,
    0.008333333333330062,
    0.0013888888917213717,
    0.00019841269863053618,
    2.4801521295954376e-05,
    2.7557268459997064e-06,
    2.7620088445409746e-07,
    2.510038549551032e-08,
)
# With s = f / (2 + f): log(1 + f) = 2 s + s R(s**2) in sqrt(1/2) <= 1 + f <= sqrt(2). Minimax
# polynomial, error 2**-58 (coefficients of FreeBSD's msun, e_log.c).
_log_tail = _polynomial(
    6.666666666666735130e-01,
    3.999999999940941908e-01,
    2.857142874366239149e-01,
    2.222219843214978396e-01,
    1.818357216161805012e-01,
    1.531383769920937332e-01,
    1.479819860511658591e-01,
)
# (atanh(s)/s - 1 - s**2/3) / s**4 in z = s**2 for z <= 0.0295: Taylor polynomial, error 2e-17
_atanh_tail = _polynomial(*(1.0 / k for k in range(5, 25, 2)))
# (1 - sin(r)/r) / r**2 and (cos(r) - 1 + r**2/2) / r**4 in r**2 for abs(r) <= pi/4: Taylor
# polynomials, errors 2e-19 and 6e-18
_sin_tail = _polynomial(*(-((-1.0) ** k) / math.factorial(2 * k + 1) for k in range(1, 9)))
_cos_tail = _polynomial(*((-1.0) ** k / math.factorial(2 * k) for k in range(2, 9)))
# erf(x)/x in x**2 for abs(x) <= 1: minimax polynomial (relative error 8e-18, computed with mpmath
# by Remez's algorithm)
_erf_quotient = _polynomial(
    1.1283791670955126,
    -0.3761263890318352,
    0.112837916709442,
    -0.026866170643113415,
    0.005223977606130842,
    -0.0008548325929766244,
    0.0001205529358693695,
    -1.4924712439534814e-05,
    1.6447132699786621e-06,
    -1.6206318752969208e-07,
    1.3710988704190523e-08,
    -7.779462971761597e-10,
)
# log(1 - erf(x)) for 1 <= x <= 6: minimax polynomial (error of erf 7e-18, computed as above)
_log_erfc = _polynomial(
    -5.02864496938916e-07,
    -1.1283740893349776,
    -0.6366436287163445,
    -0.10270343779248574,
    0.018990175568588608,
    0.0004106325319958199,
    -0.0019159483681447827,
    0.0007706475159183684,
    -0.00013505329356218362,
    -2.026509116761761e-05,
    2.2821841710250338e-05,
    -8.66694727406527e-06,
    2.135622435491915e-06,
    -3.732922765894546e-07,
    4.642138847861635e-08,
    -3.934114552780707e-09,
    2.0448770325407143e-10,
    -4.928390527386832e-12,
)


def _inverse_tangent_of_inverse(n: int, one: int) -> int:
    """Return atan(1/n) as a multiple of 1/one."""
    term = one // n
    total, k = 0, 1
    while term:
        total += term // k if k % 4 == 1 else -(term // k)
        term //= n * n
        k += 2
    return total


def _table_of_two_over_pi() -> Any:
    """Return the rows (2**(32 j) * 2/pi) mod 4 for -34 <= j <= 30, each a sum of four floats."""
    one = 1 << 2700
    # Machin's formula
    pi = 16 * _inverse_tangent_of_inverse(5, one) - 4 * _inverse_tangent_of_inverse(239, one)
    two_over_pi = 2 * one * one // pi
    table = np.empty((65, 4))
    for row in range(65):
        rest = ((two_over_pi << 32 * row) >> 32 * 34) % (4 * one)
        for column in range(4):
            table[row, column] = rest / one  # a quotient of integers is rounded correctly
            numerator, denominator = float(table[row, column]).as_integer_ratio()
            rest -= numerator * one // denominator
    return table


_TWO_OVER_PI = _table_of_two_over_pi()


# -------------------------------------------------------------------------------- exponentials
@_inlined
def _power_of_two(k: float) -> float:
    """Return 2**k of an integer from -1022 to 1023."""
    return _from_bits((_bits(k + _ROUNDER) << 52) + _BITS_OF_ONE)


@_inlined
def _exp_scaled(high: float, low: float, shift: float) -> float:
    """Return exp(high + low) * 2**shift for a small `low`."""
    x = _select(high < -750.0, -750.0, high)
    x = _select(x > 712.0, 712.0, x)
    k = (x * _LOG2_E + _ROUNDER) - _ROUNDER
    r = _multiply_add(k, -_LN2_LOW, _multiply_add(k, -_LN2_HIGH, x)) + low
    value = _multiply_add(r * r, _exp_tail(r), r) + 1.0
    # 2**k in two factors: it may be out of range where the result is subnormal or nearly infinite.
    k = k + shift
    half = (k * 0.5 + _ROUNDER) - _ROUNDER
    return value * _power_of_two(half) * _power_of_two(k - half)


@_inlined
def _expm1_factors(x: float) -> tuple[float, float]:
    """Return finite factors of exp(x) - 1: the value up to exp(x) = 2**1023, and a power of two."""
    x = _select(x < -60.0, -60.0, x)
    x = _select(x > 712.0, 712.0, x)
    k = (x * _LOG2_E + _ROUNDER) - _ROUNDER
    high = _multiply_add(k, -_LN2_HIGH, x)
    low = k * _LN2_LOW
    r = high - low
    tail = _multiply_add(r * r, _exp_tail(r), (high - r) - low)
    limited = _select(k > 1023.0, 1023.0, k)
    scale = _power_of_two(limited)
    value = _multiply_add(scale, r, scale - 1.0) + scale * tail
    return value, _power_of_two(k - limited)


@_inlined
def exp(x: float) -> float:
    """Return e**x."""
    return _exp_scaled(x, 0.0, 0.0)


@_inlined
def expm1(x: float) -> float:
    """Return e**x - 1, accurate near 0."""
    value, factor = _expm1_factors(x)
    return math.copysign(value * factor, x)


@_inlined
def sinh(x: float) -> float:
    """Return the hyperbolic sine."""
    value, factor = _expm1_factors(abs(x))
    return math.copysign((value + value / (value + 1.0)) * 0.5 * factor, x)


@_inlined
def cosh(x: float) -> float:
    """Return the hyperbolic cosine."""
    half = _exp_scaled(abs(x), 0.0, -1.0)
    return half + 0.25 / half


@_inlined
def tanh(x: float) -> float:
    """Return the hyperbolic tangent."""
    # exp(y) - 1 as in `_expm1_factors`, for a y that is not positive
    y = -2.0 * abs(x)
    y = _select(y < -60.0, -60.0, y)
    shifted = _multiply_add(y, _LOG2_E, _ROUNDER)
    k = shifted - _ROUNDER
    r = _multiply_add(k, -_LN2_LOW, _multiply_add(k, -_LN2_HIGH, y))
    scale = _from_bits((_bits(shifted) << 52) + _BITS_OF_ONE)
    value = _multiply_add(scale, r, scale - 1.0) + scale * (r * r * _exp_tail(r))
    return math.copysign(value / (value + 2.0), x)


@_inlined
def expit(x: float) -> float:
    """Return 1 / (1 + exp(-x)), without overflow."""
    small = _exp_scaled(-abs(x), 0.0, 0.0)
    return _select(x < 0.0, small, 1.0) / (1.0 + small)


# ---------------------------------------------------------------------------------- logarithms
@_inlined
def _exponent_and_fraction(x: float) -> tuple[float, float]:
    """Return k and m with x = 2**k * m and sqrt(1/2) <= m < sqrt(2), for a finite x > 0."""
    subnormal = x < _SMALLEST_NORMAL
    bits = _bits(_select(subnormal, x * 2.0**54, x)) + (_BITS_OF_ONE - _BITS_OF_HALF_ROOT)
    # Not a conversion from an integer: most vector units have none for 64 bits.
    biased = _from_bits(((bits >> 52) & 0xFFF) | _BITS_OF_INTEGERS)
    k = biased - _select(subnormal, 2.0**52 + 1023.0 + 54.0, 2.0**52 + 1023.0)
    return k, _from_bits((bits & _FRACTION_MASK) + _BITS_OF_HALF_ROOT)


@_inlined
def _log_of_fraction(f: float, low: float) -> float:
    """Return log(1 + f) + low, for sqrt(1/2) <= 1 + f < sqrt(2) and a small `low`."""
    s = f / (2.0 + f)
    z = s * s
    half_square = 0.5 * f * f
    return f - (half_square - _multiply_add(s, half_square + z * _log_tail(z), low))


@_inlined
def _log_finite(x: float, low: float) -> float:
    """Return log(x) + low, for a finite x > 0 and a small `low`."""
    k, m = _exponent_and_fraction(x)
    return _multiply_add(k, _LN2_HIGH, _log_of_fraction(m - 1.0, _multiply_add(k, _LN2_LOW, low)))


@_inlined
def _log_pair(x: float) -> tuple[float, float]:
    """Return log(x) as a pair of 65 bits at least, for a finite x > 0."""
    k, m = _exponent_and_fraction(x)
    # s = (m - 1) / (m + 1), and log(m) = 2 atanh(s)
    f = m - 1.0
    sum_high = m + 1.0
    sum_low = m - (sum_high - 1.0)
    inverse = 1.0 / sum_high
    s_high = f * inverse
    s_low = inverse * (_fma(-s_high, sum_high, f) - s_high * sum_low)
    # atanh(s) = s + s * z * (1/3 + z * tail)
    z_high = s_high * s_high
    z_low = _fma(s_high, s_high, -z_high) + 2.0 * s_high * s_low
    tail = z_high * _atanh_tail(z_high)
    series_high = _THIRD[0] + tail
    series_low = (_THIRD[0] - series_high) + tail + _THIRD[1]
    u_high = z_high * series_high
    u_low = _fma(z_high, series_high, -u_high) + (z_high * series_low + z_low * series_high)
    v_high = s_high * u_high
    v_low = _fma(s_high, u_high, -v_high) + (s_high * u_low + s_low * u_high)
    high = 2.0 * (s_high + v_high)
    low = 2.0 * (((s_high - 0.5 * high) + v_high) + (s_low + v_low))
    exponent = k * _LN2_HIGH
    total = exponent + high
    return total, ((exponent - total) + high) + _multiply_add(k, _LN2_LOW, low)


@_inlined
def _with_special_values(x: float, result: float) -> float:
    """Return the logarithm of x, for any x, from the result for a finite x > 0."""
    result = _select(x == 0.0, -_INFINITY, result)
    result = _select(x < 0.0, _NAN, result)
    return _select(x < _INFINITY, result, x)


@_inlined
def log(x: float) -> float:
    """Return the natural logarithm."""
    return _with_special_values(x, _log_finite(x, 0.0))


@_inlined
def log1p(x: float) -> float:
    """Return log(1 + x), accurate near 0."""
    total = 1.0 + x
    part = total - 1.0
    error = (1.0 - (total - part)) + (x - part)
    result = _log_finite(total, error / total)
    return math.copysign(_with_special_values(total, result), x)


@_inlined
def log2(x: float) -> float:
    """Return the logarithm of base 2."""
    k, m = _exponent_and_fraction(x)
    result = k + _log_of_fraction(m - 1.0, 0.0) * _LOG2_E
    return _with_special_values(x, result)


@_inlined
def log10(x: float) -> float:
    """Return the logarithm of base 10."""
    high, low = _log_pair(x)
    product = high * _LOG10_E[0]
    error = _fma(high, _LOG10_E[0], -product) + (high * _LOG10_E[1] + low * _LOG10_E[0])
    return _with_special_values(x, product + error)


@_inlined
def logaddexp(x: float, y: float) -> float:
    """Return log(exp(x) + exp(y)), without overflow."""
    difference = x - y
    larger = _select(difference > 0.0, x, y)
    result = larger + log1p(_exp_scaled(-abs(difference), 0.0, 0.0))
    return _select(x == y, x + 0.6931471805599453, result)  # the difference of infinities is nan


@_inlined
def power(x: float, y: float) -> float:
    """Return x**y of floats."""
    size = abs(x)
    log_high, log_low = _log_pair(size)
    log_high = _with_special_values(size, log_high)
    high = y * log_high
    low = _fma(y, log_high, -high) + y * log_low
    result = _exp_scaled(high, _select(abs(high) < 1000.0, low, 0.0), 0.0)
    integral = _nearest(y) == y
    odd = integral & (_nearest(0.5 * y) != 0.5 * y)
    result = _select((size == 1.0) & (y == y), 1.0, result)  # abs(y) may be infinite
    result = _select(odd, math.copysign(result, x), result)
    result = _select((x < 0.0) & (size < _INFINITY) & (integral == 0), _NAN, result)
    return _select((x == 1.0) | (y == 0.0), 1.0, result)


# --------------------------------------------------------------------- trigonometric functions
@_inlined
def _sum_and_error(x: float, y: float) -> tuple[float, float]:
    """Return x + y and its rounding error."""
    total = x + y
    part = total - x
    return total, (x - (total - part)) + (y - part)


@_inlined
def _reduce_by_half_pi(x: float) -> tuple[float, float, int]:
    """Return a pair r and the quadrant k with x = k * pi/2 + r mod 2 pi and abs(r) <= pi/4.

    If x is a multiple of 2**(32 j), only (2**(32 j) * 2/pi) mod 4 matters (M. Payne and R. Hanek,
    "Radian reduction for trigonometric functions", 1983). The sum of four floats has 210 bits of
    it: the product has up to 86 bits before the binary point, and next to a multiple of pi/2 up to
    62 zeros behind it.
    """
    bits = _bits(x)
    # x = 2**(32 j) * scaled with 2**52 <= scaled < 2**84, which is an integer if j >= 0. For a
    # smaller x the fraction of 2**(32 j) * 2/pi < 1 is all of it.
    row = (((bits >> 52) & 0x7FF) + (32 * 34 - 1075)) >> 5  # j + 34
    scaled = _from_bits(bits + ((34 - row) << (52 + 5)))
    index = np.uint64(row)  # no test of the sign
    c0 = _TWO_OVER_PI[index, 0]
    c1 = _TWO_OVER_PI[index, 1]
    c2 = _TWO_OVER_PI[index, 2]
    c3 = _TWO_OVER_PI[index, 3]
    p0 = scaled * c0
    p1 = scaled * c1
    p2 = scaled * c2
    e0 = _fma(scaled, c0, -p0)
    e1 = _fma(scaled, c1, -p1)
    e2 = _fma(scaled, c2, -p2)
    # the integral parts, the first modulo 4
    n0 = _nearest(p0)
    middle, middle_error = _sum_and_error(e0, p1)
    n1 = _nearest(middle)
    fraction, fraction_error = _sum_and_error(p0 - n0, middle - n1)
    n2 = _nearest(fraction)
    turns = (n0 - 4.0 * _nearest(0.25 * n0)) + n1 + n2
    # the fractional part
    small, small_error = _sum_and_error(e1, p2)
    high, error_1 = _sum_and_error(fraction - n2, middle_error)
    high, error_2 = _sum_and_error(high, fraction_error)
    high, error_3 = _sum_and_error(high, small)
    low = (error_1 + error_2) + (error_3 + small_error)
    low = low + _multiply_add(scaled, c3, e2)
    # times pi/2
    high, low = _sum_and_error(high, low)
    r = high * _HALF_PI[0]
    error = _fma(high, _HALF_PI[0], -r) + (high * _HALF_PI[1] + low * _HALF_PI[0])
    reduced = abs(x) > 0.7853981633974483
    r = _select(reduced, r, x)
    # x - x is nan for nan and infinities, whose bits are taken for those of numbers above.
    error = _select(reduced, error, 0.0) + (x - x)
    return r, error, _bits(turns + _ROUNDER)  # turns = 0 where x is not reduced


@_inlined
def _sin_and_cos(r: float, low: float) -> tuple[float, float]:
    """Return sin(r + low) and cos(r + low) for abs(r) <= pi/4."""
    z = r * r
    half = 0.5 * z
    # A difference, whose subtrahend is +0 for zeros: it preserves the sign of r.
    sine = r - _multiply_add(r * z, _sin_tail(z), half * low - low)
    rounded = 1.0 - half
    cosine = rounded + (((1.0 - rounded) - half) + _multiply_add(z * z, _cos_tail(z), -r * low))
    return sine, cosine


@_inlined
def _sine_of_quadrant(r: float, low: float, quadrant: int) -> float:
    """Return sin(r + low + quadrant * pi/2)."""
    sine, cosine = _sin_and_cos(r, low)
    value = _select((quadrant & 1) == 1, cosine, sine)
    return _from_bits(_bits(value) ^ ((quadrant & 2) << 62))


@_inlined
def sin(x: float) -> float:
    """Return the sine, for an argument of any magnitude."""
    r, low, quadrant = _reduce_by_half_pi(x)
    return _sine_of_quadrant(r, low, quadrant)


@_inlined
def cos(x: float) -> float:
    """Return the cosine, for an argument of any magnitude."""
    r, low, quadrant = _reduce_by_half_pi(x)
    return _sine_of_quadrant(r, low, quadrant + 1)


@_inlined
def tan(x: float) -> float:
    """Return the tangent, for an argument of any magnitude."""
    r, low, quadrant = _reduce_by_half_pi(x)
    sine, cosine = _sin_and_cos(r, low)
    odd = (quadrant & 1) == 1
    return _select(odd, -cosine, sine) / _select(odd, sine, cosine)


# -------------------------------------------------------------------------------- other functions
@_inlined
def erf(x: float) -> float:
    """Return the error function."""
    size = abs(x)
    limited = _select(size > 6.0, 6.0, size)
    large = math.copysign(1.0 - _exp_scaled(_log_erfc(limited), 0.0, 0.0), x)
    return _select(size < 1.0, x * _erf_quotient(x * x), large)


@_inlined
def sign(x: float) -> float:
    """Return -1, 0 or 1, the sign of x, and nan for nan."""
    return _select(x > 0.0, 1.0, _select(x < 0.0, -1.0, _select(x == 0.0, 0.0, x)))


@_inlined
def maximum(x: float, y: float) -> float:
    """Return the larger operand, nan if one is nan."""
    return _select((x >= y) | (x != x), x, y)


@_inlined
def minimum(x: float, y: float) -> float:
    """Return the smaller operand, nan if one is nan."""
    return _select((x <= y) | (x != x), x, y)


@_inlined
def fmax(x: float, y: float) -> float:
    """Return the larger operand, the other one if one is nan."""
    return _select((x >= y) | (y != y), x, y)


@_inlined
def fmin(x: float, y: float) -> float:
    """Return the smaller operand, the other one if one is nan."""
    return _select((x <= y) | (y != y), x, y)
