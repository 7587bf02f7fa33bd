"""Functions without a rule of which something is known."""

import builtins

from srcad.rules.declare import facts

facts(builtins.abs, memory="shared", entries="each", nan="stays")
