"""Check the built extension: what it exports, which libraries it needs, how it is named.

Other packages bring other LLVMs into the same process, so nothing of ours may be visible but the
module's entry; and the wheel must run where nothing but libc is installed.
"""

import re
import subprocess
import sys

NEEDED = r"(libc|libm|libdl|librt|libpthread|libgcc_s|ld-linux-x86-64|ld-linux-aarch64)\.so\.\d+"


def output_of(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main() -> int:
    (extension,) = sys.argv[1:]
    breaches = []
    if not extension.endswith("/_gpujit.abi3.so"):
        breaches.append(f"{extension} is not named as an extension of the stable ABI")
    symbols = output_of("nm", "-D", "--defined-only", "--format=posix", extension).splitlines()
    exported = {line.split()[0] for line in symbols}
    if exported != {"PyInit__gpujit"}:
        breaches.append(f"exports {', '.join(sorted(exported)[:20])}; only PyInit__gpujit may be")
    needed = re.findall(r"\(NEEDED\).*\[(.+)\]", output_of("readelf", "-d", extension))
    breaches += [f"needs {name}" for name in needed if not re.fullmatch(NEEDED, name)]
    print(*breaches, sep="\n", end="\n" if breaches else "")
    print(f"{len(exported)} symbol exported, needs {' '.join(needed)}")
    return bool(breaches)


if __name__ == "__main__":
    sys.exit(main())
