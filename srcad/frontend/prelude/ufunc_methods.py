"""Methods of ufuncs that combine entries one after the other, written in Python.

The front end interprets them in place of the originals where a derivative flows through a call.

>>> import numpy as np
>>> reduced(np.subtract, np.array([5.0, 1.0, 2.0]))
np.float64(2.0)
>>> accumulated(np.divide, np.array([8.0, 2.0, 2.0]))
array([8., 4., 2.])
>>> outer(np.subtract, np.array([1.0, 2.0]), np.array([3.0, 5.0]))
array([[-2., -4.],
       [-1., -3.]])
"""

import numpy as np

# mypy: ignore-errors


def outer(ufunc, A, B):  # noqa: N803 - NumPy's names
    """Call a ufunc for each pair of an entry of one array and one of another."""
    a = A if isinstance(A, np.ndarray) else np.asarray(A)
    b = B if isinstance(B, np.ndarray) else np.asarray(B)
    if a.ndim == 0 or b.ndim == 0:
        return ufunc(a, b)
    if a.ndim == 1 and b.ndim == 1:
        return ufunc(a[:, None], b)
    return ufunc(np.reshape(a, a.shape + (1,) * b.ndim), b)


def reduced(ufunc, array, axis=0, keepdims=False, initial=None):
    """Combine the entries along an axis, from the first one on."""
    array = array if isinstance(array, np.ndarray) else np.asarray(array)
    rows = along_first(ufunc, array, axis)
    if len(rows) == 0:
        raise ValueError(
            f"zero-size array to reduction operation {ufunc.__name__} which has no identity"
        )
    result = rows[0] if array.ndim == 1 else np.copy(rows[0])
    if initial is not None:
        result = ufunc(np.asarray(initial, dtype=array.dtype), result)
    for row in rows[1:]:
        result = ufunc(result, row)
    if keepdims:
        return np.expand_dims(result, 0 if axis is None else axis)
    return result


def accumulated(ufunc, array, axis=0):
    """Combine the entries along an axis, and return every result on the way."""
    array = array if isinstance(array, np.ndarray) else np.asarray(array)
    rows = along_first(ufunc, array, axis)
    if len(rows) == 0:
        return np.copy(array)
    result = rows[0] if array.ndim == 1 else np.copy(rows[0])
    results = [result]
    for row in rows[1:]:
        result = ufunc(result, row)
        results.append(result)
    return np.array(results) if array.ndim == 1 else np.stack(results, axis)


def reduced_at(ufunc, array, indices, axis=0):
    """Combine the entries from each index up to the next one; one entry, if it is not larger."""
    array = array if isinstance(array, np.ndarray) else np.asarray(array)
    rows = along_first(ufunc, array, axis)
    results = []
    for start, stop in zip(indices, [*indices[1:], len(rows)]):  # noqa: B905 - interpreted
        results.append(over_rows(ufunc, rows[start:stop]) if start < stop else rows[start])
    return np.array(results) if array.ndim == 1 else np.stack(results, axis)


def over_rows(ufunc, rows):
    if ufunc in (np.multiply, np.maximum, np.minimum, np.logaddexp, np.logaddexp2):
        return ufunc.reduce(rows)
    return reduced(ufunc, rows)


def along_first(ufunc, array, axis):
    """Move an axis to the front, after a look at what NumPy refuses."""
    if array.dtype == np.float16:
        raise TypeError(
            f"np.{ufunc.__name__} along an axis of float16 is not differentiated, as NumPy may "
            "round at the end only: convert the array to float32 before"
        )
    if array.ndim == 0:
        raise TypeError(f"np.{ufunc.__name__} along an axis of a number is not differentiated")
    if axis is None or isinstance(axis, tuple):
        if axis is None and array.ndim == 1:
            return array
        raise ValueError(
            f"reduction operation '{ufunc.__name__}' is not reorderable, so at most one axis may "
            "be specified"
        )
    if array.ndim == 1:
        if axis not in (0, -1):
            raise np.exceptions.AxisError(axis, 1)
        return array
    return array if axis == 0 else np.moveaxis(array, axis, 0)
