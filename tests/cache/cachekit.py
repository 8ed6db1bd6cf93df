"""What tests of the cache share: programs in this process and in others, and their origins."""

import os
import subprocess
import sys
import types
from pathlib import Path

import gpu

FAKE = "fake_cuda" in os.environ.get("GPUJIT_CUDA_LIBRARY", "")


def program(source: str, name: str = "program", file: str = "program.py", **names) -> dict:
    """Runs a module's text anew, as another process would. Its kernels are new ones."""
    module = types.ModuleType(name)
    module.__dict__.update(gpu=gpu, **names)
    exec(compile(source, file, "exec"), module.__dict__)
    return module.__dict__


def origin(kernel) -> str:
    """Of what was compiled or found last: "disk", "compiled", "compiled, not kept"."""
    return kernel._events()[-1][0]


def launch(kernel, *args, n=1):
    """Of a kernel that fills its first array: the origin, and the values where something runs."""
    x = gpu.zeros(n)
    kernel[1, n](x, *args)
    if FAKE and x.device != "cpu":
        return origin(kernel), None
    return origin(kernel), x.copy_to_host().tolist()


def expect(found, where: str, *values) -> None:
    """Of `launch`."""
    assert found[0] == where
    assert found[1] is None or found[1] == list(values)


def run(source: str, folder=None, wait=True, arguments=(), flags=(), **env):
    """A program in another process, with the cache in `folder`."""
    variables = {**os.environ, "GPUJIT_DEVICE": "cpu", **env}
    if folder is not None:
        variables["GPUJIT_CACHE_DIR"] = str(folder)
    command = [sys.executable, *flags, "-c", source, *map(str, arguments)]
    if not wait:
        return subprocess.Popen(command, env=variables, text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)  # fmt: skip
    done = subprocess.run(command, env=variables, text=True, capture_output=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def files(folder: Path) -> list[Path]:
    return sorted(Path(folder).glob("*.gpujit"))
