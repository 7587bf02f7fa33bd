"""Replay of random draws in a checkpoint: restore the generator, which draws the same again.

The state of each generator is taken before the checkpoint runs first, which costs next to nothing
to keep.  When its ops run again, the generators are given these states, and afterwards the ones
that they had: so for the user's program every number is drawn once.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from srcad import runtime
from srcad.ir.again import random_state, set_random_state
from srcad.ir.argument_types import argument_type
from srcad.ir.core import Arg, Block, Call, Const, Half, Op, Value, walk
from srcad.ir.inference.builder import Builder
from srcad.ir.memory import is_one_of
from srcad.ir.primitives import apply
from srcad.ir.traits import is_known_part
from srcad.startup.identifiers import module_of
from srcad.types.numeric import Numeric
from srcad.types.structures import OPAQUE, Opaque

_GENERATORS = (np.random.Generator, np.random.RandomState, random.Random)
_STATES = frozenset({random_state, set_random_state, runtime.shuffled})
_MAKERS = (np.random.default_rng, np.random.RandomState, random.Random)
_NOT_DRAWS = frozenset({"seed", "spawn"})  # what they do depends on more than the state
_QUIET = frozenset({"builtins", "_operator"})


def generator_of(op: Call, block: Block) -> Arg | None:
    """Return the generator from which a call draws.

    None where it is no draw, or of another kind.
    """
    target, given = op.target, op.args[0] if op.args else None
    if is_one_of(target, _STATES):
        return given
    if target is apply and isinstance(given, Value):
        method = next((o for o in walk(block) if given in o.results), None)
        if not isinstance(method, Call) or not is_known_part(method.target):
            return None
        given, name = method.args[0], method.args[1]
        is_draw = isinstance(name, Const) and name.value not in _NOT_DRAWS
        return given if is_draw and _is_generator(given) else None
    if getattr(target, "__name__", "") in _NOT_DRAWS:
        return None
    holder = getattr(target, "__self__", None)
    if type(holder) in _GENERATORS:
        return Const(holder)
    is_method = "random" in module_of(target) or hasattr(target, "__objclass__")
    return given if given is not None and is_method and _is_generator(given) else None


def _is_generator(arg: Arg) -> bool:
    if isinstance(arg, Const):
        return type(arg.value) in _GENERATORS
    type_ = argument_type(arg)
    return isinstance(type_, Opaque) and type_.cls in _GENERATORS


def makes_generator(op: Call) -> bool:
    """Return True if a call makes a generator from an integer, so that it always begins alike."""
    seed = argument_type(op.args[0]) if len(op.args) == 1 and not op.kwargs else None
    is_int = isinstance(seed, Numeric) and seed.kind == "i"
    return is_int and any(op.target is one for one in _MAKERS)


def leaves_generators_alone(op: Call) -> bool:
    """Return True if a call with an effect certainly draws nothing, such as one of Python's."""
    target: Any = op.target
    return target is not apply and module_of(target) in _QUIET


def states(generators: Sequence[Arg], near: Op) -> tuple[list[Op], list[Value]]:
    """Return the calls that save the states of generators before an operation, and these states."""
    builder = Builder([], near.where, near.half)
    found = [
        builder.call(random_state, one, effect=True, type=OPAQUE, hint="state")
        for one in generators
    ]
    return builder.ops, found


def drawn_again(
    ops: Sequence[Op], generators: Sequence[Arg], states: Sequence[Value], half: Half
) -> tuple[Op, ...]:
    """Ops between what gives generators their earlier states, and what takes these back.

    Two of them may be one object: so the last one is the first to be put back.
    """
    before, after = Builder([], ops[0].where, half), Builder([], ops[-1].where, half)
    pairs = zip(generators, states, strict=True)
    found = [
        before.call(set_random_state, one, state, effect=True, type=OPAQUE, hint="state")
        for one, state in pairs
    ]
    for one, state in reversed(list(zip(generators, found, strict=True))):
        after.call(set_random_state, one, state, effect=True, type=OPAQUE)
    return (*before.ops, *ops, *after.ops)


def all_generators(
    draws: Mapping[Value, Call], block: Block, inside: Mapping[Value, Value]
) -> list[Arg] | None:
    """Return the generators of some draws that are not made inside the block, each once.

    None where one is made inside in another way than by `makes_generator`.
    """
    made = {op.result for op in walk(block) if isinstance(op, Call) and makes_generator(op)}
    found: list[Arg] = []
    for op in draws.values():
        one = generator_of(op, block)
        if one is None or (one in inside and one not in made):
            return None
        if one not in found and one not in made:
            found.append(one)
    return found
