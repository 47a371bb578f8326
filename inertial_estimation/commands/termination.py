"""Ends a command on a signal: SIGTERM and SIGHUP unwind it as Ctrl-C does."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["Terminated", "unwound_by_signals"]

SIGNALS = (signal.SIGTERM, signal.SIGHUP)  # of `kill` and of a terminal or ssh session that is closed


class Terminated(SystemExit):
    """Raised by a signal that ends the process; the exit code is 128 plus the number, as in a shell."""

    def __init__(self, number: int) -> None:
        """Store the signal's number."""
        super().__init__(128 + number)


@contextmanager
def unwound_by_signals() -> Iterator[None]:
    """Raise `Terminated` on SIGTERM and SIGHUP within the context, so that resources are released.

    A signal that is ignored on entry (nohup) stays ignored. Python delivers signals to the main thread only;
    in another thread nothing is changed.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in SIGNALS}
    taken = [number for number, handler in before.items() if handler == signal.SIG_DFL]
    try:
        for number in taken:
            signal.signal(number, _raise)
        yield
    finally:
        for number in taken:
            signal.signal(number, before[number])


def _raise(number: int, _frame: FrameType | None) -> None:
    for other in SIGNALS:  # once is enough: a second one must not break the way out
        signal.signal(other, signal.SIG_IGN)
    raise Terminated(number)
