"""Ends a command on a signal: SIGTERM and SIGHUP unwind it as Ctrl-C does."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGTERM, signal.SIGHUP)  # of `kill` and of a terminal or ssh session that is closed


class Terminated(SystemExit):
    """Raised by a signal that ends the process; the exit code is 128 plus the number, as in a shell."""

    def __init__(self, number: int) -> None:
        """Store the signal's number."""
        super().__init__(128 + number)
        self.number = number


@contextmanager
def unwound_by_signals() -> Iterator[None]:
    """Raise `Terminated` on SIGTERM and SIGHUP within the context, so that resources are released.

    The exception of a signal, Ctrl-C included, leaves the context whatever the code in it makes of it: a
    compiler and the import of libraries convert or discard it. A signal that is ignored on entry (nohup)
    stays ignored. Python delivers signals to the main thread only; in another thread nothing is changed.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, *SIGNALS)}
    taken = [n for n, handler in before.items() if handler in (signal.SIG_DFL, signal.default_int_handler)]
    raised: list[BaseException] = []

    def unwind(number: int, _frame: FrameType | None) -> None:
        if number == signal.SIGINT:
            raised.append(KeyboardInterrupt())
        elif not raised:  # once is enough: a second one must not break the way out
            raised.append(Terminated(number))
        else:
            return
        raise raised[-1]

    for number in taken:
        signal.signal(number, unwind)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, before[number])
        if raised:
            raise raised[-1]
