"""What another thread does between two lines, or an interrupt: at each line of some functions, one after another."""

from __future__ import annotations

import itertools
import sys
import threading

# Whoever waits for a lock that is taken doesn't get on in this time; whoever doesn't, does.
_MOMENT = 0.1


class Other:
    """A call in another thread, and what came of it."""

    def __init__(self, call):
        self.value = self.error = None
        self._call = call
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self):
        try:
            self.value = self._call()
        except BaseException as error:
            self.error = error

    def start(self):
        self._thread.start()
        self._thread.join(_MOMENT)

    def result(self):
        self._thread.join(30)
        assert not self._thread.is_alive(), "it hangs"
        if self.error is not None:
            raise self.error
        return self.value


def at_line(moment, names, act, opcodes=False, file="pyfastdl"):
    """A trace function that acts before the line of this number, counted in functions of these names (None: in all);
    its ``reached`` says whether there was one."""
    lines = 0

    def trace(frame, event, _):
        nonlocal lines
        code = frame.f_code
        if event == "call":
            if file not in code.co_filename or (names is not None and code.co_name not in names):
                return None
            frame.f_trace_opcodes = opcodes
        elif event == ("opcode" if opcodes else "line"):
            lines += 1
            if lines == moment:
                trace.reached = True
                act()
        return trace

    trace.reached = False
    return trace


def traced(trace, call):
    sys.settrace(trace)
    try:
        return call()
    finally:
        sys.settrace(None)


def interleaved(names, make, mine, others, opcodes=False, file="pyfastdl"):
    """For each line of ``mine`` in functions of these names: what ``make`` made, and what ``mine`` and ``others`` gave,
    where another thread did ``others`` right before that line (or from there on, if it had to wait)."""
    for moment in itertools.count(1):
        made = make()
        other = Other(lambda made=made: others(made))
        trace = at_line(moment, names, other.start, opcodes, file)
        gave = traced(trace, lambda made=made: mine(made))
        if not trace.reached:
            assert moment > 1
            return
        yield made, gave, other.result()
