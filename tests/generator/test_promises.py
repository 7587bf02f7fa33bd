"""The checker notices a derivative that keeps its value and breaks another promise."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import srcad
from tests.generator.checker import check
from tests.generator.program import Program

Broken = Callable[[Callable[..., Any]], Callable[..., Any]]

SPLIT, JOINED = 0, 3  # one whose turn it is to take the pullback, and one that does not
TEXT = """
import numpy as np

def field(x, y):
    return np.sin(x) * y

def f(x, y):
    return np.sum(field(x, y)) * 0.3

def make_arguments():
    return (x := np.array([0.3, -0.4]), {second})

WRT = (0, 1)
"""


def outcome(
    folder: Path, second: str = "np.array([0.5, 0.7])", text: str = TEXT, seed: int = SPLIT
) -> str:
    made = Program(seed, text.format(second=second), False, frozenset(), "all")
    return check(made, folder).kind


def breaks(monkeypatch: pytest.MonkeyPatch, name: str, broken: Broken) -> None:
    monkeypatch.setattr(srcad, name, broken(getattr(srcad, name)))


@pytest.mark.parametrize("seed", [SPLIT, JOINED])
@pytest.mark.parametrize("second", ["np.array([0.5, 0.7])", "x", "x[::-1]"])
def test_unmodified_program_passes_checker(second: str, seed: int, tmp_path: Path) -> None:
    assert outcome(tmp_path, second, seed=seed) == ""


def test_write_into_argument_detected(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def broken(right: Callable[..., Any]) -> Callable[..., Any]:
        def value_and_grad(f: Any, **options: Any) -> Any:
            def call(x: Any, y: Any) -> Any:
                result = right(f, **options)(x, y)
                x[0] = np.nextafter(x[0], 1.0)
                return result

            return call

        return value_and_grad

    breaks(monkeypatch, "value_and_grad", broken)
    assert outcome(tmp_path, seed=JOINED) == "argument changed"


@pytest.mark.parametrize("which", ["argument", "other gradient"])
def test_aliased_gradient_detected(
    which: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def broken(right: Callable[..., Any]) -> Callable[..., Any]:
        def value_and_grad(f: Any, **options: Any) -> Any:
            def call(x: Any, y: Any) -> Any:
                value, (x_bar, y_bar) = right(f, **options)(x, y)
                return value, (x if which == "argument" else y_bar, y_bar)

            return call

        return value_and_grad

    breaks(monkeypatch, "value_and_grad", broken)
    assert outcome(tmp_path, seed=JOINED) == "shared memory"


def test_pullback_sharing_memory_with_first_detected(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def broken(right: Callable[..., Any]) -> Callable[..., Any]:
        def pullback(f: Any, *args: Any) -> Any:
            y, back = right(f, *args)
            once = back(1.0)
            return y, lambda seed: once

        return pullback

    breaks(monkeypatch, "pullback", broken)
    assert outcome(tmp_path) == "second pullback"


def test_output_modified_by_pullback_detected(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def broken(right: Callable[..., Any]) -> Callable[..., Any]:
        def pullback(f: Any, *args: Any) -> Any:
            y, back = right(f, *args)

            def disturbing(seed: Any) -> Any:
                if isinstance(y, np.ndarray):
                    y[0] = 0.0
                return back(seed)

            return y, disturbing

        return pullback

    breaks(monkeypatch, "pullback", broken)
    assert outcome(tmp_path) == "output disturbed"


def test_overlapping_arguments_perturbed_together(tmp_path: Path) -> None:
    alone = TEXT.replace("np.sin(x) * y", "np.sin(x) * y * y[::-1]")

    assert outcome(tmp_path, "x[::-1]", alone) == ""
