"""python -m gpu: the command line."""

import sys

from gpu.cli import main

sys.exit(main())
