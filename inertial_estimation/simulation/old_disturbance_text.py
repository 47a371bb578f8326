"""The old form of a disturbance as text: its kind, then ``name=value`` in any order.

mass link=arm_left_5_link wave=square offset=4.5 amplitude=3 frequency=1 start=8
ball link=arm_left_5_link mass=5.44 at=0,0,0.05 start=2 stop=10

It is still read; `disturbance_yaml` describes the present form.
"""

from typing import Any

from inertial_estimation.errors import ConfigurationError


def mapping_from_old_text(text: str) -> dict[str, Any]:
    """Return the mapping of the YAML form, with values as text; vectors have commas.

    Raises:
        ConfigurationError: If a word after the kind is not ``name=value``, or a name is given twice.
    """
    kind, *words = text.split() or [""]
    mapping: dict[str, Any] = {"kind": kind}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or name in mapping:
            raise ConfigurationError(f"'{word}' in '{text}', expected name=value once for each name")
        mapping[name] = value.split(",") if "," in value else value
    return mapping
