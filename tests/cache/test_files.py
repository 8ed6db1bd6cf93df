"""Files that are broken, cut short or another's; folders that are full, read-only or refused."""

import os
import random
import resource
import shutil
import subprocess
import sys
import warnings

import gpu
import pytest
from cachekit import FAKE, expect, files, launch, origin, program, run
from gpu import _gpujit

KERNELS = [
    "@gpu.jit\ndef entry(x):\n    x[gpu.grid(1)] = 1\n",
    "@gpu.jit\ndef entry(x):\n    x[gpu.grid(1)] = 2\n",
    "@gpu.jit\ndef entry(x):\n    x[gpu.grid(1)] = 3 + len(x)\n",
]
VALUES = [1.0, 2.0, 4.0]


def launch_all(wanted):
    for text, value in zip(KERNELS, VALUES, strict=True):
        found = launch(program(text)["entry"])
        assert found[0] in wanted
        expect(found, found[0], value)


def test_random_bytes_into_files(device, folder):
    launch_all(["compiled"])
    rng = random.Random(7)
    whole = {path: path.read_bytes() for path in files(folder)}
    for _ in range(15):
        for path, content in whole.items():
            changed = bytearray(content)
            how = rng.randrange(4)
            if how == 0:
                changed = changed[: rng.randrange(len(changed))]
            elif how == 1:
                changed += bytes(rng.randrange(1, 50))
            else:
                for _ in range(rng.choice([1, 3, 100])):
                    changed[rng.randrange(len(changed))] ^= rng.randrange(1, 256)
            path.write_bytes(changed)
        launch_all(["compiled"])
        launch_all(["disk"])


def test_files_swapped(device, folder):
    launch_all(["compiled"])
    paths = files(folder)
    contents = [path.read_bytes() for path in paths]
    for path, content in zip(paths, contents[1:] + contents[:1], strict=True):
        path.write_bytes(content)
    launch_all(["compiled"])
    launch_all(["disk"])


def test_a_whole_file_that_is_no_artifact(device, folder):
    """A checksum that fits, over bytes that are not what their key says."""
    import hashlib

    launch_all(["compiled"])
    for path in files(folder):
        content = path.read_bytes()
        for payload in (b"", b"\0\0\0\0A", b"\0\0\0\0Q\1\0\0\0\1\0\0\0\0\0\0\0\0", os.urandom(200)):
            size = len(payload).to_bytes(8, "little")
            head = content[:24]
            checksum = hashlib.blake2b(head + size + payload, digest_size=16).digest()
            path.write_bytes(head + size + checksum + payload)
            launch_all(["compiled", "disk"])


def once(caught):
    return [str(w.message) for w in caught if issubclass(w.category, gpu.CacheWarning)]


PROGRAM = """
import sys, warnings
import gpu
def kernel(n):
    scope = {"gpu": gpu}
    exec(f"def entry(x):\\n    x[gpu.grid(1)] = {n}\\n", scope)
    return gpu.jit(scope["entry"])
warnings.simplefilter("always")
with warnings.catch_warnings(record=True) as caught:
    x = gpu.zeros(1)
    for n in range(4):
        kernel(n)[1, 1](x)
        assert x.copy_to_host()[0] == n
print(len([w for w in caught if w.category is gpu.CacheWarning]))
print(*[w.message for w in caught])
"""


def test_a_folder_that_others_can_write(tmp_path):
    (tmp_path / "c").mkdir()
    (tmp_path / "c").chmod(0o777)
    shown = run(PROGRAM, tmp_path / "c")
    assert shown.startswith("1\n") and "is not used" in shown and "chmod 700" in shown
    assert files(tmp_path / "c") == []


def test_a_folder_of_another_user(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder away")
    (tmp_path / "c").mkdir()
    os.chown(tmp_path / "c", 12345, -1)
    shown = run(PROGRAM, tmp_path / "c")
    assert shown.startswith("1\n") and "belongs to user 12345" in shown


def test_a_read_only_folder(tmp_path):
    if os.geteuid() == 0:
        shown = run(PROGRAM, "/sys/kernel")  # where not even root makes files
    else:
        (tmp_path / "c").mkdir()
        (tmp_path / "c").chmod(0o500)
        shown = run(PROGRAM, tmp_path / "c")
    assert shown.startswith("1\n") and "could not be kept" in shown


def test_no_folder_can_be_made():
    shown = run(PROGRAM, "/proc/none/here")
    assert shown.startswith("1\n") and "cannot be kept in /proc/none/here" in shown


def test_an_empty_name_keeps_nothing(tmp_path):
    shown = run(PROGRAM, "", HOME=str(tmp_path), XDG_CACHE_HOME=str(tmp_path))
    assert shown.startswith("0\n") and list(tmp_path.iterdir()) == []


def test_the_default_folder(tmp_path):
    env = {k: v for k, v in os.environ.items() if k not in ("GPUJIT_CACHE_DIR", "XDG_CACHE_HOME")}
    for more, where in (({}, ".cache/gpujit"), ({"XDG_CACHE_HOME": f"{tmp_path}/x"}, "x/gpujit")):
        env |= {"HOME": str(tmp_path), "GPUJIT_DEVICE": "cpu", **more}
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True
        )
        assert done.stdout.startswith("0\n"), done.stderr
        assert len(files(tmp_path / where)) == 4
        assert (tmp_path / where).stat().st_mode & 0o777 == 0o700


