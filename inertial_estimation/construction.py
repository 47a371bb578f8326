"""Construction of values whose parts are known to be right, at the rates of sensors."""

from collections.abc import Callable
from dataclasses import fields
from typing import Any, TypeVar

ValueT = TypeVar("ValueT")


def made_of_checked(kind: type[ValueT]) -> Callable[..., ValueT]:
    """Return a constructor that takes its arguments as they are, in a quarter of the time or less.

    It is for what is made at the rates of sensors, from arrays that are read-only, aligned floats of the
    right shapes: numbers of a message, or of an estimator. The fields are assigned while the value is of a
    class of the same slots that is not frozen: setting them past a frozen class takes twice as long. Its
    source is made for the fields, as that of `__init__` is by `dataclass`: a loop over them takes 1.8 to 2.6
    times as long.

    Args:
        kind: A dataclass with slots, whose bases have none.

    Returns:
        Function of the fields in the order of their declaration.
    """
    names = [each.name for each in fields(kind)]  # type: ignore[arg-type]
    slots = {"__slots__": kind.__slots__}  # type: ignore[attr-defined]
    scope: dict[str, Any] = {"unfrozen": type(kind.__name__, kind.__bases__, slots), "kind": kind}
    lines = [f"    made.{name} = {name}" for name in names]
    lines = [f"def make({', '.join(names)}):", "    made = unfrozen()", *lines]
    lines += ["    made.__class__ = kind", "    return made"]
    exec("\n".join(lines), scope)
    make: Callable[..., ValueT] = scope["make"]
    return make
