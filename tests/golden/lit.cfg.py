"""lit's configuration: Python kernels and IR texts whose RUN lines print a stage for FileCheck.

Substitutions: %gpujit the command line, on the package in the build folder; FileCheck LLVM's.
Regenerating is not automatic: a changed pattern is a reviewed change.
"""

import os
from typing import Any

import lit.formats

config: Any = config  # noqa: F821, PLW0127 (lit defines it)

config.name = "golden"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".py", ".ir"]
config.excludes = ["lit.cfg.py"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.environ["GOLDEN_OUTPUT"]
config.environment["PYTHONPATH"] = os.environ["PYTHONPATH"]
config.environment["PYTHONDONTWRITEBYTECODE"] = "1"
config.environment["GPUJIT_DEVICE"] = "cpu"
config.environment["PATH"] = os.environ["FILECHECK_BIN"] + os.pathsep + os.environ["PATH"]
config.substitutions.append(("%gpujit", os.environ["GOLDEN_PYTHON"] + " -m gpu.cli"))
