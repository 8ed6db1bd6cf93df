"""Functions that change or whose source is hard to find: reloaded modules, cells of notebooks,
doctests, zip files, bytecode alone. Never a stale result, and errors name function and line."""

import doctest
import importlib
import linecache
import pickle
import py_compile
import runpy
import subprocess
import sys
import zipfile

import gpu
import pytest

MODULE = """\
import gpu

SCALE = {scale}


class Numbers:
    shift = {shift}

    @staticmethod
    @gpu.jit
    def kernel(x):
        x[0] = Numbers.shift + SCALE


def helper(v):
    return v * {factor}


@gpu.jit
def device_helper(v):
    return v + {addend}


@gpu.jit
def kernel(x):
    x[0] = device_helper(helper(SCALE)) + Numbers.shift


{more}@gpu.jit
def wrong(x):
    x[0, 1] = 1.0


@gpu.jit(check=True)
def faulty(x, i):
    x[i] = 1.0
"""
FIRST = {"scale": 2.0, "shift": 0.5, "factor": 10, "addend": 1, "more": ""}


def value(kernel, *args):
    x = gpu.zeros(1)
    kernel[1, 1](x, *args)
    return x.copy_to_host()[0]


def expected(v):
    return v["scale"] * v["factor"] + v["addend"] + v["shift"]


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Writes a module anew with other values; the bytecode's time stamp would hide quick changes."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    names = []

    def write(name="changing", **values):
        (tmp_path / f"{name}.py").write_text(MODULE.format(**{**FIRST, **values}))
        names.append(name)
        importlib.invalidate_caches()
        return {**FIRST, **values}

    write.folder = tmp_path
    yield write
    for name in names:
        sys.modules.pop(name, None)


CHANGES = [
    {"scale": 3.0},
    {"shift": 0.25},
    {"factor": 20},
    {"addend": 2},
    {"scale": 2, "factor": 3},
    {"scale": True},
    {"more": "\n\n\n"},
]


def must_fail(kernel, *args, error=gpu.TypingError):
    with pytest.raises(error) as caught:
        kernel[1, 1](gpu.zeros(1), *args)
        gpu.synchronize()
    return caught.value


def check_places(module, path, has_source=True):
    """Errors of compiling and of running name file, function and line, and show it if it is there."""
    for name, error, args, offset, text in (
        ("wrong", gpu.TypingError, (), 2, "x[0, 1] = 1.0"),
        ("faulty", IndexError, (5,), 2, "x[i] = 1.0"),
    ):
        kernel = getattr(module, name)
        line = kernel.py_func.__code__.co_firstlineno + offset
        caught = must_fail(kernel, *args, error=error)
        assert (caught.filename, caught.lineno) == (str(path), line)
        assert f'File "{path}", line {line}, in {name}' in str(caught)
        assert (f"    {text}\n" in str(caught)) == has_source


# ---- importlib.reload --------------------------------------------------------------------------


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_reload(device, package, change):
    first = package()
    import changing

    old, old_method = changing.kernel, changing.Numbers.kernel
    assert value(old) == expected(first) and value(old_method) == 2.5
    check_places(changing, changing.__file__)

    values = package(**change)
    importlib.reload(changing)
    assert value(changing.kernel) == expected(values)
    assert value(changing.Numbers.kernel) == values["shift"] + values["scale"]
    check_places(changing, changing.__file__)  # of the new file: lines may have moved
    # The old ones see the new globals, as Python's functions do.
    assert value(old) == expected(values)
    assert value(old_method) == values["shift"] + values["scale"]


def test_reload_there_and_back(device, package):
    package()
    import changing

    for _ in range(3):
        for change in CHANGES:
            values = package(**change)
            importlib.reload(changing)
            assert value(changing.kernel) == expected(values)


