"""lit's configuration for all golden tests: texts whose RUN lines print a stage for FileCheck.

Substitutions: %tool the folder's program, as its meson.build names it in TOOL; %gpujit the command
line on the package in the build folder.
"""

import os
from pathlib import Path
from typing import Any

import lit.formats

config: Any = config  # noqa: F821 (lit defines it)

config.name = "golden"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".ir", ".py"]
config.excludes = ["lit.cfg.py"]
config.test_source_root = str(Path(__file__).parent)
config.test_exec_root = os.environ["GOLDEN_OUTPUT"]
config.environment["PATH"] = os.environ["FILECHECK_BIN"] + os.pathsep + os.environ["PATH"]
for name in ("PYTHONPATH", "CUDA_HOME", "ASAN_OPTIONS", "UBSAN_OPTIONS"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
config.environment["PYTHONDONTWRITEBYTECODE"] = "1"
config.environment["GPUJIT_DEVICE"] = "cpu"
if "TOOL" in os.environ:
    config.substitutions.append(("%tool", os.environ["TOOL"]))
if "GOLDEN_PYTHON" in os.environ:
    config.substitutions.append(("%gpujit", os.environ["GOLDEN_PYTHON"] + " -m gpu.cli"))
