"""lit's configuration: PY texts whose RUN lines print what lowering makes of them for FileCheck.

Substitution: %lower the tool of tests/ir/lower_tool.c.
"""

import os
from typing import Any

import lit.formats

config: Any = config  # noqa: F821, PLW0127 (lit defines it)

config.name = "lower"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".ir"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.environ["GOLDEN_OUTPUT"]
config.environment["PATH"] = os.environ["FILECHECK_BIN"] + os.pathsep + os.environ["PATH"]
config.substitutions.append(("%lower", os.environ["TOOL"]))
