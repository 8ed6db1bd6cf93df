"""The command `gpujit`: a kernel's PTX and the stages before it, and what is installed here.

Exit codes: 0 done; 1 the function does not compile, the error is on stderr, or a file of the cache
is broken; 2 wrong usage, or no such file or function.
"""

from __future__ import annotations

import argparse
import os
import sys
from types import ModuleType
from typing import Any

import gpu
from gpu import _cache, _gpujit

TEXTS = {
    "ptx": "PTX, as cuModuleLoadData takes it",
    "ir": "the compiler's own IR (--stage)",
    "llvm": "LLVM's IR after its passes",
    "bytecode": "the decoded bytecode",
}
MODULE_NAME = "__gpujit_main__"


class UsageError(Exception):
    """Something in the command is not there."""


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="gpujit", description=__doc__.partition("\n")[0])
    top.add_argument("--version", action="version", version=f"gpujit {gpu.__version__}")
    verbs = top.add_subparsers(dest="verb", required=True, metavar="COMMAND")
    for verb, what in TEXTS.items():
        one = verbs.add_parser(verb, help=what, description=f"Prints {what}.")
        one.add_argument("where", metavar="FILE:FUNCTION", help="saxpy.py:saxpy, or file.py:f.g")
        if verb != "bytecode":
            one.add_argument(
                "signature",
                nargs="?",
                metavar="SIGNATURE",
                help='"int, float32, float32[:], float32[:]"; may be left out if @gpu.jit has one',
            )
            one.add_argument("--arch", help="sm_90; without it that of the GPU here, else sm_75")
        if verb == "ir":
            one.add_argument("--stage", default="core", choices=["ssa", "typed", "core", "opt"])
        one.add_argument("--output", "-o", metavar="FILE", help="write there instead of stdout")
    cache = verbs.add_parser("cache", help="compiled kernels on disk: path, list, verify, ...")
    what_of = cache.add_subparsers(dest="cache_verb", required=True, metavar="WHAT")
    for verb, what in _cache.VERBS.items():
        one = what_of.add_parser(verb, help=what, description=f"Says {what}.")
        if verb == "prune":
            one.description = "Removes what is broken or was not used for longest."
            one.add_argument("--bytes", type=int, metavar="N", help="leave N bytes at most")
    verbs.add_parser("info", help="driver, devices, libdevice, versions, and what is missing")
    return top


def package_of(path: str) -> tuple[str, str]:
    """The folder to import from, and the module's full name if the file is part of a package."""
    folder, file = os.path.split(os.path.abspath(path))
    parts = [] if file == "__init__.py" else [os.path.splitext(file)[0]]
    while os.path.isfile(os.path.join(folder, "__init__.py")):
        folder, name = os.path.split(folder)
        parts.insert(0, name)
    return folder, ".".join(parts) if len(parts) > 1 or file == "__init__.py" else ""


def execute(path: str) -> ModuleType:
    import importlib.machinery
    import importlib.util

    folder, name = package_of(path)
    sys.path.insert(0, folder)
    if name:
        return importlib.import_module(name)
    loader = importlib.machinery.SourceFileLoader(MODULE_NAME, path)
    spec = importlib.util.spec_from_file_location(MODULE_NAME, path, loader=loader)
    assert spec is not None, "a loader was given"
    module = importlib.util.module_from_spec(spec)
    sys.modules[MODULE_NAME] = module  # dataclasses and pickle look for it there
    loader.exec_module(module)
    return module


def print_traceback(error: BaseException) -> None:
    """From the first line that is neither ours nor of the import system."""
    import traceback

    trace = error.__traceback__
    while trace and (
        "importlib" in (file := trace.tb_frame.f_code.co_filename) or file == __file__
    ):
        trace = trace.tb_next
    traceback.print_exception(type(error), error, trace)


def load(path: str) -> ModuleType:
    """Runs the file as an import would; `if __name__ == "__main__"` stays untaken.

    What it prints goes to stderr: stdout is the text that was asked for.
    """
    if not os.path.isfile(path):
        raise UsageError(f"no file {path}")
    import contextlib

    write, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        with contextlib.redirect_stdout(sys.stderr):
            return execute(path)
    except SystemExit as error:
        raise UsageError(f"{path} ends the program when imported: exit({error.code!r})") from None
    except Exception as error:
        print_traceback(error)
        raise UsageError(f"{path} cannot be imported: {error}") from None
    finally:
        sys.dont_write_bytecode = write