def test_a_helper_of_another_module_is_reloaded(device, package):
    package()
    import changing
    from changing import helper as kept

    @gpu.jit
    def by_module(x):
        x[0] = changing.helper(1.0) + changing.device_helper(0.0)

    @gpu.jit
    def by_name(x):
        x[0] = kept(1.0)

    assert (value(by_module), value(by_name)) == (11.0, 10.0)
    package(factor=30, addend=5)
    importlib.reload(changing)
    assert (value(by_module), value(by_name)) == (35.0, 10.0)
    changing.helper.__code__ = (lambda v: v - 1).__code__
    assert value(by_module) == 5.0


def test_code_that_is_swapped_in_place(device, package):
    """As IPython's autoreload does: old functions get the new code, defaults and attributes."""
    package()
    import changing

    old = dict(vars(changing))
    assert value(old["kernel"]) == expected(FIRST)
    values = package(factor=7, addend=9, shift=1.5)
    importlib.reload(changing)
    for name in ("helper", "device_helper", "kernel"):
        was, now = (getattr(f, "py_func", f) for f in (old[name], getattr(changing, name)))
        for part in ("__code__", "__defaults__", "__doc__", "__dict__"):
            setattr(was, part, getattr(now, part))
    changing.helper, changing.device_helper = old["helper"], old["device_helper"]
    assert value(old["kernel"]) == expected(values)


def test_a_reload_that_fails_changes_nothing(device, package):
    package()
    import changing

    (package.folder / "changing.py").write_text("SCALE = 100.0\nraise ValueError\n")
    with pytest.raises(ValueError):
        importlib.reload(changing)
    # What was run before the error was run.
    assert value(changing.kernel) == 100.0 * 10 + 1 + 0.5


def test_a_module_that_is_imported_anew(device, package):
    package()
    import changing

    old = changing.kernel
    del sys.modules["changing"]
    values = package(scale=50.0)
    new = importlib.import_module("changing")
    assert value(old) == expected(FIRST) and value(new.kernel) == expected(values)
    with pytest.raises(pickle.PicklingError, match="changing"):  # as of a function
        pickle.dumps(old)
    assert pickle.loads(pickle.dumps(new.kernel)) is new.kernel


# ---- Cells -------------------------------------------------------------------------------------


class Notebook:
    """Cells as ipykernel compiles them: each a file that is nowhere, its lines in linecache."""

    def __init__(self):
        self.scope = {"__name__": "__main__", "gpu": gpu}
        self.n = 0

    def cell(self, source):
        self.n += 1
        name = f"/tmp/ipykernel_17/{abs(hash(source))}.py"
        linecache.cache[name] = len(source), None, source.splitlines(True), name
        exec(compile(source, name, "exec"), self.scope)
        return name

    def value(self, text="kernel"):
        return value(self.scope[text])


def test_cells(device):
    book = Notebook()
    book.cell("def f(v):\n    return v + 1\n")
    book.cell("A = 5.0\n@gpu.jit\ndef kernel(x):\n    x[0] = f(A)\n")
    assert book.value() == 6.0
    first = book.scope["kernel"]
    book.cell("def f(v):\n    return v * 3\n")
    assert book.value() == 15.0
    book.cell("A = 2")
    assert book.value() == 6.0
    book.cell("@gpu.jit\ndef kernel(x):\n    x[0] = f(A) + f(1)\n")
    assert book.value() == 9.0 and value(first) == 6.0
    book.cell("@gpu.jit\ndef f(v):\n    return v - 1\n")
    assert book.value() == 1.0 and value(first) == 1.0
    book.cell("def f(v):\n    return v + 1\nA = 5.0\n")
    assert value(first) == 6.0


def test_names_that_come_and_go(device):
    book = Notebook()
    book.cell("@gpu.jit\ndef kernel(x):\n    x[0] = abs(later)\n")
    error = must_fail(book.scope["kernel"], error=gpu.UndefinedError)
    assert error.code == "UNKNOWN_NAME" and "x[0] = abs(later)" in str(error)
    book.cell("later = -4.0")
    assert book.value() == 4.0
    book.cell("def abs(v):\n    return v * 10\n")
    assert book.value() == -40.0
    book.cell("del abs")
    assert book.value() == 4.0
    book.cell("del later")
    assert must_fail(book.scope["kernel"], error=NameError).lineno == 3


