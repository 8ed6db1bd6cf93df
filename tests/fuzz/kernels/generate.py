"""Random kernels that have a meaning.

A case (case.py) is a text (functions and `kernel`), what it is launched with, and what it stores:
every variable at the end, as a value and as probes that show its type.

Every condition depends on an element of an array, so nothing is decided before the run; every index
is inside. Only expressions that are equal bit for bit everywhere are written: no math functions, no
float powers beyond constant exponents. A thread stores to elements and a row of its own; integers
are added with atomics anywhere.
"""

from .case import COLUMNS, CROWDS, LAUNCHES, ROWS, Case, arguments
from .explicit import written
from .expressions import Env, fields
from .meetings import ATOMICS
from .statements import Statements
from .types import MIXED, Array, Function, NoType, Type, is_float
from .words import CHECKED_PROBES, PROBES

SCALAR_TYPES = ("int", "float", "float32", "float16", "uint64", "bool")


class Generator(Statements):
    def parameters(self) -> None:
        def array(name: str, *shape: int, dtype: str = "") -> None:
            self.params[name] = Array(dtype or self.rng.choice(self.dtypes), len(shape))
            self.shapes[name] = shape

        for k in range(self.rng.choice((1, 2, 3))):
            array(f"x{k}", ROWS)
        if self.chance(0.5):
            array("m", ROWS, COLUMNS)
        if self.chance(0.3):
            array("q", 2, 2, 3)
        if self.chance(0.2):
            array("x9")
        for k in range(self.rng.choice((0, 0, 1, 2))):
            self.params[f"s{k}"] = self.rng.choice(SCALAR_TYPES)
        if self.chance(0.2):
            kinds = [self.rng.choice(SCALAR_TYPES) for _ in range(3)]
            self.params["u"] = (
                (kinds[0], (kinds[1], kinds[2])) if self.chance(0.4) else tuple(kinds)
            )
        array("y", ROWS, 4)
        array("z", ROWS)
        array("h", 4, dtype=self.rng.choice(("int32", "uint32", "int64", "uint64")))
        array("n", 3, dtype="int32")

    def beginning(self, env: Env) -> list[str]:
        """The variables that statements change, and tuples."""
        lines: list[str] = []
        for name in "abc":
            text = self.element()
            if name == "c" and self.chance(0.5):
                one, other = self.rng.choice(
                    (("0", "1"), ("0.5", "2.0"), ("True", "False"), ("3", "0.1"), (str(2**63), "1"))
                )
                text = f"{one} if {self.checked_condition(env)} else {other}"
            lines += self.assign(env, name, text)
        for _ in range(self.rng.choice((0, 1, 1, 2))):
            first = self.leaf({k: v for k, v in env.items() if k in "abc"})
            same = self.chance(0.5)
            parts = [first if same else self.leaf(env) for _ in range(self.rng.choice((1, 2, 3)))]
            if self.chance(0.25):
                parts[-1] = f"({self.leaf(env)}, {self.leaf(env)})"
            lines += self.assign(env, self.fresh("t"), f"({', '.join(parts)},)")
        return [f"    {line}" for line in lines]

    def case(self, seed: int) -> Case | None:
        self.parameters()
        for _ in range(self.rng.choice((0, 0, 1, 2))):
            self.function()
        check = self.chance(0.15)
        grid, block, heading = (1, 1, ["i = gpu.grid(1)"]) if check else self.rng.choice(LAUNCHES)
        if not check and self.chance(0.5):
            self.crowd = CROWDS.get((grid, block), 0)
        self.atomic = self.rng.choice(ATOMICS)
        env: Env = {name: kind for name, kind in self.params.items() if name[0] in "su"}
        env |= {"i": "int", "j": "int"}
        lines = [*heading, f"if i >= {ROWS}:", "    return", f"j = i % {COLUMNS}"]
        lines = [f"    {line}" for line in lines] + self.beginning(env)
        lines += self.statements(env, 2, False, "    ")
        lines += self.statements(env, 2, False, "    ")
        head = f"def kernel({', '.join(self.params)}, out_i, out_f):"
        body = "\n".join([self.function_text + head, *lines]) + "\n"
        params = self.params | {"out_i": Array("int64", 2), "out_f": Array("float64", 2)}
        tail = self.stores(body, params, check)
        if tail is None:
            return None
        data = arguments(self.rng, self.params, self.shapes, check or self.chance(0.1))
        data["n"][:] = [4, 1, 2]
        options = {"fma": self.chance(0.7)}
        options |= {"check": True} if check else {}
        # LLVM's optimizer takes most of the time, and what it gets is the same.
        options |= {"opt_level": 0} if self.chance(0.75) else {}
        case = Case(seed, body + "\n".join(tail) + "\n", params, data, (grid, block), options)
        case.data["out_i"] = self.zeros(len(tail), "int64")
        case.data["out_f"] = self.zeros(len(tail), "float64")
        return case

    def zeros(self, n: int, dtype: str):  # type: ignore[no-untyped-def]
        import numpy as np

        return np.zeros((max(1, n), ROWS), dtype)

    def stores(self, body: str, params: Env, check: bool) -> list[str] | None:
        """Statements that store each result, and what shows its type."""
        try:
            env = written(body, params)[1]
        except NoType:
            return None
        if env is None:
            return None
        probes = CHECKED_PROBES if check else PROBES
        lines: list[str] = []
        for variable, kind in env.items():
            if variable[0] not in "abctosuk" or isinstance(kind, Array | Function):
                continue
            for name, part in fields(variable, kind):
                if part == MIXED:
                    continue
                lines += self.shown(name, part, probes, len(lines))
        return lines

    def shown(self, name: str, kind: Type, probes: dict, first: int) -> list[str]:
        out = "out_f" if is_float(kind) else "out_i"
        group = "bool" if kind == "bool" else "float" if is_float(kind) else "int"
        return [
            f"    {out}[{first + k}, i] = {probe.replace('x', name)}"
            for k, probe in enumerate(probes[group])
        ]


def generate(seed: int) -> Case:
    """The first kernel with a meaning from this seed on; every seed gives one."""
    for attempt in range(1000):
        try:
            case = Generator(seed * 1000 + attempt).case(seed)
        except NoType:
            continue
        if case is not None:
            return case
    raise AssertionError("a generator that writes no programs")
