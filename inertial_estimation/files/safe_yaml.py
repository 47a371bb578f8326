"""YAML as ROS parameter files use it, in bounded time and memory; every refusal names the line.

The rules are those of rcl's parser where it has any: no aliases (so neither recursive nor exploding ones), no
dates, no sexagesimal numbers, ``1e3`` is a number. Beyond them a key that appears twice in a mapping is
refused, because the last one would win silently.
"""

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import yaml

from inertial_estimation.errors import ConfigurationError, one_line
from inertial_estimation.files.text_file import read_text

LARGEST_TEXT = (
    2**18 if yaml.__with_libyaml__ else 2**16
)  # [bytes], read in less than 2 s; the package's have 4 kB
DEEPEST = 50  # levels of nesting; a parameter file has about six
LARGEST_INTEGER = 2**63 - 1  # an integer of ROS; a larger one is read as a float, as rcl does
_CORE = "tag:yaml.org,2002:"
_LIST_TAGS = (f"{_CORE}seq", f"{_CORE}python/tuple")  # launch_ros writes every list as a tuple


class YamlMapping(dict[str, Any]):
    """A mapping of a YAML text, with the line of every key.

    Attributes:
        lines: Line (from 1) by key.
    """

    def __init__(self) -> None:
        """Make an empty mapping."""
        super().__init__()
        self.lines: dict[str, int] = {}


class _PythonParser(yaml.reader.Reader, yaml.scanner.Scanner, yaml.parser.Parser):
    """Parser of PyYAML without libyaml: four times slower, the same events."""

    def __init__(self, text: str) -> None:
        yaml.reader.Reader.__init__(self, text)
        yaml.scanner.Scanner.__init__(self)
        yaml.parser.Parser.__init__(self)


_Parser: Any = getattr(yaml.cyaml, "CParser") if yaml.__with_libyaml__ else _PythonParser  # noqa: B009


class _Loader(yaml.composer.Composer, _Parser, yaml.resolver.BaseResolver):  # type: ignore[misc]
    """Composes nodes without aliases and not deeper than `DEEPEST`."""

    def __init__(self, text: str) -> None:
        _Parser.__init__(self, text)
        yaml.composer.Composer.__init__(self)
        yaml.resolver.BaseResolver.__init__(self)
        self._depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        event = self.peek_event()
        if isinstance(event, yaml.AliasEvent):
            raise _RefusedError(event, f"the alias '*{event.anchor}', which ROS parameters cannot have")
        self._depth += 1
        if self._depth > DEEPEST:
            raise _RefusedError(event, f"more than {DEEPEST} levels of nesting")
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node


for _name, _pattern, _first in (  # of plain scalars; everything else is text
    ("bool", r"yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF", "yYnNtTfFoO"),
    ("null", r"~|null|Null|NULL|", "~nN"),
    ("int", r"[-+]?(0b[01]+|0x[0-9a-fA-F]+|0o?[0-7]+|0|[1-9][0-9]*)", "-+0123456789"),
    (
        "float",
        r"[-+]?([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
        "-+.0123456789",
    ),
):
    _starts = [*_first, ""] if _name == "null" else list(_first)
    _Loader.add_implicit_resolver(f"{_CORE}{_name}", re.compile(rf"(?:{_pattern})\Z"), _starts)


class _RefusedError(Exception):
    """What a text may not hold, and where: an event or a node."""

    def __init__(self, place: Any, got: str) -> None:
        super().__init__(got)
        self.line = place.start_mark.line + 1


def read_yaml(path: str | Path, what: str) -> Any:
    """Return the content of a YAML file; see `load_yaml`.

    Args:
        path: The file.
        what: What it should hold, for messages (``parameter file``).

    Raises:
        ConfigurationError: If it cannot be read, is larger than `LARGEST_TEXT`, or `load_yaml` refuses it.
    """
    return load_yaml(read_text(path, what, limit=LARGEST_TEXT), f"'{path}'")


