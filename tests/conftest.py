"""Tests compile what they mean to compile: nothing is kept on disk, and the user's cache is not
touched. The tests of the cache (tests/cache) have a folder of their own.

With GPUJIT_TESTS_CACHE_DIR the suites use that folder: run twice, the second time everything is
found there, and the tests say whether it is what was compiled.
"""

import os

os.environ["GPUJIT_CACHE_DIR"] = os.environ.get("GPUJIT_TESTS_CACHE_DIR", "")
