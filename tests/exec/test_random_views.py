"""Random arrays, indices and stores, against NumPy. HYPOTHESIS_PROFILE=many for more."""

import gpu
import kit
import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

DTYPES = ("bool", "uint8", "int16", "int32", "int64", "float32", "float64")
BOUNDS = st.one_of(st.none(), st.integers(-6, 6))
STEPS = st.one_of(st.none(), st.sampled_from((1, 1, 2, 3, -1, -1, -2, -3)))
TIMES = 3  # kernels per example: the generator costs more than they do


@st.composite
def arrays(draw, dtype=None, least=1):
    """An array with the strides of a part of another."""
    dtype = dtype or draw(st.sampled_from(DTYPES))
    shape = draw(
        st.lists(st.integers(0 if draw(st.booleans()) else 1, 4), min_size=least, max_size=4)
    )
    wide = [2 * n + 1 for n in shape]
    base = (
        np.arange(int(np.prod(wide))).astype(dtype).reshape(wide, order=draw(st.sampled_from("CF")))
    )
    if draw(st.booleans()):
        return np.array(base[tuple(slice(0, n) for n in shape)], order=draw(st.sampled_from("CF")))
    steps = [draw(st.sampled_from((1, 2, -1, -2))) for _ in shape]
    parts = (slice(2 * n, None, s) if s < 0 else slice(0, None, s) for n, s in zip(shape, steps))
    part = base[tuple(parts)][tuple(slice(0, n) for n in shape)]
    return part.transpose(draw(st.permutations(range(len(shape)))))


class Numbers:
    """Integers of an index: as they are, or elements of an array of the launch."""

    def __init__(self, draw):
        self.draw, self.values = draw, []

    def text(self, value: int | None) -> str:
        if value is None:
            return ""
        if self.draw(st.booleans()):
            return str(value)
        self.values.append(value)
        return f"k[{len(self.values) - 1}]"

    def array(self) -> np.ndarray:
        return np.array([*self.values, 0], "int64")


@st.composite
def indices(draw, numbers, shape, views=False):
    """What may stand in brackets behind an array of this shape."""
    parts, rest = [], False
    for axis, n in enumerate(shape):
        kind = draw(st.sampled_from(("one", "slice", "slice", "whole", "rest", "end")))
        if kind == "end" or (kind == "rest" and rest):
            break
        if draw(st.integers(0, 7)) == 0 and len(shape) + sum(p == "None" for p in parts) < 8:
            parts.append(draw(st.sampled_from(("None", "np.newaxis"))))
        if kind == "rest":
            rest = True
            parts.append("...")
            break
        if kind == "one" and n > 0 and not (views and axis == len(shape) - 1):
            parts.append(numbers.text(draw(st.integers(-n, n - 1))))
        elif kind == "slice":
            start, stop, step = draw(BOUNDS), draw(BOUNDS), draw(STEPS)
            texts = [numbers.text(start), numbers.text(stop)]
            parts.append(":".join(texts + ([numbers.text(step)] if step else [])))
        else:
            parts.append(":")
    if not parts:
        return "[...]" if draw(st.booleans()) or not shape else "[:]"
    return f"[{', '.join(parts)}]"


def run(source: str, *args) -> None:
    kit.single(kit.kernel(source), *args)


def evaluate(text: str, a: np.ndarray, k: np.ndarray):
    return eval(text, {"a": a, "k": k, "np": np})


@given(st.data())
def test_views_are_numpys(data):
    for _ in range(TIMES):
        a = data.draw(arrays())
        numbers = Numbers(data.draw)
        text = "a" + data.draw(indices(numbers, a.shape))
        k = numbers.array()
        first = evaluate(text, a, k)
        if isinstance(first, np.ndarray) and first.ndim and data.draw(st.booleans()):
            text += data.draw(indices(numbers, first.shape))
            k = numbers.array()
        expected = evaluate(text, a, k)
        is_view = isinstance(expected, np.ndarray)
        shape = np.shape(expected)
        out = np.zeros(shape or 1, a.dtype)
        facts = np.full(20, -77, "int64")
        source = f"def kernel(a, k, out, facts):\n    v = {text}\n    out[...] = v\n"
        if is_view:
            source += "    facts[0] = v.size\n    facts[1] = v.ndim\n"
            for axis in range(len(shape)):
                source += f"    facts[{2 + axis}] = v.shape[{axis}]\n"
                # Others may differ from NumPy's.
                source += f"    if v.size and v.shape[{axis}] > 1:\n"
                source += f"        facts[{10 + axis}] = v.strides[{axis}]\n"
        run(source, a, k, out, facts)
        assert np.array_equal(out, np.broadcast_to(expected, out.shape)), source
        if is_view:
            assert facts[:2].tolist() == [expected.size, expected.ndim]
            assert tuple(facts[2 : 2 + len(shape)]) == shape, source
            if expected.size and a.size:
                for axis, n in enumerate(shape):
                    if gpu.device().kind == "cuda":  # the copy there has strides of its own
                        continue
                    assert n == 1 or facts[10 + axis] == expected.strides[axis], source


@given(st.data())
def test_stores_are_numpys(data):
    for _ in range(TIMES):
        a = data.draw(arrays())
        numbers = Numbers(data.draw)
        target = "a" + data.draw(indices(numbers, a.shape, views=True))
        value = data.draw(st.integers(0, 100))
        operator = data.draw(st.sampled_from(("=", "=", "+=", "*=", "-=")))
        assume(a.dtype != bool or operator == "=")
        k = numbers.array()
        got = kit.copied((a,))[0]
        expected = a.copy()
        if operator == "=":
            expected[eval(f"np.s_{target[1:]}", {"np": np, "k": k})] = np.asarray(value).astype(
                a.dtype
            )
        else:
            place = eval(f"np.s_{target[1:]}", {"np": np, "k": k})
            whole = expected[place].astype("int64")
            results = {"+=": whole + value, "*=": whole * value, "-=": whole - value}
            expected[place] = results[operator].astype(a.dtype)
        source = f"def kernel(a, k, x):\n    {target} {operator} x\n"
        run(source, got, k, value)
        assert np.array_equal(got, expected), source


@given(st.data())
def test_a_copy_within_an_array_is_that_of_a_copied_source(data):
    for _ in range(TIMES):
        a = data.draw(arrays("int32"))
        assume(a.size)
        numbers = Numbers(data.draw)
        target = data.draw(indices(numbers, a.shape, views=True))
        source = data.draw(st.one_of(st.just(target), indices(numbers, a.shape, views=True)))
        operator = data.draw(st.sampled_from(("=", "=", "+=")))
        turn = data.draw(st.sampled_from(("", "", ".T", "[::-1]", "[..., ::-1]")))
        k = numbers.array()
        got = kit.copied((a,))[0]
        expected = kit.copied((a,))[0]
        try:
            view = evaluate(f"a{target}", expected, k)
            copied = np.array(evaluate(f"a{source}{turn}", expected, k))
            spread = np.broadcast_to(copied, view.shape)
            assert copied.ndim <= view.ndim
        except (ValueError, IndexError, AssertionError):
            continue
        view[...] = view + spread if operator == "+=" else spread
        text = f"def kernel(a, k):\n    a{target} {operator} a{source}{turn}\n"
        try:
            run(text, got, k)
        except gpu.KernelValueError as error:
            assert error.code == "STORE_OVERLAP"
            view, other = evaluate(f"a{target}", got, k), evaluate(f"a{source}{turn}", got, k)
            assert np.may_share_memory(view, other), text
            continue
        assert np.array_equal(got, expected), text
