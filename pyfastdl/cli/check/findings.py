"""What a check found, format by format: counted, as a table, as JSON."""

from __future__ import annotations

import dataclasses
import sys
from collections import Counter
from typing import Any

from pyfastdl.cli.check.comparison import Result

__all__ = ["Findings"]

# Refused files that are shown by name, of each kind; the JSON has all.
_MOST_SHOWN = 20


@dataclasses.dataclass
class _Format:
    outcomes: Counter[str] = dataclasses.field(default_factory=Counter)
    routes: Counter[str] = dataclasses.field(default_factory=Counter)
    first: Result | None = None  # that differs


class Findings:
    """Results are added in any order; what is first is first by the files' order."""

    def __init__(self) -> None:
        self._formats: dict[str, _Format] = {}
        self._refused: list[Result] = []  # by one side or both
        self.count = 0

    def add(self, result: Result) -> None:
        self.count += 1
        of_format = self._formats.setdefault(result.format, _Format())
        of_format.outcomes[result.outcome] += 1
        of_format.routes[result.route] += 1
        if result.outcome == "different" and (of_format.first is None or result.index < of_format.first.index):
            of_format.first = result
        if result.outcome in (*_BY_ONE, *_BY_BOTH):
            self._refused.append(result)

    def total(self, *outcomes: str) -> int:
        return sum(of_format.outcomes[outcome] for of_format in self._formats.values() for outcome in outcomes)

    @property
    def is_clean(self) -> bool:
        """Whether no file differs, and none is refused by one side alone."""
        return self.total("equal", "refused_by_both") == self.count

    @property
    def compared(self) -> int:
        """How many files both sides could decode."""
        return self.total("equal", "different")

    @property
    def note(self) -> str:
        """What came of the files that could be compared, in a few words."""
        if not self.compared:
            return "nothing could be compared"
        different = self.total("different")
        return "none differs" if different == 0 else f"{different} {'differs' if different == 1 else 'differ'}"

    @property
    def summary(self) -> str:
        """How many files came to what."""
        parts = [f"{self.total('equal')} equal"]
        for outcomes, who in ((_BY_BOTH, "both"), (_BY_ONE, "one side alone")):
            if number := self.total(*outcomes):
                parts.append(f"{number} refused by {who}")
        return ", ".join([*parts, self.note])

    def as_json(self) -> dict[str, Any]:
        return {
            "files": self.count,
            "all_equal": self.is_clean,
            "formats": {
                name: {
                    "files": of_format.outcomes.total(),
                    **{outcome: of_format.outcomes[outcome] for outcome in _OUTCOMES},
                    "routes": dict(of_format.routes),
                    "first_difference": None if of_format.first is None else _as_dict(of_format.first),
                }
                for name, of_format in sorted(self._formats.items())
            },
            "refused_by_both": [_as_dict(result) for result in self._refused_by(_BY_BOTH)],
            "refused_by_one": [_as_dict(result) for result in self._refused_by(_BY_ONE)],
        }

    def show(self, summary: str) -> None:
        """Prints a table and what differs on stdout."""
        from rich.console import Console
        from rich.markup import escape
        from rich.table import Table

        class Output(Console):
            def on_broken_pipe(self) -> None:
                raise BrokenPipeError  # not rich's exit status 1, which would say that something differs

        # Where nobody looks at a terminal, lines are as long as they need to be.
        console = Output(width=None if sys.stdout.isatty() else 140, highlight=False, soft_wrap=True)
        table = Table("format")
        for heading in ("files", "equal", "different", "refused by both", "refused by one"):
            table.add_column(heading, justify="right")
        table.add_column("decoded by")
        for name, of_format in sorted(self._formats.items()):
            count = of_format.outcomes
            routes = ", ".join(f"{route} {number}" for route, number in of_format.routes.most_common())
            one = count["refused_by_pyfastdl"] + count["refused_by_reference"]
            numbers = (count.total(), count["equal"], count["different"], count["refused_by_both"], one)
            table.add_row(escape(name), *map(str, numbers), routes)
        console.print(table)
        for name, of_format in sorted(self._formats.items()):
            if of_format.first is not None:
                difference = f"{_shown(of_format.first.path)}: {of_format.first.difference}"
                console.print(f"[red]{escape(name)}[/red]: {escape(difference)}")
        for outcomes, who, color in ((_BY_BOTH, "both", "yellow"), (_BY_ONE, "one side alone", "red")):
            refused = self._refused_by(outcomes)
            for result in refused[:_MOST_SHOWN]:
                by = f"[{color}]refused by {_REFUSERS[result.outcome]}[/{color}]"
                console.print(f"{by}: {escape(f'{_shown(result.path)}: {result.reason}')}")
            if (more := len(refused) - _MOST_SHOWN) > 0:
                console.print(f"{more} more refused by {who}: --json FILE names all of them")
        console.print(escape(summary))

    def _refused_by(self, outcomes: tuple[str, ...]) -> list[Result]:
        refused = (result for result in self._refused if result.outcome in outcomes)
        return sorted(refused, key=lambda result: result.index)


_BY_BOTH = ("refused_by_both",)
_BY_ONE = ("refused_by_pyfastdl", "refused_by_reference")
_REFUSERS = {
    "refused_by_both": "both",
    "refused_by_pyfastdl": "pyfastdl alone",
    "refused_by_reference": "the reference alone",
}
_OUTCOMES = ("equal", "different", "refused_by_both", "refused_by_pyfastdl", "refused_by_reference")


def _shown(path: str) -> str:
    """A path that any terminal takes: undecodable bytes and control characters as escapes."""
    text = path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _as_dict(result: Result) -> dict[str, Any]:
    values = dataclasses.asdict(result)
    values["path"] = _shown(result.path)
    return values
