"""Construction of values whose parts are known to be right, at the rates of sensors."""

from collections.abc import Callable
from dataclasses import fields
from typing import Any, TypeVar

ValueT = TypeVar("ValueT")


def unchecked(kind: type[ValueT]) -> Callable[..., ValueT]:
    """Return a constructor that takes its arguments as they are, without copies and checks.

    It is for values at the rates of sensors, of arrays that are read-only, aligned floats of the right
    shapes: numbers of a message, or of an estimator.

    Args:
        kind: A frozen dataclass.

    Returns:
        Function of the fields in the order of their declaration.
    """
    names = [each.name for each in fields(kind)]  # type: ignore[arg-type]
    new, assign = object.__new__, object.__setattr__

    def construct(*values: Any) -> ValueT:
        value = new(kind)
        for name, part in zip(names, values, strict=True):
            assign(value, name, part)
        return value

    return construct