def load_yaml(text: str, where: str) -> Any:
    """Return the content of a YAML text: None, bool, int, float, str, lists and `YamlMapping`.

    Args:
        text: One YAML document.
        where: Where it came from, for messages (``parameter file 'robot.yaml'``).

    Raises:
        ConfigurationError: If it is not valid YAML, is larger than `LARGEST_TEXT`, holds an alias, a tag
            beyond the core ones and that of a tuple, a key twice, a number out of range or too deep nesting;
            names the line.
    """
    if len(text) > LARGEST_TEXT:
        raise ConfigurationError(f"{where} has {len(text)} characters, expected at most {LARGEST_TEXT}")
    odd = yaml.reader.Reader.NON_PRINTABLE.search(text)
    if odd is not None:
        line = text.count("\n", 0, odd.start()) + 1
        raise ConfigurationError(
            f"{where}, line {line}: the character U+{ord(odd.group()):04X} is not valid in YAML"
        )
    try:
        node = _Loader(text).get_single_node()
        return None if node is None else _value(node)
    except _RefusedError as refused:
        raise ConfigurationError(f"{where}, line {refused.line}: {one_line(refused)}") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        at = f", line {mark.line + 1}" if mark is not None else ""
        said = ", ".join(filter(None, (error.context, error.problem)))
        raise ConfigurationError(f"{where}{at}: not valid YAML: {one_line(said)}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ConfigurationError(f"{where}: not valid YAML: {one_line(error)}") from error


class _Dumper(yaml.SafeDumper):
    """Writes what `load_yaml` returns."""


_Dumper.add_representer(YamlMapping, lambda dumper, mapping: dumper.represent_dict(mapping.items()))


def yaml_line(value: Any) -> str:
    """Return a value as YAML on one line."""
    text: str = yaml.dump(value, Dumper=_Dumper, default_flow_style=True, width=10_000)
    return text.removesuffix("\n").removesuffix("\n...")


def _value(node: Any) -> Any:
    """Return the Python value of a node; the depth is bounded by the composer."""
    kind = node.tag.removeprefix(_CORE)
    if isinstance(node, yaml.ScalarNode) and f"{_CORE}{kind}" == node.tag and kind in _SCALARS:
        try:
            return _SCALARS[kind](node.value)
        except (ValueError, OverflowError, KeyError):
            shown = one_line(node.value, limit=40)
            raise _RefusedError(
                node, f"'{shown}', expected a value of type {kind} within its range"
            ) from None
    if isinstance(node, yaml.SequenceNode) and node.tag in _LIST_TAGS:
        return [_value(item) for item in node.value]
    if isinstance(node, yaml.MappingNode) and node.tag == f"{_CORE}map":
        return _mapping(node.value)
    raise _RefusedError(node, f"the tag '{node.tag}', expected none")


def _mapping(pairs: Iterable[tuple[Any, Any]]) -> YamlMapping:
    mapping = YamlMapping()
    for key, value in pairs:
        if not isinstance(key, yaml.ScalarNode):
            raise _RefusedError(key, "a list or mapping as a key, expected a name")
        name = str(key.value)
        if name in mapping:
            said = f"the key '{name}' is there a second time, first in line {mapping.lines[name]}"
            raise _RefusedError(key, said)
        mapping[name] = _value(value)
        mapping.lines[name] = key.start_mark.line + 1
    return mapping


def _integer(text: str) -> int | float:
    plain = text.lstrip("+-")
    octal = len(plain) > 1 and plain[0] == "0" and plain[1] in "01234567"
    number = int(text, 8 if octal else 0)
    return number if abs(number) <= LARGEST_INTEGER else float(number)


def _float(text: str) -> float:
    infinite = text.lower().lstrip("+-") in (".inf", ".nan")
    number = float(text.replace(".", "") if infinite else text)
    if abs(number) == float("inf") and not infinite:
        raise OverflowError
    return number


_TRUTH = {"yes": True, "true": True, "on": True, "no": False, "false": False, "off": False}
_SCALARS: dict[str, Callable[[str], Any]] = {
    "str": str,
    "null": lambda _text: None,
    "bool": lambda text: _TRUTH[text.lower()],
    "int": _integer,
    "float": _float,
}
