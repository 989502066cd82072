"""Where the time of one image goes, on one thread: by stage, by the image's size and by the crop's share of it.

    make stages DATA=photographs/

The parts are told apart by doing less and less of the work for the same crops (cpp/stages.cpp), in CPU time: no
profiler is needed. Sizes are made from the given photographs by Pillow (quality 90). The result is one JSON
file, of which report.py makes tables.
"""

from __future__ import annotations

import argparse
import datetime
import json
import random
import subprocess
import sys
from pathlib import Path

import machine
from report import table

HERE = Path(__file__).parent
ROOT = HERE.parent
PROGRAM = ROOT / "build" / "bench" / "benchmarks" / "cpp" / "stages"

MEGAPIXELS = (0.2, 0.5, 1.0, 2.0, 4.0, 8.0, 12.0)
SHARES = (0.08, 0.2, 0.4, 0.6, 0.8, 1.0)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="a folder with JPEGs anywhere below it")
    parser.add_argument("--images", type=int, default=24, help="photographs that are measured as they are")
    parser.add_argument("--resized", type=int, default=4, help="photographs that are measured in every size")
    parser.add_argument("--repeats", type=int, default=5, help="of which the least time counts")
    parser.add_argument("--crops", type=int, default=4, help="random crops an image")
    parser.add_argument("--output", type=Path, help="default: benchmarks/results/stages-<date and time>.json")
    return parser.parse_args()


def photographs(folder: Path, count: int) -> list[Path]:
    files = sorted(path for path in folder.rglob("*") if path.suffix.lower() in (".jpg", ".jpeg") and path.is_file())
    if not files:
        sys.exit(f"{folder} has no JPEGs in it: name another folder by --data")
    return random.Random(0).sample(files, min(count, len(files)))


def resized(files: list[Path], megapixels: float, folder: Path) -> list[Path]:
    from PIL import Image

    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for number, file in enumerate(files):
        with Image.open(file) as image:
            factor = (megapixels * 1e6 / (image.width * image.height)) ** 0.5
            size = max(1, round(image.width * factor)), max(1, round(image.height * factor))
            made.append(folder / f"{number}.jpg")
            image.convert("RGB").resize(size, Image.Resampling.LANCZOS).save(made[-1], quality=90)
    return made


def measure(files: list[Path], arguments: argparse.Namespace, share: float = 0) -> list[dict]:
    command = [PROGRAM, str(arguments.repeats), str(arguments.crops), str(share)]
    names = "\0".join(str(file.resolve()) for file in files) + "\0"
    done = subprocess.run(command, input=names, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(done.returncode)
    images: list[dict] = json.loads(done.stdout)["images"]
    return images


def main() -> int:
    arguments = parse()
    if not PROGRAM.exists():
        sys.exit("its program isn't built: run `make stages`, which builds it")
    started = datetime.datetime.now().astimezone()
    files = photographs(arguments.data, arguments.images)
    some = files[: arguments.resized]
    result = {
        "kind": "stages",
        "date": started.date().isoformat(),
        "machine": machine.describe(),
        "repeats": arguments.repeats,
        "crops": arguments.crops,
        "photographs": measure(files, arguments),
        "by_share": {str(share): measure(files, arguments, share) for share in SHARES},
        "by_megapixels": {},
    }
    for megapixels in MEGAPIXELS:
        made = resized(some, megapixels, ROOT / "build" / "benchmarks" / "stages" / str(megapixels))
        result["by_megapixels"][str(megapixels)] = measure(made, arguments)
        print(f"{megapixels} megapixels measured", file=sys.stderr)
    output = arguments.output or HERE / "results" / f"stages-{started:%Y%m%d-%H%M%S}.json"
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps(result, indent=1) + "\n")
    print(table(result))
    print(f"\nwritten to {output}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
