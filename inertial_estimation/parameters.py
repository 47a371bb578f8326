"""Parameters declared once: a dataclass field with default, unit, bounds and description.

Estimators own frozen dataclasses whose fields are declared by `parameter`. The same declaration becomes
the ROS parameter descriptor, the check of a YAML file and the table in the documentation. A nested
dataclass declared by `section` contributes its fields under a dotted prefix (``prior.mass``).
"""

import dataclasses
import difflib
import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from typing import Any, TypeVar, get_type_hints

from inertial_estimation.errors import ConfigurationError, counted, listing, one_line

MOST_LISTED = 12  # names of an error message
_SPEC = "inertial_estimation.parameter"
_SECTION = "inertial_estimation.section"
_WITHOUT = "inertial_estimation.without"
ConfigT = TypeVar("ConfigT")


@dataclass(frozen=True)
class ParameterSpec:
    """The declaration of one parameter.

    Attributes:
        name: Dotted name as in the YAML file; empty until the parameter is listed.
        default: Default value (float, int, bool, str, or tuple of str or float).
        description: One or more sentences that stand alone, for the descriptor and the documentation.
        unit: Unit of the value; empty for a pure number.
        lower: Smallest value allowed, inclusive.
        upper: Largest value allowed, inclusive.
        choices: For strings: the values allowed; empty for any.
        runtime: Whether the value may change while the estimator runs.
        texts: For lists: whether the items are strings and not numbers, set when the parameter is listed.
    """

    name: str
    default: Any
    description: str
    unit: str = ""
    lower: float | None = None
    upper: float | None = None
    choices: tuple[str, ...] = ()
    runtime: bool = False
    texts: bool = False


def parameter(
    default: Any,
    description: str,
    *,
    unit: str = "",
    lower: float | None = None,
    upper: float | None = None,
    choices: tuple[str, ...] = (),
    runtime: bool = False,
) -> Any:
    """Declare one parameter as a dataclass field.

    Args:
        default: Default value; lists are declared as tuples.
        description: What the value means, in sentences that are understood without other descriptions.
        unit: Unit of the value.
        lower: Smallest value allowed, inclusive. Bounds shut out singular values.
        upper: Largest value allowed, inclusive.
        choices: For strings: the values allowed.
        runtime: Whether it may be changed while running.

    Returns:
        A dataclass field that carries the declaration in its metadata.
    """
    spec = ParameterSpec("", default, description, unit, lower, upper, choices, runtime)
    return field(default=default, metadata={_SPEC: spec})


def numeric(
    default: Any, lower: float, upper: float, unit: str, description: str, *, runtime: bool = False
) -> Any:
    """Declare one parameter of numbers within bounds; arguments as of `parameter`."""
    return parameter(default, description, unit=unit, lower=lower, upper=upper, runtime=runtime)


def section(config_class: type, *, prefix: str | None = None, without: Collection[str] = ()) -> Any:
    """Declare a nested config dataclass.

    Args:
        config_class: Dataclass whose fields are parameters.
        prefix: Dotted prefix of its parameters; the field's own name by default, "" to merge them
            into the level above.
        without: Dotted names, within the section, of parameters that mean nothing here: they are not
            declared, their defaults hold.

    Returns:
        A dataclass field whose default is the nested dataclass with its defaults.
    """
    metadata = {_SECTION: prefix if prefix is not None else True, _WITHOUT: frozenset(without)}
    return field(default_factory=config_class, metadata=metadata)


def iterate_parameters(config_class: type) -> Iterator[ParameterSpec]:
    """List all parameters of a config dataclass, nested ones under their dotted names.

    Args:
        config_class: Dataclass declared with `parameter` and `section`.

    Yields:
        One `ParameterSpec` per parameter, in the order of declaration.
    """
    for name, spec, _path in _walk(config_class):
        yield dataclasses.replace(spec, name=name)