def test_errors_in_cells_show_the_cell(device):
    book = Notebook()
    name = book.cell("# a comment\ndef f(x):\n    x[0, 0] = 1\n")
    book.cell("@gpu.jit\ndef kernel(x):\n    f(x)\n")
    error = must_fail(book.scope["kernel"])
    assert (error.filename, error.lineno) == (name, 3)
    assert "    x[0, 0] = 1\n" in str(error) and "in f" in str(error)
    name = book.cell("def f(x):\n    assert x.shape[0] > 1, 'too short'\n")
    gpu_error = must_fail(book.scope["kernel"], error=AssertionError)
    assert (gpu_error.filename, gpu_error.lineno) == (name, 2)


def test_two_cells_of_one_name(device):
    """A name like <string> is no place: the functions are told apart all the same."""
    scope = {"gpu": gpu}
    kernels = []
    for n in range(5):
        exec(f"@gpu.jit\ndef kernel(x):\n    x[0] = {n}.0\n", scope)
        kernels.append(scope["kernel"])
    assert [value(kernel) for kernel in kernels] == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_the_prompt(device):
    """What Python 3.14 keeps for lines of the prompt, by (file, function, first line)."""
    name, source = "<python-input-7>", "def wrong(x):\n    x[0, 1] = 1.0\n"
    scope = {}
    exec(compile(source, name, "exec"), scope)
    kept = getattr(linecache, "_interactive_cache", None)
    linecache._interactive_cache = {(name, "wrong", 1): (9, None, source.splitlines(True), name)}
    try:
        assert "    x[0, 1] = 1.0\n" in str(must_fail(gpu.jit(scope["wrong"])))
    finally:
        if kept is None:
            del linecache._interactive_cache
        else:
            linecache._interactive_cache = kept


# ---- Doctest, runpy, -O ------------------------------------------------------------------------

DOCTEST = '''
"""
>>> import gpu
>>> @gpu.jit
... def kernel(x):
...     x[0] = twice(4.0)
>>> x = gpu.zeros(1)
>>> kernel[1, 1](x)
>>> print(x.copy_to_host()[0])
8.0
>>> @gpu.jit
... def wrong(x):
...     x[0, 1] = 1.0
>>> try:
...     wrong[1, 1](x)
... except gpu.TypingError as error:
...     print(error.lineno, error.filename.startswith("<doctest"), "    x[0, 1] = 1.0" in str(error))
3 True True
>>> wrong[1, 1](x)
Traceback (most recent call last):
gpu.TypingError: ...
"""

def twice(v):
    return v + v
'''


def test_doctest(device):
    module = type(sys)("with_a_doctest")
    exec(DOCTEST, module.__dict__)
    result = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert (result.failed, result.attempted) == (0, 8)


def test_runpy(device, package):
    package("runnable", scale=4.0)
    for run in (
        lambda: runpy.run_path(str(package.folder / "runnable.py")),
        lambda: runpy.run_module("runnable", run_name="__main__"),
    ):
        scope = run()
        assert value(scope["kernel"]) == 4.0 * 10 + 1 + 0.5


