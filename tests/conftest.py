"""Tests compile what they mean to compile: nothing is kept on disk, and the user's cache is not
touched. The tests of the cache (tests/cache) have a folder of their own."""

import os

os.environ["GPUJIT_CACHE_DIR"] = ""
