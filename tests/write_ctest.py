"""Write CTestTestfile.cmake from the tests that Meson declared.

Meson runs this after each configuration. In: the build folder's introspection data. Out: a file
that lets `ctest --test-dir build` run the same list, with the suites as labels.
"""

import json
import os
from pathlib import Path


def quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("$", "\\$") + '"'


def cmake_test(test: dict) -> str:
    name = quote(test["name"])
    # Meson writes suites as "project:suite".
    labels = ";".join(suite.split(":")[-1] for suite in test["suite"])
    environment = ";".join(f"{key}={value}" for key, value in test["env"].items())
    properties = {
        "LABELS": labels,
        "TIMEOUT": str(test["timeout"]),
        "WORKING_DIRECTORY": test["workdir"] or "",
        "ENVIRONMENT": environment,
        "RUN_SERIAL": "" if test["is_parallel"] else "ON",
        "SKIP_RETURN_CODE": "77",
    }
    pairs = " ".join(f"{key} {quote(value)}" for key, value in properties.items() if value)
    command = " ".join(quote(part) for part in test["cmd"])
    return f"add_test({name} {command})\nset_tests_properties({name} PROPERTIES {pairs})\n"


def main() -> None:
    build = Path(os.environ["MESON_BUILD_ROOT"])
    tests = json.loads((build / "meson-info" / "intro-tests.json").read_text())
    (build / "CTestTestfile.cmake").write_text("".join(cmake_test(test) for test in tests))


if __name__ == "__main__":
    main()
