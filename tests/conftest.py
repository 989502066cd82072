"""What all tests share: the installed package is tested, and in CI nothing is skipped for want of a dependency."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

ROOT = Path(__file__).resolve().parents[1]

# In CI the generated cases are the same each time: new ones are looked for on developers' machines. How long one takes
# says nothing of what is tested.
if importlib.util.find_spec("hypothesis") is not None:
    import hypothesis

    hypothesis.settings.register_profile(
        "pyfastdl",
        derandomize=bool(os.environ.get("CI")),
        deadline=None,
        suppress_health_check=[hypothesis.HealthCheck.too_slow],
    )
    hypothesis.settings.load_profile("pyfastdl")

# A shell's background job ignores interrupts, and so would the programs that tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)

# `python -m pytest` puts the checkout first, where pyfastdl/ has no native modules.
sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != ROOT]
if importlib.util.find_spec("pyfastdl") is None:
    pytest.exit("pyfastdl isn't installed here: run `make test`, or `pip install .` and then pytest", returncode=3)


def _fail_for_missing_module(report):
    """In CI a skip by `pytest.importorskip` becomes a failure; a developer may lack a package, CI may not."""
    if os.environ.get("CI") and report.skipped and isinstance(report.longrepr, tuple):
        reason = report.longrepr[2]
        if "could not import" in reason:
            report.outcome = "failed"
            report.longrepr = f"{reason}\nIn CI every test dependency must be there: add it to the test group."
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    return _fail_for_missing_module((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    return _fail_for_missing_module((yield))


@pytest.fixture
def run_python(tmp_path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs code in a fresh interpreter, away from the checkout: run_python(code, *arguments, env={...}, timeout=60)."""

    def run(code: str, *arguments: str, env: dict[str, str] | None = None, timeout: float = 120):
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        # As in pyproject.toml: torch advises against more workers than CPUs, and some tests want nothing printed.
        environment["PYTHONWARNINGS"] = "ignore:This DataLoader will create"
        return subprocess.run(
            [sys.executable, "-c", code, *arguments],
            cwd=tmp_path,
            env={**environment, **(env or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
        )

    return run


@pytest.fixture
def image_folder(tmp_path) -> Path:
    """A folder of class folders: 3 classes of 5 JPEGs, each of another size, smooth as photographs are."""
    rng = np.random.default_rng(0)
    root = tmp_path / "data" / "train"
    for name in ("ant", "bee", "cat"):
        (root / name).mkdir(parents=True)
        for i in range(5):
            width, height = (int(side) for side in rng.integers(60, 200, 2))
            coarse = Image.fromarray(rng.integers(0, 256, (6, 8, 3), dtype=np.uint8))
            coarse.resize((width, height), Image.Resampling.BICUBIC).save(root / name / f"{i}.jpg", quality=90)
    return root
