"""The samples that could not be loaded: of all epochs, for ``loader.errors``, and of one."""

from __future__ import annotations

from pyfastdl.errors import FailedSample, Failure, LoaderError

__all__ = ["EpochFailures", "FailureLog"]

# The list stops growing here.
_MOST = 10_000


class FailureLog:
    """What ``loader.errors`` shows. Iterators hold it instead of the loader, which may hold them."""

    def __init__(self) -> None:
        self.kept: list[FailedSample] = []

    def add(self, failures: list[Failure]) -> None:
        if len(self.kept) < _MOST:
            self.kept += [FailedSample(*failure) for failure in failures]  # at once: epochs may run in several threads
            del self.kept[_MOST:]


class EpochFailures:
    """Counts those of one epoch, and adds them to the loader's log.

    Args:
        handed_over: whether the epoch goes on behind batches that the training loop has got.
    """

    def __init__(self, log: FailureLog, handed_over: bool = False) -> None:
        self._log = log
        self._count = 0
        self._first: Failure | None = None
        self.handed_over = handed_over  # to be set with the first batch

    def add(self, failures: list[Failure]) -> None:
        if failures:
            self._first = self._first or failures[0]
            self._count += len(failures)
            self._log.add(failures)

    def check_end(self, what: str) -> None:
        """At the epoch's end; once.

        Args:
            what: the user should look at.

        Raises:
            LoaderError: nothing but failures.
        """
        first, self._first = self._first, None
        if first is not None and not self.handed_over:
            raise LoaderError(
                f"not one of {self._count} samples could be loaded; the first is {FailedSample(*first)}: check {what}"
            ) from None
