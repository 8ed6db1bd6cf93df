"""Assemble the PTX of every golden and of every math function for the architectures we promise.

    check_ptxas.py PTXAS TOOL GOLDENS

Prints each kernel that ptxas or the compiler refuses, exits 1 if there was one.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

TARGETS = ["sm_75", "sm_80", "sm_90", "sm_100", "sm_120"]
INTRIN = Path(__file__).resolve().parents[2] / "ir" / "intrin.def"
ROW = re.compile(r'IR_INTRIN\(\w+, "(math\.\w+)", \w+, (\d), (-?\d), \w+, "(__nv_\w+)"')


def math_text() -> str:
    """One kernel that calls every function of libdevice that the table names, in both widths."""
    lines = ["module core", "", 'func @0 "math" kernel (ptr.global "x", i32 "i") {', "b0:"]
    lines += ["  %1 = param ptr.global 0", "  %2 = param i32 1"]
    count = 2
    for width, align in (("f32", 2), ("f64", 3)):
        for path, least, most, callee in ROW.findall(INTRIN.read_text()):
            n = 2 if callee in ("__nv_hypot", "__nv_ldexp") else max(int(least), 1)
            if path == "math.log":
                n = 1
            value, result = count + 1, count + 2
            second = "%2" if callee == "__nv_ldexp" else f"%{value}"
            operands = f"%{value}" if n == 1 else f"%{value}, {second}"
            lines.append(f"  %{value} = load {width} align({align}) %1")
            lines.append(f"  %{result} = intrin {width} {path} {operands}")
            lines.append(f"  store align({align}) %1, %{result}")
            count += 2
            assert int(most) in (-1, 1, 2), path
    return "\n".join([*lines, "  ret", "}", ""])


def check(ptxas: str, tool: str, source: Path, target: str, level: int, out: Path) -> str | None:
    name = f"{source.stem} for {target} at O{level}"
    signature = re.search(r'--signature "(.*?)"', source.read_text())
    command = [tool, "tool", "--target", target, f"--opt_level={level}", str(source)]
    command += ["--signature", signature[1]] if signature else []
    compiled = subprocess.run(command, capture_output=True, text=True)
    if compiled.returncode:
        return f"{name}: {compiled.stderr}"
    ptx = out / f"{source.stem}.{target}.{level}.ptx"
    ptx.write_text(compiled.stdout)
    assembled = subprocess.run(
        [ptxas, "-arch", target, str(ptx), "-o", f"{ptx}.cubin"], capture_output=True, text=True
    )
    return f"{name}: {assembled.stderr}" if assembled.returncode else None


def jobs(goldens: Path, out: Path) -> Iterator[tuple[Path, str, int]]:
    every_function = out / "math_all.ir"
    every_function.write_text(math_text())
    for source in [*sorted(goldens.glob("*.ir")), every_function]:
        for target in TARGETS:
            yield source, target, 3
        if source is not every_function:
            yield source, TARGETS[0], 0


def main() -> int:
    ptxas, tool, goldens = sys.argv[1:]
    with TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        todo = list(jobs(Path(goldens), Path(folder)))
        results = pool.map(lambda job: check(ptxas, tool, *job, Path(folder)), todo)
        refused = [result for result in results if result]
    print(*refused, sep="\n", end="\n" if refused else "")
    print(f"{len(todo) - len(refused)} of {len(todo)} assembled")
    return bool(refused)


if __name__ == "__main__":
    sys.exit(main())
