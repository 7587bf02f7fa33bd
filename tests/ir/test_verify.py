"""The verifier notices operations that were changed in place."""

import pytest

from srcad.errors import InvalidIRError
from srcad.ir.core import Call
from srcad.ir.verify import verify
from tests.transforms.checking import lowered


def test_operation_modified_in_place_rejected():
    function = lowered(lambda x, y: x * y + x, 1.0, 2.0)[0].function
    verify(function)
    op = next(op for op in function.block.ops if isinstance(op, Call))
    assert op.operands
    object.__setattr__(op, "args", (*op.args, function.params[0]))

    with pytest.raises(InvalidIRError, match="changed in place"):
        verify(function)