@pytest.mark.parametrize(
    "flags", [["-O"], ["-OO"], ["-B", "-s"], ["-X", "no_debug_ranges"]], ids=str
)
def test_flags(tmp_path, flags):
    """-O leaves asserts out, of kernels too; without ranges errors have no columns, but lines."""
    path = tmp_path / "program.py"
    path.write_text(MODULE.format(**FIRST) + """
@gpu.jit
def asserting(x):
    "A docstring."
    assert x[0] == 1.0

gpu.select_device("cpu")
x = gpu.zeros(1)
kernel[1, 1](x)
print(x.copy_to_host()[0], __debug__)
try:
    asserting[1, 1](x)
    gpu.synchronize()
    print("nothing")
except AssertionError as error:
    print("line", error.lineno - asserting.py_func.__code__.co_firstlineno)
try:
    wrong[1, 1](x)
except gpu.TypingError as error:
    print(error.lineno - wrong.py_func.__code__.co_firstlineno, "x[0, 1] = 1.0" in str(error))
""")  # fmt: skip
    done = subprocess.run([sys.executable, *flags, str(path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    optimised = flags[0].startswith("-O")
    assert done.stdout.splitlines() == [
        f"21.5 {not optimised}", "nothing" if optimised else "line 3", "2 True"]  # fmt: skip


# ---- Where there is no source -------------------------------------------------------------------


def test_zipimport(device, tmp_path, monkeypatch):
    archive = tmp_path / "things.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("zipped.py", MODULE.format(**FIRST))
        file.writestr("folder/__init__.py", MODULE.format(**FIRST))
    monkeypatch.syspath_prepend(str(archive))
    for name, path in (("zipped", "zipped.py"), ("folder", "folder/__init__.py")):
        module = importlib.import_module(name)
        assert value(module.kernel) == value(pickle.loads(pickle.dumps(module.kernel))) == 21.5
        check_places(module, archive / path)
        del sys.modules[name]


def test_bytecode_alone(device, tmp_path, monkeypatch):
    source = tmp_path / "compiled.py"
    source.write_text(MODULE.format(**FIRST))
    py_compile.compile(str(source), str(tmp_path / "compiled.pyc"))
    source.unlink()
    monkeypatch.syspath_prepend(str(tmp_path))
    module = importlib.import_module("compiled")
    assert module.__file__.endswith(".pyc")
    assert value(module.kernel) == 21.5
    check_places(module, source, has_source=False)
    del sys.modules["compiled"]


def test_frozen(device):
    """A frozen module's code is bytecode with a name that is no file."""
    scope = {"__name__": "frozen_module"}
    exec(compile(MODULE.format(**FIRST), "<frozen frozen_module>", "exec"), scope)
    assert value(scope["kernel"]) == 21.5
    error = must_fail(scope["wrong"])
    assert 'File "<frozen frozen_module>", line 31, in wrong' in str(error) and error.lineno == 31


def test_a_file_that_became_another_one(device, package):
    """The line is that of the file of now, as in Python's tracebacks; function and number stay."""
    package("edited")
    edited = importlib.import_module("edited")
    check_places(edited, edited.__file__)
    (package.folder / "edited.py").write_text("\n")
    error = must_fail(edited.wrong)
    assert error.lineno == edited.wrong.py_func.__code__.co_firstlineno + 2
    assert "in wrong" in str(error) and "x[0, 1] = 1.0" not in str(error)


def test_pickled_functions_whose_source_is_gone(tmp_path):
    cloudpickle = pytest.importorskip("cloudpickle", reason="cloudpickle is not installed")
    path = tmp_path / "gone.py"
    scope = {"__name__": "gone"}
    exec(compile(MODULE.format(**FIRST), str(path), "exec"), scope)
    data = cloudpickle.dumps([scope["kernel"], scope["wrong"], scope["faulty"]])
    program = f"""
import pickle, gpu
kernel, wrong, faulty = pickle.loads({data!r})
gpu.select_device("cpu")
x = gpu.zeros(1)
kernel[1, 1](x)
print(x.copy_to_host()[0])
for kernel, args in (wrong, ()), (faulty, (5,)):
    try:
        kernel[1, 1](x, *args)
        gpu.synchronize()
    except gpu.Error as error:
        print(type(error).__name__, error.lineno, error.filename, f"in {{kernel.__name__}}" in str(error))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "21.5", f"TypingError 31 {path} True", f"KernelIndexError 36 {path} True"]  # fmt: skip
