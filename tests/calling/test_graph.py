"""`inspect(f, *args).graph` and ``python -m srcad graph``: what flows where."""

from __future__ import annotations

import re
import shutil

import numpy as np
import pytest

import srcad
from srcad.__main__ import main
from srcad.errors import DrawingError

MODEL = """
import numpy as np

def f(x, n):
    h = x
    for _ in range(n):
        h = np.tanh(2.0 * h)
    if h > 0.5:
        h = h * h
    return h
"""


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.py"
    path.write_text(MODEL)
    return path


def test_ops_are_nodes_and_operands_are_edges():
    def f(x, k):
        y = k * x
        return y + x

    text = srcad.inspect(f, 2.0, 3.0, wrt="x").graph

    nodes = dict(re.findall(r'(v\d+) \[label="([^"]*)"', text))
    edges = {(nodes[a], nodes.get(b, b)) for a, b in re.findall(r"(\w+) -> (\w+)", text)}
    assert set(nodes.values()) == {"x", "k", "y = mul(k, x)", "t1 = add(y, x)"}
    assert edges == {
        ("x", "y = mul(k, x)"),
        ("k", "y = mul(k, x)"),
        ("y = mul(k, x)", "t1 = add(y, x)"),
        ("x", "t1 = add(y, x)"),
        ("t1 = add(y, x)", "out"),
    }
    coloured = {
        label for label, rest in re.findall(r'label="([^"]*)"(.*)', text) if "filled" in rest
    }
    assert coloured == {"x", "y = mul(k, x)", "t1 = add(y, x)"}
    line = f.__code__.co_firstlineno + 1
    assert f'tooltip="{line}: y = k * x"' in text


def test_graph_control_flow_drawn_as_clusters(model, capsys):
    assert main(["graph", f"{model}:f", "--args", "0.3, 4"]) == 0

    text = capsys.readouterr().out
    assert text.startswith('digraph "f" {')
    assert text.count("{") == text.count("}") == 1 + 2 + 3
    assert 'label="for 6: for _ in range(n):"' in text
    assert 'label="if 8: if h > 0.5:"' in text
    for name in ("trip", "then", "else"):
        assert f'label="{name}"' in text
    assert 'label="next trip"' in text
    declared = set(re.findall(r"^\s*(v\d+) \[", text, re.MULTILINE))
    named = set(re.findall(r"\bv\d+\b", text))
    assert declared == named


def test_graph_cluster_for_each_control_flow_form():
    def f(x):
        y = x
        while y < 10.0:
            y = y * 2.0
        try:
            z = float("2") * y
        except ValueError:
            z = y
        return z

    text = srcad.inspect(f, 1.0).graph

    assert 'label="test"' in text
    assert text.count("subgraph cluster_") >= 3


def test_labels_are_escaped():
    def f(x):
        return x * len('"a\\b"')

    text = srcad.inspect(f, 2.0).graph

    for line in text.splitlines():
        assert len(re.findall(r'(?<!\\)"', line)) % 2 == 0


def test_a_file_gets_the_text(model, tmp_path):
    for name in ("graph.dot", "graph.gv"):
        assert main(["graph", f"{model}:f", "--args", "0.3, 4", "-o", str(tmp_path / name)]) == 0
        assert (tmp_path / name).read_text().endswith("}\n")


def test_missing_graphviz_error_suggests_alternatives(model, capsys, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)

    assert main(["graph", f"{model}:f", "--args", "0.3, 4", "--svg"]) == 1
    error = capsys.readouterr().err
    assert "the program 'dot' is not installed" in error
    assert "python -m srcad graph --dot" in error
    with pytest.raises(DrawingError):
        srcad.inspect(np.sin, 1.0).graph.drawn()
    assert srcad.inspect(np.sin, 1.0).graph._repr_svg_() is None


@pytest.mark.skipif(shutil.which("dot") is None, reason="needs Graphviz")
def test_graphviz_draws_it(model, tmp_path):
    assert main(["graph", f"{model}:f", "--args", "0.3, 4", "-o", str(tmp_path / "g.svg")]) == 0
    assert "<svg" in (tmp_path / "g.svg").read_text()
