"""What NumPy has said is remembered, unless it said so by a warning."""

import warnings

from srcad.ir.inference.memo import concluded, remembered


def test_inference_result_memoised():
    drawn = []

    for _ in range(3):
        concluded(("a conclusion", 1), lambda: drawn.append(1))

    assert len(drawn) == 1


def test_inference_result_with_warning_not_memoised():
    """The user's filters say whether a warning is an error, and they may change."""

    def ask():
        warnings.warn("odd", stacklevel=1)
        return "an answer"

    def conclude():
        return remembered(("a question", 2), ask)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first = concluded(("a conclusion", 2), conclude)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        second = concluded(("a conclusion", 2), conclude)

    assert (first, second) == (None, "an answer")
