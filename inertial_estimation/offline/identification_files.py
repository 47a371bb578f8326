"""Files of an identification: JSON report, robot description, and friction parameters for the nodes."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from inertial_estimation.files.outputs import json_text, write_text
from inertial_estimation.identification.identification_config import IdentificationConfig
from inertial_estimation.identification.identification_result import rounded
from inertial_estimation.models.estimated_model import POSTERIOR_FILE
from inertial_estimation.models.friction import FRICTION_TERMS
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.offline.identification_run import IdentificationRun

JSON_FILE, URDF_FILE, FRICTION_FILE = "identification.json", "identified.urdf", "friction.yaml"
REPORT_FILE = "report.html"
FILES = (JSON_FILE, URDF_FILE, POSTERIOR_FILE, FRICTION_FILE, REPORT_FILE)


def write_identification(
    folder: Path,
    run: IdentificationRun,
    config: IdentificationConfig,
    robot: RobotModel,
    source: Mapping[str, Any],
) -> list[Path]:
    """Write the files; the URDF and the friction only where there is a result for them.

    Args:
        folder: Where to.
        run: The identification.
        config: The parameters it was found with.
        robot: The robot.
        source: Where it came from (recordings, options), for the reader of the JSON.

    Raises:
        ConfigurationError: If the folder cannot be written into.
    """
    sigma = {p.name: p.sigma for p in run.result.parameters}
    found = {name: rounded(value, sigma[name]) for name, value in run.result.friction.items()}
    friction = friction_parameters(found, config, robot)
    texts = {
        JSON_FILE: json_text({**source, **run.report.values()}),
        URDF_FILE: run.urdf,
        POSTERIOR_FILE: run.model.json_text(),
        FRICTION_FILE: None if friction is None else _parameter_file(friction, run.report.chosen),
    }
    return [write_text(folder / name, text) for name, text in texts.items() if text is not None]


def friction_parameters(
    identified: Mapping[str, float], config: IdentificationConfig, robot: RobotModel
) -> dict[str, Any] | None:
    """Return the parameters ``nominal_friction`` of the nodes: identified values override known ones.

    Args:
        identified: Values by ``joint/term``.
        config: Parameters of the identification; its known friction is kept for joints without a result.
        robot: The robot, for the order of the joints.

    Returns:
        Names and values, None where there is no friction; a term without any value is left out.
    """
    values = {**config.robot.nominal_friction.by_name(robot), **identified}
    if not values:
        return None
    joints = [one for one in robot.joint_names if any(f"{one}/{term}" in values for term in FRICTION_TERMS)]
    terms = [term for term in FRICTION_TERMS if any(f"{one}/{term}" in values for one in joints)]
    return {
        "joints": joints,
        "terms": terms,
        "values": [float(values.get(f"{one}/{term}", 0.0)) for term in terms for one in joints],
        "smoothing_speed": config.robot.nominal_friction.smoothing_speed,
        "presliding": config.robot.nominal_friction.presliding,
    }


def _parameter_file(friction: Mapping[str, Any], method: str) -> str:
    content = {"/**": {"ros__parameters": {"nominal_friction": dict(friction)}}}
    text: str = yaml.safe_dump(content, sort_keys=False, default_flow_style=None, width=10_000)
    return f"# Friction identified by method '{method}'; load it after the robot's own parameters.\n{text}"
