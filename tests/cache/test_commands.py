"""gpujit cache path, list, verify, prune, clear."""

import os
import subprocess
import sys

import pytest
from cachekit import files, run

KERNELS = """
import gpu
def kernel(n):
    scope = {"gpu": gpu, "__name__": "many"}
    exec(f"def entry(x):\\n    x[gpu.grid(1)] = {n}\\n", scope)
    return gpu.jit(scope["entry"])
for n in range(3):
    kernel(n)[1, 1](gpu.zeros(1))
"""


def cache(folder, *arguments):
    env = {**os.environ, "GPUJIT_CACHE_DIR": str(folder), "GPUJIT_DEVICE": "cpu"}
    command = [sys.executable, "-m", "gpu", "cache", *arguments]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def filled(tmp_path):
    folder = tmp_path / "c"
    run(KERNELS, folder)
    assert len(files(folder)) == 3
    return folder


def test_path(tmp_path):
    assert cache(tmp_path / "c", "path") == (0, f"{tmp_path / 'c'}\n", "")
    assert not (tmp_path / "c").exists()
    code, out, _ = cache("", "path")
    assert code == 0 and out.startswith("nothing is kept")


def test_list(filled):
    code, out, _ = cache(filled, "list")
    lines = out.splitlines()
    assert code == 0 and len(lines) == 4
    assert lines[0].startswith(f"{filled}: 3 files, ") and lines[0].endswith(" of 512.0 MiB")
    for line in lines[1:]:
        assert "many.entry(float64[::1]) for host, object" in line and "just now" in line
    assert cache(filled.parent / "none", "list")[1].startswith(f"{filled.parent / 'none'}: 0 files")


def test_verify(filled):
    assert cache(filled, "verify") == (0, "3 files, 0 broken\n", "")
    path = files(filled)[1]
    path.write_bytes(path.read_bytes()[:-1])
    assert cache(filled, "verify") == (1, f"broken: {path.name}\n3 files, 1 broken\n", "")
    assert "broken" in cache(filled, "list")[1]


def test_prune(filled):
    path = files(filled)[1]
    path.write_bytes(b"junk")
    assert cache(filled, "prune") == (0, "1 files removed\n", "")
    assert len(files(filled)) == 2 and path not in files(filled)
    old = files(filled)[0]
    os.utime(old, (1, 1))
    assert cache(filled, "prune", "--bytes", str(files(filled)[1].stat().st_size))[0] == 0
    assert old not in files(filled) and len(files(filled)) == 1


def test_clear(filled):
    (filled / "README").write_text("mine")
    assert cache(filled, "clear") == (0, "3 files removed\n", "")
    assert [path.name for path in filled.iterdir()] == ["README"]


def test_wrong_use(tmp_path):
    assert cache(tmp_path, "destroy")[0] == 2
    assert cache(tmp_path)[0] == 2
    assert cache(tmp_path, "prune", "--bytes", "many")[0] == 2
