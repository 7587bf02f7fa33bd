"""Random changes of lists, dicts and objects, and of the arrays that these hold."""

from __future__ import annotations

from tests.generator.names import Shape, Text, Var
from tests.generator.sweeps import Sweeps
from tests.generator.writes import LARGEST


class Containers(Sweeps):
    """Adds containers that change."""

    iterated = 0  # loops around over containers: these must not grow meanwhile

    def container_loop(self) -> None:
        """The plain loop; what is gone through keeps its length."""
        self.iterated += 1
        super().container_loop()
        self.iterated -= 1

    def enumerate_loop(self) -> None:
        """The plain loop; what is gone through keeps its length."""
        self.iterated += 1
        super().enumerate_loop()
        self.iterated -= 1

    # ----------------------------------------------------------------------------- lists
    def listed(self) -> None:
        """A list of numbers changes, once or twice, and is read."""
        self.module.marks.add("list changed")
        var = self.named("floats")
        if var is None:
            var = Var(self.new_name(), "floats", bound=3.0)
            self.emit(f"{var.name} = [{self.stored()}, {self.stored()}]")
            self.bind(var)
        if self.chance(0.2):
            name = self.new_name()
            self.emit(f"{name} = {var.name}")
            self.bind(Var(name, "floats", bound=3.0))
        for _ in range(self.random.choice((1, 2, 2))):
            self.list_change(var.name)
        self.reading(Text(self.read_list(var.name), 6.0))

    def read_list(self, name: str) -> str:
        i = self.fresh("i")
        return self.random.choice(
            (
                f"{name}[0] + {name}[-1]",
                f"sum({name}) / len({name})",
                f"np.mean(np.array({name}))",
                f"np.stack({name}).mean()",
                f"sum([{i} * 0.5 for {i} in {name}[::-1]]) / len({name})",
            )
        )

    def list_change(self, name: str) -> None:
        """One change; the list never gets empty."""
        v, w = self.stored(), self.stored()
        u = self.new_name()
        same = [
            f"{name}[0] = {v}",
            f"{name}[-1] = {v}",
            f"{name}[0] += 0.5 * {v}",
            f"{name}[-1] *= {self.positive_below_one()}",
            f"{name}[:1] = [{v}]",
            f"{name}[0], {name}[-1] = {name}[-1], {name}[0]",
            f"{name}.reverse()",
        ]
        growing = [
            f"{name}.append({v})",
            f"{name}.append({v})",
            f"{name}.extend([{v}, {w}])",
            f"{name}.insert({self.random.choice((0, 1, -1))}, {v})",
            f"{name} += [{v}]",
            f"push({name}, {v})",
            f"{name}[1:] = [{v}, {w}]",
            f"{name}.append({v})\n{u} = {name}.pop({self.random.choice(('', '0', '-1', '-2'))})",
            f"{name}.append({v})\ndel {name}[{self.random.choice(('0', '-1', '1:'))}]",
            f"while len({name}) > 2:\n    {name}.pop()",
        ]
        line = self.random.choice(same if self.iterated or self.chance(0.35) else growing)
        for part in line.split("\n"):
            self.emit(part)
        if "pop(" in line and not line.startswith("while"):
            self.bind(Var(u, bound=3.0))

    # ----------------------------------------------------------------------------- dicts
    def keyed(self) -> None:
        """A dict of numbers changes, once or twice, and is read."""
        self.module.marks.add("dict changed")
        var = self.named("dict")
        if var is None:
            var = Var(self.new_name(), "dict", bound=3.0, keys=("p", "q"))
            self.emit(f"{var.name} = {{'p': {self.stored()}, 'q': {self.stored()}}}")
        for _ in range(self.random.choice((1, 2, 2))):
            var = self.dict_change(var)
        self.bind(Var(var.name, "dict", bound=max(var.bound, 3.0), keys=var.keys))
        key = self.random.choice(var.keys)
        self.reading(Text(f"{var.name}[{key!r}] + 0.3 * sum({var.name}.values())", 6.0))

    def dict_change(self, var: Var) -> Var:
        """One change; the keys that are known stay."""
        name, v, w = var.name, self.stored(), self.stored()
        key, u = self.random.choice(var.keys), self.new_name()
        same = [
            f"{name}[{key!r}] = {v}",
            f"{name}[{key!r}] += 0.5 * {v}",
            f"{name}[{key!r}] *= {self.positive_below_one()}",
            f"{name}.update({{{key!r}: {v}}})",
            f"{name}.setdefault({key!r}, {v})",
            f"{u} = {name}.pop('absent', {v})",
        ]
        growing = [
            f"{name}['r'] = {v}",
            f"{name}.update(r={v}, {key}={w})",
            f"{u} = {name}.setdefault('r', {v})",
            f"{name} |= {{'r': {v}}}",
            f"{name}['brief'] = {v}\n{u} = {name}.pop('brief')",
            f"{name}['brief'] = {v}\ndel {name}['brief']",
        ]
        line = self.random.choice(same if self.iterated or self.chance(0.5) else growing)
        for part in line.split("\n"):
            self.emit(part)
        if f"{u} = " in line:
            self.bind(Var(u, bound=3.0))
        keys = tuple(dict.fromkeys((*var.keys, "r"))) if line in growing[:4] else var.keys
        return Var(name, "dict", bound=var.bound, keys=keys)

    # --------------------------------------------------------------- arrays in containers
    def held(self) -> None:
        """Arrays in a list, tuple or dict, written into through it or beside it."""
        self.module.marks.add("array in a container written")
        shape: Shape = (self.module.length,)
        a, b, name = self.buffer(shape), self.buffer(shape), self.new_name()
        v, fresh = self.stored(), f"np.zeros({shape[0]})"
        form = self.random.randrange(5)
        item = self.fresh("item")
        if form == 0:
            self.emit(f"{name} = [{a.name}, {b.name if self.chance(0.6) else fresh}]")
            parts, loop = [f"{name}[0]", f"{name}[-1]"], f"for {item} in {name}:"
        elif form == 1:
            self.emit(f"{name} = ({a.name}, {b.name if self.chance(0.6) else fresh})")
            parts, loop = [f"{name}[0]", f"{name}[1]"], f"for {item} in {name}:"
        elif form == 2:
            self.emit(f"{name} = {{'u': {a.name}, 'v': {fresh}}}")
            parts, loop = [f"{name}['u']", f"{name}['v']"], f"for {item} in {name}.values():"
        elif form == 3:
            self.emit(f"{name} = {{'rows': [{a.name}, {b.name}], 'scale': {{'s': {v}}}}}")
            self.emit(f"{name}['scale']['s'] {self.random.choice(('= 0.5 *', '*='))} {v}")
            self.reading(Text(f"{name}['scale']['s']", 3.0))
            parts = [f"{name}['rows'][0]", f"{name}['rows'][-1]"]
            loop = f"for {item} in {name}['rows']:"
        else:
            self.emit(f"{name} = []")
            self.emit(f"{name}.append({a.name})")
            self.emit(f"{name}.append({b.name}[::-1])")
            parts, loop = [f"{name}[0]", f"{name}[1]"], f"for {item} in {name}:"
        for _ in range(self.random.choice((1, 2))):
            self.write_held(self.random.choice(parts), loop, item, shape, whole=form != 1)
        if self.chance(0.3):
            self.write(a)
        self.reading(Text(f"0.3 * np.sum({parts[-1]}) + {parts[0]}[{self.index(shape[0])}]", 6.0))

    def write_held(self, part: str, loop: str, item: str, shape: Shape, *, whole: bool) -> None:
        """A write into an array that a container holds."""
        form = self.random.random()
        if form < 0.25:
            self.loops += 1
            with self.block(loop):
                self.bind(Var(item, shape=shape))
                self.write(Var(item, shape=shape))
            self.loops -= 1
        elif form < 0.45 and whole:
            self.emit(self.changed(part, shape))
        elif form < 0.6:
            name = self.new_name()
            self.emit(f"{name} = {part}")
            self.bind(Var(name, shape=shape))
            self.write(self.vars[name])
        elif form < 0.7:
            self.emit(f"np.multiply({part}, {self.positive_below_one()}, out={part})")
        else:
            index, selected = self.place(shape)
            self.emit(self.changed(f"{part}[{index}]", selected, assign=0.5))

    def grid(self) -> None:
        """A list of lists of numbers."""
        self.module.marks.add("nested list changed")
        name = self.new_name()
        self.emit(
            f"{name} = [[{self.stored()}, {self.stored()}], [{self.stored()}, {self.stored()}]]"
        )
        i, j = self.index(2), self.index(2)
        lines = [
            f"{name}[{i}][{j}] = {self.stored()}",
            f"{name}[{i}][{j}] += 0.5 * {self.stored()}",
            f"{name}[{i}] = [{self.stored()}, {self.stored()}]",
            f"{name}[0], {name}[1] = {name}[1], {name}[0]",
            f"{name}[{i}].append({self.stored()})",
        ]
        for line in self.random.sample(lines, 2):
            self.emit(line)
        self.reading(Text(f"{name}[0][{j}] - 0.5 * {name}[{i}][1] + sum({name}[1]) * 0.2", 6.0))

    def nested(self) -> None:
        """One of the structures that hold others."""
        self.random.choice((self.held, self.held, self.grid))()

    # --------------------------------------------------------------------------- objects
    def attribute(self) -> None:
        """An object made here changes its attributes."""
        self.module.marks.add("attribute changed")
        var = self.named("box") or self.named("state")
        if var is None or self.chance(0.3):
            kind = self.random.choice(("box", "state"))
            array = self.buffer((self.module.length,))
            var = Var(self.new_name(), kind, bound=LARGEST)
            self.emit(f"{var.name} = {kind.title()}({self.stored()}, {array.name})")
            self.bind(var)
        for _ in range(self.random.choice((1, 2))):
            self.attribute_change(var)
        read = "level + 0.2 * {0}.total" if var.kind == "box" else "level + {0}.field[-1]"
        self.reading(Text(f"{var.name}.{read.format(var.name)}", 6.0))

    def attribute_change(self, var: Var) -> None:
        """One change of an object."""
        name, n = var.name, self.module.length
        index, shape = self.place((n,))
        forms = [
            f"{name}.level = {self.stored()}",
            f"{name}.level += 0.5 * {self.stored()}",
            f"{name}.level *= {self.positive_below_one()}",
            self.changed(f"{name}.field[{index}]", shape, assign=0.5),
            self.changed(f"{name}.field", (n,)),
            f"{name}.field = {self.stored((n,))} * np.ones({n})",
        ]
        if var.kind == "box":
            forms += [f"{name}.shift({self.stored()})"] * 2
        else:
            forms += [f"{name} = replace({name}, level={self.stored()})"] * 2
        self.emit(self.random.choice(forms))
