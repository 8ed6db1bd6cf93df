"""Functions of numba.cuda that are more than another name: reductions, compilation to PTX, IPC."""

from __future__ import annotations

from gpu import _gpujit
from gpu._jit import _signatures, jit, void

TYPE_CHECKING = False  # typing itself would double the time of the import
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

BLOCK = 128
MOST_BLOCKS = 1024


class Reduce:
    """A reduction of one-dimensional arrays by a function of two elements, which may be grouped but
    not exchanged: sum_of = Reduce(lambda a, b: a + b), then sum_of(array).

    sum_of(arr, size=None, res=None, init=0, stream=0): of the first `size` elements, beginning with
    `init`; returned, or stored in res[0] on the device without waiting. Which elements meet depends
    on the size alone, so a result does not change from run to run.
    """

    def __init__(self, functor: Callable[[Any, Any], Any]) -> None:
        self._functor = getattr(functor, "py_func", functor)
        self._kernel = _gpujit.Kernel(_reducer(self._functor), (), {})

    def __call__(
        self, arr: Any, size: int | None = None, res: Any = None, init: Any = 0, stream: Any = 0
    ) -> Any:
        if getattr(arr, "ndim", None) != 1:
            raise _gpujit.ArgumentTypeError("a reduction takes an array of one dimension")
        n = arr.shape[0] if size is None else size
        if not 0 <= n <= arr.shape[0]:
            raise _gpujit.ArgumentError(f"size is {n}, the array has {arr.shape[0]} elements")
        if n == 0:
            if res is None:
                return init
            res[:1].fill(init, stream)
            return None
        each = -(-n // (MOST_BLOCKS * BLOCK)) * BLOCK  # elements of a block
        blocks = -(-n // each)
        parts = _gpujit.empty(blocks, arr.dtype, stream=stream)
        out = parts[:1] if res is None else res
        self._kernel[blocks, BLOCK, stream](arr, n, each, parts, False, init)
        self._kernel[1, BLOCK, stream](parts, blocks, blocks, out, True, init)
        return out.copy_to_host(stream=stream)[0] if res is None else None


def _reducer(functor: Callable[[Any, Any], Any]) -> Callable[..., None]:
    threads = BLOCK

    def reduce_parts(arr, n, each, out, last, init):
        held = _gpujit.shared.array(threads, arr.dtype)
        t = _gpujit.threadIdx.x
        first = _gpujit.blockIdx.x * each
        own = (min(each, n - first) + threads - 1) // threads
        start = first + t * own
        end = min(start + own, first + each, n)
        if start < end:
            value = arr[start]
            for i in range(start + 1, end):
                value = functor(value, arr[i])
            held[t] = value
        count = (min(each, n - first) + own - 1) // own  # threads that hold one
        step = 1
        while step < count:
            _gpujit.syncthreads()
            if t % (2 * step) == 0 and t + step < count:
                held[t] = functor(held[t], held[t + step])
            step *= 2
        if t == 0:
            out[_gpujit.blockIdx.x] = functor(init, held[0]) if last else held[0]

    return reduce_parts


reduce = Reduce


def compile_ptx(
    pyfunc: Callable[..., Any],
    sig: Any,
    debug: bool | None = None,
    lineinfo: bool = False,
    device: bool = False,
    fastmath: bool = False,
    cc: tuple[int, int] | None = None,
    opt: Any = None,
    abi: str = "numba",
    abi_info: Any = None,
    forceinline: bool = False,
    launch_bounds: Any = None,
) -> tuple[str, Any]:
    """The PTX of a kernel for a signature, and the type of its result, which is void.

    cc is the compute capability, (9, 0); without it that of the current GPU. No GPU is needed.
    """
    if device:
        raise _gpujit.UnsupportedError(
            "device functions are compiled with the kernel that calls them; PTX is made of kernels"
        )
    texts = _signatures(sig)
    if len(texts) != 1:
        raise _gpujit.ArgumentError(f"one signature is needed, not {len(texts)}")
    options = {} if opt is None else {"opt": opt}
    kernel = jit(
        debug=bool(debug),
        lineinfo=lineinfo,
        fastmath=fastmath,
        launch_bounds=launch_bounds,
        **options,
    )(pyfunc)
    return kernel.ptx(texts[0], None if cc is None else f"sm_{cc[0]}{cc[1]}"), void


def compile(
    pyfunc: Callable[..., Any],
    sig: Any,
    debug: bool | None = None,
    lineinfo: bool = False,
    device: bool = True,
    fastmath: bool = False,
    cc: tuple[int, int] | None = None,
    opt: Any = None,
    abi: str = "c",
    abi_info: Any = None,
    output: str = "ptx",
    forceinline: bool = False,
    launch_bounds: Any = None,
) -> tuple[str, Any]:
    """compile_ptx for output="ptx"; Numba's default device=True is an error here."""
    if output != "ptx":
        raise _gpujit.UnsupportedError(f"output='{output}': kernels are compiled to PTX, 'ptx'")
    return compile_ptx(
        pyfunc, sig, debug, lineinfo, device, fastmath, cc, opt, launch_bounds=launch_bounds
    )


def compile_for_current_device(pyfunc: Callable[..., Any], sig: Any, **options: Any) -> Any:
    """compile() for the current device."""
    return compile(pyfunc, sig, **options)


def compile_ptx_for_current_device(pyfunc: Callable[..., Any], sig: Any, **options: Any) -> Any:
    """compile_ptx() for the current device."""
    return compile_ptx(pyfunc, sig, **options)


def declare_device(name: str, sig: Any, link: Any = None, **options: Any) -> Any:
    """A function that is linked to kernels, which is not there: an error that says so."""
    raise _gpujit.UnsupportedError(
        f"'{name}': nothing is linked to kernels; write the function in Python"
    )


class open_ipc_array:
    """with open_ipc_array(handle, shape, dtype) as array: the memory of another process's array.

    `handle` is what array.get_ipc_handle() made there; the memory must be contiguous.
    """

    def __init__(
        self, handle: Any, shape: Any, dtype: Any, strides: Any = None, offset: int = 0
    ) -> None:
        if strides is not None or offset:
            raise _gpujit.UnsupportedError("the handle knows strides and offset: leave them away")
        self._handle, self._shape, self._dtype = handle, shape, dtype

    def __enter__(self) -> Any:
        return self._handle.open().reshape(-1).view(self._dtype).reshape(self._shape)

    def __exit__(self, *exception: object) -> None:
        self._handle.close()


def is_supported_version() -> bool:
    """Whether the version of CUDA is one that gpujit works with; the CPU device needs none."""
    return _gpujit.is_available()
