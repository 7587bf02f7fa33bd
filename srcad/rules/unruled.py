"""Rows of functions without a rule."""

import builtins

from srcad.rules.declare import facts

facts(builtins.abs, memory="shared", entries="each", nan="stays")
