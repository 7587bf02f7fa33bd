"""Einstein sums: the cotangent of an operand is an Einstein sum over all the others."""

import numpy as np

from srcad.rules.conjugates import conj
from srcad.rules.declare import bilinear
from srcad.rules.registry import static
from srcad.rules.row import NoPartial
from srcad.runtime import unbroadcast

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
SUBLISTS = NoPartial("np.einsum needs its subscripts as a string")


@static
def explicit(subscripts, ranks):
    """Subscripts with the result spelled out and letters in place of each ellipsis.

    Parameters
    ----------
    subscripts : str
        As the user wrote them.
    ranks : tuple of int or None
        The rank of each operand, where there is an ellipsis.
    """
    text = subscripts.replace(" ", "")
    inputs, arrow, output = text.partition("->")
    terms = inputs.split(",")
    spare = [letter for letter in LETTERS[::-1] if letter not in text]
    if not arrow:
        plain = inputs.replace(",", "").replace(".", "")
        output = "..." if "." in inputs else ""
        output += "".join(letter for letter in sorted(set(plain)) if plain.count(letter) == 1)
    hidden = [
        rank - len(term.replace(".", "")) if "." in term else 0
        for term, rank in zip(terms, ranks or [0] * len(terms), strict=True)
    ]
    widest = max(hidden, default=0)
    letters = "".join(spare[:widest])
    full = [
        term.replace("...", letters[widest - count :])
        for term, count in zip(terms, hidden, strict=True)
    ]
    return ",".join(full) + "->" + output.replace("...", letters)


@static
def unique(term):
    """The letters of a term, each once."""
    return "".join(dict.fromkeys(term))


@static
def split(text, k):
    """Operand `k`'s letters, the terms of the other operands, and the result's letters."""
    inputs, _, output = text.partition("->")
    terms = inputs.split(",")
    return terms[k], terms[:k] + terms[k + 1 :], output


@static
def term_of(text, k):
    """The letters of operand `k`."""
    return split(text, k)[0]


@static
def is_scalar(text):
    """Return True if the result has no axes."""
    return text.endswith("->")


@static
def reverse(text, k):
    """The subscripts of the cotangent of operand `k`.

    A letter that stands twice in the operand is spread over a diagonal later; a letter that only
    the operand has was summed over, so that its cotangent is the same along that axis.
    """
    term, rest, output = split(text, k)
    known = set(output).union(*rest)
    inputs = ",".join([*([output] if output else []), *rest])
    return inputs + "->" + "".join(letter for letter in unique(term) if letter in known)


@static
def missing(text, k):
    """The axes of operand `k`, each letter once, that no other operand and no result has."""
    term, rest, output = split(text, k)
    known = set(output).union(*rest)
    return tuple(n for n, letter in enumerate(unique(term)) if letter not in known)


@static
def places(term):
    """For each letter of a term, each once, the first axis that it stands for."""
    return tuple(term.index(letter) for letter in unique(term))


@static
def diagonal_of(term):
    """The subscripts that spread a term's letters, each once, over its diagonals."""
    spare = [letter for letter in LETTERS if letter not in term]
    seen, full, eyes = set(), "", []
    for letter in term:
        if letter in seen:
            eyes.append(letter + spare[0])
            letter = spare.pop(0)
        seen.add(letter)
        full += letter
    return ",".join([unique(term), *eyes]) + "->" + full


@static
def repeated(term):
    """The axes with a letter that occurs further to the left already."""
    return tuple(n for n, letter in enumerate(term) if letter in term[:n])


@bilinear(
    np.einsum, order="other", entries="contracted",
    memory="shared", samples=lambda f, v, w, m, t, array, square: [
        f("ij,jk->ik", m, array(4, 2)), f("ij->ji", m), f("ij->i", m), f("ij->", m),
        f("i,i->", v, array(4)), f("i,i", v, array(4)), f("ii", square(3)), f("ii->i", square(3)),
        f("iij->ij", array(3, 3, 2)), f("iji->j", array(3, 2, 3)), f("iii->", array(3, 3, 3)),
        f("i,j->ij", v, w), f("i,j,ij", w, v, m), f("ij,kj,lk->il", m, m, array(2, 3)),
        f("...ij,...jk->...ik", t, array(4, 2)), f("...i,...i", t, v),
        f("ij,ij->ij", m, array(1, 4)), f("i...->...", t), f("ij , jk", m, array(4, 2)), f("ba", m),
        f("ij,k->i", m, w), f("i->", v), f(",i->i", 0.5, v), f("i,i,i->i", v, v, v),
        f("...,...", t, array(3, 1)),
        f("ij,jk,kl->il", m, array(4, 2), array(2, 5), optimize=True)],
)  # fmt: skip
def einsum(y_bar, subscripts, *operands, optimize=False):
    if not isinstance(subscripts, str):
        return SUBLISTS, [SUBLISTS for _ in operands]
    ranks = tuple(np.ndim(x) for x in operands) if "..." in subscripts else None
    text = explicit(subscripts, ranks)
    bars = []
    for k in range(len(operands)):
        bars.append(cotangent(y_bar, text, operands, k, optimize))
    return None, bars


def contracted(subscripts, factors, optimize):
    """The Einstein sum, in the way that the user asked for."""
    if optimize:
        return np.einsum(subscripts, *factors, optimize=optimize)
    return np.einsum(subscripts, *factors)


def cotangent(y_bar, text, operands, k, optimize):
    """The cotangent of operand `k`."""
    rest = operands[:k] + operands[k + 1 :]
    rest = tuple(conj(x) for x in rest)
    factors = rest if is_scalar(text) else (y_bar, *rest)
    if len(factors) == 0:
        bar = y_bar
    else:
        bar = contracted(reverse(text, k), factors, optimize)
        if is_scalar(text):
            bar = y_bar * bar
    shape, term = np.shape(operands[k]), term_of(text, k)
    if len(missing(text, k)) > 0:
        lengths = tuple(shape[axis] for axis in places(term))
        bar = np.broadcast_to(np.expand_dims(bar, missing(text, k)), lengths)
    if len(repeated(term)) > 0:
        masks = [np.eye(shape[axis], dtype=bool) for axis in repeated(term)]
        bar = np.einsum(diagonal_of(term), bar, *masks)
    return unbroadcast(bar, operands[k])
