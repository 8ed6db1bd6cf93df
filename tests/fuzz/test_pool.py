"""The processes that check seeds, with seeds that stop them."""

import os
import time

from kernels.pool import CHUNK, Pool


def look(seed):
    if seed == 7:
        time.sleep(1000)
    if seed in (CHUNK + 3, 2 * CHUNK):
        os._exit(1)
    return ("differs", "text") if seed == 11 else ("same", "")


def test_no_seed_stops_the_others():
    pool = Pool(2, 5, look)
    count = 3 * CHUNK + 1
    results = {}
    for seed, word, text in pool.checked(0, count):
        assert seed not in results
        results[seed] = word, text
    pool.close()
    assert sorted(results) == list(range(count))
    others = {seed: word for seed, (word, _) in results.items() if word != "same"}
    assert others == {7: "hangs", 11: "differs", CHUNK + 3: "died", 2 * CHUNK: "died"}
    assert results[11] == ("differs", "text")