def build_config(
    config_class: type[ConfigT],
    values: Mapping[str, Any],
    *,
    where: str = "",
    origins: Mapping[str, str] | None = None,
) -> ConfigT:
    """Build a config from a flat mapping of dotted names to values.

    Args:
        config_class: Dataclass declared with `parameter` and `section`.
        values: Values by dotted name; parameters that are absent keep their defaults.
        where: Where the values came from, for the error message.
        origins: File and line of single values by name, for the error message.

    Returns:
        The config, every value checked.

    Raises:
        ConfigurationError: If a name is unknown, or a value has the wrong type or is out of bounds.
            All violations are listed at once.
    """
    specs = {spec.name: spec for spec in iterate_parameters(config_class)}
    problems: list[str] = []
    checked: dict[str, Any] = {}
    for name, value in values.items():
        origin = f" ({origins[name]})" if origins and name in origins else ""
        if name not in specs:
            problems.append(unknown_name(name, specs, where=origin))
            continue
        try:
            checked[name] = check_value(specs[name], value)
        except ConfigurationError as error:
            problems.append(f"{error}{origin}")
    if problems:
        source = f" in {where}" if where else ""
        raise ConfigurationError(f"{counted(len(problems), 'bad parameter')}{source}: " + "; ".join(problems))
    return _assemble(config_class, checked, "")


def check_value(spec: ParameterSpec, value: Any) -> Any:
    """Check one value against its declaration and return it in the declared type.

    Args:
        spec: The declaration.
        value: The value, as read from YAML or from ROS.

    Returns:
        The value; lists become tuples, whole numbers become floats where a float is declared.

    Raises:
        ConfigurationError: If the type, a bound or the choices are violated.
    """
    value = _coerce(spec, value)
    numbers = value if isinstance(value, tuple) else (value,)
    for number in numbers:
        if isinstance(number, bool) or not isinstance(number, int | float):
            continue
        if not math.isfinite(number):
            raise ConfigurationError(f"parameter '{spec.name}' is {number}, expected a finite number")
        too_low = spec.lower is not None and number < spec.lower
        if too_low or (spec.upper is not None and number > spec.upper):
            raise ConfigurationError(
                f"parameter '{spec.name}' is {number}, expected {bounds_in_words(spec)} {spec.unit}".rstrip()
            )
    if spec.choices:
        for text in numbers:
            if text not in spec.choices:
                raise ConfigurationError(
                    f"parameter '{spec.name}' is '{text}', expected one of: {listing(spec.choices)}"
                )
    return value


def unknown_name(name: str, known: Collection[str], *, where: str = "") -> str:
    """Return the text of the error about a parameter that does not exist.

    Args:
        name: The name that was given.
        known: The names that exist.
        where: Where the name was given, appended to it (`` in section ...``).

    Returns:
        One line with the closest name that exists, else with some that do.
    """
    last_parts = {full.rpartition(".")[2]: full for full in known}
    close = difflib.get_close_matches(name, known, n=1) or [
        last_parts[part] for part in difflib.get_close_matches(name.rpartition(".")[2], last_parts, n=1)
    ]
    if close:
        hint = f", did you mean '{close[0]}'?"
    else:
        hint = f"; there are {listing(sorted(known), limit=MOST_LISTED)} (docs/nodes.md describes all)"
    return f"no parameter '{name}'{where}{hint}"


def parameter_values(config: Any) -> dict[str, Any]:
    """Return the values of a config by dotted name, the inverse of `build_config`."""
    values: dict[str, Any] = {}
    for name, _spec, path in _walk(type(config)):
        target = config
        for attribute in path:
            target = getattr(target, attribute)
        values[name] = target
    return values


def replace_value(config: ConfigT, name: str, value: Any) -> ConfigT:
    """Return a copy of a config with one parameter changed, checked as in `build_config`."""
    return build_config(type(config), {**parameter_values(config), name: value})


def replace_runtime_value(config: ConfigT, name: str, value: Any) -> ConfigT:
    """Return a copy of a config with one parameter changed that may change while running.

    Raises:
        ConfigurationError: If it does not exist, is fixed at construction, or the value is bad.
    """
    changed = replace_value(config, name, value)
    runtime = [spec.name for spec in iterate_parameters(type(config)) if spec.runtime]
    if name not in runtime:
        raise ConfigurationError(
            f"parameter '{name}' cannot change while running; these can: {listing(runtime, limit=200)}"
        )
    return changed


