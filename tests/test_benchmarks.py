"""The benchmark harness, end to end on a few files: contestants run, absent ones are named, documents get the table."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("psutil")
pytest.importorskip("torchvision")

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"


def run(script: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(BENCHMARKS / script), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)


def test_measures_and_reports(image_folder, tmp_path):
    result = tmp_path / "result.json"
    contestants = ["ours:1", "dropin:1", "stock_pil:0", "stock_tvio:1", "dali:1"]
    # An interpreter without site packages has no rival: dali must be skipped wherever this runs.
    bare = tmp_path / "bare"
    bare.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')
    bare.chmod(0o755)
    done = run(
        "run.py", "--data", image_folder, "--epochs", 2, "--rounds", 1,
        "--python", f"dali={bare}", "--output", result, *contestants,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr

    written = json.loads(result.read_text())
    assert [run["contestant"] for run in written["runs"]] == ["ours", "dropin", "stock_pil", "stock_tvio"]
    assert written["absent"] == {"dali:1": "not installed here: nvidia.dali"}
    assert written["data"]["files"] == 15
    for figures in written["runs"]:
        assert figures["images"] == 15
        assert len(figures["epochs"]) == 2
        assert all(wall > 0 for wall, _ in figures["epochs"])
        assert figures["first_batch_s"] > 0
        assert figures["memory_mb"] > 0

    document = tmp_path / "README.md"
    shutil.copy(BENCHMARKS / "README.md", document)
    for _ in range(2):  # a second time replaces the first
        assert run("report.py", result, "--into", document).returncode == 0
        text = document.read_text()
        assert text.count("pyfastdl.NativeLoader**") == 1
        assert "Not measured: dali." in text


def test_stages_become_tables(tmp_path):
    image = {"height": 300, "width": 400, "bytes": 50_000, "share": 0.5}
    image |= {"read": 20.0, "full": 2200.0, "entropy": 900.0, "floor": 1700.0, "decode": 1800.0}
    image |= {"resize": 250.0, "transform": 290.0, "all": 2080.0}
    machine = {"cpu": "c", "cpus": 1, "architecture": "a", "kernel": "k", "python": "p"}
    result = {"kind": "stages", "date": "d", "machine": machine, "repeats": 5, "crops": 4, "photographs": [image]}
    result |= {"by_share": {"0.08": [image]}, "by_megapixels": {"12.0": [image, image]}}
    file, document = tmp_path / "stages.json", tmp_path / "README.md"
    file.write_text(json.dumps(result))
    shutil.copy(BENCHMARKS / "README.md", document)
    before = document.read_text()
    assert run("report.py", file, "--into", document).returncode == 0
    text = document.read_text()
    assert "| all | 2100 | 100% |" in text
    assert "| resize | 250 | 12% |" in text
    assert "| 12.0 | 20 | 1800 | 250 | 40 | 2100 | 1700 | 1.06 | 2200 | 476 |" in text
    # The other table stays as it was.
    start = before.index("<!-- benchmark: begin")
    assert before[start : before.index("<!-- benchmark: end")] in text


def test_ticks_are_counted():
    done = run("ticks.py", "--seconds", 0.2, "--batch", 1)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line.split("  ")[0] for line in lines[1:]] == [
        *("no loader", "torch, 2 processes", "ours, 2 processes", "ours, 2 threads")
    ]
    for line in lines[1:]:
        figures = [float(figure) for figure in line[22:].split()]
        assert figures[:4] == sorted(figures[:4]) and figures[0] >= 1.0


def test_a_document_without_markers_is_refused(tmp_path):
    result = tmp_path / "result.json"
    machine = {"cpu": "c", "cpus": 1, "architecture": "a", "kernel": "k", "python": "p"}
    data = {"made": True, "files": 1, "mean_kb": 1.0}
    nothing = {"date": "d", "work": "w", "epochs": 1, "rounds": 1, "runs": [], "absent": {}}
    nothing |= {"machine": machine, "data": data}
    result.write_text(json.dumps(nothing))
    document = tmp_path / "other.md"
    document.write_text("no markers")
    done = run("report.py", result, "--into", document)
    assert done.returncode == 1
    assert "needs a line" in done.stderr
    assert document.read_text() == "no markers"
