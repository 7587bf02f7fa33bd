"""Restored versions of an overwritten array at each point of the reverse pass."""

from __future__ import annotations

from srcad.ir.core import Atom, Block, Call, If, Loop, Op, Value, carried_outputs
from srcad.ir.substitute import substituted_call
from srcad.startup.records import replace
from srcad.transforms.cotangents import ReverseScope
from srcad.transforms.mirror import is_free_view, makes_version


def mirrored(scope: ReverseScope, value: Atom) -> Atom | None:
    """Return a version of an array as the reverse half has it; None where it has not."""
    mirrors = scope.sweep.mirrors
    if mirrors is None or value not in mirrors:
        return None
    assert isinstance(value, Value)
    here: ReverseScope | None = scope
    while here is not None:
        if value in here.mirror:
            return here.mirror[value]
        here = here.parent
    return value if mirrors.versions.depth(value) == 0 else None


def put_back(scope: ReverseScope, op: Op) -> None:
    """Undo a store on the mirror: put back the overwritten entries."""
    mirrors = scope.sweep.mirrors
    if mirrors is None or not isinstance(op, Call) or op.result not in mirrors.old:
        return
    now = mirrored(scope, op.result)
    before = op.args[0]
    if makes_version(op) and isinstance(now, Value) and isinstance(before, Value):
        old = mirrors.old[op.result]
        scope.mirror[before] = scope.updated(now, op.args[1], old, hint=before.hint)


def reread(scope: ReverseScope, start: int) -> None:
    """Let the ops written since read overwritten arrays from their mirrors."""
    if scope.sweep.mirrors is None:
        return
    ops = scope.builder.ops[start:]
    del scope.builder.ops[start:]
    for op in ops:
        if isinstance(op, Call):
            found = {v: again for v in op.operands if (again := _again(scope, v)) is not None}
            op = substituted_call(op, found) if found else op
        scope.builder.ops.append(op)


def _again(scope: ReverseScope, value: Value) -> Atom | None:
    """Return a read of an overwritten array, made again of its mirror."""
    mirrors = scope.sweep.mirrors
    assert mirrors is not None
    if not mirrors.versions.depth(value):
        return None
    if value in mirrors:
        return mirrored(scope, value)
    call = scope.sweep.made.get(value)
    if call is None or not is_free_view(call) or call.half == "reverse":
        return None
    array = call.args[0]
    again = _again(scope, array) if isinstance(array, Value) else None
    if again is None:
        return None
    result = Value(value.type, value.hint)
    copy = replace(call, args=(again, *call.args[1:]), result=result, half="reverse")
    scope.builder.ops.append(replace(copy, where=scope.builder.where))
    return result


# ------------------------------------------------------------------------------- loops
class LoopMirrors:
    """The mirrors that a reverse loop carries."""

    def __init__(self, scope: ReverseScope, body: ReverseScope, op: Loop) -> None:
        self.scope, self.body, self.op = scope, body, op
        self.positions: list[int] = []
        self.params: list[Value] = []
        self.inits: list[Atom] = []
        for k, output in enumerate(carried_outputs(op)):
            now = mirrored(scope, output)
            result = op.body.results[1 + k]
            if now is not None and isinstance(result, Value):
                param = Value(output.type, output.hint)
                body.mirror[result] = param
                self.positions.append(k)
                self.params.append(param)
                self.inits.append(now)

    def following(self) -> list[Atom]:
        """Return the mirrors at the start of an iteration."""
        found = [self.body.mirror.get(self.op.carried[k]) for k in self.positions]
        assert all(atom is not None for atom in found), "a mirror that is not carried on"
        return [atom for atom in found if atom is not None]

    def hand_on(self, finals: list[Value]) -> None:
        """Hand on the mirrors as they were before the loop."""
        for k, final in zip(self.positions, finals, strict=True):
            init = self.op.inits[k]
            if isinstance(init, Value):
                self.scope.mirror[init] = final


# ------------------------------------------------------------------------------- conditionals
class ArmMirrors:
    """The mirrors that the two branches of a conditional put back."""

    def __init__(self, scope: ReverseScope, op: If) -> None:
        self.scope, self.op = scope, op
        self.before: list[Value] = []
        self.places: list[tuple[int, Atom]] = []
        mirrors = scope.sweep.mirrors
        if mirrors is None:
            return
        for k, output in enumerate(op.outputs):
            if output not in mirrors or not mirrors.versions.depth(output):
                continue  # outside of loops every version is still there
            now = mirrored(scope, output)
            origins = [mirrors.versions.origin(branch.results[k], branch) for branch in op.blocks]
            if now is not None and origins[0] is origins[1] and origins[0] is not None:
                self.before.append(origins[0])
                self.places.append((k, now))

    def open(self, branch: ReverseScope, block: Block) -> None:
        """Let a branch begin with the mirrors as they are behind the conditional."""
        for k, now in self.places:
            result = block.results[k]
            if isinstance(result, Value):
                branch.mirror[result] = now

    def yields(self, branch: ReverseScope) -> list[Atom]:
        """Return the mirrors at the start of a branch."""
        return [branch.mirror[value] for value in self.before]

    def hand_on(self, outputs: list[Value]) -> None:
        """Hand on the mirrors as they were before the conditional."""
        for value, output in zip(self.before, outputs, strict=True):
            self.scope.mirror[value] = output

    def outputs(self) -> list[Value]:
        """Return new values for the results of the branches."""
        return [Value(value.type, value.hint) for value in self.before]
