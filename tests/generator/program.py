"""Whole programs: helpers, one main function, arguments; as the text of a module."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from random import Random

from tests.generator import everything
from tests.generator.changing import outside
from tests.generator.classes import classes
from tests.generator.names import Helper, Module, Param, Shape, Text, Var
from tests.generator.writers import AnyWriter, Writer

HEADER = "import functools\nimport math\nfrom collections import namedtuple\n\nimport numpy as np\n"


@dataclass(frozen=True)
class Program:
    """The text of a module that defines ``f``, ``make_arguments`` and ``WRT``."""

    seed: int
    text: str
    analytic: bool
    marks: frozenset[str]
    features: str = "spine"


def program(seed: int, features: str = "spine") -> Program:
    """The program of a seed; always the same text.  Every third program is small.

    `features` is ``spine``, or ``all``: then programs also write into arrays through any of their
    names, change containers and catch exceptions.  ``store,view`` are some families of these.
    """
    random = Random(f"srcad-{seed}" if features == "spine" else f"srcad-{features}-{seed}")
    for attempt in range(20):
        made = _attempt(Random(f"{random.random()}-{attempt}"), seed, features)
        if made is not None:
            return made
    raise RuntimeError(f"no program for seed {seed}")


def _attempt(random: Random, seed: int, features: str) -> Program | None:
    analytic = random.random() < 0.35
    size = (1, 2, 3)[seed % 3]
    module = Module(analytic, random.choice((2, 3, 3, 4)), random.choice((2, 3)), size)
    if features != "spine":
        module.families = everything.families(random, size, features)
    parts = [HEADER]
    before: list[str] = []
    if "operators" in module.families:
        before.append(classes(random, module))
    if "outside" in module.families:
        before.append(outside(random, module))
    if random.random() < 0.3:
        parts.append("Pair = namedtuple('Pair', 'p q')\n")
        module.marks.add("named tuple")
    for k in range(random.choice(((0, 1), (1, 2), (1, 2, 3))[size - 1])):
        parts.append(_helper(random, module, f"helper{k}"))
    if random.random() < 0.22:
        parts.append(_recursive(random, module))
    if "helper" in module.families:
        for k in range(random.choice((1, 1, 2))):
            parts.append(everything.mutator(random, module, f"change{k}"))
    main, arguments, wrt = _main(random, module)
    parts.append(main)
    parts.append(f"def make_arguments():\n    return ({', '.join(arguments)},)\n")
    parts.append(f"WRT = {wrt}\nANALYTIC = {analytic}\n")
    if module.families:
        parts[1:1] = [everything.HEADER, *everything.pieces("\n".join(parts)), *before]
    text = "\n\n".join(parts)
    try:
        text = ast.unparse(ast.parse(text)) + "\n"
        compile(text, "<program>", "exec")
    except SyntaxError:
        return None
    return Program(seed, text, analytic, frozenset(module.marks), features)


def _writer(random: Random, module: Module) -> Writer:
    return AnyWriter(random, module) if module.families else Writer(random, module)


# ------------------------------------------------------------------------------- helpers
def _helper(random: Random, module: Module, name: str) -> str:
    """A helper with defaults, keyword-only parameters, early returns."""
    writer = _writer(random, module)
    writer.exits, writer.limit = random.choice((0, 0, 1)), 8
    params: list[Param] = []
    shape: Shape = random.choice(((), (), (module.length,)))
    params.append(Param(writer.fresh("a"), shape))
    params.append(Param(writer.fresh("b"), default=random.choice((None, writer.constant()))))
    if random.random() < 0.35:
        params.append(Param(writer.fresh("c"), default=writer.constant(), keyword_only=True))
    elif random.random() < 0.2 and params[-1].default is None:
        params.append(Param(writer.fresh("fn"), kind="function"))
    for param in params:
        kind = "function" if param.kind == "function" else "float"
        writer.bind(Var(param.name, kind, param.shape, 2.0))
    writer.statements(random.choice((0, 1, 2)))
    pair = random.random() < 0.25
    result_shape: Shape = (
        random.choice(((), (), (module.length,))) if not pair and not writer.returned else ()
    )
    value = writer.value(result_shape, 2.0)
    if pair and not writer.returned:
        writer.emit(f"return {value.code}, {writer.value((), 2.0).code}")
    else:
        pair = False
        mean = f"0.3 * np.mean({params[0].name})"
        writer.emit(
            f"return {value.code} + {mean}" if random.random() < 0.7 else f"return {value.code}"
        )
    module.helpers.append(Helper(name, tuple(params), 3.0, 2 if pair else 1, result_shape))
    return _definition(name, params, writer.lines)


def _definition(name: str, params: list[Param], lines: list[str]) -> str:
    shown: list[str] = []
    for param in params:
        if param.keyword_only and "*" not in shown:
            shown.append("*")
        shown.append(param.name if param.default is None else f"{param.name}={param.default}")
    return "\n".join([f"def {name}({', '.join(shown)}):", *lines])


def _recursive(random: Random, module: Module) -> str:
    """A function that calls itself, once or twice."""
    writer = _writer(random, module)
    t, n = Param(writer.fresh("a")), Param(writer.fresh("k"), kind="int")
    writer.bind(Var(t.name, bound=2.0))
    writer.bind(Var(n.name, "int"))
    kind = random.randrange(4)
    with writer.block(f"if {n.name} <= 0:"):
        writer.emit(f"return {writer.value((), 1.0).code}")
    if kind == 0:
        writer.statements(1)
    inner = writer.value((), 2.0).code
    call = f"recur({inner}, {n.name} - 1)"
    if kind == 1:
        second = f"recur(0.7 * {t.name}, {n.name} - 2)"
        writer.emit(f"return 0.5 * {call} + 0.4 * np.sin({second})")
    elif kind == 2:
        writer.emit(f"u_{t.name} = {call}")
        writer.emit(f"return np.tanh(u_{t.name} * {t.name}) + 0.3 * {t.name}")
    else:
        writer.emit(f"return 0.6 * {call} * np.cos({t.name}) + 0.2 * {t.name}")
    module.helpers.append(Helper("recur", (t, n), 3.0))
    return _definition("recur", [t, n], writer.lines)


# ---------------------------------------------------------------------------------- main
def _main(random: Random, module: Module) -> tuple[str, list[str], tuple[int, ...]]:
    writer = _writer(random, module)
    writer.exits = random.choice((0, 0, 1, 2))
    writer.limit = (10, 18, 26)[module.size - 1]
    names, arguments = _parameters(random, module, writer)
    wrt = tuple(
        k for k, n in enumerate(names) if not writer.vars[n].kind.startswith(("count", "flag"))
    )
    before = _unpacked(random, module, writer)
    writer.straight = random.random() < 0.1
    writer.parameters = tuple(names)
    if module.families and random.random() < 0.15:
        writer.result_shape = (module.length,)
    writer.main_body(random.choice(((2, 3), (3, 4, 5), (5, 6, 8))[module.size - 1]))
    if before:
        writer.emit(f"{writer.ensured()} += {before}")
    if writer.result_shape:
        writer.emit(f"return {writer.array_result()}")
        return everything.summed(names, writer.lines), arguments, wrt
    writer.emit(f"return {_total(writer)}")
    return _definition("f", [Param(n) for n in names], writer.lines), arguments, wrt


def _parameters(random: Random, module: Module, writer: Writer) -> tuple[list[str], list[str]]:
    names: list[str] = []
    arguments: list[str] = []

    def add(stem: str, text: str, var: Var) -> None:
        module.used.add(var.name)
        names.append(var.name)
        arguments.append(text)
        writer.bind(var)

    def number() -> str:
        return repr(round(random.choice((-1, 1)) * random.uniform(0.15, 1.4), 3))

    def array(shape: Shape) -> str:
        if len(shape) == 1:
            return "[" + ", ".join(number() for _ in range(shape[0])) + "]"
        return "[" + ", ".join(array(shape[1:]) for _ in range(shape[0])) + "]"

    for name in ("a", "b", "c")[: random.choice((1, 2, 2, 3))]:
        form = random.choices(("{}", "np.float64({})"), (0.9, 0.1))[0]
        add(name, form.format(number()), Var(name, bound=1.5))
    if random.random() < 0.8:
        add("x", f"np.array({array((module.length,))})", Var("x", "float", (module.length,), 1.5))
    if random.random() < 0.4:
        shape = (module.rows, module.length)
        add("m", f"np.array({array(shape)})", Var("m", "float", shape, 1.5))
    if random.random() < 0.2:
        add(
            "params",
            f"{{'p': {number()}, 'q': {number()}}}",
            Var("params", "dict", bound=1.5, keys=("p", "q")),
        )
        module.marks.add("container argument")
    elif random.random() < 0.2:
        add("pair", f"({number()}, {number()})", Var("pair", "tuple", bound=1.5, keys=("0", "1")))
        module.marks.add("container argument")
    elif random.random() < 0.15:
        add("values", f"[{number()}, {number()}, {number()}]", Var("values", "floats", bound=1.5))
        module.marks.add("container argument")
    if "named tuple" in module.marks:
        add(
            "record",
            f"Pair({number()}, {number()})",
            Var("record", "record", bound=1.5, keys=("p", "q")),
        )
    if "argument" in module.families and "x" not in names:
        add("x", f"np.array({array((module.length,))})", Var("x", "float", (module.length,), 1.5))
    if "twice" in module.families and "x" in names:
        text, shape = everything.second(random, module)
        arguments[names.index("x")] = f"(x := {arguments[names.index('x')]})"
        add("x2", text, Var("x2", "float", shape, 1.5))
    if random.random() < 0.45:
        count = random.randrange(4)
        add("n", str(count), Var("n", "count", bound=count))
    if random.random() < 0.2:
        add("flag", random.choice(("True", "False")), Var("flag", "flag"))
    return names, arguments


def _unpacked(random: Random, module: Module, writer: Writer) -> str | None:
    """Sometimes a loop over layers, the idiom of small networks."""
    if random.random() > 0.07:
        return None
    module.marks.add("layers")
    n = module.length
    writer.emit(f"layers = [(np.eye({n}) * a, np.ones({n}) * a), (np.eye({n}), np.zeros({n}))]")
    writer.emit(f"carry = np.ones({n}) * 0.3")
    with writer.block("for W, bias in layers:"):
        writer.emit("carry = np.tanh(carry @ W + bias)")
    return "np.mean(carry)"


def _total(writer: Writer) -> str:
    """A result that most names flow into."""
    parts: list[Text] = [writer.value()]
    for var in list(writer.vars.values()):
        if var.kind == "float" and len(parts) < (9 if writer.module.families else 6):
            scale = writer.positive()
            if var.shape:
                parts.append(Text(f"{scale} * np.sum({var.name})", var.bound * 3))
            else:
                parts.append(Text(f"{scale} * {var.name}", var.bound))
        elif var.kind == "mixed":
            parts.append(Text(f"np.mean({var.name})", var.bound))
        elif var.kind == "owned":
            parts.append(Text(f"np.sum({var.name} * 0.5)", var.bound))
    return " + ".join(p.code for p in parts)
