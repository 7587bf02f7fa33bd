from srcad.ir.core import CHECKPOINT, UNDEF, Block, Const, Function, If, Value
from srcad.ir.text import text
from srcad.types.numeric import FLOAT
from tests.ir.parse import parse


def test_undef_and_checkpoint_are_printed_by_name():
    x, y = Value(FLOAT, "x"), Value(FLOAT, "y")
    op = If(CHECKPOINT, Block((), (), (x,)), Block((), (), (UNDEF,)), (y,))
    printed = text(Function("f", (x,), Block((), (op,), (y,))))

    assert "if checkpoint -> y:" in printed
    assert "yield undef" in printed


def test_printed_function_is_parsed_to_the_same_text():
    function = parse("""
        f(x: float, n: int):
            for k in range(0, n, 1) [y = undef] -> tag, count, y_n:
                y_1 = mul(x, 2.0)
                yield 0, y_1
            return y_n
    """)

    assert function.block.ops[0].inits == (UNDEF,)
    again = text(function).replace("f(x, n)", "f(x: float, n: int)")
    assert text(parse(again)) == text(function)


def test_long_constants_are_printed_by_their_class():
    assert "<list>" in text(Function("f", (), Block((), (), (Const(list(range(99))),))))
