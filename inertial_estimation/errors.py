"""Exceptions of the package; all derive from `InertialEstimationError`."""

import difflib
import math
from collections.abc import Iterable

SHORTEST_PART = 3  # characters of a name that is looked for within others


class InertialEstimationError(Exception):
    """Base of every exception this package raises on purpose."""


class ConfigurationError(InertialEstimationError):
    """A parameter is unknown, of the wrong type, or out of its bounds."""


class ModelError(InertialEstimationError):
    """The robot description cannot be used, or lacks a named joint, link or frame."""


class MeasurementError(InertialEstimationError):
    """A measurement does not fit the model (names, shape, missing field)."""


class DamagedMessageError(MeasurementError):
    """The bytes of a message end early, or are no message of its type."""


class RecordingError(InertialEstimationError):
    """A recording is missing, empty, truncated, or lacks a topic of the expected type."""


class InconsistentInertiaError(InertialEstimationError):
    """Inertial parameters are physically inconsistent: no distribution of positive mass has them."""


class NumericalError(InertialEstimationError):
    """A factorisation failed: the matrix is singular, not positive definite, or holds NaN."""


class MissingDependencyError(InertialEstimationError):
    """An optional dependency of the requested function is not installed."""


class WorkerError(InertialEstimationError):
    """A process or a cluster that is to share the work is missing, unsuitable, or ends while it works."""


MOST_NAMES = 8  # listed in a sentence that says more than the names


def listing(names: Iterable[str], *, limit: int = 60) -> str:
    """Render the names that exist, for the end of an error message.

    Args:
        names: Names in the order they should be read.
        limit: How many to print before the rest is only counted.

    Returns:
        Comma-separated names, or "none".
    """
    known = list(names)
    if not known:
        return "none"
    shown = ", ".join(known[:limit])
    return shown if len(known) <= limit else f"{shown}, ... ({len(known) - limit} more)"


def counted(count: int, noun: str) -> str:
    """Return a number of things in words: 1 message, 2 messages."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def to_sigma(value: float, sigma: float | None) -> str:
    """Return a number to the second digit of its standard deviation, or to four digits; "-" for none."""
    if not math.isfinite(value):
        return "-"
    if sigma is None or not 0.0 < sigma < math.inf:
        return f"{value:.4g}"
    digits = max(0, 1 - math.floor(math.log10(sigma)))
    return f"{round(value, digits) + 0.0:.{digits}f}"  # no minus sign before zero


def with_sigma(value: float, sigma: float | None, sign: str = "+-") -> str:
    """Return a number with its standard deviation, both to the second digit of that: 9.82 +- 0.11."""
    text = to_sigma(value, sigma)
    if sigma is None or not 0.0 < sigma < math.inf or not math.isfinite(value):
        return text
    return f"{text} {sign} {to_sigma(sigma, sigma)}"


def did_you_mean(name: str, known: Iterable[str], otherwise: str, *, limit: int = 12) -> str:
    """Return the end of a message about a name that does not exist: the nearest one, else some that do.

    The nearest is the most similar name, else the shortest that has the given one in it.

    Args:
        name: The name that was given.
        known: Names that exist, in the order they should be read.
        otherwise: Text before the list of names where none is near, for instance ``the model has``.
        limit: How many names of that list to print before the rest is only counted.
    """
    names = list(known)
    plain = {one.lower(): one for one in reversed(names)}
    close = difflib.get_close_matches(name.lower(), plain, n=1)
    if not close and len(name) >= SHORTEST_PART:
        close = sorted((one for one in plain if name.lower() in one), key=len)[:1]
    if close:
        return f", did you mean '{plain[close[0]]}'?"
    return f"; {otherwise} {listing(names, limit=limit)}"


def one_line(value: object, *, limit: int = 500) -> str:
    """Return a text for an error message: on one line, without control characters, of bounded length.

    Args:
        value: A text, or an exception of which the text is taken; it may contain whatever a file contains.
        limit: How many characters to show.
    """
    text = " ".join(str(value).split())
    text = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text[: limit + 1])
    return text if len(text) <= limit else f"{text[: limit - 3]}..."
