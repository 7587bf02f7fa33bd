"""Rows of functions without a rule."""

import ast
import builtins
import functools
import itertools
import operator

import numpy as np

from srcad import runtime
from srcad.rules.declare import facts
from srcad.rules.row import Sign

facts(builtins.abs, memory="shared", entries="each", nan="stays", symmetry="even", exponent=1.0,
      range="not negative", special=("__abs__",))  # fmt: skip
facts(builtins.pow, memory="shared", sign=Sign("**", ast.Pow), special=("__pow__",))
facts(builtins.reversed, memory="shared", special=("__reversed__",))
facts(builtins.iter, memory="shared", special=("__iter__",), effect="makes",
      iterates="as needed", iterated=(0, 0))  # fmt: skip
facts(builtins.next, memory="shared", special=("__next__",), effect="advances",
      iterates="as needed", iterated=(0, 0))  # fmt: skip
facts(builtins.setattr, memory="shared", effect="sets")
facts(builtins.delattr, memory="shared", effect="deletes")
facts(operator.setitem, list.append, memory="shared", effect="keeps")
facts(operator.delitem, memory="shared", effect="removes")
facts(builtins.open, builtins.input, memory="shared", effect="reads")
facts(slice, memory="shared", entries="made")
facts(builtins.object, memory="shared", effect="makes")
facts(np.apply_along_axis, memory="shared", order="other")
facts(runtime.copy_in_order_of, memory="shared", order="C")
facts(runtime.deep_copy, memory="shared", order="shows", law="copy")
facts(builtins.ascii, memory="shared", gives="text")
facts(builtins.dict, memory="shared", law="copy")

# ------------------------------------------------------------------------ iteration
facts(builtins.list, memory="shared", law="copy", iterates="all")
facts(builtins.tuple, builtins.sorted, memory="shared", iterates="all")
facts(builtins.set, builtins.frozenset, memory="shared", iterates="at once")
facts(builtins.map, memory="shared", iterates="as needed", iterated=(1, None), calls=True)
facts(builtins.zip, itertools.chain, itertools.zip_longest, memory="shared", iterates="as needed",
      iterated=(0, None))  # fmt: skip
facts(builtins.filter, itertools.takewhile, itertools.dropwhile, itertools.filterfalse,
      itertools.starmap, memory="shared", iterates="as needed", iterated=(1, 2),
      calls=True)  # fmt: skip
facts(itertools.accumulate, memory="shared", iterates="as needed", calls=True)
facts(itertools.islice, itertools.pairwise, itertools.groupby,
      memory="shared", iterates="as needed")  # fmt: skip
facts(itertools.cycle, itertools.combinations, itertools.permutations, memory="shared",
      iterates="some")  # fmt: skip
facts(itertools.product, memory="shared", iterates="some", iterated=(0, None))
facts(functools.reduce, memory="shared", iterates="some", iterated=(1, 2), calls=True)
facts(functools.partial, memory="shared", calls=True)
