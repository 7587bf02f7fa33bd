"""The rooms of the front end that are entered when a function needs them.

Half of the front end is for what many functions do not have: loops, attempts, patterns, recursion,
methods, names that two paths bind.  Those rooms are loaded when their door is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from srcad.startup.lazy import Later

__all__ = [
    "attempts",
    "comprehensions",
    "each",
    "headers",
    "importing",
    "loops",
    "managers",
    "mappings",
    "matching",
    "merge",
    "methods",
    "options",
    "recursion",
    "sequences",
    "stores",
    "trying",
    "writing",
]

if TYPE_CHECKING:
    from srcad.frontend import (
        attempts,
        comprehensions,
        each,
        headers,
        importing,
        loops,
        managers,
        mappings,
        matching,
        merge,
        methods,
        options,
        recursion,
        sequences,
        stores,
        trying,
        writing,
    )
else:
    attempts = Later("srcad.frontend.attempts")
    comprehensions = Later("srcad.frontend.comprehensions")
    each = Later("srcad.frontend.each")
    headers = Later("srcad.frontend.headers")
    importing = Later("srcad.frontend.importing")
    loops = Later("srcad.frontend.loops")
    managers = Later("srcad.frontend.managers")
    mappings = Later("srcad.frontend.mappings")
    matching = Later("srcad.frontend.matching")
    merge = Later("srcad.frontend.merge")
    methods = Later("srcad.frontend.methods")
    options = Later("srcad.frontend.options")
    recursion = Later("srcad.frontend.recursion")
    sequences = Later("srcad.frontend.sequences")
    stores = Later("srcad.frontend.stores")
    trying = Later("srcad.frontend.trying")
    writing = Later("srcad.frontend.writing")
