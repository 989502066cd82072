"""libjpeg-turbo alone, one thread: decodes every file in full and does nothing else. The floor loaders stand on."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from contestants import Figures, Work

NEEDS: list[str] = []
VERSIONS: list[str] = []
PROGRAM = Path(__file__).parents[2] / "build" / "bench" / "benchmarks" / "cpp" / "jpeg_turbo"


def run(work: Work, epochs: int) -> Figures:
    if not PROGRAM.exists():
        sys.exit("its program isn't built: run `make bench`, which builds it")
    # The names go by stdin: a large folder would not fit on a command line.
    names = "\0".join(map(str, work.files())) + "\0"
    done = subprocess.run([PROGRAM, str(epochs)], input=names, stdout=subprocess.PIPE, text=True, check=True)
    measured = json.loads(done.stdout)
    return Figures(
        images=measured["images"],
        epochs=[(epoch["wall_s"], epoch["cpu_s"]) for epoch in measured["epochs"]],
        versions={"libjpeg-turbo": measured["libjpeg_turbo"]},
    )
