"""Runs every fuzz target for a while, and sums up.

A finding (a crash, a hang, too much memory, output on stderr, a wrong result) is kept as a file
that the target takes as its argument, and the exit status is 1.

    python tests/fuzz/run.py build/fuzz/tests/fuzz build/fuzz/runs --seconds 20 [TARGET ...]
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

# What no input may take: seconds, MB in all, MB at once. ASan's own memory counts in the first of the two.
LIMITS = ("-timeout=10", "-rss_limit_mb=2048", "-malloc_limit_mb=512")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", type=Path, help="where the targets and write_seeds are")
    parser.add_argument("runs", type=Path, help="where seeds, corpora, logs and findings go")
    parser.add_argument("targets", nargs="*", help="names without fuzz_ (default: all)")
    parser.add_argument("--seconds", type=int, default=20, help="a target")
    return parser.parse_intermixed_args()


def fuzz(program: Path, name: str, runs: Path, seconds: int) -> tuple[str, bool]:
    """A line of the summary, and whether nothing was found."""
    corpus, findings, log = runs / "corpus" / name, runs / "findings" / name, runs / f"{name}.log"
    corpus.mkdir(parents=True, exist_ok=True)
    findings.mkdir(parents=True, exist_ok=True)
    # close_fd_mask: libFuzzer keeps its own stderr, so that the target may watch the common one (target.cpp).
    options = [*LIMITS, f"-max_total_time={seconds}", "-close_fd_mask=2", "-print_final_stats=1"]
    command = [program, *options, f"-artifact_prefix={findings}/", corpus, runs / "seeds" / name]
    with log.open("w") as output:
        # Long after the time is over something hangs that -timeout doesn't see.
        ended = subprocess.run(command, stdout=output, stderr=output, timeout=seconds * 3 + 300).returncode
    text = log.read_text(errors="replace")
    executions = re.search(r"number_of_executed_units: *(\d+)", text)
    coverage = re.findall(r" cov: (\d+)", text)
    line = f"{name:<12} {executions[1] if executions else '?':>10} {coverage[-1] if coverage else '?':>9}  "
    if ended == 0:
        return line + "nothing found", True
    summary = re.findall(r"SUMMARY: (.*)", text)
    return line + f"FOUND: {summary[-1] if summary else f'exit status {ended}'} (see {log} and {findings})", False


def main() -> int:
    arguments = parse()
    programs = {path.name.removeprefix("fuzz_"): path for path in sorted(arguments.programs.glob("fuzz_*"))}
    names = arguments.targets or list(programs)
    if not names or (unknown := set(names) - set(programs)):
        sys.exit(f"no such target: {', '.join(sorted(unknown)) if names else arguments.programs}")
    subprocess.run([arguments.programs / "write_seeds", arguments.runs / "seeds"], check=True)
    os.environ.setdefault("UBSAN_OPTIONS", "print_stacktrace=1")
    lines, clean = [], True
    for name in names:
        print(f"{name}: {arguments.seconds} s …", file=sys.stderr)
        line, is_clean = fuzz(programs[name].resolve(), name, arguments.runs, arguments.seconds)
        lines.append(line)
        clean &= is_clean
    print(f"{'target':<12} {'executions':>10} {'coverage':>9}")
    print("\n".join(lines))
    return 0 if clean else 1


if __name__ == "__main__":
    sys.exit(main())
