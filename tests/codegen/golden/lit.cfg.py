"""lit's configuration: CORE texts whose RUN lines print a stage for FileCheck.

Substitution: %cg the tool that compiles CORE text (tests/codegen/tool.c).
"""

import os
from typing import Any

import lit.formats

config: Any = config  # noqa: F821 (lit defines it)

config.name = "codegen"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".ir"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.environ["GOLDEN_OUTPUT"]
config.environment["PATH"] = os.environ["FILECHECK_BIN"] + os.pathsep + os.environ["PATH"]
config.substitutions.append(("%cg", os.environ["TOOL"] + " tool"))
