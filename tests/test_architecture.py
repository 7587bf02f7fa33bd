"""Imports go from higher layers to lower ones, without cycles and not hidden in functions."""

import ast
import functools
import subprocess
import sys
from pathlib import Path

from tests import architecture as figures
from tests.architecture import all_statements, statements

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "srcad"
FILES = sorted(SOURCE.rglob("*.py"))

# Lowest layer first; a module imports from its own layer or from a lower one.
LAYERS = [
    {"startup", "errors"},
    {"types"},
    {"runtime"},
    {"rules"},
    {"ir"},
    {"arguments"},
    {"frontend"},
    {"analysis"},
    {"passes"},
    {"transforms"},
    {"backends"},
    {"modes"},
    {"pipeline"},
    {"exporting"},
    {"calling"},
    {"api"},
    {"checking"},
    {"testing", "demo"},
    {"testing_plugin"},
    {"__main__"},
]
# The same inside the front end, where imports for types count, too.
FRONTEND_FLOORS = [
    "prelude", "source", "domain", "machine", "outside", "store", "branches", "operations",
    "functions", "control", "library", "calls",
]  # fmt: skip
LAZY = {"srcad"}

# Function-level imports that are allowed, each with its reason beside it in the code.
ALLOWED_INNER_IMPORTS: set[str] = set()


def module_name(file: Path) -> str:
    """The dotted name of a file of the package."""
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def top_level(name: str) -> str:
    """The first part of a module's name after the package's."""
    parts = name.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def layer(name: str) -> int:
    """The layer on which a module stands."""
    return next(k for k, names in enumerate(LAYERS) if top_level(name) in names)


MODULES = {module_name(file): file for file in FILES}


@functools.cache
def all_imports(name: str) -> tuple[tuple[bool, str, int], ...]:
    """Every import of a module that is not for types only: in a function?, module, line."""
    found: list[tuple[bool, str, int]] = []
    pending: list[tuple[ast.AST, bool]] = [(figures.this_package().trees[name], False)]
    while pending:
        node, inner = pending.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.Import):
            found += [(inner, alias.name, node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name}:{node.lineno}: a relative import"
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                found.append((inner, full if full in MODULES else str(node.module), node.lineno))
        inner = inner or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        pending.extend((child, inner) for child in statements(node))
    return tuple(found)


def imports(name: str, *, inner: bool = False) -> list[tuple[str, int]]:
    """What a module imports of the package at its margin, or of anything inside functions."""
    return [
        (other, line)
        for inside, other, line in all_imports(name)
        if inside == inner and (inner or other.split(".")[0] == "srcad")
    ]


def test_every_package_has_a_layer():
    known = set().union(*LAYERS)

    assert {top_level(name) for name in MODULES} - {"__init__"} <= known


def test_modules_import_only_lower_layers():
    upward = [
        f"{name}:{line} imports {other}"
        for name in MODULES
        if name not in LAZY
        for other, line in imports(name)
        if other != "srcad" and layer(other) > layer(name)
    ]

    assert not upward


def test_rules_package_does_not_import_compiler():
    known = {"rules", "errors", "runtime", "startup"}

    assert not [
        f"{name}:{line} imports {other}"
        for name in MODULES
        if top_level(name) == "rules"
        for other, line in imports(name)
        if top_level(other) not in known
    ]


def test_frontend_packages_import_only_lower_layers():
    package = figures.this_package()

    def height(name: str) -> int:
        parts = name.split(".")
        if parts[:2] != ["srcad", "frontend"]:
            return -1
        inner = len(parts) > 3 or name in package.packages()
        return FRONTEND_FLOORS.index(parts[2]) if inner else len(FRONTEND_FLOORS)

    upward = [
        f"{name} imports {other}"
        for name, others in figures.imports(package).items()
        if name.startswith("srcad.frontend.")
        for other in others
        if height(other) > height(name)
    ]

    assert not upward


def test_no_imports_inside_functions():
    hidden = [
        f"{name}:{line} imports {other}"
        for name in MODULES
        if name not in ALLOWED_INNER_IMPORTS
        for other, line in imports(name, inner=True)
    ]

    assert not hidden


def test_no_two_modules_import_each_other():
    graph = {
        name: {m for m, _ in imports(name) if m in MODULES and m != name}
        for name in MODULES
        if name not in LAZY
    }
    # A package whose __init__ imports its own modules is imported by them only in name.
    for name in graph:
        graph[name] = {m for m in graph[name] if not name.startswith(f"{m}.")}
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, " -> ".join((*path[path.index(name) :], name))
        if name not in done:
            for other in sorted(graph.get(name, ())):
                visit(other, (*path, name))
            done.add(name)

    for name in sorted(graph):
        visit(name, ())


def test_astor_imported_by_one_module():
    users = [
        name
        for name, tree in figures.this_package().trees.items()
        for node in all_statements(tree)
        if (
            isinstance(node, ast.Import)
            and any(a.name.split(".")[0] == "astor" for a in node.names)
        )
        or (isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "astor")
    ]

    assert set(users) <= {"srcad.backends.python.writing.text"}


def test_importing_srcad_does_not_import_compiler():
    program = "import sys, srcad; print(sorted(m for m in sys.modules if m.startswith('srcad.')))"

    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                         check=True, cwd=ROOT)  # fmt: skip

    assert out.stdout.strip() == "['srcad.startup', 'srcad.startup.locks']"


def test_no_utility_modules():
    assert not [f for f in FILES if f.stem in {"utils", "util", "helpers", "misc", "common"}]


def test_no_duplicate_definitions_in_module():
    for name, tree in figures.this_package().trees.items():
        names = [n.name for n in tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef)
                 and not any("overload" in ast.unparse(d) for d in n.decorator_list)]  # fmt: skip
        assert len(names) == len(set(names)), name


DECORATORS = {
    "abbreviates", "applies", "attributes_of", "evaluates", "executes", "iterates", "manages",
    "means", "means_in", "reifies", "written_for",
}  # fmt: skip


def registers_handlers(name: str) -> bool:
    """Return True if a module of the front end uses a decorator of the dispatch."""
    return any(
        (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in DECORATORS
        )
        or (
            isinstance(node, ast.FunctionDef)
            and any(ast.unparse(d) == "means_object" for d in node.decorator_list)
        )
        for node in figures.this_package().nodes[name]
    )


def test_handlers_imports_every_module_that_registers_one():
    imported = figures.imports(figures.this_package())["srcad.frontend.handlers"]
    machine = "srcad.frontend.machine."  # below the handlers, which import it

    registering = {
        name
        for name in MODULES
        if name.startswith("srcad.frontend.")
        and not name.startswith(machine)
        and registers_handlers(name)
    }

    assert registering == imported
