"""No derivative is lost in a text or in a class that is made of a number."""

import collections
import functools
import io
import json
import types

import numpy as np
import pytest

import srcad
from srcad.errors import NotDifferentiableError, SrcadError, UnsupportedTypeError


class Labelled:
    def __init__(self, x):
        self.x = x
        self.label = f"<{x}>"

    def __repr__(self):
        return self.label

    def __str__(self):
        return str(self.x)


def texted(x):
    return str(x)


def repeated(x):
    text = ""
    for _ in range(3):
        text = text + f"{x} "
    return float(text.split()[0])


def keyed(x):
    d = {}
    for k in range(2):
        d[str(x * k)] = x
    return d


def parsed(n, text):
    return float(text) if n == 0 else parsed(n - 1, text)


READ = {
    "str": lambda x: float(str(x)) * x,
    "repr": lambda x: float(repr(float(x))),
    "format": lambda x: float(format(x, ".17g")),
    "f-string": lambda x: float(f"{x}") * 2,
    "f-string with a format": lambda x: float(f"{x:.17f}"),
    "f-string that says its name": lambda x: float(f"{x=!s}"[2:]),
    "format method": lambda x: float("{:.17g}".format(x)),
    "percent": lambda x: float("%.17g" % x),
    "percent of a tuple": lambda x: float("%s" % (x,)),
    "percent of a dict": lambda x: float("%(a)s" % {"a": x}),
    "a scalar of NumPy": lambda x: np.float64(str(x)),
    "an array of texts": lambda x: np.array([str(x)]).astype(float)[0],
    "parts of a text": lambda x: float(",".join([str(x), "1"]).split(",")[0]),
    "a stripped text": lambda x: float(str(x).strip()),
    "a longer text": lambda x: float(str(x) + "0"),
    "bytes": lambda x: float(str(x).encode()),
    "a key of a dict": lambda x: float(list({str(x): x})[0]),
    "keys of a dict": lambda x: sum(float(k) for k in keyed(x)),
    "items of a dict": lambda x: sum(v * float(k) for k, v in keyed(x).items()),
    "a complex number": lambda x: complex(str(x)).real,
    "a file": lambda x: np.loadtxt(io.StringIO(str(x))).item(),
    "a helper": lambda x: float(texted(x)),
    "an object": lambda x: float(str(Labelled(x))),
    "a list": lambda x: float([str(x)][0]) + x,
    "map": lambda x: sum(map(float, map(str, [x, x]))),
    "a loop": repeated,
    "a recursion": lambda x: parsed(3, str(x)) * x,
    "an arm that is not taken": lambda x: float(str(x)) if str(x) == "no" else x * x,
}


@pytest.mark.parametrize("f", READ.values(), ids=READ)
def test_number_parsed_from_string_of_argument_rejected(f):
    with pytest.raises(NotDifferentiableError, match="through a text") as caught:
        srcad.grad(f)(2.5)

    assert caught.value.where is not None
    assert any("stop_gradient" in remedy for remedy in caught.value.help)


def shows(x):
    print(f"{x}", "%f %s" % (x, "a"), "{:.2f}".format(x), "{a}".format(a=x))
    return x * x


def raises_with_a_text(x):
    if x < 0:
        raise ValueError("bad %g" % x)
    return x * x


def keeps_a_log(x):
    log = []
    for k in range(3):
        log.append((f"{k}: {x}", x * x))
    return log[2][1] + log[0][1]


def labels_an_object(x):
    made = Labelled(x * x)
    print(made)
    return made.x


def catches_with_a_text(x):
    try:
        if x > 1:
            raise ValueError(f"{x}")
    except ValueError as error:
        print(error)
    return x * x


def recursive(n, x, label):
    return x if n == 0 else recursive(n - 1, x * x, label + ".")


