"""A progress bar of a command on stderr, shown only on a terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["progress_bar"]


@contextmanager
def progress_bar(title: str, total: float, unit: str = "it") -> Iterator[Callable[[float], None]]:
    """Show a progress bar while the context lasts, if there is a terminal and tqdm is installed.

    Args:
        title: What goes on.
        total: How much there is to do.
        unit: Of it.

    Yields:
        A function to call with the completed amount.
    """
    try:
        from tqdm import tqdm
    except ImportError:
        yield lambda _done: None
        return
    with tqdm(
        total=round(total, 1), unit=unit, desc=title, file=sys.stderr, disable=not sys.stderr.isatty()
    ) as bar:

        def show(done: float) -> None:
            bar.update(max(min(round(done, 1), bar.total) - bar.n, 0.0))

        yield show
