"""``pyfastdl check``: a user's own files through pyfastdl and through Pillow and torchvision, compared bit by bit."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyfastdl.cli.check.comparison import Checker, Result

__all__ = ["configure", "run"]

_DESCRIPTION = """\
Runs image files through pyfastdl and through Pillow (and torchvision, where it is installed), and says whether all
values are equal: of the whole image, of random regions, and of one sample as a loader makes it (random resized crop to
224, flip, normalise).

exit status: 0 all equal, but for files that both sides refuse; 1 a file differs, or one side alone refuses it; 2 wrong
usage, or nothing to compare: no files, or both sides refuse them all; 130 interrupted
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = _DESCRIPTION
    paths = "files; folders of images, however nested; - for names on stdin"
    parser.add_argument("paths", nargs="+", metavar="PATH", help=paths)
    parser.add_argument("--limit", type=_positive, metavar="N", help="check N of the files, chosen at random")
    parser.add_argument("--regions", type=_natural, default=5, metavar="N", help="random regions a file (default: 5)")
    parser.add_argument("--seed", type=int, default=0, help="of the choice of files, regions and crops (default: 0)")
    parser.add_argument("--json", metavar="FILE", help="write the findings there too")


def _positive(text: str) -> int:
    return _at_least(1, text)


def _natural(text: str) -> int:
    return _at_least(0, text)


def _at_least(low: int, text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = low - 1
    if number < low:
        # Not ValueError, for which argparse would name the function.
        raise argparse.ArgumentTypeError(f"must be a whole number, {low} or more, got {text!r}")
    return number


def run(arguments: argparse.Namespace) -> int:
    from pyfastdl.cli.check.files import NotFound, collect, sample

    with contextlib.ExitStack() as stack:
        try:
            # Before the work, which may take hours.
            output = stack.enter_context(open(arguments.json, "w", encoding="utf-8")) if arguments.json else None
            found, notes = collect(arguments.paths)
        except (NotFound, OSError) as error:
            return _complain(str(error))
        for note in notes:
            print(f"note: {note}", file=sys.stderr)
        files = sample(found, arguments.limit, arguments.seed)
        if not files:
            return _complain(f"no image files in {', '.join(map(repr, arguments.paths))}")
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")  # Pillow's, on odd files
        return _check(files, arguments, output)


def _complain(message: str) -> int:
    print(f"pyfastdl check: {message}", file=sys.stderr)
    return 2


def _check(files: list[str], arguments: argparse.Namespace, output: Any) -> int:
    from pyfastdl.cli import INTERRUPTED
    from pyfastdl.cli.check.comparison import Checker
    from pyfastdl.cli.check.findings import Findings
    from pyfastdl.cli.progress import Progress

    started = time.monotonic()
    findings = Findings()
    checker = Checker(files, regions=arguments.regions, seed=arguments.seed)
    interrupted = False
    try:
        with Progress("checked", len(files), "file" if len(files) == 1 else "files") as progress:
            for result in _in_threads(checker, len(files)):
                findings.add(result)
                progress.advance(findings.note)
    except KeyboardInterrupt:
        interrupted = True
    finally:
        checker.close()
    seconds = time.monotonic() - started

    if output is not None:
        report = findings.as_json() | {"interrupted": interrupted, "seconds": round(seconds, 3)}
        report |= {"reference": checker.reference.name, "seed": arguments.seed, "regions": arguments.regions}
        json.dump(report, output, indent=1)
        output.write("\n")
    of_all = f" of {len(files)}" if interrupted else ""
    plural = "" if len(files) == 1 else "s"
    done = f"{findings.count}{of_all} file{plural} in {seconds:.1f} s against {checker.reference.name}"
    findings.show(f"{'interrupted: ' if interrupted else ''}{done}: {findings.summary}")
    if interrupted:
        return INTERRUPTED
    return 1 if not findings.is_clean else 0 if findings.compared else 2


def _in_threads(checker: Checker, count: int) -> Iterator[Result]:
    """Results as they come, on all CPUs (the decoders and Pillow give up the GIL). Few files are under way at once."""
    from pyfastdl import _core

    threads = _core.granted_cpus()
    executor = ThreadPoolExecutor(threads, thread_name_prefix="pyfastdl-check")
    under_way: set[Future[Result]] = set()
    following = iter(range(count))
    try:
        while True:
            while len(under_way) < 2 * threads and (index := next(following, None)) is not None:
                under_way.add(executor.submit(checker.check, index))
            if not under_way:
                return
            done, under_way = wait(under_way, return_when=FIRST_COMPLETED)
            for future in done:
                yield future.result()
    finally:
        # What is under way is finished (a file each); what waits is dropped.
        executor.shutdown(cancel_futures=True)
