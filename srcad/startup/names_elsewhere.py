"""Names from other AD systems, with the equivalent in srcad."""

from __future__ import annotations

_COMPARISON = "docs/comparison.md"
_ARRAYS = "write the function with NumPy itself", _COMPARISON
_RULES = "register the derivative of a function with srcad.rules.adjoint", "docs/custom-rules.md"
_TREES = "pass lists, tuples, dicts and dataclasses as arguments", "docs/structures.md"
_SCALES = "write the batch as an axis of the arrays, or as a loop", "docs/language.md"
_COMPILES = "compile with backend='numba'", "docs/compiled.md"
_NO_TAPE = "only functions that srcad.grad is given are differentiated", "docs/controlling.md"
_STOPS = "treat a value as a constant with srcad.stop_gradient", "docs/controlling.md"
_CONTROL = "write if, for and while as they are", "docs/language.md"
_GRADIENTS = "take gradients of a function with srcad.grad", "docs/quickstart.md"

INSTEAD = {
    "GradientTape": _GRADIENTS,
    "Tensor": _ARRAYS,
    "autograd": _GRADIENTS,
    "backward": _GRADIENTS,
    "cond": _CONTROL,
    "custom_jvp": _RULES,
    "custom_vjp": _RULES,
    "defjvp": _RULES,
    "defvjp": _RULES,
    "derivative": _GRADIENTS,
    "detach": _STOPS,
    "enable_grad": _NO_TAPE,
    "fori_loop": _CONTROL,
    "func": _GRADIENTS,
    "jit": _COMPILES,
    "lax": _CONTROL,
    "linearize": ("compute products with the Jacobian with srcad.jvp", "docs/forward-mode.md"),
    "make_hvp": ("compute products with the Hessian with srcad.hvp", "docs/higher-order.md"),
    "make_jvp": ("compute products with the Jacobian with srcad.jvp", "docs/forward-mode.md"),
    "make_vjp": ("compute the value and a pullback with srcad.pullback", "docs/controlling.md"),
    "no_grad": _NO_TAPE,
    "np": _ARRAYS,
    "numpy": _ARRAYS,
    "pmap": _SCALES,
    "primitive": _RULES,
    "remat": ("save memory with srcad.checkpoint", "docs/checkpoints.md"),
    "requires_grad": _NO_TAPE,
    "scan": _CONTROL,
    "scipy": ("call the functions of SciPy themselves", "docs/rules.md"),
    "stop_grad": _STOPS,
    "tensor": _ARRAYS,
    "tree_map": _TREES,
    "tree_util": _TREES,
    "vmap": _SCALES,
    "while_loop": _CONTROL,
}


def without_attribute(name: str) -> str:
    """Return the message of an AttributeError of the package.

    >>> without_attribute("no_such_name")
    "module 'srcad' has no attribute 'no_such_name'"
    >>> print(without_attribute("jit"))
    module 'srcad' has no attribute 'jit': compile with backend='numba' (docs/compiled.md)
    """
    message = f"module 'srcad' has no attribute {name!r}"
    if name not in INSTEAD:
        return message
    advice, page = INSTEAD[name]
    return f"{message}: {advice} ({page})"
