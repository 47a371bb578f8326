"""Every parameter's description is understood on its own, as `ros2 param describe` shows it."""

import re

from inertial_estimation.calibration.calibration_config import CalibrationConfig
from inertial_estimation.configuration.node_configs import NODE_CONFIGS
from inertial_estimation.identification.excitation.excitation_config import ExcitationConfig
from inertial_estimation.parameters import iterate_parameters

FEWEST_WORDS = 5
STARTS = re.compile(r"(Likewise|Of|The same|Same|Its?|Their|They|These|Those|This|Also|And|As|[a-z])\b")
NEIGHBOURS = re.compile(
    r"\b(likewise|ditto|as above|as below|named below|the former|the latter|the other one)\b"
)
CLASSES = [
    *(cls for classes in NODE_CONFIGS.values() for cls in classes),
    CalibrationConfig,
    ExcitationConfig,
]
SPECS = [spec for cls in CLASSES for spec in iterate_parameters(cls)]


def objections(description: str) -> list[str]:
    """Return what keeps a description from standing alone."""
    found = []
    if len(description.split()) < FEWEST_WORDS:
        found.append(f"shorter than {FEWEST_WORDS} words")
    if STARTS.match(description):
        found.append("begins as the rest of another sentence")
    if NEIGHBOURS.search(description.lower()):
        found.append("refers to a neighbour")
    if not description.endswith("."):
        found.append("no full stop")
    return found


def test_every_description_stands_alone() -> None:
    assert not [(spec.name, faults) for spec in SPECS if (faults := objections(spec.description))]
