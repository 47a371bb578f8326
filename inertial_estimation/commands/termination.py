"""Ends a command on a signal: SIGTERM and SIGHUP unwind it as Ctrl-C does."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
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

    A signal that is ignored on entry (nohup) stays ignored. Python delivers signals to the main thread only;
    in another thread nothing is changed. Where Python discards the exception of a signal, Ctrl-C included, as
    it was raised in a finaliser or in a callback of fork, the signal is sent again.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in SIGNALS}
    taken = [number for number, handler in before.items() if handler == signal.SIG_DFL]
    hook = sys.unraisablehook
    sys.unraisablehook = _again(hook)
    try:
        for number in taken:
            signal.signal(number, _raise)
        yield
    finally:
        sys.unraisablehook = hook
        for number in taken:
            signal.signal(number, before[number])


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


@contextmanager
def prevailing_signals() -> Iterator[None]:
    """Let the exception of a signal leave the context, whatever the code in it makes of it.

    For code that converts or discards exceptions, as a compiler does, and the import of libraries: the
    exception is raised at once, and raised again where another one, or none, leaves the context.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = {
        number: handler
        for number in (signal.SIGINT, *SIGNALS)
        if callable(handler := signal.getsignal(number))
    }
    raised: list[BaseException] = []

    def handle(number: int, frame: FrameType | None) -> None:
        try:
            handlers[signal.Signals(number)](number, frame)
        except BaseException as error:
            raised.append(error)
            raise

    for number in handlers:
        signal.signal(number, handle)
    try:
        yield
    finally:
        for number, handler in handlers.items():
            if signal.getsignal(number) is handle:
                signal.signal(number, handler)
        if raised:
            raise raised[-1]


def _raise(number: int, _frame: FrameType | None) -> None:
    for other in SIGNALS:  # once is enough: a second one must not break the way out
        signal.signal(other, signal.SIG_IGN)
    raise Terminated(number)


def _again(hook: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a hook for discarded exceptions which sends the signal again that raised one."""

    def discarded(unraisable: Any) -> None:
        error = unraisable.exc_value
        if isinstance(error, Terminated):
            number = error.number
            signal.signal(number, _raise)
        elif isinstance(error, KeyboardInterrupt):
            number = signal.SIGINT
        else:
            hook(unraisable)
            return
        timer = threading.Timer(AGAIN_S, os.kill, (os.getpid(), number))  # raised here, it is lost again
        timer.daemon = True
        timer.start()

    return discarded
