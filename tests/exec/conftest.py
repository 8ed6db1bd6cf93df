"""The suite runs on one device: GPUJIT_DEVICE, or the one that gpujit chooses.

Meson registers it once per Python version and device. Where the GPU is asked for and there is none,
every test is skipped and says so. HYPOTHESIS_PROFILE=many tries many more random programs.
"""

import os
import sys
from pathlib import Path

import gpu
import kit
import pytest
from hypothesis import HealthCheck, settings
from limits import LIMITS

sys.path.insert(0, str(Path(__file__).parent.parent))

QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
settings.register_profile("ci", max_examples=40, derandomize=True, deadline=None, database=None,
                          suppress_health_check=QUIET)  # fmt: skip
settings.register_profile("many", max_examples=2000, deadline=None, suppress_health_check=QUIET)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

WANTED = os.environ.get("GPUJIT_DEVICE", "")


def pytest_report_header(config: pytest.Config) -> str:
    if WANTED == "cuda" and not gpu.is_available():
        return "device: cuda was asked for and is not here, every test is skipped"
    return f"device: {gpu.get_current_device().name}"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        name = getattr(item, "originalname", item.name)
        reason = LIMITS.get(f"{item.path.stem}.{name}")
        if WANTED == "cuda" and not gpu.is_available():
            item.add_marker(pytest.mark.skip(reason="no GPU here"))
        elif WANTED == "python" and reason:
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(autouse=True)
def _reference(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Launches are compared with the python device, but where its limits are in the way."""
    item = request.node
    name = f"{item.path.stem}.{getattr(item, 'originalname', item.name)}"
    monkeypatch.setattr(kit, "comparing", name not in LIMITS)


@pytest.fixture
def device() -> str:
    """The memory that the suite's arrays are in: "cpu" or "cuda"."""
    if WANTED == "python":
        return "cpu"
    return WANTED or ("cuda" if gpu.is_available() else "cpu")
