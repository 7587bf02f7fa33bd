"""``products``: of a Hessian with several vectors at once, along a leading axis.

>>> import numpy as np
>>> from srcad.arguments.request import Request
>>> from srcad.calling.products import Product
>>> along = Product(lambda x: np.sum(x**3), Request("products"))
>>> along(np.array([1.0, 2.0]), np.array([[1.0, 0.0], [1.0, 1.0]]))
array([[ 6.,  0.],
       [ 6., 12.]])
"""

from __future__ import annotations

from collections.abc import Sequence

from srcad.arguments.request import Request
from srcad.ir.core import Function
from srcad.modes.hvp import with_products
from srcad.modes.mode import Mode
from srcad.modes.tangents import in_many, in_one_call


def with_rows(function: Function, request: Request, wrt: Sequence[int]) -> Function:
    """Return the function of the result and of the products; its last parameter are the vectors."""
    return in_many(with_products(function, request, wrt), len(function.params))


MODE = Mode("products", "Products of the Hessian with many vectors", with_rows, in_one_call)
