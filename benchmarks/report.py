"""Markdown tables from the JSON of run.py or stages.py; --into puts them between the markers of a document.

python benchmarks/report.py benchmarks/results/20250101-120000.json --into README.md
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from statistics import median

from stage_tables import tables as stage_tables

BEGIN = "<!-- {kind}: begin (python benchmarks/report.py RESULT.json --into THIS FILE) -->"
END = "<!-- {kind}: end -->"

TITLES = {
    "ours": "**pyfastdl.NativeLoader**",
    "dropin": "pyfastdl.DataLoader, torchvision's ImageFolder",
    "stock_pil": "DataLoader, torchvision on PIL",
    "stock_tvio": "DataLoader, torchvision.io + v2",
    "dali": "DALI, CPU pipeline",
    "ffcv": "FFCV, jpg mode (own re-encoded copy)",
    "jpeg_turbo": "libjpeg-turbo alone, full decode only",
}


def table(result: dict) -> str:
    return stage_tables(result) if kind_of(result) == "stages" else _loaders(result)


def kind_of(result: dict) -> str:
    """What a document's markers are called for it."""
    return result.get("kind", "benchmark")


def _loaders(result: dict) -> str:
    by_contestant: dict[tuple[str, int], list[dict]] = {}
    for run in result["runs"]:
        by_contestant.setdefault((run["contestant"], run["workers"]), []).append(run)
    ours = [key for key in by_contestant if key[0] == "ours"]
    rates = {key: _rates(runs) for key, runs in by_contestant.items()}
    base = max((rates[key] for key in ours), default=None, key=lambda rate: rate["wall"])

    lines = [
        "| loader | workers | images/s (lowest–highest) | ours is | images per CPU-second | ours is "
        "| memory, MB | first batch, s |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for (name, workers), runs in by_contestant.items():
        rate = rates[name, workers]
        cells = [
            TITLES.get(name, name),
            str(workers),
            f"{rate['wall']:.0f} ({rate['low']:.0f}–{rate['high']:.0f})",
            # One thread against all of ours would compare nothing.
            "" if name == "jpeg_turbo" else _times(base and base["wall"], rate["wall"], name),
            f"{rate['cpu']:.0f}",
            _times(base and base["cpu"], rate["cpu"], name),
            _middle(runs, "memory_mb", "{:.0f}"),
            _middle(runs, "first_batch_s", "{:.2f}"),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join([*lines, "", _conditions(result)])


def _rates(runs: list[dict]) -> dict[str, float]:
    walls = sorted(run["images"] / wall for run in runs for wall, _ in run["epochs"])
    cpus = [run["images"] / max(cpu, 1e-9) for run in runs for _, cpu in run["epochs"]]
    return {"wall": median(walls), "low": walls[0], "high": walls[-1], "cpu": median(cpus)}


def _times(ours: float | None, theirs: float, name: str) -> str:
    return "" if ours is None or name == "ours" else f"{ours / theirs:.2f}×"


def _middle(runs: list[dict], key: str, form: str) -> str:
    values = [run[key] for run in runs if run[key] is not None]
    return form.format(median(values)) if values else ""


def _conditions(result: dict) -> str:
    machine, data = result["machine"], result["data"]
    versions = {name: version for run in result["runs"] for name, version in run["versions"].items()}
    source = "made from scikit-image's pictures" if data["made"] else "photographs"
    names = ", ".join(f"{name} {version}" for name, version in sorted(versions.items()))
    text = (
        f"Measured on {result['date']}: {machine['cpu']}, {machine['cpus']} CPUs, {machine['architecture']}, "
        f"Linux {machine['kernel']}, Python {machine['python']}; {names}. {data['files']} JPEGs ({source}, "
        f"{data['mean_kb']} kB on average), in the page cache. The work: {result['work']}. Medians over "
        f"{result['rounds']} × {result['epochs']} epochs (rounds × epochs); workers' CPU time and memory (PSS) count."
    )
    if result["absent"]:
        text += " Not measured: " + ", ".join(name.partition(":")[0] for name in result["absent"]) + "."
    return text


def insert(document: str, kind: str, text: str) -> str:
    opening, closing = BEGIN.format(kind=kind), END.format(kind=kind)
    before, begin, rest = document.partition(opening)
    _, end, after = rest.partition(closing)
    if not (begin and end):
        raise ValueError(f"it needs a line {opening!r} and, after it, a line {closing!r}")
    return f"{before}{opening}\n{text}\n{closing}{after}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("result", type=Path)
    parser.add_argument("--into", type=Path, help="the document to change (default: print)")
    arguments = parser.parse_args()
    result = json.loads(arguments.result.read_text())
    text = table(result)
    if arguments.into is None:
        print(text)
        return 0
    try:
        arguments.into.write_text(insert(arguments.into.read_text(), kind_of(result), text))
    except ValueError as error:
        print(f"{arguments.into}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
