"""Assembly of the metrics of one replay for `metrics.json`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.configuration.node_names import INERTIAL_NODE, PAYLOAD_NODE, TILT_NODE
from inertial_estimation.configuration.pipelines import Pipelines
from inertial_estimation.data_checks.check_result import as_json
from inertial_estimation.errors import MeasurementError
from inertial_estimation.models.robot_config import RobotConfig
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.replay.estimate_series import (
    InertialSeries,
    TiltSeries,
    inertial_series,
    tilt_series,
)
from inertial_estimation.replay.located_causes import external_wrenches, located_loads
from inertial_estimation.replay.metrics import (
    TiltErrors,
    interpolated,
    percentiles_us,
    relative_error,
    tilt_errors,
)
from inertial_estimation.replay.payload_series import (
    PayloadSeries,
    load_changes,
    payload_series_of,
    trunk_metrics,
)
from inertial_estimation.replay.plausibility import implausible_metrics
from inertial_estimation.replay.replay import ReplayRun
from inertial_estimation.replay.torque_prediction import EDGE_S, prediction_error
from inertial_estimation.signals import (
    NANOSECONDS,
    Array,
    Decision,
    InertialEstimate,
    JointReading,
    OrientationSample,
)

__all__ = ["ReplayResults", "innovation_error", "replay_results"]


@dataclass(frozen=True, eq=False)
class ReplayResults:
    """Series and metrics of a replay.

    Attributes:
        tilt: Base estimates over time.
        inertial: Inertial estimates over time.
        tilt_errors: Against the reference, None without one.
        metrics: What `metrics.json` holds.
        payload: Estimates of the trunk over time, None without any.
    """

    tilt: TiltSeries
    inertial: InertialSeries
    tilt_errors: TiltErrors | None
    metrics: dict[str, Any]
    payload: PayloadSeries | None = None


def replay_results(
    run: ReplayRun,
    *,
    pipelines: Pipelines,
    reference: list[OrientationSample] | None = None,
    trusted: NDArray[np.bool_] | None = None,
    hold_out_ns: int | None = None,
    settle_s: float = 0.0,
) -> ReplayResults:
    """Compute series and metrics of a replay.

    Args:
        run: The replay.
        pipelines: What was replayed.
        reference: Reference orientations.
        trusted: Flags of the samples that are used; None uses all.
        hold_out_ns: Stamp from which on the filter no longer learned [ns].
        settle_s: How long after the first estimate the tilt is not compared [s].

    Returns:
        The evaluation. A metric that needs what was not there is left out.

    Raises:
        ~inertial_estimation.errors.RecordingError: If reference and flags or stamps do not match.
    """
    tilt, inertial = tilt_series(run.base), inertial_series(run.inertial)
    errors = None
    metrics: dict[str, Any] = {}
    if reference is not None and run.base:
        errors = tilt_errors(
            tilt.stamps_ns, tilt.tilts_B, reference, trusted, settle_ns=round(settle_s * NANOSECONDS)
        )
        metrics["tilt_error_deg"] = {
            name: float(np.degrees(value)) for name, value in vars(errors.summary).items()
        }
    if run.inertial:
        payloads = sum(float(link.payload_masses[-1]) for link in inertial.links)
        metrics["total_mass_kg"] = pipelines.nominal_mass + payloads
        metrics |= _final_estimates(run.inertial[-1])
        metrics["loads"] = located_loads(run.inertial)
        metrics["external_wrenches"] = external_wrenches(run.inertial)
        error = _torque_error(run, pipelines, inertial, hold_out_ns)
        if error is not None:
            metrics["torque_error_relative"] = error
        metrics |= _innovation_metrics(run.inertial)
        learning = np.array([decision is not Decision.DISABLED for decision in inertial.decisions])
        if learning.any():
            metrics["accepted_fraction"] = float(inertial.accepted[learning].mean())
    payload = payload_series_of(run.payload) if run.payload else None
    if payload is not None:
        metrics["trunk"] = trunk_metrics(run.payload[-1])
        metrics["load_changes"] = load_changes(payload)
    ticks = {
        TILT_NODE: run.tilt_tick_ns,
        INERTIAL_NODE: run.inertial_tick_ns,
        PAYLOAD_NODE: run.payload_tick_ns,
    }
    metrics["tick_us"] = {name: percentiles_us(times) for name, times in ticks.items() if times}
    metrics["realtime_factor"] = run.realtime_factor
    metrics["samples"] = {"base_orientation": len(run.base), "link_inertias": len(run.inertial)}
    if payload is not None:
        metrics["samples"]["trunk_inertia"] = len(run.payload)
    metrics["implausible"] = implausible_metrics(metrics, pipelines.nominal_mass)
    metrics["checks"] = as_json(run.checks)
    return ReplayResults(tilt, inertial, errors, metrics, payload)


def _final_estimates(last: InertialEstimate) -> dict[str, Any]:
    """Return the last estimate of the filter: masses, standard deviations, payloads, friction."""
    links = {
        link.estimate.link: {
            "mass_kg": link.estimate.mass,
            "mass_sigma_kg": float(np.sqrt(link.covariance[0, 0])),
            "payload_kg": link.payload.mass,
            "com_m": link.estimate.com_L.tolist(),
            "com_sigma_m": np.sqrt(np.diag(link.covariance)[1:4]).tolist(),
        }
        for link in last.links
    }
    return {"links": links, "friction": dict(last.friction)} if last.friction else {"links": links}


def _innovation_metrics(estimates: Sequence[InertialEstimate]) -> dict[str, Any]:
    """Return the NIS seen and expected, and the noise that the innovations show over the stated one."""
    learned = [e for e in estimates if e.decision not in (Decision.DISABLED, Decision.UNRESOLVABLE)]
    if not learned:
        return {}
    last = learned[-1]
    nis = {
        "mean": float(np.mean([e.nis for e in learned])),
        "median": float(np.median([e.nis for e in learned])),
        "expected": len(last.row_names),
    }
    noise = {name: {"seen": seen, "used": used} for name, (seen, used) in last.noise.items()}
    return {"nis": nis, "noise": noise}


def _torque_error(
    run: ReplayRun, pipelines: Pipelines, series: InertialSeries, hold_out_ns: int | None
) -> float | None:
    """Return the relative torque error after the hold-out: by the model of an arm, or by innovations."""
    values = pipelines.inertial_values
    if hold_out_ns is None or pipelines.inertial is None:
        return None
    config = pipelines.inertial.config
    delay_s = float(values["inputs.joint_delay"])
    if values["floating_base"]:
        return innovation_error(series, run.efforts, hold_out_ns, delay_s)
    robot = RobotModel.from_urdf(
        pipelines.inertial.export_urdf(), floating_base=False, locked_joints=values["locked_joints"]
    )
    first_ns = hold_out_ns - round(
        EDGE_S * NANOSECONDS
    )  # the edge is for the filter's transient, and not counted
    later = [r for r in run.efforts if r.effort is not None and r.stamp_ns >= first_ns]
    joints = [joint for joint in robot.joint_names if joint in series.row_names]
    if not later or not joints:
        return None
    try:
        return prediction_error(
            robot,
            later,
            {**_known_friction(config.robot, robot), **run.inertial[-1].friction},
            joints=joints,
            coulomb=config.coulomb_law,
            config=config.robot,
        )
    except MeasurementError:
        return None


def _known_friction(config: RobotConfig, robot: RobotModel) -> dict[str, float]:
    """Return the known friction by ``joint/term`` and ``coupling/term``."""
    terms = config.nominal_friction.by_joint(robot).items()
    couplings, coupled = config.nominal_friction.by_coupling(robot)
    named = [(robot.joint_names, terms), (couplings.names, coupled.items())]
    return {
        f"{name}/{term}": float(value)
        for names, by_term in named
        for term, values in by_term
        for name, value in zip(names, values, strict=True)
    }


def innovation_error(
    series: InertialSeries,
    efforts: list[JointReading],
    hold_out_ns: int | None,
    joint_delay_s: float = 0.0,
) -> float | None:
    """Return the norm of the torque innovations over the norm of the measured torques.

    Both are filtered by one 10 Hz zero-phase filter, over the samples after the hold-out only. The
    innovations carry the filter's own window, which smooths them further.

    Args:
        series: Inertial estimates; rows named after joints carry the torque innovations.
        efforts: Joint readings as recorded.
        hold_out_ns: Stamp from which on the filter no longer learned [ns].
        joint_delay_s: Age of joint readings at their stamps [s].

    Returns:
        The error, or None without a hold-out or measured torques.
    """
    with_effort = [reading for reading in efforts if reading.effort is not None]
    if hold_out_ns is None or not with_effort:
        return None
    names = with_effort[0].names
    rows = [i for i, name in enumerate(series.row_names) if name in names]
    later = series.stamps_ns >= hold_out_ns
    if not rows or not later.any():
        return None
    stamps = series.stamps_ns[later]
    chosen = [series.row_names[i] for i in rows]
    measured = _efforts_at(stamps, with_effort, chosen, round(joint_delay_s * NANOSECONDS))
    try:
        return relative_error(stamps, measured, series.innovations[later][:, rows])
    except MeasurementError:
        return None


def _efforts_at(
    stamps_ns: NDArray[np.int64], readings: list[JointReading], joints: list[str], delay_ns: int
) -> Array:
    """Efforts interpolated at the stamps, shape (n, joints)."""
    first = readings[0].names
    order = [first.index(name) for name in joints]
    same = [reading for reading in readings if reading.names == first]
    t0 = int(stamps_ns[0])
    t = np.array([reading.stamp_ns - delay_ns - t0 for reading in same], dtype=np.float64)
    table = np.array([reading.effort for reading in same])[:, order]
    at = (stamps_ns - t0).astype(np.float64)
    return interpolated(at, t, table)
