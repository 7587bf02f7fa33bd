"""Random IR, written and run: the same values and the same effects, in the same order."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from srcad.analysis.ownership import in_place
from srcad.backends.python.backend import load
from srcad.backends.python.emitter import emit
from srcad.ir.core import Call, Function, walk
from srcad.ir.evaluate import evaluate
from srcad.ir.verify import verify
from srcad.passes.fuse import fuse
from srcad.passes.sink import sink
from tests.backends.check import same
from tests.backends.random_ir import LOG, Generator
from tests.marks import some

ARGUMENTS = (
    (0.3, -0.7, np.array([0.1, 0.2, 0.3]), 3),
    (1.5, 0.2, np.array([-1.0, 2.0, 0.5]), 0),
    (-0.4, 0.9, np.array([-0.3, 0.2, 0.5]), 5),
)
CHUNK = 5


def outcomes(run: object, pure: Function, args: tuple[object, ...]) -> None:
    """Compare results, effects and arguments of one call."""
    assert callable(run)
    LOG.clear()
    want = evaluate(pure, *copy.deepcopy(args))
    effects = list(LOG)
    LOG.clear()
    given = copy.deepcopy(args)

    got = run(*given)

    assert same(want, got), (want, got)
    assert same(effects, list(LOG))
    assert same(given, args)


@pytest.mark.parametrize("chunk", some(range(12), 1))
def test_random_ir_generated_code_matches_evaluator(chunk: int) -> None:
    for seed in range(chunk * CHUNK, (chunk + 1) * CHUNK):
        function = verify(Generator(seed, depth=1).function())
        run = load(emit(function))

        for args in ARGUMENTS:
            outcomes(run, function, args)


@pytest.mark.parametrize("chunk", some(range(12), 1))
def test_random_ir_in_place_pass_preserves_values(chunk: int) -> None:
    for seed in range(1000 + chunk * CHUNK, 1000 + (chunk + 1) * CHUNK):
        function = Generator(seed, depth=1).function()
        run = load(emit(verify(in_place(function))))

        for args in ARGUMENTS:
            outcomes(run, function, args)


@pytest.mark.parametrize("chunk", some(range(8), 1))
def test_random_ir_fuse_pass_preserves_values(chunk: int) -> None:
    for seed in range(2000 + chunk * CHUNK, 2000 + (chunk + 1) * CHUNK):
        function = Generator(seed, depth=1).function()
        run = load(emit(verify(fuse(function))))

        for args in ARGUMENTS:
            outcomes(run, function, args)


@pytest.mark.parametrize("chunk", some(range(8), 1))
def test_random_ir_sink_pass_preserves_values(chunk: int) -> None:
    for seed in range(4000 + chunk * CHUNK, 4000 + (chunk + 1) * CHUNK):
        function = Generator(seed, depth=1).function()
        run = load(emit(in_place(verify(sink(function)))))

        for args in ARGUMENTS:
            outcomes(run, function, args)


def test_random_ir_sink_pass_applies() -> None:
    functions = [Generator(seed, depth=1).function() for seed in range(40)]

    fewer = [len(sink(f).block.ops) < len(f.block.ops) for f in functions]

    assert any(fewer)


def test_random_ir_in_place_pass_applies() -> None:
    functions = (in_place(Generator(seed, depth=1).function()) for seed in range(40))

    stores = [op for f in functions for op in walk(f.block) if isinstance(op, Call)]

    assert sum(op.in_place for op in stores) > 5


def test_random_ir_generated_code_deterministic() -> None:
    texts = {emit(Generator(5, depth=1).function()).text for _ in range(3)}

    assert len(texts) == 1
