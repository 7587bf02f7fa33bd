"""Random expressions: bounded values, well-conditioned derivatives.

Everything is written with more parentheses than necessary; the whole program passes through
``ast.unparse`` in the end.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.generator.names import Helper, Module, Param, Shape, Text, Var

SMOOTH = (
    ("np.tanh({})", 1.0),
    ("np.sin({})", 1.0),
    ("np.cos({})", 1.0),
    ("np.arctan({})", 1.6),
    ("({0} / (1.0 + {0} * {0}))", 0.5),
    ("np.exp(-({0} * {0}))", 1.0),
    ("np.exp(-np.square({}))", 1.0),
)
GROWING: tuple[tuple[str, Callable[[float], float]], ...] = (
    ("np.sqrt(1.5 + {0} * {0})", lambda b: 1.3 + b),
    ("np.log(1.5 + {0} * {0})", lambda b: 0.5 + b),
    ("np.log1p({0} ** 2)", lambda b: b),
    ("({0} ** 2)", lambda b: b * b),
    ("np.power({0}, 3)", lambda b: b**3),
    ("((1.2 + {0} * {0}) ** 0.5)", lambda b: 1.1 + b),
    ("((1.3 + {0} * {0}) ** -1.5)", lambda b: 0.7),
    ("np.exp(0.4 * {0})", lambda b: 2.718 ** (0.4 * b)),
    ("(-{0})", lambda b: b),
    ("(+{0})", lambda b: b),
    ("np.negative({0})", lambda b: b),
)
SCALAR_ONLY = (
    ("math.sin({})", 1.0),
    ("math.tanh({})", 1.0),
    ("math.exp(-{0} * {0})", 1.0),
    ("math.sqrt(1.0 + {0} * {0})", 5.0),
    ("math.atan2({0}, 2.0)", 1.6),
    ("abs({})", 4.0),
    ("float(np.tanh({}))", 1.0),
)


class Expressions:
    """Writes expressions over the names in scope."""

    def __init__(self, random: Random, module: Module) -> None:
        self.random = random
        self.module = module
        self.vars: dict[str, Var] = {}
        self.budget = 0

    # -------------------------------------------------------------------------- choosing
    def chance(self, p: float) -> bool:
        """True with probability `p`."""
        return self.random.random() < p

    def pick(self, *choices: tuple[float, Callable[[], Text | None]]) -> Text:
        """One of the weighted productions; those that do not apply return None."""
        pool = list(choices)
        while pool:
            total = sum(w for w, _ in pool)
            point, index = self.random.random() * total, 0
            while index < len(pool) - 1 and point >= pool[index][0]:
                point -= pool[index][0]
                index += 1
            made = pool.pop(index)[1]()
            if made is not None:
                return made
        return Text(f"({self.constant()})", 1.5)

    def named(self, kind: str, shape: Shape | None = None) -> Var | None:
        """A name in scope of this kind and shape."""
        found = [
            v for v in self.vars.values() if v.kind == kind and (shape is None or v.shape == shape)
        ]
        return self.random.choice(found) if found else None

    def constant(self) -> str:
        """A float literal."""
        return str(round(self.random.choice((-1, 1)) * self.random.uniform(0.2, 1.5), 2))

    def positive(self) -> str:
        """A positive float literal."""
        return str(round(self.random.uniform(0.2, 1.5), 2))

    def tame(self, text: Text, limit: float) -> Text:
        """The expression, squeezed below a limit (which is at least 1)."""
        if text.bound <= limit:
            return text
        form, bound = self.random.choice(SMOOTH[:3])
        return Text(form.format(text.code), bound)

    def spend(self) -> bool:
        """Whether another subexpression may be opened."""
        self.budget -= 1
        return self.budget > 0

    # --------------------------------------------------------------------------- scalars
    def scalar(self, depth: int = 3) -> Text:
        """A number."""
        if depth <= 0 or not self.spend():
            return self.leaf()
        d = depth - 1
        rough = 0.0 if self.module.analytic else 1.0
        return self.pick(
            (2.5, self.leaf),
            (3.0, lambda: self.binary(d)),
            (2.0, lambda: self.smooth(self.scalar(d))),
            (1.2, lambda: self.growing(self.scalar(d))),
            (1.6, lambda: self.reduction(d)),
            (0.5, lambda: self.ternary(d)),
            (0.9, lambda: self.helper_call(d)),
            (0.4, lambda: self.function_call(d)),
            (0.7, lambda: self.comprehension(d)),
            (0.6 * rough, lambda: self.scalar_only(d)),
            (0.4 * rough, lambda: self.kinked(self.scalar(d), self.scalar(d))),
            (0.25 * rough, lambda: self.boolean_value(d)),
            (0.2, lambda: self.walrus(d)),
            (0.25, lambda: self.inner_lambda(d)),
        )

    def leaf(self) -> Text:
        """A name, a constant or a part of something."""
        return self.pick(
            (6.0, self.scalar_name),
            (0.7, lambda: Text(f"({self.constant()})", 1.5)),
            (2.5, self.element),
            (1.0, self.tuple_part),
            (1.0, self.dict_part),
            (1.0, self.list_part),
            (0.6, self.record_part),
            (0.5, self.int_part),
            (1.0, self.mixed_part),
        )

    def scalar_name(self) -> Text | None:
        var = self.named("float", ())
        return Text(var.name, var.bound) if var else None

    def element(self) -> Text | None:
        """``x[i]`` of an array."""
        arrays = [v for v in self.vars.values() if v.kind == "float" and v.shape]
        if not arrays:
            return None
        var = self.random.choice(arrays)
        if 0 in var.shape:
            return None
        index = [self.index(n) for n in var.shape]
        return Text(f"{var.name}[{', '.join(index)}]", var.bound)

    def index(self, length: int) -> str:
        """An index in range: a literal, perhaps negative, or an expression of an int name."""
        ints = [v for v in self.vars.values() if v.kind == "int"]
        if ints and self.chance(0.6):
            name = self.random.choice(ints).name
            return self.random.choice((f"{name} % {length}", f"-1 - {name} % {length}"))
        return str(self.random.randrange(-length, length))

    def tuple_part(self) -> Text | None:
        var = self.named("tuple")
        if var is None:
            return None
        return Text(
            f"{var.name}[{self.random.randrange(-len(var.keys), len(var.keys))}]", var.bound
        )

    def dict_part(self) -> Text | None:
        var = self.named("dict")
        if var is None:
            return None
        key = self.random.choice(var.keys)
        return Text(f"{var.name}[{key!r}]", var.bound)

    def record_part(self) -> Text | None:
        var = self.named("record")
        return Text(f"{var.name}.{self.random.choice(var.keys)}", var.bound) if var else None

    def list_part(self) -> Text | None:
        var = self.named("floats")
        if var is None:
            return None
        form = self.random.choice(("{0}[-1]", "{0}[0]", "(sum({0}) / len({0}))", "np.mean({0})"))
        if self.chance(0.3):
            form = "np.sum(np.array({0})) * 0.3"
        return Text(form.format(var.name), var.bound * 2)

    def int_part(self) -> Text | None:
        var = self.named("int")
        return Text(f"(0.3 * {var.name})", 1.5) if var else None

    def mixed_part(self) -> Text | None:
        var = self.named("mixed")
        return Text(f"np.mean({var.name})", var.bound) if var else None

    def binary(self, d: int) -> Text:
        a, b = self.scalar(d), self.scalar(d)
        return self.combined(a, b)

    def combined(self, a: Text, b: Text) -> Text:
        """Two operands of any broadcastable shapes under one operator."""
        a, b = self.tame(a, 6.0), self.tame(b, 6.0)
        kind = self.random.randrange(8)
        if kind <= 1:
            return Text(f"({a.code} + {b.code})", a.bound + b.bound)
        if kind <= 3:
            return Text(f"({a.code} - {b.code})", a.bound + b.bound)
        if kind <= 5:
            return Text(f"({a.code} * {b.code})", a.bound * b.bound)
        if kind == 6:
            return Text(f"({a.code} / (1.5 + {b.code} * {b.code}))", a.bound)
        form = self.random.choice(
            (
                "({0} / (2.0 + np.sin({1})))",
                "np.multiply({0}, np.cos({1}))",
                "np.add({0}, {1}) * 0.5",
                "(1.5 + np.tanh({0})) ** np.tanh({1})",
                "np.subtract({0}, {1})",
                "np.divide({0}, 2.0 + np.cos({1}))",
            )
        )
        return Text(f"({form.format(a.code, b.code)})", a.bound + b.bound + 2.5)

    def smooth(self, inner: Text) -> Text:
        form, bound = self.random.choice(SMOOTH if len(inner.code) < 50 else SMOOTH[:4])
        return Text(form.format(inner.code), bound)

    def growing(self, inner: Text) -> Text:
        form, bound = self.random.choice(GROWING)
        if form.count("{0}") > 1 and len(inner.code) > 50:
            form, bound = "(-{})", lambda b: b
        inner = self.tame(inner, 2.0)
        return Text(form.format(inner.code), bound(inner.bound))

    def scalar_only(self, d: int) -> Text:
        inner = self.tame(self.scalar(d), 3.0)
        form, bound = self.random.choice(SCALAR_ONLY)
        return Text(form.format(inner.code), bound)

    def kinked(self, a: Text, b: Text) -> Text:
        """Functions with a kink, on numbers or arrays."""
        form = self.random.choice(
            (
                "np.maximum({0}, {1})",
                "np.minimum({0}, {1})",
                "np.abs({0} - {1})",
                "np.where({0} > {1}, {0}, 0.4 * {1})",
                "np.where({0} > 0.1, np.sin({1}), {0})",
                "np.clip({0} + {1}, -0.7, 0.9)",
                "np.maximum({0}, 0.0) + {1}",
            )
        )
        # Of two numbers, `where` makes an array without axes, which ``op=`` changes in place.
        number = " * 1.0" if form.startswith("np.where") else ""
        return Text(f"({form.format(a.code, b.code)}{number})", a.bound + b.bound)

    def ternary(self, d: int) -> Text:
        a, b = self.scalar(d), self.scalar(d)
        return Text(f"({a.code} if {self.condition()} else {b.code})", max(a.bound, b.bound))

    def boolean_value(self, d: int) -> Text:
        a, b = self.scalar(d), self.scalar(d)
        word = self.random.choice(("and", "or"))
        return Text(f"({a.code} {word} {b.code})", max(a.bound, b.bound))

    def walrus(self, d: int) -> Text | None:
        if not self.walrus_allowed():
            return None
        inner = self.tame(self.scalar(d), 3.0)
        name = self.fresh("w")
        self.vars[name] = Var(name, bound=3.0)
        text = f"(({name} := {inner.code}) * {self.constant()} + np.sin({name}))"
        del self.vars[name]
        return Text(text, inner.bound * 1.5 + 1)

    def walrus_allowed(self) -> bool:
        """Whether an assignment expression may stand here (not inside a comprehension)."""
        return True

    def inner_lambda(self, d: int) -> Text:
        inner = self.tame(self.scalar(d), 3.0)
        name = self.fresh("u")
        outer = self.scalar_name() or Text("0.7", 1.0)
        return Text(
            f"(lambda {name}: np.sin({name}) * {outer.code})({inner.code})", max(outer.bound, 1.0)
        )

    def fresh(self, stem: str) -> str:
        """A name that the program does not use yet."""
        count = 0
        while f"{stem}{count}" in self.module.used:
            count += 1
        name = f"{stem}{count}"
        self.module.used.add(name)
        return name

    # ------------------------------------------------------------------------ conditions
    def condition(self) -> str:
        """A test: of numbers, unless the program must stay analytic."""
        if self.module.analytic or self.chance(0.2):
            return self.discrete()
        a, b = self.scalar(1), self.scalar(1)
        c = self.constant()
        forms = [
            f"{a.code} > {b.code}",
            f"{a.code} < {c}",
            f"-0.9 < {a.code} <= 0.8",
            f"not {a.code} > {c}",
            f"{a.code} > {b.code} and {a.code} < 1.5",
            f"{a.code} < {c} or {b.code} > {c}",
            f"abs({a.code}) < {self.positive()}",
        ]
        vector = self.named("float", (self.module.length,))
        if vector:
            forms += [f"np.any({vector.name} > 0.5)", f"{vector.name}.max() > {self.positive()}"]
        return self.random.choice(forms)

    def discrete(self) -> str:
        """A test of integers, flags and types."""
        forms = ["True"] if self.chance(0.1) else []
        var = self.named("int")
        if var:
            k = self.random.randrange(3)
            forms += [f"{var.name} == {k}", f"{var.name} % 2 == {k % 2}", f"{var.name} > {k}"]
            forms += [f"not {var.name} < {k}", f"{var.name} == {k} or {var.name} > 2"]
        flag = self.named("flag")
        if flag:
            forms += [flag.name, f"not {flag.name}"]
        vector = self.named("float", (self.module.length,))
        if vector:
            forms += [f"len({vector.name}) > 2", f"{vector.name}.ndim == 1"]
            forms += [f"{vector.name}.shape[0] == {self.module.length}"]
        return self.random.choice(forms) if forms else "1 < 2"

    # ------------------------------------------------------------------------- functions
    def helper_call(self, d: int) -> Text | None:
        found = [h for h in self.module.helpers if h.results == 1 and h.shape == ()]
        if not found:
            return None
        helper = self.random.choice(found)
        return Text(self.call(helper, d), helper.bound)

    def call(self, helper: Helper, d: int) -> str:
        """A call with positional, keyword, left out and starred arguments."""
        parts: list[str] = []
        keywords = False
        params = list(helper.params)
        pairs = [p for p in params if p.kind == "float" and not p.shape and not p.keyword_only]
        starred = self.named("tuple")
        if starred and len(pairs) == len(params) == len(starred.keys) and self.chance(0.6):
            return f"{helper.name}(*{starred.name})"
        for param in params:
            if param.default is not None and self.chance(0.4):
                keywords = True
                continue
            value = self.argument(param, d)
            keywords = keywords or param.keyword_only or self.chance(0.25)
            parts.append(f"{param.name}={value}" if keywords else value)
        if self.chance(0.1) and parts and "=" in parts[-1]:
            name, _, value = parts[-1].partition("=")
            parts[-1] = f"**{{{name!r}: {value}}}"
        return f"{helper.name}({', '.join(parts)})"

    def argument(self, param: Param, d: int) -> str:
        if param.kind == "int":
            return str(self.random.randrange(4))
        if param.kind == "function":
            var = self.named("function")
            return var.name if var else f"lambda s: np.sin(s) * {self.constant()}"
        if param.shape:
            return self.tame(self.array(param.shape, min(d, 1)), 2.0).code
        return self.tame(self.scalar(min(d, 1)), 2.0).code

    def function_call(self, d: int) -> Text | None:
        var = self.named("function")
        if var is None:
            return None
        return Text(f"{var.name}({self.tame(self.scalar(d), 3.0).code})", var.bound)

    def comprehension(self, d: int) -> Text:
        """A comprehension or generator expression that is consumed at once."""
        vector = self.named("float", (self.module.length,))
        k, i, e = self.random.randrange(4), self.fresh("i"), self.fresh("e")
        outer = self.scalar_name() or Text("0.8", 1.0)
        scale = 0.3 * max(outer.bound, 1.0)
        forms = [
            f"sum([np.sin({outer.code} + {i}) * 0.3 for {i} in range({k})])",
            f"sum(0.3 * {outer.code} * {i} for {i} in range({k + 1}) if {i} != 1)",
            f"np.sum(np.array([0.2 * {outer.code}, *[0.1 * {outer.code} for {i} in range({k})]]))",
        ]
        if vector:
            v = vector.name
            forms += [
                f"sum([0.3 * {e} * {outer.code} for {e} in {v}])",
                f"sum(0.3 * {e} * {i} for {i}, {e} in enumerate({v}))",
                f"sum([np.tanh({e}) for {e} in reversed({v})])",
                f"sum(0.3 * {e} * {i} for {e}, {i} in zip({v}, {v}[::-1]))",
                f"np.sum(np.array([{e} * {outer.code} for {e} in {v}]) * 0.3)",
            ]
            scale = max(scale, 0.4 * vector.bound * max(vector.bound, outer.bound, 3.0))
        table = self.named("dict")
        if table:
            forms.append(f"sum([0.3 * {e} for {e} in {table.name}.values()])")
            scale = max(scale, table.bound)
        return Text(self.random.choice(forms), 4 * scale)

    def reduction(self, d: int) -> Text | None:
        """A number from an array."""
        shape: Shape = self.random.choice(
            ((self.module.length,), (self.module.rows, self.module.length))
        )
        x = self.tame(self.array(shape, d), 3.0)
        size = shape[0] if len(shape) == 1 else shape[0] * shape[1]
        forms = [
            ("np.sum({}) * 0.4", 0.4 * size),
            ("np.mean({})", 1.0),
            ("({}).mean()", 1.0),
            ("np.sum(np.sum({}, axis=0) * 0.3)", 0.3 * size),
            ("np.sum(({0}) ** 2) * 0.2", 0.2 * size * max(x.bound, 1)),
            ("({}).sum(axis=-1).mean()", size),
            ("np.mean(np.cumsum({}))", size),
            ("np.sum(({0})[..., -1])", shape[0]),
            ("np.prod(np.tanh({})[..., 0])", 1.0),
        ]
        if len(shape) == 1:
            mask = f"np.sum(({{0}})[np.arange({size}) > {self.random.randrange(2)}])"
            forms += [
                (mask, size),
                ("np.dot({0}, {0}) * 0.3", size * x.bound),
                ("(({0}) @ ({0})[::-1]) * 0.3", size * x.bound),
            ]
        if not self.module.analytic:
            forms += [
                ("np.max({})", 1.0),
                ("np.min({})", 1.0),
                (f"np.std({{}} + np.arange({shape[-1]}) * 9.0)", 12.0),
                ("np.var({})", x.bound),
                ("np.linalg.norm({} + 0.1)", size),
                ("np.sum(({0})[({0}) > 0.1]) * 0.3", size),
                ("({}).max(axis=0).sum() * 0.4", size),
            ]
        form, factor = self.random.choice(forms)
        return Text(form.format(x.code), factor * x.bound)

    # ---------------------------------------------------------------------------- arrays
    def array(self, shape: Shape, depth: int = 2) -> Text:
        """An array of a shape; provided by `tests.generator.arrays`."""
        raise NotImplementedError
