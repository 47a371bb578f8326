"""Construction of values whose parts are known to be right, at the rates of sensors."""

from collections.abc import Callable
from dataclasses import fields
from typing import Any, TypeVar

__all__ = ["made_of_checked"]

ValueT = TypeVar("ValueT")


def made_of_checked(kind: type[ValueT]) -> Callable[..., ValueT]:
    """Return a constructor that takes its arguments as they are, in a seventh to a half of the time.

    It is for what is made at the rates of sensors, from arrays that are read-only, aligned floats of the
    right shapes: numbers of a message, or of an estimator. Its source is made for the fields, as that of
    `__init__` is by `dataclass`: a loop over them takes 1.8 to 2.6 times as long.

    Args:
        kind: A dataclass with slots.

    Returns:
        Function of the fields in the order of their declaration.
    """
    names = [each.name for each in fields(kind)]  # type: ignore[arg-type]
    scope: dict[str, Any] = {f"set_{name}": getattr(kind, name).__set__ for name in names}
    scope |= {"new": object.__new__, "kind": kind}
    lines = [f"    set_{name}(made, {name})" for name in names]
    lines = [f"def make({', '.join(names)}):", "    made = new(kind)", *lines, "    return made"]
    exec("\n".join(lines), scope)
    make: Callable[..., ValueT] = scope["make"]
    return make
