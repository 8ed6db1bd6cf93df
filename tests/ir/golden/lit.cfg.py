"""lit's configuration: IR texts whose RUN lines put them through passes.

Substitution: %ir the tool that reads, optimises and prints IR text (tests/ir/ir_tool.c).
"""

import os
from typing import Any

import lit.formats

config: Any = config  # noqa: F821 (lit defines it)

config.name = "ir"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".ir"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.environ["GOLDEN_OUTPUT"]
config.environment["PATH"] = os.environ["FILECHECK_BIN"] + os.pathsep + os.environ["PATH"]
config.substitutions.append(("%ir", os.environ["TOOL"]))
