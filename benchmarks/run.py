"""Loaders side by side on the same photographs.

Each contestant runs in a process of its own. They take turns for some rounds, so that a machine that slows down slows
all of them. The result is one JSON file, of which report.py makes a table.

    python benchmarks/run.py --data photographs/ --epochs 3 --rounds 3 ours:n stock_pil:n
    python benchmarks/run.py --python dali=/path/to/venv/bin/python      # a rival from an environment of its own
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import machine
from contestants import DEFAULT, DESCRIPTION
from measure import SKIPPED
from report import table

HERE = Path(__file__).parent
ROOT = HERE.parent
CACHE = ROOT / "build" / "benchmarks"


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("contestants", nargs="*", default=DEFAULT, help="name:workers; n = all CPUs (default: all)")
    parser.add_argument("--data", type=Path, help="a folder of class folders of images (default: made)")
    parser.add_argument("--epochs", type=int, default=3, help="counted epochs in each round")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--timeout", type=float, default=1800, help="seconds that one contestant may take in a round")
    parser.add_argument(
        "--python", action="append", default=[], metavar="NAME=PATH", help="interpreter of a contestant"
    )
    parser.add_argument("--output", type=Path, help="default: benchmarks/results/<date and time>.json")
    return parser.parse_args()


def made_photographs() -> Path:
    folder = CACHE / "photographs"
    if not folder.exists():
        half_made = CACHE / "photographs.part"
        shutil.rmtree(half_made, ignore_errors=True)
        half_made.parent.mkdir(parents=True, exist_ok=True)
        print("making photographs …", file=sys.stderr)
        subprocess.run([sys.executable, ROOT / "examples" / "photographs.py", half_made, "--count", "2000"], check=True)
        half_made.rename(folder)
    return folder


def describe_data(folder: Path, is_made: bool) -> dict[str, object]:
    sizes = [path.stat().st_size for path in folder.glob("*/*") if path.is_file()]
    if not sizes:
        sys.exit(f"{folder} has no files in class folders (folder/class/file.jpg): name another by --data")
    return {"made": is_made, "files": len(sizes), "mean_kb": round(sum(sizes) / len(sizes) / 1000, 1)}


def take_turn(name: str, workers: int, python: str, data: Path, arguments: argparse.Namespace) -> dict[str, object]:
    """Figures, or why there are none: {"skipped": reason} or {"failed": the last lines it wrote}."""
    command = [python, "-W", "ignore", str(HERE / "measure.py"), name]
    command += ["--data", str(data), "--workers", str(workers)]
    command += ["--epochs", str(arguments.epochs), "--cache", str(CACHE)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=arguments.timeout, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"took longer than {arguments.timeout:.0f} s"}
    if done.returncode == SKIPPED:
        return {"skipped": done.stderr.strip()}
    if done.returncode != 0:
        return {"failed": "\n".join(done.stderr.strip().splitlines()[-5:]) or f"exit status {done.returncode}"}
    figures: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return figures


def main() -> int:
    arguments = parse()
    cpus = len(os.sched_getaffinity(0))
    pythons = dict(pair.split("=", 1) for pair in arguments.python)
    data = (arguments.data or made_photographs()).resolve()
    started = datetime.datetime.now().astimezone()
    result = {
        "date": started.date().isoformat(),
        "machine": machine.describe(),
        "data": describe_data(data, arguments.data is None),
        "work": DESCRIPTION,
        "epochs": arguments.epochs,
        "rounds": arguments.rounds,
        "runs": [],
        "absent": {},
    }
    CACHE.mkdir(parents=True, exist_ok=True)
    for turn in range(arguments.rounds):
        for contestant in arguments.contestants:
            if contestant in result["absent"]:
                continue
            name, _, count = contestant.partition(":")
            workers = cpus if count in ("", "n") else int(count)
            figures = take_turn(name, workers, pythons.get(name, sys.executable), data, arguments)
            reason = figures.get("skipped") or figures.get("failed")
            if reason:
                result["absent"][contestant] = reason
            else:
                result["runs"].append({"contestant": name, "workers": workers, "round": turn, **figures})
            print(f"round {turn + 1}: {contestant}: {reason or 'done'}", file=sys.stderr)

    output = arguments.output or HERE / "results" / f"{started:%Y%m%d-%H%M%S}.json"
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps(result, indent=1) + "\n")
    print(table(result))
    print(f"\nwritten to {output}", file=sys.stderr)
    return 0 if result["runs"] else 1


if __name__ == "__main__":
    sys.exit(main())
