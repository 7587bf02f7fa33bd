"""Random array expressions: broadcasting, every reading index, products, shapes."""

from __future__ import annotations

from tests.generator.expressions import Expressions
from tests.generator.names import Shape, Text


class Arrays(Expressions):
    """Adds the array productions."""

    def array(self, shape: Shape, depth: int = 2) -> Text:
        """An array of a shape (one or two axes)."""
        if depth <= 0 or not self.spend():
            return self.array_leaf(shape)
        d = depth - 1
        rough = 0.0 if self.module.analytic else 1.0
        return self.pick(
            (2.0, lambda: self.array_leaf(shape)),
            (3.0, lambda: self.array_binary(shape, d)),
            (1.5, lambda: self.smooth(self.array(shape, d))),
            (1.0, lambda: self.growing(self.array(shape, d))),
            (1.6, lambda: self.selected(shape, d)),
            (1.0, lambda: self.built(shape, d)),
            (0.8, lambda: self.product(shape, d)),
            (0.6 * rough, lambda: self.kinked(self.array(shape, d), self.array(shape, d))),
            (0.5, lambda: self.from_list(shape)),
            (0.3, lambda: self.owned_part(shape)),
            (0.3, lambda: self.array_helper(shape, d)),
        )

    def array_leaf(self, shape: Shape) -> Text:
        var = self.named("float", shape)
        if var:
            return Text(var.name, var.bound)
        other = self.view_of_matrix(shape)
        if other:
            return other
        number = self.named("float", ()) if self.chance(0.7) else None
        factor, bound = (number.name, number.bound) if number else ("0.9", 0.9)
        if len(shape) == 2:
            size = shape[0] * shape[1]
            return Text(f"(np.arange({size}.0).reshape{shape} * 0.2 - {factor})", 2.4 + bound)
        return Text(f"(np.linspace(-0.7, {self.positive()}, {shape[0]}) * {factor})", 1.5 * bound)

    def view_of_matrix(self, shape: Shape) -> Text | None:
        rows, length = self.module.rows, self.module.length
        matrix = self.named("float", (rows, length))
        if matrix is None:
            return None
        if shape == (length,):
            return Text(f"{matrix.name}[{self.index(rows)}]", matrix.bound)
        if shape == (rows,):
            return Text(f"{matrix.name}[:, {self.index(length)}]", matrix.bound)
        if shape == (length, rows):
            return Text(f"{matrix.name}.T", matrix.bound)
        return None

    def owned_part(self, shape: Shape) -> Text | None:
        var = self.named("owned", shape)
        return Text(f"({var.name} * {self.constant()})", var.bound * 1.5) if var else None

    def from_list(self, shape: Shape) -> Text | None:
        row = self.named("arrays", shape)
        if row:
            return Text(f"{row.name}[{self.random.choice((0, -1))}]", row.bound)
        return None

    def array_helper(self, shape: Shape, d: int) -> Text | None:
        found = [h for h in self.module.helpers if h.shape == shape and h.results == 1]
        if not found:
            return None
        helper = self.random.choice(found)
        return Text(self.call(helper, d), helper.bound)

    def array_binary(self, shape: Shape, d: int) -> Text:
        """Two operands, one of them perhaps of a shape that broadcasts."""
        a = self.array(shape, d)
        way = self.random.randrange(6)
        if way <= 1:
            b = self.array(shape, d)
        elif way == 2 or len(shape) == 1:
            b = self.scalar(d)
        elif way == 3:
            b = self.array(shape[1:], d)
        elif way == 4:
            inner = self.array(shape[:1], d)
            b = Text(f"({inner.code})[:, None]", inner.bound)
        else:
            inner = self.array(shape[1:], d)
            b = Text(f"({inner.code})[None]", inner.bound)
        if self.chance(0.5):
            a, b = b, a
        return self.combined(a, b)

    def selected(self, shape: Shape, d: int) -> Text:
        """A reading index that keeps or restores the shape."""
        x = self.array(shape, d)
        n = shape[0]
        last = self.random.randrange(n)
        picks = [self.random.randrange(n) for _ in range(n)]
        forms = [
            "({0})[::-1]",
            f"({{0}})[np.array({picks})]",
            f"({{0}})[{picks}]",
            "np.concatenate((({0})[1:], ({0})[:1]))",
            f"np.concatenate((({{0}})[:{last}], ({{0}})[{last}:]))",
            "({0})[..., ::-1]",
            f"np.roll({{0}}, {self.random.randrange(1, 3)})",
            "np.flip({0})",
            "({0}).copy()",
            "np.take({0}, " + str(picks) + ", axis=0)",
            "np.asarray({0})",
        ]
        if len(shape) == 2:
            forms += ["({0}).T[::-1].T", "({0})[:, ::-1]", "({0}).reshape(-1).reshape" + str(shape)]
            forms += ["np.transpose(({0}).T)", "np.swapaxes(np.swapaxes({0}, 0, 1), 1, 0)"]
            forms += [
                "({0})[np.arange(" + str(n) + ")]",
                "({0})[" + ", ".join("::" * 1 for _ in shape) + "]",
            ]
        else:
            forms += ["({0}).reshape(1, -1)[0]", "np.expand_dims({0}, 0)[0]", "({0})[None][0]"]
            forms += ["np.cumsum({0}) * 0.4", "np.squeeze(({0})[:, None])"]
        form = self.random.choice(forms)
        factor = 0.4 * n if "cumsum" in form else 1.0
        return Text(form.format(x.code), x.bound * max(factor, 1.0))

    def built(self, shape: Shape, d: int) -> Text:
        """An array made of numbers or rows."""
        if len(shape) == 1:
            parts = [self.scalar(min(d, 1)) for _ in range(shape[0])]
            inner = ", ".join(p.code for p in parts)
            form = self.random.choice(("np.array([{}])", "np.stack([{}])", "np.array(({},))"))
        else:
            parts = [self.array(shape[1:], min(d, 1)) for _ in range(shape[0])]
            inner = ", ".join(p.code for p in parts)
            form = self.random.choice(("np.array([{}])", "np.stack([{}])", "np.vstack(({},))"))
        return Text(form.format(inner), max(p.bound for p in parts))

    def product(self, shape: Shape, d: int) -> Text | None:
        """Products with matrices."""
        rows, length = self.module.rows, self.module.length
        if shape == (rows,):
            m, v = self.array((rows, length), d), self.array((length,), d)
            form = self.random.choice(
                (
                    "({0} @ {1}) * 0.4",
                    "np.dot({0}, {1}) * 0.4",
                    "np.einsum('ij,j->i', {0}, {1}) * 0.4",
                )
            )
            return Text(f"({form.format(m.code, v.code)})", 0.4 * length * m.bound * v.bound)
        if shape == (length,):
            v, m = self.array((rows,), d), self.array((rows, length), d)
            form = self.random.choice(("({0} @ {1}) * 0.4", "np.matmul({0}, {1}) * 0.4"))
            return Text(f"({form.format(v.code, m.code)})", 0.4 * rows * m.bound * v.bound)
        if shape == (rows, length):
            u, v = self.array((rows,), d), self.array((length,), d)
            form = self.random.choice(("np.outer({0}, {1})", "(({0})[:, None] @ ({1})[None, :])"))
            return Text(form.format(u.code, v.code), u.bound * v.bound)
        return None
