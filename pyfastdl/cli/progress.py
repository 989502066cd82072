"""How far a long command is: a bar with rate and time left on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import ProgressColumn

__all__ = ["Progress"]

# Seconds between two plain lines.
_LINE_EVERY = 10.0


class Progress:
    """Shows on stderr how much of ``total`` is done; a context manager. One thread.

    Args:
        verb: what is being done ("checked").
        total: how many there are.
        unit: what they are ("files").
    """

    def __init__(self, verb: str, total: int, unit: str) -> None:
        self._verb, self._total, self._unit = verb, total, unit
        self._done = 0
        self._started = self._said = time.monotonic()
        self._bar: Bar | None = None

    def __enter__(self) -> Progress:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import Progress as Bar

            self._bar = Bar(*_columns(self._unit), console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task(self._verb, total=self._total, note="")
            self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.stop()

    def advance(self, note: str) -> None:
        """One more is done; ``note`` is what has been found so far, in a few words."""
        self._done += 1
        if self._bar is not None:
            self._bar.update(self._task, advance=1, note=note)
            return
        now = time.monotonic()
        if now - self._said >= _LINE_EVERY:
            self._said = now
            rate = self._done / (now - self._started)
            left = (self._total - self._done) / rate
            so_far = f"{self._verb} {self._done} of {self._total} {self._unit}, {rate:.1f}/s"
            print(f"{so_far}, about {left:.0f} s left; {note}", file=sys.stderr, flush=True)


def _columns(unit: str) -> list[ProgressColumn]:
    from rich.progress import BarColumn, MofNCompleteColumn, ProgressColumn, Task, TextColumn, TimeRemainingColumn
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed
            return Text("" if speed is None else f"{speed:.1f} {unit}/s")

    text = TextColumn("{task.description}")
    return [text, BarColumn(), MofNCompleteColumn(), Rate(), TimeRemainingColumn(), TextColumn("{task.fields[note]}")]
