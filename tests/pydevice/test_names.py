"""What kernels may name: the python device knows each row of ir/intrin.def."""

import builtins
import importlib
import math
import operator
import re
from pathlib import Path

import numpy as np
import pytest
from gpu._python import functions, mathematics, namespace, warps
from gpu._python.objects import Objects, Proxy
from gpu._python.scalars import TYPES, Scalar

TABLE = Path(__file__).parents[2] / "ir/intrin.def"
PATHS = re.findall(
    r'^IR_(?:(?:INTRIN|OPERATOR)\(\w+, |ALIAS\(|NUMBER\()"([\w.]+)"', TABLE.read_text(), re.M
)
PYTHONS_OWN = {
    "builtins.ascii",
    "builtins.format",
    "builtins.print",
    "builtins.repr",
    "builtins.str",
    "builtins.slice",
    "builtins.zip",
    "builtins.reversed",
    "builtins.tuple",
}


def of_path(path: str):
    """What kernels have in the place of the name; None if this NumPy or Python has it not."""
    owner, _, name = path.rpartition(".")
    if namespace.varies(path):
        return warps.REGISTERS[path.removeprefix("gpu.")]
    if path.startswith("gpu."):
        return namespace.find(path)
    if owner == "number":
        return getattr(Scalar, name)
    found = getattr(importlib.import_module(owner), name, None)
    return None if found is None else Objects().value(found, name)


def test_the_table_is_read():
    assert len(PATHS) > 250
    assert {"gpu.grid", "numpy.where", "math.pi", "operator.add", "number.item"} <= set(PATHS)


@pytest.mark.parametrize("path", PATHS)
def test_name(path):
    module, _, name = path.rpartition(".")
    known = of_path(path)
    if known is None:
        assert path in ("math.fma", "math.cbrt", "math.exp2") or module == "numpy", path
    elif module == "builtins" and path not in PYTHONS_OWN:
        assert known is functions.FUNCTIONS[name]
    elif module == "math":
        assert name in mathematics.FUNCTIONS or name in mathematics.NUMBERS
    elif module == "numpy":
        assert not isinstance(known, (Proxy, np.ufunc, type)), f"{path} is NumPy's own"
        assert getattr(known, "__module__", None) not in ("numpy", "builtins"), path


def test_operators_are_the_modules_own_or_ours():
    for path in (p for p in PATHS if p.startswith("operator.")):
        name = path.partition(".")[2]
        known = of_path(path)
        assert known is getattr(operator, name) or known.__module__.startswith("gpu._python"), path


def test_what_is_not_in_the_table_is_refused():
    for x in (np.dot, np.zeros, np.linalg.norm, np.max, np.random.rand):
        with pytest.raises(TypeError, match="cannot be called"):
            Objects().value(x)(1)
    assert builtins.abs is not functions.FUNCTIONS["abs"]
    assert math.pi == mathematics.NUMBERS["pi"]
    assert TYPES["float32"].typed
