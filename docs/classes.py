"""The types of results, pair by pair, from the rows of ir/arith.def and ir/types.def.

`result(table, op, a, b)` reads a row for two operand types; `matrix(table, op)` is the Markdown
table of all pairs. What the words of the result column mean is written at the head of ir/arith.def.
"""

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

TOP = Path(__file__).resolve().parents[1]
ORDER = "BITF"
Rows = Callable[[str, str], Iterator[list[str]]]


class Classes:
    """The rows, and the rules of the result column. `rows_of(text, macro)` reads a .def file."""

    def __init__(self, rows_of: Rows) -> None:
        types = (TOP / "ir" / "types.def").read_text()
        arith = (TOP / "ir" / "arith.def").read_text()
        self.kinds = {r[1]: (r[2], int(r[3]), r[4] == "1") for r in rows_of(types, "IR_SCALAR")}
        self.rows = {(f"IR_{m}", *r[: 1 if m in ("COMPARE", "JOIN") else 2]): r
                     for m in ("ARITH", "UNARY", "COMPARE", "JOIN", "FUNC")
                     for r in rows_of(arith, f"IR_{m}")}  # fmt: skip
        self.result = cache(self._result)

    def letter(self, name: str) -> str:
        kind, _, weak = self.kinds[name]
        return {"BOOL": "B", "FLOAT": "F"}.get(kind, "I" if weak else "T")

    def promoted(self, a: str, b: str) -> str:
        """NumPy's type for two typed integers: the wider, or a signed one for both."""
        (kind_a, bits_a, _), (kind_b, bits_b, _) = self.kinds[a], self.kinds[b]
        if kind_a == kind_b:
            return a if bits_a >= bits_b else b
        unsigned, signed = (bits_a, bits_b) if kind_a == "UINT" else (bits_b, bits_a)
        bits = signed if signed > unsigned else 2 * unsigned
        return f"int{bits}" if bits <= 64 else ""

    def common(self, a: str, b: str) -> str:
        if self.letter(a) == self.letter(b) == "T":
            return self.promoted(a, b)
        return max(a, b, key=lambda name: ORDER.index(self.letter(name)))

    def wider(self, a: str, b: str) -> str:
        """Of the floats among the two; two of one width have the next one together."""
        names = [x for x in {a, b} if self.letter(x) == "F" and not self.kinds[x][2]]
        if len(names) == 2 and self.kinds[names[0]][1] == self.kinds[names[1]][1]:
            return f"float{2 * self.kinds[names[0]][1]}"
        return max(names, key=lambda name: self.kinds[name][1], default="float")

    def exact(self, a: str, b: str) -> str:
        if "uint64" not in (a, b):
            return "int"
        other = a if b == "uint64" else b
        return "uint64" if self.kinds[other][0] in ("BOOL", "UINT") else "each as it is"

    def _result(self, table: str, op: str, a: str, b: str) -> str:
        """The type's name; empty where there is none."""
        pair = max(self.letter(a), self.letter(b), key=ORDER.index)
        key = (table, pair) if table in ("IR_COMPARE", "IR_JOIN") else (table, op, pair)
        row = self.rows[key]
        word = row[1] if len(key) == 2 else row[2]
        rules = {"INT": lambda: "int", "BOOL": lambda: "bool", "DOUBLE": lambda: "float",
                 "COMMON": lambda: self.common(a, b), "FLOAT": lambda: self.wider(a, b),
                 "LEFT": lambda: "int" if a == "bool" else a, "SAME": lambda: a,
                 "EXACT": lambda: self.exact(a, b), "NONE": lambda: ""}  # fmt: skip
        return rules[word]()

    def matrix(self, table: str, *ops: str) -> str:
        """All pairs, the left operand's type first; the operators must have one table."""
        lines = ["| | " + " | ".join(self.kinds) + " |", "|" + "---|" * (len(self.kinds) + 1)]
        for a in self.kinds:
            cells = [{self.result(table, op, a, b) for op in ops} for b in self.kinds]
            if any(len(cell) > 1 for cell in cells):
                raise SystemExit(f"{' '.join(ops)}: not one table")
            lines.append(f"| **{a}** | " + " | ".join(min(cell) or "-" for cell in cells) + " |")
        return "\n".join(lines) + "\n"

    def columns(self, table: str, ops: tuple[str, ...]) -> str:
        """One operand: a line per type, a column per operator."""
        lines = ["| | " + " | ".join(ops) + " |", "|" + "---|" * (len(ops) + 1)]
        for a in self.kinds:
            cells = [self.result(table, op, a, a) or "-" for op in ops]
            lines.append(f"| **{a}** | " + " | ".join(cells) + " |")
        return "\n".join(lines) + "\n"
