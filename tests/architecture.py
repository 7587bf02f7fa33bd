"""``python -m tests.architecture``: figures of the package, each beside its target.

Imports are counted wherever they stand: at the margin, under ``TYPE_CHECKING``, in a function, and
as the name of a module in a string, which is how modules are loaded later.  The figures are
printed and nothing else: tests check the directions of imports and that there are no circles.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STATE = {"Session", "Machine"}  # the class of the interpreter's state
PRIMITIVES = "srcad.ir.primitives"
MEANINGS = "srcad.rules.writes"  # where some of them are defined, for formulas

Graph = dict[str, set[str]]


@dataclass(frozen=True)
class Package:
    """The modules of a package, by dotted name: a package stands for its ``__init__``."""

    name: str
    texts: dict[str, str]

    @functools.cached_property
    def trees(self) -> dict[str, ast.Module]:
        """The syntax tree of each module."""
        return {name: ast.parse(text) for name, text in self.texts.items()}

    @functools.cached_property
    def nodes(self) -> dict[str, list[ast.AST]]:
        """All nodes of each tree."""
        return {name: list(ast.walk(tree)) for name, tree in self.trees.items()}

    @staticmethod
    def read(folder: Path) -> Package:
        """The package in a folder."""
        texts = {}
        for file in sorted(folder.rglob("*.py")):
            parts = file.relative_to(folder.parent).with_suffix("").parts
            texts[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file.read_text()
        return Package(folder.name, texts)

    def packages(self) -> set[str]:
        """The packages, itself included."""
        return {name.rpartition(".")[0] for name in self.texts} - {""} | {self.name}


@dataclass(frozen=True)
class Figure:
    """What is counted, how much of it there is, how much there should be, and where it is."""

    what: str
    found: int
    target: int | None
    where: str = ""

    @property
    def is_met(self) -> bool:
        """Whether there is not more than there should be."""
        return self.target is None or self.found <= self.target

    def __str__(self) -> str:
        target = "" if self.target is None else f"<= {self.target}"
        mark = " " if self.is_met else "!"
        return f"{mark} {self.found:5} {target:>6}  {self.what:46} {self.where}".rstrip()


# ------------------------------------------------------------------------------- imports
def imports(package: Package) -> Graph:
    """The modules of the package that each module imports, in whatever way.

    A package is not imported by its own modules, nor by `from package import module`.
    """
    return {
        name: {
            other
            for other in imported(nodes, package.texts)
            if other != name and not name.startswith(f"{other}.")
        }
        for name, nodes in package.nodes.items()
    }


def imported(nodes: Iterable[ast.AST], modules: Mapping[str, str]) -> Iterator[str]:
    """What one module imports of some modules."""
    for node in nodes:
        match node:
            case ast.Import():
                found = [alias.name for alias in node.names]
            case ast.ImportFrom():
                inner = [f"{node.module}.{alias.name}" for alias in node.names]
                found = [name if name in modules else str(node.module) for name in inner]
            case ast.Constant(str(text)):
                found = [text]
            case _:
                continue
        yield from (name for name in found if name in modules)


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """The statements, handlers and cases right inside a node; expressions have none."""
    for field in ("body", "handlers", "cases", "orelse", "finalbody"):
        inside = getattr(node, field, None)
        if isinstance(inside, list):  # the body of a lambda is an expression
            yield from inside


def all_statements(node: ast.AST) -> Iterator[ast.AST]:
    """All statements below a node."""
    for inside in statements(node):
        yield inside
        yield from all_statements(inside)


def circles(graph: Graph) -> list[set[str]]:
    """The sets of nodes that reach each other, largest first."""
    reached = {node: _reachable(graph, node) for node in graph}
    found: list[set[str]] = []
    for node in graph:
        knot = {other for other in reached[node] if node in reached.get(other, ())}
        if len(knot) > 1 and knot not in found:
            found.append(knot)
    return sorted(found, key=len, reverse=True)


def _reachable(graph: Graph, start: str) -> set[str]:
    seen: set[str] = set()
    pending = [start]
    while pending:
        for other in graph.get(pending.pop(), ()):
            if other not in seen:
                seen.add(other)
                pending.append(other)
    return seen


def folders(package: Package, graph: Graph) -> Graph:
    """The same between folders; a module at top level stands for itself."""
    packages = package.packages() - {package.name}

    def folder(name: str) -> str:
        above = name.rpartition(".")[0]
        return name if name in packages or above not in packages else above

    found: Graph = {folder(name): set() for name in graph}
    for name, others in graph.items():
        found[folder(name)] |= {folder(other) for other in others} - {folder(name)}
    return found


def mutual(graph: Graph) -> list[str]:
    """The pairs that import each other."""
    return [f"{a} {b}" for a in sorted(graph) for b in sorted(graph[a]) if a < b and a in graph[b]]


def handed_on(package: Package) -> list[str]:
    """The names that a module offers and another one of the package has made.

    A package's ``__init__`` may: it is the package's door.
    """
    return [
        f"{name}.{offered}"
        for name, nodes in package.nodes.items()
        if name not in package.packages()
        for offered in sorted(_offered(nodes) & _taken(package, nodes) | _renamed(package, nodes))
    ]


def _offered(nodes: Iterable[ast.AST]) -> set[str]:
    return {
        str(name)
        for node in nodes
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
        for name in ast.literal_eval(node.value)
    }


def _taken(package: Package, nodes: Iterable[ast.AST]) -> set[str]:
    return {alias.asname or alias.name for alias in _of_package(package, nodes)}


def _renamed(package: Package, nodes: Iterable[ast.AST]) -> set[str]:
    return {alias.name for alias in _of_package(package, nodes) if alias.asname == alias.name}


def _of_package(package: Package, nodes: Iterable[ast.AST]) -> list[ast.alias]:
    return [
        alias
        for node in nodes
        if isinstance(node, ast.ImportFrom) and str(node.module).partition(".")[0] == package.name
        for alias in node.names
    ]


# ------------------------------------------------------------------------ state, primitives
def callable_fields(package: Package) -> list[str]:
    """The fields of the interpreter's state that hold functions."""
    return [
        f"{node.name}.{ast.unparse(field.target)}"
        for tree in package.trees.values()
        for node in tree.body
        if isinstance(node, ast.ClassDef) and node.name in STATE
        for field in node.body
        if isinstance(field, ast.AnnAssign) and "Callable" in ast.unparse(field.annotation)
    ]


