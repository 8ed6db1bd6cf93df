"""PTX of the programs of tests/exec/test_science.py assembles, for the types that they launch with."""

import sys
from pathlib import Path

import pytest
from assemble import assemble, needs_ptxas

sys.path.insert(0, str(Path(__file__).parent.parent / "exec"))

import gpu
import test_science as science
import test_science_records as records

pytestmark = needs_ptxas

PUSHED = ", ".join([*["float64[::1]"] * 6, "bool[::1]", *["float64[:, ::1]"] * 10])
PROGRAMS = {
    "push_and_deposit": f"{PUSHED}, float, float, float, float, float, int, int, int32[:], float64[:]",
    "suppress": "int, float, float32[:, ::1], uint64[:, ::1]",
    "dtw": "float64[:, :, ::1], float, int, int, int, int, float64[:, :, ::1]",
    "profile_step": "float64[:], float64[:], int64, float64[:], float64[:], float64[:], float64[:], "
    "int64, bool, int64, float64[:, :], int64[:, :], bool",
    "transducer_alphas": "float32[:, :, :, ::1], float32[:, :, ::1], float32[:, :, ::1], float32[:], "
    "int32[:, ::1], int32[:], int32[:], int, int32[:]",
    "transfer": f"{', '.join(['float64[::1]'] * 9)}, int, int, int, int, float, float, float, float, "
    "float64[::1], float, int, int",
}


@pytest.mark.parametrize("arch", ["sm_75", "sm_90"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_assembles(name, arch, tmp_path):
    assemble(getattr(science, name).ptx(PROGRAMS[name], arch=arch), arch, tmp_path)


@pytest.mark.parametrize("name", ["quench", "drift", "induce", "track"])
def test_records_assemble(name, tmp_path):
    """The signatures that the CPU device has compiled for them."""
    with gpu.device("cpu"):
        records.test_detector_simulation()
        records.test_records_in_records()
    kernel = getattr(records, name)
    for arch in ("sm_75", "sm_90"):
        assemble(kernel.ptx(kernel.signatures[0], arch=arch), arch, tmp_path)
