"""Handles by which other processes open an array's memory."""

from __future__ import annotations

from gpu import _gpujit

TYPE_CHECKING = False  # typing itself would double the time of the import
if TYPE_CHECKING:
    from typing import Any


class IpcHandle:
    """An array that another process can open; array.get_ipc_handle() makes it, pickling sends it.

    There open() returns a gpu array over the same memory, and close() lets go of it; `with` does
    both. The process that made the handle keeps its array until the others have closed theirs: the
    handle holds it. All processes see what each writes once its device was synchronized; who writes
    when is between them. On a GPU the process that made the handle cannot open it itself.
    """

    def __init__(self, array: Any) -> None:
        self._array = array  # not pickled
        self._memory = _gpujit._ipc_get(array)
        self._view = array.shape, array.strides, _name(array.dtype)
        self._kind = array.device.partition(":")[0]
        self._opened: Any = None

    @property
    def size(self) -> int:
        """Bytes from the first to the last element."""
        return self._memory[3]

    def __getstate__(self) -> dict[str, Any]:
        return {"_memory": self._memory, "_view": self._view, "_kind": self._kind}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _array=None, _opened=None)

    def open(self) -> Any:
        """The array, on the current device, which must be of the kind that the memory is of."""
        if self._opened is not None:
            raise _gpujit.ArgumentError("this handle is open already; close() it first")
        kind = _gpujit._device_info(None)["kind"].replace("python", "cpu")
        if kind != self._kind:
            raise _gpujit.ArgumentError(
                f"the memory is of a device of kind '{self._kind}', the current one is '{kind}';"
                f" write gpu.select_device('{self._kind}')"
            )
        shape, strides, dtype = self._view
        span = _gpujit._ipc_open(*self._memory[:4])
        self._opened = _gpujit._strided(span, shape, strides, self._memory[4], dtype)
        return self._opened

    def close(self) -> None:
        """Let go of what open() returned: the memory is closed when no array of it is left."""
        if self._opened is None:
            raise _gpujit.ArgumentError("this handle is not open")
        self._opened = None

    def __enter__(self) -> Any:
        return self.open()

    def __exit__(self, *exception: object) -> None:
        self.close()


def _name(dtype: Any) -> str:
    return getattr(dtype, "name", None) or str(dtype)
