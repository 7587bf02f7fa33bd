"""Rows of functions without a rule."""

import builtins

import numpy as np

from srcad import runtime
from srcad.rules.declare import facts

facts(builtins.abs, memory="shared", entries="each", nan="stays")
facts(np.apply_along_axis, memory="shared", order="other")
facts(runtime.copy_in_order_of, memory="shared", order="C")
facts(runtime.deep_copy, memory="shared", order="shows")
