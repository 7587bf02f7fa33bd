"""Rows of functions without a rule."""

import ast
import builtins
import operator

import numpy as np

from srcad import runtime
from srcad.rules.declare import facts
from srcad.rules.row import Sign

facts(builtins.abs, memory="shared", entries="each", nan="stays", special=("__abs__",))
facts(builtins.pow, memory="shared", sign=Sign("**", ast.Pow), special=("__pow__",))
facts(builtins.reversed, memory="shared", special=("__reversed__",))
facts(builtins.iter, memory="shared", special=("__iter__",), effect="makes")
facts(builtins.next, memory="shared", special=("__next__",), effect="advances")
facts(builtins.setattr, memory="shared", effect="sets")
facts(builtins.delattr, memory="shared", effect="deletes")
facts(operator.setitem, list.append, memory="shared", effect="keeps")
facts(operator.delitem, memory="shared", effect="removes")
facts(builtins.open, builtins.input, memory="shared", effect="reads")
facts(slice, memory="shared", entries="made")
facts(builtins.object, memory="shared", effect="makes")
facts(np.apply_along_axis, memory="shared", order="other")
facts(runtime.copy_in_order_of, memory="shared", order="C")
facts(runtime.deep_copy, memory="shared", order="shows")