def users_of_primitives(
    package: Package, module: str = PRIMITIVES, meanings: str = MEANINGS
) -> dict[str, set[str]]:
    """The modules that name each primitive: by attribute, import or the text of its name.

    The modules that define them are not counted.
    """
    shorts = {name.rpartition(".")[2] for name in (module, meanings)}
    users: dict[str, set[str]] = {name: set() for name in _defined(package.trees[module])}
    for name, nodes in package.nodes.items():
        for node in nodes:
            match node:
                case ast.Attribute(value=ast.Name(id=found), attr=primitive) if found in shorts:
                    named = [primitive]
                case ast.ImportFrom(module=found) if found in (module, meanings):
                    named = [alias.name for alias in node.names]
                case ast.Call(func=ast.Name("getattr"), args=[_, ast.Constant(str(primitive))]):
                    named = [primitive] if ast.unparse(node.args[0]) in shorts else []
                case _:
                    continue
            for primitive in named if name not in (module, meanings) else ():
                users.get(primitive, set()).add(name)
    return users


def _defined(tree: ast.Module) -> Iterator[str]:
    """The public functions of a module, whether they are defined there or get their row there."""
    for node in tree.body:
        match node:
            case ast.FunctionDef(name=name) if not name.startswith("_"):
                yield name
            case ast.Assign(targets=[ast.Name(name)], value=ast.Call()):
                yield name


# ------------------------------------------------------------------------------- figures
def figures(package: Package) -> list[Figure]:
    """All figures of a package."""
    graph = imports(package)
    knots = circles(graph)
    pairs = mutual(folders(package, graph))
    state, handed = callable_fields(package), handed_on(package)
    return [
        _top_level(package),
        Figure("modules in import circles", sum(map(len, knots)), 0,
               _listed(f"{len(knot)} with {min(knot)}" for knot in knots)),
        Figure("pairs of folders that import each other", len(pairs), 0, _listed(pairs)),
        Figure("callable fields of the interpreter's state", len(state), 0, _listed(state)),
        Figure("names handed on by who did not make them", len(handed), 0, _listed(handed)),
        _primitives(package),
        _fan_out(graph),
    ]  # fmt: skip


def _top_level(package: Package) -> Figure:
    inner = package.packages() - {package.name}
    found = [name for name in package.texts if name not in inner and name.count(".") < 2]
    return Figure("modules at top level", len(found), 9)


def _primitives(package: Package) -> Figure:
    users = users_of_primitives(package)
    many = sorted((name for name in users if len(users[name]) > 4), key=lambda n: -len(users[n]))
    where = _listed(f"{name} {len(users[name])}" for name in many)
    return Figure("primitives named in more than 4 files", len(many), None, where)


def _fan_out(graph: Graph) -> Figure:
    most = sorted(graph, key=lambda name: -len(graph[name]))
    where = _listed(f"{name} {len(graph[name])}" for name in most[:3])
    return Figure("modules that one module imports, at most", len(graph[most[0]]), None, where)


def _listed(names: Iterable[str]) -> str:
    """The first names of many."""
    every = list(names)
    return ", ".join(every[:4]) + (" ..." if len(every) > 4 else "")


@functools.cache
def this_package() -> Package:
    """The package whose tests these are, read once."""
    return Package.read(ROOT / "srcad")


def main() -> None:
    """Print the figures."""
    found = figures(this_package())
    print(*found, sep="\n")
    missed = [figure for figure in found if not figure.is_met]
    print(f"\n{len(missed)} of {len(found)} targets are missed")


if __name__ == "__main__":
    main()