FULL = "import resource, signal\nresource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))\n" + PROGRAM


def test_a_disk_without_room(tmp_path):
    """No file can grow beyond 200 bytes: nothing is kept, nothing is left, it is said once."""
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 200
    shown = run(FULL, tmp_path / "c")
    assert shown.startswith("1\n") and "could not be kept" in shown
    assert [p.name for p in (tmp_path / "c").iterdir()] == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")
def test_a_file_system_without_room(tmp_path):
    (tmp_path / "c").mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4k,mode=700", "none", str(tmp_path / "c")],
        capture_output=True,
    )
    if mounted.returncode:
        pytest.skip("cannot mount here")
    try:
        shown = run(PROGRAM, tmp_path / "c")
        assert shown.startswith("1\n") and "No space left" in shown
    finally:
        subprocess.run(["umount", str(tmp_path / "c")], check=True)


def test_the_cap(tmp_path):
    run(PROGRAM.replace("range(4)", "range(40)"), tmp_path / "c", GPUJIT_CACHE_BYTES="20000")
    assert 1 <= len(files(tmp_path / "c")) < 40
    assert sum(path.stat().st_size for path in files(tmp_path / "c")) <= 20000


def test_a_folder_that_goes_while_it_is_used(folder):
    launch_all(["compiled"])
    shutil.rmtree(folder)
    with warnings.catch_warnings(record=True) as caught:
        launch_all(["compiled"])
        launch_all(["disk"])
    assert once(caught) == []


def test_a_kernel_that_does_not_compile(device):
    """A kernel that fails to compile leaves nothing, and compiles when it is mended."""
    scope = program("N = 'x'\n@gpu.jit\ndef entry(x):\n    x[gpu.grid(1)] = N\n")
    with pytest.raises(gpu.TypingError):
        scope["entry"][1, 1](gpu.zeros(1))
    scope["N"] = 5
    scope["entry"][1, 1](gpu.zeros(1))
    assert origin(scope["entry"]) == "compiled"


@pytest.fixture
def driver():
    """Orders to the stand-in: fields of struct fake_cuda (tests/runtime/fake_cuda.h)."""
    import ctypes

    if not FAKE:
        pytest.skip("the driver is no stand-in")
    gpu.select_device("cuda")
    library = ctypes.CDLL(os.environ["GPUJIT_CUDA_LIBRARY"])
    library.fake_cuda.restype = ctypes.POINTER(ctypes.c_int * 7)
    orders = library.fake_cuda().contents
    yield orders
    orders[LINK_RESULT] = orders[CUBIN_RESULT] = 0
    gpu.select_device("cpu")


LINK_RESULT, CUBIN_RESULT = 5, 6  # behind init, load, launch, wait and alloc


def kinds(folder):
    return sorted(entry[3] for entry in _gpujit._cache_entries())


def test_a_cubin_that_the_driver_refuses(driver, folder):
    """The PTX is loaded instead; one from disk is compiled anew."""
    driver[CUBIN_RESULT] = 209  # CUDA_ERROR_NO_BINARY_FOR_GPU
    assert launch(program(KERNELS[0])["entry"])[0] == "compiled"
    assert kinds(folder) == ["cubin", "ptx"]
    assert launch(program(KERNELS[0])["entry"])[0] == "compiled"
    driver[CUBIN_RESULT] = 0
    assert launch(program(KERNELS[0])["entry"])[0] == "disk"


def test_a_linker_that_fails(driver, folder):
    driver[LINK_RESULT] = 999
    for where in ("compiled", "disk"):
        assert launch(program(KERNELS[0])["entry"])[0] == where
        assert kinds(folder) == ["ptx"]
    driver[LINK_RESULT] = 0
    assert launch(program(KERNELS[0])["entry"])[0] == "disk"
    assert kinds(folder) == ["cubin", "ptx"]  # made of the PTX that was there


def test_other_options_of_the_driver_make_another_cubin(driver, folder):
    for option, expected in (("", 1), ("opt_level=3", 1), ("max_registers=32", 2)):
        launch(program(KERNELS[0].replace("@gpu.jit", f"@gpu.jit({option})"))["entry"])
        assert kinds(folder).count("cubin") == expected
