"""How many threads ``num_workers="auto"`` uses: many while samples wait for disks or networks, few while they work."""

from __future__ import annotations

import time

from pyfastdl.locks import ProcessLock

__all__ = ["Width", "fixed_width"]

_START = 32  # wide enough that 20 ms of waiting a sample still gives 1,600 samples a second
_MOST = 64
# Seconds that a choice is looked at before a wider one, and before a narrower one, which is a trial that may cost.
_WINDOW = 0.15
_LONG_WINDOW = 1.0

# Share of a sample's time that is waiting, from which on more threads may help; and how many CPUs may be in use: of
# Python code, the interpreter's lock lets no more than one run.
_WAITS = 0.5
_CPUS_LEFT = 0.75
# Seconds that a sample has to wait on average for that. 32 threads whose samples wait less give 32,000 a second, which
# is more than one loop of Python takes; and samples of microseconds wait for the interpreter's lock, of which more
# threads only make more.
_LONG_WAIT = 0.001
# A narrower choice is kept when it does at least this share of the work of the wider one.
_AS_GOOD = 0.95


class Width:
    """How many of a pool's threads may work; shared by the pools of epochs that run at the same time.

    While the threads mostly wait (a millisecond a sample, or longer) and the CPUs have time left, there are more, up to
    64. Otherwise half as many are tried, down to the CPUs that the process may use, as long as that costs no
    throughput: threads that compute only take turns, and each holds a sample's memory.
    """

    def __init__(self, cpus: int) -> None:
        self.cpus = cpus
        self.now = min(_MOST, max(_START, cpus))
        self.most = max(_MOST, cpus)
        self.reason = "the number it starts with: nothing showed yet that another would be better"
        self._lock = ProcessLock()
        self._settled = False
        self._wider: tuple[int, float] | None = None  # the choice before this one, and its samples a second
        self._clear()

    def add(self, samples: int, wall: float, cpu: float) -> bool:
        """Counts samples that took so many seconds by the clock and on a CPU. True when ``now`` changed."""
        if self._settled:
            return False
        with self._lock():
            return self._add(samples, wall, cpu)

    def limit(self, most: int) -> None:
        """There can't be more than so many."""
        with self._lock():
            self.now = self.most = most

    def _add(self, samples: int, wall: float, cpu: float) -> bool:
        self._samples += samples
        self._wall += wall
        self._cpu += cpu
        elapsed = time.monotonic() - self._since
        if elapsed < _WINDOW or self._samples < 2 * self.now:
            return False
        before = self.now
        waiting = 1 - self._cpu / self._wall if self._wall > 0 else 0.0
        cpus_used = self._cpu / elapsed
        used = f"{waiting:.0%} of their time is waiting, {cpus_used:.1f} of {self.cpus} CPUs are in use"
        long = self._wall - self._cpu >= _LONG_WAIT * self._samples
        if waiting >= _WAITS and long and cpus_used < _CPUS_LEFT:
            self.now = min(self.most, self.now * 2)
            self._wider = None
            self.reason = f"samples mostly wait: {used}"
        elif elapsed < _LONG_WINDOW:
            return False
        else:
            quick = waiting >= _WAITS and not long
            why = "samples wait for less than a millisecond each" if quick else "samples compute"
            self._narrow(self._samples / elapsed, f"{why}: {used}")
        self._clear()
        return self.now != before

    def _narrow(self, rate: float, why: str) -> None:
        if self._wider is not None and rate < _AS_GOOD * self._wider[1]:
            self.reason = f"fewer were slower ({rate:.0f} samples/s instead of {self._wider[1]:.0f})"
            self.now = self._wider[0]
            self._settled = True
        elif self.now > self.cpus:
            self._wider = (self.now, rate)
            self.now = max(self.cpus, self.now // 2)
            self.reason = why
        else:
            self._settled = True

    def _clear(self) -> None:
        self._since = time.monotonic()
        self._samples = 0
        self._wall = self._cpu = 0.0


def fixed_width(threads: int) -> Width:
    """So many threads, whatever they do."""
    width = Width(threads)
    width.now = width.most = threads
    width.reason = "as num_workers says"
    width._settled = True
    return width
