"""Which file has the rows of functions of a name.

Written by ``pytest tests/rules --update-golden``.  A function without a row costs no file.  Rows of
``scipy.special`` stand in ``scipy/special.py`` of this folder, and are read when one of its
functions is met.
"""

NAMES = {
    "arithmetic": (
        "abs add arctan2 copysign divide divmod fabs float_power fmax fmin fmod heaviside hypot "
        "ldexp logaddexp logaddexp2 maximum minimum mod modf mul multiply neg pos pow power "
        "remainder sub subtract truediv"
    ),
    "casting": (
        "array asanyarray asarray ascontiguousarray asfortranarray astype bool clongdouble "
        "complex complex128 complex64 copy float float16 float32 float64 int int16 int32 int64 "
        "int8 longdouble ndarray.item srcad.as_real_as srcad.fitting srcad.like "
        "srcad.numeric_value srcad.of_any_phase srcad.rounded srcad.taken_in uint16 uint32 uint64 "
        "uint8"
    ),
    "cmath": (
        "acos acosh asin asinh atan atanh cos cosh exp isclose isfinite isinf isnan log log10 "
        "phase polar rect sin sinh sqrt tan tanh"
    ),
    "constant": (
        "all allclose and_ any arange argmax argmin argpartition argsort argwhere around "
        "array_equal array_equiv bartlett bincount bitwise_and bitwise_or bitwise_xor blackman "
        "callable can_cast ceil comb contains countOf count_nonzero diag_indices "
        "diag_indices_from digitize empty empty_like enumerate eq equal eye factorial finfo fix "
        "flatnonzero floor floor_divide floordiv format full full_like gcd ge greater "
        "greater_equal gt hamming hanning hasattr hash histogram_bin_edges id identity iinfo "
        "index indexOf indices inv invert is_ is_not isclose iscomplex iscomplexobj isfinite isin "
        "isinf isinstance isnan isneginf isposinf isqrt isreal isrealobj isscalar issubclass "
        "issubdtype ix_ lcm le left_shift len less less_equal lexsort linspace logical_and "
        "logical_not logical_or logical_xor lshift lt mask_indices matrix_rank may_share_memory "
        "min_scalar_type nanargmax nanargmin ndim ndindex ne nonzero not_ not_equal ones "
        "ones_like or_ perm print promote_types range ravel_multi_index repr result_type "
        "right_shift rint round rshift searchsorted shape shares_memory signbit size spacing "
        "srcad.ascending srcad.sign srcad.zeros_like str tri tril_indices tril_indices_from "
        "triu_indices triu_indices_from trunc truth type unravel_index xor zeros zeros_like"
    ),
    "einsum": "einsum",
    "elementwise": (
        "absolute acos acosh angle arccos arccosh arcsin arcsinh arctan arctanh asin atan atanh "
        "cbrt clip conjugate cos cosh deg2rad degrees exp exp2 expm1 fabs imag log log10 log1p "
        "log2 nan_to_num negative positive rad2deg radians real reciprocal sign sin sinc sinh "
        "sqrt square tan tanh where"
    ),
    "fft": (
        "fft fft2 fftfreq fftn fftshift hfft ifft ifft2 ifftn ifftshift ihfft irfft irfft2 irfftn "
        "rfft rfft2 rfftfreq rfftn"
    ),
    "indexing": (
        "compress delete diag diagflat diagonal extract getitem srcad.add_at "
        "srcad.add_at_repeated srcad.stays srcad.updated take take_along_axis trace tril triu"
    ),
    "joining": (
        "append array_split column_stack concatenate dsplit dstack hsplit hstack meshgrid split "
        "stack vsplit vstack"
    ),
    "linalg": (
        "cholesky det eigh eigvalsh inv matrix_power pinv slogdet solve srcad.cofactors "
        "srcad.half_triangle srcad.lower_inverse srcad.triangle_of_product svd svdvals"
    ),
    "norm": "matrix_norm norm vector_norm",
    "ordering": "interp median sort",
    "product": "cross dot inner kron matmul outer tensordot vdot vecdot",
    "reduction": (
        "amax amin max mean min nanmax nanmean nanmin nanstd nansum nanvar ptp std sum var"
    ),
    "running": "cumprod cumsum diff nancumsum prod trapezoid",
    "scalar": (
        "asinh atan2 cbrt copysign dist erf erfc fmod fsum gamma hypot ldexp lgamma log pow prod "
        "remainder sum tan tanh"
    ),
    "scipy.special": (
        "entr erf erfc erfinv expit gamma gammaln log_expit logit ndtr polygamma psi xlog1py "
        "xlogy zeta"
    ),
    "shape": (
        "atleast_1d atleast_2d atleast_3d broadcast_arrays broadcast_to expand_dims flip fliplr "
        "flipud matrix_transpose moveaxis pad ravel repeat reshape roll rollaxis rot90 squeeze "
        "srcad.unbroadcast swapaxes tile transpose"
    ),
    "unruled": (
        "angle cond convolve correlate cov eig eigvals i0 insert logspace lstsq multi_dot nanprod "
        "qr unique unwrap vander"
    ),
}