def find(where: str) -> _gpujit.Kernel[...]:
    path, colon, name = where.rpartition(":")
    if not colon or not path or not name:
        raise UsageError(f"'{where}' is not FILE:FUNCTION, such as saxpy.py:saxpy")
    target: Any = load(path)
    for part in name.split("."):
        inside = functions(target)
        try:
            target = getattr(target, part)
        except AttributeError:
            known = ", ".join(sorted(inside)) or "none"
            raise UsageError(f"{path} has no '{name}'; functions there: {known}") from None
    if isinstance(target, _gpujit.Kernel):
        return target
    if not hasattr(target, "__code__"):
        raise UsageError(f"'{name}' in {path} is no function but '{type(target).__name__}'")
    kernel: _gpujit.Kernel[...] = gpu.jit(target)
    return kernel


def functions(scope: object) -> list[str]:
    """Names of a module or class, not those that it imported."""
    home = getattr(scope, "__module__", None) or getattr(scope, "__name__", None)
    return [
        name
        for name, value in getattr(scope, "__dict__", {}).items()
        if isinstance(value, _gpujit.Kernel)
        or (hasattr(value, "__code__") and getattr(value, "__module__", None) == home)
    ]


def text_of(kernel: _gpujit.Kernel[...], args: argparse.Namespace) -> str:
    if args.verb == "bytecode":
        return kernel.bytecode()
    signature = args.signature
    if signature is None and not kernel.declared:
        raise UsageError(
            f'give a signature for {kernel.__name__}, such as "int, float32, float32[:]"'
        )
    arch = args.arch
    if args.verb == "ptx":
        return kernel.ptx(signature, arch)
    # Texts of a GPU target, as its PTX is made from; `--arch host` is the CPU device's.
    arch = arch or _gpujit.default_arch()
    if args.verb == "llvm":
        return kernel.llvm(signature, arch)
    return kernel.ir(args.stage, signature, arch)


def info() -> str:
    """Versions, libdevice, driver and devices, one "key: value" a line."""
    runtime, libdevice, looked, llvm = _gpujit.info_text()
    lines = [
        f"gpujit: {gpu.__version__}",
        f"python: {sys.version.split()[0]} ({sys.executable})",
        f"llvm: {llvm}",
        f"libdevice: {libdevice or 'not found'}",
    ]
    if not libdevice:
        lines += [
            f"libdevice looked in: {looked}",
            "libdevice hint: math functions on a GPU need it; pip install nvidia-cuda-nvcc, "
            "or set GPUJIT_LIBDEVICE to libdevice.10.bc",
        ]
    return "\n".join(lines) + "\n" + runtime


def write(text: str, output: str | None) -> None:
    if not text.endswith("\n"):
        text += "\n"
    try:
        if output is not None:
            with open(output, "w", encoding="utf-8") as file:
                file.write(text)
        elif sys.stdout is None:
            raise UsageError("stdout is closed: name a file with --output")
        else:
            sys.stdout.write(text)
            sys.stdout.flush()
    except BrokenPipeError:  # `| head`: the reader has what it wants
        sys.stdout = None  # type: ignore[assignment]  # whose end would be another error
    except OSError as error:
        if output is None:
            sys.stdout = None  # type: ignore[assignment]
        raise UsageError(f"{output or 'stdout'} cannot be written: {error.strerror}") from None


def parse(argv: list[str] | None) -> argparse.Namespace:
    """The signature may also stand behind options, where argparse does not look for it."""
    top = parser()
    args, rest = top.parse_known_args(argv)
    if rest and not rest[0].startswith("-") and getattr(args, "signature", "") is None:
        args.signature = rest.pop(0)
    if rest:
        top.error(f"unrecognized arguments: {' '.join(rest)}")
    return args


def main(argv: list[str] | None = None) -> int:
    args = parse(argv)
    try:
        if args.verb == "info":
            write(info(), None)
            return 0
        if args.verb == "cache":
            text, code = _cache.run(args.cache_verb, getattr(args, "bytes", None))
            write(text, None)
            return code
        write(text_of(find(args.where), args), args.output)
        return 0
    except UsageError as error:
        print(f"gpujit: {error}", file=sys.stderr)
        return 2
    except (gpu.ArgumentError, gpu.ArgumentTypeError) as error:  # signature, architecture
        print(f"gpujit: {error}", file=sys.stderr)
        return 2
    except gpu.Error as error:
        print(f"gpujit: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
