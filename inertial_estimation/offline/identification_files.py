"""Files of an identification: JSON report, robot description, and friction parameters for the nodes."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from inertial_estimation.files.outputs import json_text, write_text
from inertial_estimation.identification.identification_config import IdentificationConfig
from inertial_estimation.identification.identification_result import (
    BodyResult,
    IdentificationReport,
    MethodResult,
    PayloadResult,
    RowError,
    rounded,
)
from inertial_estimation.models.estimated_model import POSTERIOR_FILE
from inertial_estimation.models.friction import FRICTION_TERMS
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.offline.identification_run import IdentificationRun
from inertial_estimation.spatial import linear_algebra
from inertial_estimation.spatial.inertial_parameters import InertialParameters

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

    Returns:
        The files written.

    Raises:
        ConfigurationError: If the folder cannot be written into.
    """
    sigma = {p.name: p.sigma for p in run.result.parameters}
    found = {name: rounded(value, sigma[name]) for name, value in run.result.friction.items()}
    friction = friction_parameters(found, config, robot)
    texts = {
        JSON_FILE: json_text({**source, **report_values(run.report)}),
        URDF_FILE: run.urdf,
        POSTERIOR_FILE: run.model.json_text(),
        FRICTION_FILE: None if friction is None else _parameter_file(friction, run.report.chosen),
    }
    written = []
    for name, text in texts.items():
        if text is not None:
            write_text(folder / name, text)
            written.append(folder / name)
    return written


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
    owners = dict.fromkeys((*robot.joint_names, *(name.rpartition("/")[0] for name in values)))
    joints = [one for one in owners if any(f"{one}/{term}" in values for term in FRICTION_TERMS)]
    terms = [term for term in FRICTION_TERMS if any(f"{one}/{term}" in values for one in joints)]
    return {
        "joints": joints,
        "terms": terms,
        "values": [float(values.get(f"{one}/{term}", 0.0)) for term in terms for one in joints],
        **asdict(config.robot.nominal_friction.law),
    }


def report_values(report: IdentificationReport) -> dict[str, Any]:
    """Return a report as plain values, parameters and rows by name."""
    return {
        "rank": report.rank,
        "unknowns": report.unknowns,
        "condition": report.condition,
        "singular_values": report.singular_values.tolist(),
        "row_sigma": dict(zip(report.row_names, np.asarray(report.row_sigma).tolist(), strict=True)),
        "training": asdict(report.training),
        "validation": None if report.validation is None else asdict(report.validation),
        "warnings": list(report.warnings),
        "cost_least_squares": report.cost_least_squares,
        "unloaded": report.unloaded,
        "sigma_inflation": math.sqrt(report.inflation),
        "held_links": None if report.held is None else asdict(report.held),
        "chosen": report.chosen,
        "methods": {name: _method(result) for name, result in report.methods.items()},
    }


def _method(result: MethodResult) -> dict[str, Any]:
    numbers = ("cost", "cost_nominal", "cost_validation", "cost_validation_nominal")
    errors = ("relative_error", "relative_error_validation")
    parameters = (asdict(parameter) for parameter in result.parameters)
    return {
        "consistent": result.consistent,
        **{name: getattr(result, name) for name in (*numbers, *errors)},
        "notes": list(result.notes),
        "unfinished": result.unfinished,
        "rows": _rows(result.direct),
        "rows_validation": _rows(result.validation),
        "bodies": {body.link: _body(body) for body in result.bodies},
        **({"payload": _payload(result.payload)} if result.payload else {}),
        "friction": dict(result.friction),
        "parameters": {
            p["name"]: {
                **{name: p[name] for name in ("unit", "nominal", "value", "sigma")},
                "identifiability": p["identifiability"].value,
            }
            for p in parameters
        },
        "x": np.asarray(result.x).tolist(),
    }


def _rows(rows: Sequence[RowError]) -> dict[str, dict[str, float]]:
    return {row.row: {name: value for name, value in asdict(row).items() if name != "row"} for row in rows}


def _body(body: BodyResult) -> dict[str, Any]:
    return {
        "consistent": not body.violations,
        "violations": list(body.violations),
        "nominal": _inertia(body.nominal),
        "identified": _inertia(body.inertia),
    }


def _payload(load: PayloadResult) -> dict[str, Any]:
    return {
        "frame": load.link,
        "link": load.name,
        "consistent": not load.violations,
        "violations": list(load.violations),
        **_inertia(load.inertia),
        "mass_sigma": load.mass_sigma,
        "com_sigma": load.com_sigma.tolist(),
        "inertia_sigma": load.inertia_sigma.tolist(),
    }


def _inertia(inertia: InertialParameters) -> dict[str, Any]:
    return {
        "mass": inertia.mass,
        "com": inertia.com_F.tolist(),
        "inertia_about_com": inertia.inertia_Fcm.tolist(),
        "principal_moments": linear_algebra.eigvalsh(inertia.inertia_Fcm).tolist(),
    }


def _parameter_file(friction: Mapping[str, Any], method: str) -> str:
    content = {"/**": {"ros__parameters": {"nominal_friction": dict(friction)}}}
    text: str = yaml.safe_dump(content, sort_keys=False, default_flow_style=None, width=10_000)
    return f"# Friction identified by method '{method}'; load it after the robot's own parameters.\n{text}"
