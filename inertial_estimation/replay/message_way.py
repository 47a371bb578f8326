"""The way of the messages of one topic into what reads them."""

from collections.abc import Callable
from typing import NamedTuple

__all__ = ["MessageWay"]


class MessageWay(NamedTuple):
    """The way of the messages of one topic into what reads them.

    Attributes:
        push: Takes the value of a message.
        take: Takes a serialised message if it is a usual one and returns whether it has; None: none is.
    """

    push: Callable[..., None]
    take: Callable[[bytes], bool] | None = None
