"""Values whose type says more than a machine holds are refused quickly, however few lines make them; texts that hold NUL."""

import gpu
import numpy as np
import pytest

DOUBLINGS = {
    "pairs": "    t = (t, t)\n",
    "sums": "    t = t + t\n",
    "exceptions": "    t = ValueError(t, t)\n",
    "closures": "    t = lambda a=t, b=t: a\n",
    "results": "    t = pair(t)\n",
}
TEXTS = {
    "format": "    s = f'{s}{s}'\n",
    "sums": "    s = s + s\n",
    "percent": "    s = '%s%s' % (s, s)\n",
}


def pair(t):
    return (t, t)


def kernel(body):
    space = {"gpu": gpu, "pair": pair}
    exec(f"@gpu.jit\ndef kernel(x):\n{body}    x[0] = 1\n", space)
    return space["kernel"]


@pytest.mark.parametrize("line", DOUBLINGS.values(), ids=DOUBLINGS)
def test_doubling(line):
    with pytest.raises(gpu.UnsupportedError, match=r"of more than \d+ elements"):
        kernel("    t = (x[0], x[1])\n" + 40 * line)[1, 1](np.zeros(2, np.int64))


@pytest.mark.parametrize("line", DOUBLINGS.values(), ids=DOUBLINGS)
def test_few_doublings(line):
    x = np.zeros(2, np.int64)
    kernel("    t = (x[0], x[1])\n" + 3 * line)[1, 1](x)
    assert x[0] == 1


@pytest.mark.skipif(gpu.device().kind == "python", reason="its texts are Python's own")
@pytest.mark.parametrize("start", ["'constant'", "f'{x[0]}'"])
@pytest.mark.parametrize("line", TEXTS.values(), ids=TEXTS)
def test_doubling_of_texts(line, start):
    with pytest.raises(gpu.UnsupportedError, match=r"of more than \d+ elements"):
        kernel(f"    s = {start}\n" + 40 * line + "    print(s)\n")[1, 1](np.zeros(1, np.int64))


def test_long_text(capsys):
    """Longer than what is one constant."""
    kernel("    s = 'ab'\n" + 16 * TEXTS["sums"] + "    print(s, x[0])\n")[1, 1](np.zeros(1, int))
    gpu.synchronize()
    assert capsys.readouterr().out == "ab" * 65536 + " 0\n"


def test_repetition():
    with pytest.raises(gpu.UnsupportedError, match="of more than 8192 elements"):
        kernel("    t = (x[0], x[1]) * (1 << 62)\n")[1, 1](np.zeros(2, np.int64))
    x = np.zeros(2, np.int64)
    kernel("    t = () * (1 << 62)\n")[1, 1](x)
    assert x[0] == 1


def nested(depth):
    t = 1
    for _ in range(depth):
        t = (t, t)
    return t


def test_captured():
    t = nested(31)

    @gpu.jit
    def length(x):
        x[0] = len(t)

    x = np.zeros(1, np.int64)
    length[1, 1](x)
    assert x[0] == 2


def test_passed():
    @gpu.jit
    def length(x, t):
        x[0] = len(t)

    x = np.zeros(1, np.int64)
    with pytest.raises(gpu.ArgumentTypeError, match="tuples of too many elements"):
        length[1, 1](x, nested(15))
    length[1, 1](x, nested(5))
    assert x[0] == 2


def test_nul_in_message():
    @gpu.jit
    def fail(x):
        raise ValueError("a\0b", x[0])

    with pytest.raises(ValueError) as caught:
        fail[1, 1](np.zeros(1, np.int64))
        gpu.synchronize()
    assert caught.value.args == ("a\0b", 0)


def test_nul_in_text():
    @gpu.jit
    def kernel(x):
        x[0] = "b" in "a\0b"
        x[1] = "c" in "a\0b"
        x[2] = "" in ""
        x[3] = "\0" in "a"

    x = np.zeros(4)
    kernel[1, 1](x)
    assert x.tolist() == [1, 0, 1, 0]
