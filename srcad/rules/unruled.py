"""Rows of functions without a rule."""

import ast
import builtins

import numpy as np

from srcad import runtime
from srcad.rules.declare import facts
from srcad.rules.row import Sign

facts(builtins.abs, memory="shared", entries="each", nan="stays", special=("__abs__",))
facts(builtins.pow, memory="shared", sign=Sign("**", ast.Pow), special=("__pow__",))
facts(builtins.reversed, memory="shared", special=("__reversed__",))
facts(builtins.iter, memory="shared", special=("__iter__",))
facts(builtins.next, memory="shared", special=("__next__",))
facts(np.apply_along_axis, memory="shared", order="other")
facts(runtime.copy_in_order_of, memory="shared", order="C")
facts(runtime.deep_copy, memory="shared", order="shows")
