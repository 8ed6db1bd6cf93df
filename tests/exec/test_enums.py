"""Members of enums: names, values, comparison, match, arguments; Python itself is the oracle."""

import enum

import gpu
import kit
import numpy as np
import pytest


class Colour(enum.Enum):
    RED = 1
    GREEN = 2.5
    BLUE = "blue"


class Kind(enum.IntEnum):
    A = 1
    B = 2


class Perm(enum.Flag):
    R = 1
    W = 2
    RW = 3


class Bits(enum.IntFlag):
    LOW = 1
    HIGH = 8


NAMES = {"Colour": Colour, "Kind": Kind, "Perm": Perm, "Bits": Bits}


def compared(body: str, *args: object, n: int = 8, **options: bool) -> np.ndarray:
    """What the kernel leaves in `out`; Python's own run of the text must leave the same."""
    letters = "abcd"[: len(args)]
    head = ", ".join(["out", *letters])
    source = f"def kernel({head}):\n" + "".join(f"    {line}\n" for line in body.splitlines())
    got, expected = np.zeros(n), np.zeros(n)
    kit.single(kit.kernel(source, names=NAMES), got, *args, **options)
    kit.function(source, **NAMES)(expected, *args)
    assert got.tolist() == expected.tolist()
    return got


@pytest.mark.parametrize("colour", [Colour.RED, Colour.GREEN])
def test_argument_knows_name_and_value(colour):
    body = "out[0] = a.value * 2\nout[1] = a.name == 'RED'\n"
    assert compared(body, colour)[1] == (colour is Colour.RED)


def test_text_as_value():
    assert compared("out[0] = a.value == 'blue'\nout[1] = a == 'blue'", Colour.BLUE)[0] == 1


@pytest.mark.parametrize("colour", Colour)
def test_plain_member_equals_itself_alone(colour):
    compared(
        "out[0] = a == Colour.RED\nout[1] = a != Colour.RED\nout[2] = a is Colour.RED\n"
        "out[3] = a == 1\nout[4] = 1 != a\nout[5] = a in (Colour.RED, Colour.GREEN)\n"
        "out[6] = a in (1, 2.5, 'blue')\nout[7] = Colour.RED == Kind.A",
        colour,
    )


def test_members_of_two_classes_differ():
    class Other(enum.Enum):
        RED = 1

    assert compared("out[0] = a == b\nout[1] = a != b", Colour.RED, Other.RED)[1] == 1


@pytest.mark.parametrize("colour", Colour)
def test_match(colour):
    compared(
        "match a:\n    case 1: out[0] = 9\n    case Colour.RED: out[0] = 1\n"
        "    case Colour.GREEN: out[0] = 2\n    case _: out[0] = 3",
        colour,
    )


def test_flags_compute():
    compared(
        "p = Perm.R | Perm.W\nout[0] = p == Perm.RW\nout[1] = bool(p & Perm.W)\n"
        "out[2] = bool(Perm.R & Perm.W)\nout[3] = (Bits.LOW | Bits.HIGH) + 1\n"
        "out[4] = Bits.HIGH > Kind.B\nout[5] = Kind.A + Kind.B\nout[6] = Perm.RW.value\n"
        "out[7] = Kind.A == 1",
    )


@pytest.mark.skipif(gpu.device().kind == "python", reason="its members are numbers")
def test_number_members_name():
    body = (
        "out[0] = Kind.B.name == 'B'\nout[1] = Kind.B.value + 1\nout[2] = Bits.HIGH.name == 'HIGH'\n"
        "out[3] = Kind.A is Kind.A\nout[4] = Kind.A is Bits.LOW\nout[5] = Perm.R.name == 'R'"
    )
    assert compared(body, reference=False).tolist()[:6] == [1, 3, 1, 1, 0, 1]


def test_joined_members_are_their_values():
    source = (
        "def kernel(out, x):\n    m = Colour.RED if x > 0 else Colour.GREEN\n"
        "    out[0] = m == Colour.RED\n    out[1] = m == Colour.GREEN\n"
    )
    kernel = kit.kernel(source, names=NAMES)
    for x in (1, -1):
        out = np.zeros(2)
        kit.single(kernel, out, x)
        assert out.tolist() == [x > 0, x < 0]


def test_another_member_compiles_again():
    kernel = kit.kernel("def kernel(out, m):\n    out[0] = m.value\n")
    for member in Colour.RED, Colour.GREEN, Colour.RED:
        out = np.zeros(1)
        kit.single(kernel, out, member)
        assert out[0] == member.value


@pytest.mark.skipif(gpu.device().kind == "python", reason="Python's own TypeError")
def test_plain_members_have_no_order():
    kernel = kit.kernel("def kernel(out):\n    out[0] = Colour.RED < Colour.GREEN\n", names=NAMES)
    with pytest.raises(gpu.TypingError, match="<"):
        kernel[1, 1](np.zeros(1))