HARMLESS = {
    "shown": shows,
    "raised": raises_with_a_text,
    "logged": keeps_a_log,
    "a label": labels_an_object,
    "caught": catches_with_a_text,
    "asked": lambda x: x * x if str(x).startswith("2") else x,
    "compared": lambda x: x * x if f"{x:.1f}" == "2.5" else x,
    "in a record": lambda x: {"name": f"{x}", "value": x * x}["value"],
    "handed down": lambda x: recursive(2, x, f"{x}"),
    "padded": lambda x: (f"{x}".ljust(20) + "|", x * x)[1],
    "of a constant": lambda x, n=3: float(str(n)) * x,
    "given": lambda x, words=("1.5", "2"): x * sum(float(w) for w in words),
    "of an int": lambda x: int(str(int(3))) * x,
}


@pytest.mark.parametrize("f", HARMLESS.values(), ids=HARMLESS)
def test_string_of_active_value_only_printed_or_tested(f, capsys):
    step = 1e-6
    slope = (f(2.5 + step) - f(2.5 - step)) / (2 * step)
    capsys.readouterr()
    plain, shown = f(2.5), capsys.readouterr().out

    value, gradient = srcad.value_and_grad(f)(2.5)

    assert value == plain
    assert gradient == pytest.approx(slope, rel=1e-6)
    assert capsys.readouterr().out == shown


def test_string_in_aux_result():
    gradient, text = srcad.grad(lambda x: (x * x, f"{x}"), has_aux=True)(2.5)

    assert (gradient, text) == (5.0, "2.5")


def test_string_of_constant_is_constant():
    assert srcad.grad(lambda x: x * float(str(srcad.stop_gradient(x))))(2.5) == 2.5


TEMPLATE = "{} {}"


@pytest.mark.parametrize(
    ("f", "error"),
    [
        (lambda x: ("%d" % "a") and x, TypeError),
        (lambda x: ("%d %d" % x) and x, TypeError),
        (lambda x: TEMPLATE.format(x) and x, IndexError),
    ],
)
def test_mismatched_format_template_raises_same_exception(f, error):
    with pytest.raises(error) as plain:
        f(2.5)

    with pytest.raises(error, match=str(plain.value).replace("%", ".")):
        srcad.grad(f)(2.5)


class Base:
    j = 1.0


CLASSES = {
    "an object": lambda x: type("A", (), {"k": x})().k,
    "the class itself": lambda x: type("A", (), {"k": x}).k * x,
    "a dict that is made": lambda x: type("A", (), dict(k=x))().k,
    "a list inside": lambda x: type("A", (object,), {"k": [x]})().k[0],
    "a base": lambda x: type("A", (Base,), {"j": x})().j,
    "type by another name": lambda x: (lambda make: make("A", (), {"k": x})().k)(type),
    "a partial": lambda x: functools.partial(type, "A", ())({"k": x})().k,
    "getattr": lambda x: getattr(type("A", (), {"k": x}), "k"),
    "object.__new__": lambda x: object.__new__(type("A", (), {"k": x})).k,
}


@pytest.mark.parametrize("f", CLASSES.values(), ids=CLASSES)
def test_class_created_with_active_attribute_rejected(f):
    with pytest.raises(UnsupportedTypeError, match="make a class"):
        srcad.grad(f)(2.5)


OTHERS = {
    "a namespace": lambda x: types.SimpleNamespace(k=x).k * x,
    "a class of constants": lambda x: type("A", (), {"k": 3.0})().k * x,
    "type of one": lambda x: type(x)(2.0) * x,
    "an ordered dict": lambda x: collections.OrderedDict(k=x)["k"],
    "json": lambda x: json.loads(json.dumps(x)),
    "eval": lambda x: eval(repr(x)),
}


@pytest.mark.parametrize("f", OTHERS.values(), ids=OTHERS)
def test_active_value_in_other_containers_correct_or_rejected(f):
    step = 1e-6
    slope = (f(2.5 + step) - f(2.5 - step)) / (2 * step)

    try:
        gradient = srcad.grad(f)(2.5)
    except SrcadError:
        return

    assert gradient == pytest.approx(slope, rel=1e-6)
