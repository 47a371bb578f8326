"""XML texts parsed with limits: of size, depth and number of elements, and without entities of their own.

An entity that holds others ten times, ten deep, is a text of 1 kB that takes gigabytes; expat before 2.4 has
no limit for it, and a URDF needs none.
"""

from typing import Any
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from inertial_estimation.errors import ModelError, one_line

LARGEST_TEXT = 20_000_000  # characters; the largest URDF of example-robot-data has 0.2 million
MOST_ELEMENTS = 200_000
DEEPEST = 64


class _Limits:
    """Builds the tree of elements until a limit is passed."""

    def __init__(self) -> None:
        self.builder = TreeBuilder()
        self.parser = expat.ParserCreate()
        self._depth = 0
        self._count = 0
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self.builder.data
        self.parser.EntityDeclHandler = self._entity

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        self._count += 1
        if self._depth > DEEPEST or self._count > MOST_ELEMENTS:
            limit = f"elements nested more than {DEEPEST} deep"
            said = limit if self._depth > DEEPEST else f"more than {MOST_ELEMENTS} elements"
            raise _LimitError(self.parser.CurrentLineNumber, said)
        self.builder.start(tag, attributes)

    def _end(self, tag: str) -> None:
        self._depth -= 1
        self.builder.end(tag)

    def _entity(self, name: str, *_rest: Any) -> None:
        raise _LimitError(self.parser.CurrentLineNumber, f"a definition of the entity '{name}'")


class _LimitError(Exception):
    """What a text may not hold, and in which line."""

    def __init__(self, line: int, got: str) -> None:
        super().__init__(f"line {line} has {got}")


def parse_xml(text: str, where: str) -> Element:
    """Return the root element of an XML text.

    Args:
        text: The text.
        where: Where it came from, for messages.

    Raises:
        ModelError: If it is not well-formed, or passes a limit; names the line.
    """
    if len(text) > LARGEST_TEXT:
        raise ModelError(f"{where} has {len(text)} characters, expected at most {LARGEST_TEXT}")
    limits = _Limits()
    try:
        limits.parser.Parse(text.lstrip("\ufeff"), True)
    except expat.ExpatError as error:
        said = expat.errors.messages.get(error.code, str(error))
        raise ModelError(f"{where} is no URDF: line {error.lineno} is not well-formed XML: {said}") from error
    except _LimitError as error:
        raise ModelError(f"{where} is no URDF: {one_line(error)}") from None
    except ValueError as error:  # a lone surrogate
        raise ModelError(f"{where} is not a text that UTF-8 can hold: {one_line(error)}") from error
    return limits.builder.close()
