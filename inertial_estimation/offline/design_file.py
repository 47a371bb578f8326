"""The result of an excitation design as JSON."""

from pathlib import Path
from typing import Any

import numpy as np

from inertial_estimation.files.outputs import write_json
from inertial_estimation.identification.excitation.excitation import EvaluatedMotion, ExcitationDesign
from inertial_estimation.identification.excitation.excitation_config import ExcitationConfig
from inertial_estimation.identification.excitation.precision import Curve, Precision
from inertial_estimation.parameters import parameter_values


def write_design(path: str | Path, result: ExcitationDesign, config: ExcitationConfig, seed: int) -> None:
    """Write `design_document` as JSON; infinite values become null."""
    write_json(Path(path), design_document(result, config, seed))


def design_document(result: ExcitationDesign, config: ExcitationConfig, seed: int) -> dict[str, Any]:
    """Return settings, objective, condition numbers, standard deviations, curves and notes."""
    limits = result.limits
    return {
        "settings": {**parameter_values(config), "seed": seed},
        "joints": {
            name: {
                "lower": float(limits.lower[i]),
                "upper": float(limits.upper[i]),
                "velocity": float(limits.velocity[i]),
                "acceleration": config.acceleration_limit,
            }
            for i, name in enumerate(result.design.moving_names)
        },
        "rows": list(result.rows.row_names),
        "duration_s": result.trajectory.duration_s,
        **_precision(result.chosen.precision),
        "clearance_m": result.clearance,
        "torque_share": dict(result.torque_share),
        "variance_by_samples": _curve(result.chosen.by_samples),
        "variance_by_speed": _curve(result.chosen.by_speed),
        "random": random_summary(result.random, result.chosen),
        "notes": list(result.notes),
    }


def random_summary(random: tuple[EvaluatedMotion, ...], chosen: EvaluatedMotion) -> dict[str, float] | None:
    """Return the comparison with random motions: median, best, and ratio of the median to the chosen one.

    Args:
        random: Random motions of the same kind, length and limits; none gives None.
        chosen: The designed one.
    """
    if not random:
        return None
    summary: dict[str, float] = {"count": len(random)}
    for name in ("condition", "largest"):
        values = np.array([getattr(motion.precision, name) for motion in random])
        own = getattr(chosen.precision, name)
        summary[f"{name}_median"] = float(np.median(values))
        summary[f"{name}_best"] = float(values.min())
        summary[f"{name}_median_over_chosen"] = float(np.median(values)) / own
    return summary


def _precision(precision: Precision) -> dict[str, Any]:
    return {
        "samples": precision.samples,
        "rank": precision.rank,
        "unknowns": precision.unknowns,
        "condition": precision.condition,
        "objectives": precision.objectives,
        "largest_deviation": precision.largest,
        "base_parameters": [
            {
                "name": deviation.name,
                "unit": deviation.unit,
                "sigma": deviation.sigma,
                "together_with": dict(zip(deviation.grouped, deviation.shares, strict=True)),
            }
            for deviation in precision.deviations
        ],
        "not_excited": list(precision.not_excited),
    }


def _curve(curve: Curve | None) -> dict[str, list[float]] | None:
    if curve is None:
        return None
    return {"x": curve.x.tolist(), "variance": curve.variance.tolist(), "condition": curve.condition.tolist()}
