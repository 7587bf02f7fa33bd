"""Getters of `operator`, and helpers of `contextlib`, written in Python.

The front end reads these as it reads `srcad.frontend.prelude`.

>>> attributes_of([("real",), ("imag",)], 1 + 2j)
(1.0, 2.0)
"""

# ruff: noqa: D103 - these bodies are read like a user's code
# mypy: ignore-errors


def managed(function, *args, **kwargs):
    return function(*args, **kwargs)


def item_of(key, obj):
    return obj[key]


def items_of(keys, obj):
    return tuple([obj[key] for key in keys])


def attribute_of(names, obj):
    for name in names:
        obj = getattr(obj, name)
    return obj


def attributes_of(each, obj):
    return tuple([attribute_of(names, obj) for names in each])


def method_called(name, args, kwargs, obj):
    return getattr(obj, name)(*args, **kwargs)
