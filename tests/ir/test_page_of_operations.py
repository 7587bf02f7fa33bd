"""Test the table of operations in ``docs/design/ir.md``."""

import re
from pathlib import Path

from srcad.ir import primitives
from srcad.ir.operations import every

PAGE = Path(__file__).resolve().parents[2] / "docs" / "design" / "ir.md"
ROW = re.compile(r"^\| `(\w+)` \| (.*) \| `(.*)` \|$", re.MULTILINE)
PRINTED = re.compile(r"```text\n(.*?)```", re.DOTALL)


def examples(page: str) -> dict[str, str]:
    """The first printed call of each function on the page, without its comment."""
    found: dict[str, str] = {}
    for block in PRINTED.findall(page):
        for line in block.splitlines():
            if call := re.match(r"\s*\w+ = (\w+)\(", line):
                found.setdefault(call[1], line.partition("  #")[0].strip())
    return found


def test_table_of_operations_has_every_primitive_in_order():
    listed = [name for name, *_ in ROW.findall(PAGE.read_text())]

    assert listed == [target.__name__ for target in every(primitives.is_primitive)]


def test_examples_of_operations_are_printed_on_the_page(update_golden):
    page = PAGE.read_text()
    printed = examples(page)

    if update_golden:
        page = ROW.sub(lambda row: f"| `{row[1]}` | {row[2]} | `{printed[row[1]]}` |", page)
        PAGE.write_text(page)

    for name, _, example in ROW.findall(page):
        assert example == printed[name]
