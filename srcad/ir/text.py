"""The IR as text: one op per line, ``t1 = add(a, b)  # line n``."""

from __future__ import annotations

from typing import Any

from srcad.ir.core import (
    Arg,
    Atom,
    Block,
    Call,
    Const,
    Display,
    For,
    Function,
    If,
    Op,
    Routine,
    Try,
    Value,
    While,
)
from srcad.startup.identifiers import label, printable, shown


def text(function: Function) -> str:
    """Print a function."""
    return Printer().function(function)


class Printer:
    """Gives every value a name, once, and prints."""

    def __init__(self) -> None:
        self.names: dict[Value, str] = {}
        self.taken: set[str] = set()
        self.counter = 0

    def name(self, value: Value) -> str:
        """Return the value's name: its hint, numbered when taken, or ``t1``, ``t2``, ..."""
        if value not in self.names:
            self.names[value] = self._fresh(value.hint and printable(value.hint))
        return self.names[value]

    def _fresh(self, hint: str | None) -> str:
        if hint and hint not in self.taken:
            self.taken.add(hint)
            return hint
        while True:
            self.counter += 1
            name = f"{hint}_{self.counter}" if hint else f"t{self.counter}"
            if name not in self.taken:
                self.taken.add(name)
                return name

    def function(self, function: Function) -> str:
        """Return a whole function."""
        params = ", ".join(self.name(p) for p in function.params)
        lines = [f"{printable(function.name)}({params}):", *self.block(function.block, "return")]
        return "\n".join(lines)

    def block(self, block: Block, ending: str) -> list[str]:
        """Return the lines of a block, indented."""
        lines = [line for op in block.ops for line in self.op(op)]
        if block.results or ending == "return":
            lines.append(f"{ending} {', '.join(self.arg(r) for r in block.results)}".rstrip())
        return ["    " + line for line in lines]

    def op(self, op: Op) -> list[str]:
        """Return the lines of an op."""
        note = f"  # line {op.where.line}" if op.where else ""
        outputs = ", ".join(self.name(r) for r in op.results)
        match op:
            case Call():
                inputs = [self.arg(a) for a in op.args]
                inputs += [f"{printable(name)}={self.arg(a)}" for name, a in op.kwargs]
                place = "!" if op.in_place else ""
                called = f"{target_name(op.target)}{place}({', '.join(inputs)})"
                return [f"{outputs} = {called}{note}"]
            case Try():
                caught = ", ".join(c.__name__ for c in op.catches)
                lines = [f"try -> {outputs}:{note}", *self.block(op.then, "yield")]
                lines.append(f"except {caught} as {self.name(op.error)}:")
                return [*lines, *self.block(op.orelse, "yield")]
            case If():
                lines = [
                    f"if {self.arg(op.test)} -> {outputs}:{note}",
                    *self.block(op.then, "yield"),
                ]
                return [*lines, "else:", *self.block(op.orelse, "yield")]
            case For():
                return self._for(op, outputs, note)
            case While():
                inits = ", ".join(self.arg(a) for a in op.inits)
                lines = [f"while [{inits}] -> {outputs}:{note}"]
                lines.append(f"  test({', '.join(self.name(p) for p in op.test.params)}):")
                lines += self.block(op.test, "yield")
                lines.append(f"  body({', '.join(self.name(p) for p in op.body.params)}):")
                return lines + self.block(op.body, "yield")
        raise TypeError(type(op).__name__)

    def _for(self, op: For, outputs: str, note: str) -> list[str]:
        seqs = ", ".join(self.arg(a) for a in op.seqs)
        inits = ", ".join(self.arg(a) for a in op.inits)
        items = ", ".join(self.name(p) for p in op.items)
        carried = ", ".join(self.name(p) for p in op.carried)
        how = " backward" if op.backward else ""
        limit = f" first {self.arg(op.count)}" if op.count is not None else ""
        head = f"for{how}{limit} {items} in {seqs} [{carried} = {inits}] -> {outputs}:{note}"
        return [head, *self.block(op.body, "yield")]

    def arg(self, arg: Arg) -> str:
        """Return an argument."""
        if isinstance(arg, Display):
            items = [self.arg(a) for a in arg.items]
            match arg.kind:
                case "tuple":
                    return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
                case "list":
                    return f"[{', '.join(items)}]"
                case "slice":
                    return ":".join("" if i == "None" else i for i in items)
                case "range":
                    return f"range({', '.join(items)})"
                case "dict":
                    pairs = zip(items[::2], items[1::2], strict=True)
                    return "{" + ", ".join(f"{k}: {v}" for k, v in pairs) + "}"
        return self.atom(arg)

    def atom(self, atom: Atom) -> str:
        """Return a value's name, or a constant."""
        if isinstance(atom, Const):
            return atom.spelling or constant_name(atom.value)
        return self.name(atom)


def target_name(target: Any) -> str:
    """Return the short name of a callee."""
    if isinstance(target, Routine):
        return target.name
    return label(target)


def constant_name(value: Any) -> str:
    """Return a constant, in one short line."""
    if callable(value):
        return target_name(value)
    line = " ".join(_literal(value).split())
    return line if len(line) <= 40 else f"<{printable(type(value).__name__)}>"


def _literal(value: Any) -> str:
    """Return a constant as its class shows it, unless that is a class of the user."""
    kind = type(value)
    plain = kind.__module__ in ("builtins", "numpy", "srcad.ir.core") and kind not in (tuple, int)
    return repr(value) if plain else shown(value)
