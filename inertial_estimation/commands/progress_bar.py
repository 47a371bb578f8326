"""Progress of a command on stderr: a bar on a terminal, a line now and then in a pipe or a log."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LINE_PERIOD_S = 10.0  # between two lines; what takes less prints none


@contextmanager
def progress_bar(title: str, total: float, unit: str = "") -> Iterator[Callable[[float], None]]:
    """Show progress while the context lasts.

    Args:
        title: What goes on.
        total: How much there is to do.
        unit: Of it; empty for steps.

    Yields:
        A function to call with the completed amount.
    """
    if not sys.stderr.isatty():
        yield progress_lines(title, total, unit)
        return
    try:
        from tqdm import tqdm
    except ImportError:
        yield progress_lines(title, total, unit)
        return
    with tqdm(total=round(total, 1), unit=unit or "it", desc=title, file=sys.stderr) as bar:

        def show(done: float) -> None:
            bar.update(max(min(round(done, 1), bar.total) - bar.n, 0.0))

        yield show


def progress_lines(title: str, total: float, unit: str = "") -> Callable[[float], None]:
    """Return a function that prints the completed amount as a line of its own, at most every ten seconds.

    Args:
        title: What goes on.
        total: How much there is to do.
        unit: Of it; empty for steps.
    """
    begin_s = time.monotonic()
    next_s = begin_s + LINE_PERIOD_S

    def show(done: float) -> None:
        nonlocal next_s
        now_s = time.monotonic()
        if now_s < next_s:
            return
        next_s = now_s + LINE_PERIOD_S
        share = 100.0 * min(done / total, 1.0) if total > 0.0 else 100.0
        amount = f"{done:.1f} of {total:.1f} {unit}, " if unit else ""
        print(f"{title}: {share:.0f} % ({amount}{now_s - begin_s:.0f} s)", file=sys.stderr, flush=True)

    return show


@contextmanager
def progress_words(title: str) -> Iterator[Callable[[str], None]]:
    """Show what is being done while the context lasts, where it is not known how much is left.

    Args:
        title: What goes on.

    Yields:
        A function to call with what is done now.
    """
    live = sys.stderr.isatty()
    next_s = time.monotonic() + LINE_PERIOD_S

    def show(what: str) -> None:
        nonlocal next_s
        now_s = time.monotonic()
        if live:
            print(f"\r{title}: {what:<40}", end="", file=sys.stderr, flush=True)
        elif now_s >= next_s:
            next_s = now_s + LINE_PERIOD_S
            print(f"{title}: {what}", file=sys.stderr, flush=True)

    try:
        yield show
    finally:
        if live:
            print(f"\r{' ' * (len(title) + 42)}\r", end="", file=sys.stderr, flush=True)
