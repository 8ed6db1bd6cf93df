"""Types as values of kernels: `gpu.float32`, `np.int16`, `float`, an array's dtype."""

from __future__ import annotations

from gpu._python import operations
from gpu._python.scalars import Scalar, lift

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gpu._python.scalars import Int

NUMBER_KINDS = {"bool": (0,), "int": (0, 1), "float": (2,)}


class TypeObject:
    """A scalar type: called it converts, as a cast does."""

    constant_attributes = True

    def __init__(self, cls: Any) -> None:
        self.cls = cls

    def __call__(self, x: Any = 0) -> Scalar:
        if self.cls.name == "bool" and (x is None or isinstance(x, tuple)):
            return self.cls(bool(x))
        lifted = lift(x)
        if lifted is NotImplemented:
            message = f"argument 1 of {self.cls.name} cannot be {type(x).__name__}"
            raise operations.error("TypingError", message)
        return operations.cast(lifted, self.cls)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TypeObject) and other.cls is self.cls

    def __hash__(self) -> int:
        return hash(self.cls)

    def __repr__(self) -> str:
        return self.cls.name

    @property
    def type(self) -> TypeObject:
        return self

    @property
    def itemsize(self) -> Int:
        from gpu._python.scalars import Int

        bits = {"bool": 8, "float16": 16, "bfloat16": 16, "float32": 32}
        return Int(
            (64 if self.cls.format == "float64" else bits.get(self.cls.name, self.cls.bits)) // 8
        )

    def holds(self, x: Any) -> bool:
        """isinstance(x, this): as Python has it for the values that types stand for."""
        if not isinstance(x, Scalar):
            return False
        if self.cls.typed:
            return type(x) is self.cls
        if self.cls.name == "int":
            return not x.typed and x.kind < 2
        return type(x) is self.cls or (self.cls.name == "float" and x.name == "float64")
