"""What is true of every program of the corpus; a new one is found by itself."""

import copy

import pytest

import srcad
from tests.adapter import evaluated_as_compiled, generated, with_value
from tests.corpus.collected import CORPUS, TOPICS, name_of
from tests.corpus.points import POINTS
from tests.marks import some
from tests.numeric import assert_close, assert_gradient


@pytest.mark.parametrize("name", CORPUS)
def test_corpus_function_code_and_ir_agree_and_gradient_correct(name):
    f, args = CORPUS[name]
    want = f(*copy.deepcopy(args))
    compiled = with_value(f, *args)

    value, gradients = compiled(*args)
    in_ir = evaluated_as_compiled(compiled, *args)

    assert type(value) is type(want)
    assert_close(value, want, rtol=0, atol=0)
    assert_close(in_ir, value, rtol=0, atol=0)
    assert_gradient(lambda *_: gradients, f, *args)


@pytest.mark.parametrize("name", some(CORPUS, lambda k, _: k % 16 == 0))
def test_corpus_generated_code_deterministic(name):
    f, args = CORPUS[name]

    texts = {generated(f, None, *args) for _ in range(2)}

    assert len(texts) == 1


@pytest.mark.parametrize("name", some(CORPUS, lambda k, _: k % 20 == 7))
def test_corpus_pullback_reusable(name):
    f, args = CORPUS[name]
    gradients = srcad.gradient(f, *args)

    _, back = srcad.pullback(f, *args)
    once, twice = back(1.0), back(1.0)

    assert_close(once, twice, rtol=0, atol=0)
    assert_close(once, gradients, rtol=1e-12)


def test_there_are_programs_of_every_topic():
    assert {name.partition(".")[0] for name in CORPUS} == set(TOPICS)
    assert len({name_of(f) for f in POINTS}) == len(POINTS) > 150


@pytest.mark.parametrize("function", POINTS, ids=name_of)
def test_corpus_program_has_one_line_docstring(function):
    assert function.__doc__
    assert "\n" not in function.__doc__
    assert function.__doc__.endswith(".")