def _walk(
    config_class: type, prefix: str = "", path: tuple[str, ...] = ()
) -> Iterator[tuple[str, ParameterSpec, tuple[str, ...]]]:
    hints = get_type_hints(config_class)
    for item in fields(config_class):
        if _SECTION in item.metadata:
            inner = prefix + _section_prefix(item)
            absent = {inner + name for name in item.metadata[_WITHOUT]}
            found = _walk(hints[item.name], inner, (*path, item.name))
            yield from (entry for entry in found if entry[0] not in absent)
        elif _SPEC in item.metadata:
            texts = hints[item.name] == tuple[str, ...]
            spec = dataclasses.replace(item.metadata[_SPEC], texts=texts)
            yield prefix + item.name, spec, (*path, item.name)
        else:
            raise TypeError(f"{config_class.__name__}.{item.name} is neither a parameter nor a section")


def _section_prefix(item: "dataclasses.Field[Any]") -> str:
    prefix = item.metadata[_SECTION]
    name = item.name if prefix is True else prefix
    return f"{name}." if name else ""


def _assemble(config_class: type[ConfigT], values: Mapping[str, Any], prefix: str) -> ConfigT:
    hints = get_type_hints(config_class)
    arguments: dict[str, Any] = {}
    assert is_dataclass(config_class)
    for item in fields(config_class):
        if _SECTION in item.metadata:
            arguments[item.name] = _assemble(hints[item.name], values, prefix + _section_prefix(item))
        elif prefix + item.name in values:
            arguments[item.name] = values[prefix + item.name]
        elif item.default is MISSING:
            raise ConfigurationError(f"parameter '{prefix + item.name}' is required")
    return config_class(**arguments)


def _coerce(spec: ParameterSpec, value: Any) -> Any:
    default = spec.default
    if isinstance(default, tuple):
        return _coerce_sequence(spec, value)
    if isinstance(default, bool):
        good = isinstance(value, bool)
    elif isinstance(default, float):
        good = isinstance(value, int | float) and not isinstance(value, bool)
        value = _float(spec, value) if good else value
    elif isinstance(default, int):
        good = isinstance(value, int) and not isinstance(value, bool)
    else:
        good = isinstance(value, str)
    if not good:
        names = {bool: "true or false", float: "a number", int: "a whole number", str: "a string"}
        expected = names[type(default)]
        raise ConfigurationError(
            f"parameter '{spec.name}' is {_as_text(value)} ({type(value).__name__}), expected {expected}"
        )
    return value


def _coerce_sequence(spec: ParameterSpec, value: Any) -> tuple[Any, ...]:
    default = spec.default
    if isinstance(value, str) and spec.texts and spec.choices:
        value = (value,)  # a list of one
    if isinstance(value, str | bytes | Mapping) or not hasattr(value, "__iter__"):
        raise ConfigurationError(f"parameter '{spec.name}' is {_as_text(value)}, expected a list")
    items = tuple(value)
    if items in ((), ("",)):  # ROS cannot type an empty list: [""] stands for it
        return ()
    texts = [isinstance(item, str) for item in items]
    for position, item in enumerate(items, start=1):
        if not isinstance(item, str | int | float) or isinstance(item, bool):
            raise ConfigurationError(
                f"entry {position} of parameter '{spec.name}' is {_as_text(item)} ({type(item).__name__}), "
                "expected a number or a string"
            )
    if len(set(texts)) > 1:
        raise ConfigurationError(f"parameter '{spec.name}' mixes strings and numbers: {_as_text(items)}")
    if spec.texts != texts[0]:
        expected = f"items as in {default!r}" if default else "strings" if spec.texts else "numbers"
        raise ConfigurationError(f"parameter '{spec.name}' is {_as_text(items)}, expected {expected}")
    return items if texts[0] else tuple(_float(spec, item) for item in items)


def _float(spec: ParameterSpec, number: float) -> float:
    try:
        return float(number)
    except OverflowError:
        raise ConfigurationError(
            f"parameter '{spec.name}' is a whole number beyond the range of a float"
        ) from None


def _as_text(value: Any) -> str:
    """Return a value as text for an error message, of bounded length; a huge integer has no text."""
    try:
        return one_line(repr(value), limit=80)
    except ValueError:
        return "a huge number"


def bounds_in_words(spec: ParameterSpec) -> str:
    """Return the bounds of a parameter that has some."""
    if spec.lower is not None and spec.upper is not None:
        return f"a value in [{spec.lower:g}, {spec.upper:g}]"
    return f"at least {spec.lower:g}" if spec.lower is not None else f"at most {spec.upper:g}"
