"""YAML as in ROS parameter files; every error message names the line.

The rules are those of rcl's parser where it differs from PyYAML: no aliases, no dates, no sexagesimal
numbers, ``1e3`` is a number. A duplicate key of a mapping is an error, because the last value would replace
the first one silently.
"""

import re
from pathlib import Path
from sysconfig import get_path
from typing import Any

import yaml
from yaml.constructor import ConstructorError

from inertial_estimation.errors import ConfigurationError, one_line
from inertial_estimation.files.text_file import read_text

LARGEST_INTEGER = 2**63 - 1  # largest integer of ROS; a larger one is read as a float, as by rcl
_CORE = "tag:yaml.org,2002:"
_BASE: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class YamlMapping(dict[str, Any]):
    """A mapping of a YAML text.

    Attributes:
        lines: Line number of each key, from 1.
    """

    def __init__(self) -> None:
        """Create an empty mapping."""
        super().__init__()
        self.lines: dict[str, int] = {}


class _Loader(_BASE):  # type: ignore[misc]
    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012

    def construct_mapping(self, node: Any, deep: bool = True) -> YamlMapping:
        mapping = YamlMapping()
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise _refused(key, "a list or mapping as a key, expected a name")
            name = str(key.value)
            if name in mapping:
                first = mapping.lines[name]
                raise _refused(key, f"the key '{name}' is there a second time, first in line {first}")
            mapping[name] = self.construct_object(value, deep=True)
            mapping.lines[name] = key.start_mark.line + 1
        return mapping

    def construct_list(self, node: Any) -> list[Any]:
        return list(self.construct_sequence(node, deep=True))

    def construct_integer(self, node: Any) -> int | float:
        text = str(self.construct_scalar(node))
        octal = re.fullmatch("[-+]?0[0-7]+", text)
        try:
            number = int(text, 8 if octal else 0)
            return number if abs(number) <= LARGEST_INTEGER else float(number)
        except (ValueError, OverflowError):
            raise _refused(node, f"'{one_line(text, limit=40)}' is no integer within its range") from None

    def construct_float(self, node: Any) -> float:
        text = str(self.construct_scalar(node))
        try:
            number = float(re.sub(r"^([-+]?)\.(inf|nan)$", r"\1\2", text, flags=re.IGNORECASE))
        except ValueError:
            number = float("inf")
        if abs(number) == float("inf") and "inf" not in text.lower():
            raise _refused(node, f"'{one_line(text, limit=40)}' is no number within its range")
        return number


for _name, _pattern, _first in (  # types of plain scalars; everything else is text
    ("bool", r"yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF", "yYnNtTfFoO"),
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("int", r"[-+]?(0b[01]+|0x[0-9a-fA-F]+|0o?[0-7]+|0|[1-9][0-9]*)", "-+0123456789"),
    (
        "float",
        r"[-+]?([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
        "-+.0123456789",
    ),
):
    _Loader.add_implicit_resolver(f"{_CORE}{_name}", re.compile(rf"(?:{_pattern})\Z"), list(_first))
for _names, _construct in (
    (("map",), _Loader.construct_mapping),
    (("seq", "python/tuple"), _Loader.construct_list),  # launch_ros writes every list as a tuple
    (("int",), _Loader.construct_integer),
    (("float",), _Loader.construct_float),
):
    for _name in _names:
        _Loader.add_constructor(f"{_CORE}{_name}", _construct)


def read_yaml(path: str | Path, what: str) -> Any:
    """Return the content of a YAML file, which `what` describes in messages; see `load_yaml`.

    Raises:
        ConfigurationError: If it cannot be read, or is not valid by the rules of `load_yaml`.
    """
    return load_yaml(read_text(path, what), f"'{path}'")


def load_yaml(text: str, where: str) -> Any:
    """Return the content of a YAML text: None, bool, int, float, str, lists and `YamlMapping`.

    Args:
        text: One YAML document.
        where: Where it came from, for messages (``parameter file 'robot.yaml'``).

    Raises:
        ConfigurationError: If it is not valid YAML, or contains an alias, an unknown tag, a duplicate key, or
            a number out of range; the message names the line.
    """
    try:
        for event in yaml.parse(text, _Loader):
            if isinstance(event, yaml.AliasEvent):
                raise _refused(event, f"the alias '*{event.anchor}', which ROS parameters cannot have")
        return yaml.load(text, _Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        at = f", line {mark.line + 1}" if mark is not None else ""
        problem = ", ".join(filter(None, (error.context, error.problem)))
        kind = "" if isinstance(error, ConstructorError) else "not valid YAML: "
        raise ConfigurationError(f"{where}{at}: {kind}{one_line(problem)}") from error
    except (yaml.YAMLError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ConfigurationError(f"{where}: not valid YAML: {one_line(error)}") from error


def _refused(place: Any, why: str) -> ConstructorError:
    return ConstructorError(problem=why, problem_mark=place.start_mark)


def packaged_files(folder: str) -> dict[str, Path]:
    """Return the YAML files of a folder that the package installs, by name without ending.

    Args:
        folder: Its path in the sources and in the share folder of an installation (``config/maps``).
    """
    package = Path(__file__).resolve().parents[1]
    shares = [prefix / "share" / package.name for prefix in (Path(get_path("data")), *package.parents)]
    roots = [package.parent, *shares]
    return {file.stem: file for root in reversed(roots) for file in sorted((root / folder).glob("*.yaml"))}
