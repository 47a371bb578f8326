"""Ends a command on a signal: SIGTERM and SIGHUP unwind it as Ctrl-C does."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGTERM, signal.SIGHUP)  # of `kill` and of a terminal or ssh session that is closed
AGAIN_S = 0.05  # after which a signal is sent again whose exception was discarded


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
    compiler and the import of libraries convert or discard it. Where Python itself discards it, as in a
    finaliser or a callback of fork, the signal is sent again. A signal that is ignored on entry (nohup) stays
    ignored. Python delivers signals to the main thread only; in another thread nothing is changed.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, *SIGNALS)}
    raised: list[BaseException] = []
    hook = sys.unraisablehook

    def unwind(number: int, _frame: FrameType | None) -> None:
        if number == signal.SIGINT:
            raised.append(KeyboardInterrupt())
        elif not raised:  # once is enough: a second one must not break the way out
            raised.append(Terminated(number))
        else:
            return
        raise raised[-1]

    def discarded(unraisable: Any) -> None:
        error = unraisable.exc_value
        if not any(error is one for one in raised):
            hook(unraisable)
            return
        raised.clear()
        number = error.number if isinstance(error, Terminated) else signal.SIGINT
        timer = threading.Timer(AGAIN_S, os.kill, (os.getpid(), number))  # raised here, it is lost again
        timer.daemon = True
        timer.start()

    taken = [n for n, handler in before.items() if handler in (signal.SIG_DFL, signal.default_int_handler)]
    sys.unraisablehook = discarded
    for number in taken:
        signal.signal(number, unwind)
    try:
        yield
    finally:
        sys.unraisablehook = hook
        for number in taken:
            signal.signal(number, before[number])
        if raised:
            raise raised[-1]


@contextmanager
def held_signals() -> Iterator[None]:
    """Hold signals that a Python function handles, Ctrl-C included, until the end of the context.

    For what must not end half way, such as the start of a process before it is known to whoever ends it, and
    for fork, whose callbacks discard exceptions. A signal that has arrived is raised again at the end.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, *SIGNALS)}
    arrived: list[int] = []
    held = [number for number, handler in handlers.items() if callable(handler)]
    for number in held:
        signal.signal(number, lambda number, _frame: arrived.append(number))
    try:
        yield
    finally:
        for number in held:
            signal.signal(number, handlers[number])
        for arrived_number in dict.fromkeys(arrived):
            signal.raise_signal(arrived_number)
