"""Assembly of the series and the metrics of one replay for `metrics.json`, tables and figures."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.configuration.node_names import INERTIAL_NODE, PAYLOAD_NODE, TILT_NODE
from inertial_estimation.configuration.pipelines import Pipelines
from inertial_estimation.diagnosis.finding import as_json
from inertial_estimation.errors import RecordingError
from inertial_estimation.located_cause import Cause, LocatedCause
from inertial_estimation.payload.estimate import PayloadEstimate
from inertial_estimation.recordings.recording import BagRecording, read_orientations
from inertial_estimation.recordings.truth_file import TrueInertias, read_truth
from inertial_estimation.replay.base_errors import BaseErrors, base_errors
from inertial_estimation.replay.consistency import innovation_metrics
from inertial_estimation.replay.estimate_series import (
    LINK_PARAMETERS,
    InertialSeries,
    PayloadSeries,
    TiltSeries,
    inertial_series,
    payload_series_of,
    tilt_series,
)
from inertial_estimation.replay.metrics import (
    TiltErrors,
    angles_between,
    interpolated,
    lies_within,
    percentiles_us,
    summarise,
    tilt_errors,
    verticals,
)
from inertial_estimation.replay.replay import ReplayRun
from inertial_estimation.replay.result_files import read_trusted
from inertial_estimation.replay.time_axis import TimeAxis
from inertial_estimation.replay.torque_errors import TorqueSeries, torque_error, torque_series
from inertial_estimation.signals import (
    NANOSECONDS,
    Array,
    Decision,
    InertialEstimate,
    LinkInertia,
    OrientationSample,
    seconds,
)
from inertial_estimation.synthetic.synthetic_sensors import GROUND_TRUTH_TOPIC


def true_tilt_errors(series: TiltSeries, reference: Sequence[OrientationSample], settle_ns: int = 0) -> Array:
    """Return the angle between estimated and true vertical, without any alignment [rad], shape (k,).

    Args:
        series: Estimates; n of them.
        reference: True orientations; those outside the estimates are left out.
        settle_ns: Time after the first estimate that is excluded [ns].
    """
    stamps = np.array([sample.stamp_ns for sample in reference], dtype=np.int64)
    within = lies_within(stamps, series.stamps_ns, settle_ns)
    true_B = verticals(np.array([sample.quaternion_xyzw for sample in reference])[within])
    at, times = seconds(stamps[within] - stamps[0]), seconds(series.stamps_ns - stamps[0])
    estimated = interpolated(at, times, series.tilts_B)
    estimated /= np.linalg.norm(estimated, axis=1, keepdims=True)
    return angles_between(estimated, true_B)


def truth_metrics(
    truth: TrueInertias | None,
    inertial: InertialSeries,
    payload: PayloadSeries | None = None,
    tilt_errors: Array | None = None,
) -> dict[str, Any]:
    """Return the errors against the truth; what is not known or not estimated is left out.

    Args:
        truth: True inertias over the recording.
        inertial: Inertial estimates, of which the last ones are compared.
        payload: Estimates of the trunk, likewise.
        tilt_errors: Angles between estimated and true vertical [rad].

    Returns:
        ``tilt_error_deg``, and ``links`` and ``trunk`` with the true mass and the errors of mass and centre
        of mass, also in standard deviations of the estimate.
    """
    found: dict[str, Any] = {}
    if tilt_errors is not None and len(tilt_errors):
        found["tilt_error_deg"] = vars(summarise(np.degrees(tilt_errors)))
    if truth is None:
        return found
    links = {}
    for link in inertial.links:
        true = truth.at_end(link.link)
        if true is not None:
            links[link.link] = _errors(true, link.masses[-1], link.coms_L[-1], link.sigmas[-1, :4])
    if links:
        found["links"] = links
    true = truth.at_end(payload.link) if payload is not None else None
    if payload is not None and true is not None:
        sigmas = np.array([payload.mass_sigmas[-1], *payload.com_sigmas[-1]])
        found["trunk"] = _errors(true, payload.masses[-1], payload.coms_L[-1], sigmas)
    return found


def _errors(true: LinkInertia, mass: float, com_L: Array, sigmas: Array) -> dict[str, Any]:
    """Return the errors of one body; sigmas of mass and centre of mass, shape (4,)."""
    error = np.array([mass - true.mass, *(com_L - true.com_L)])
    with np.errstate(divide="ignore", invalid="ignore"):
        in_sigmas = error / sigmas
    return {
        "true_mass_kg": true.mass,
        "mass_error_kg": float(error[0]),
        "mass_error_sigmas": float(in_sigmas[0]),
        "true_com_m": true.com_L.tolist(),
        "com_error_m": error[1:].tolist(),
        "com_error_sigmas": in_sigmas[1:].tolist(),
    }


def trunk_metrics(last: PayloadEstimate) -> dict[str, Any]:
    """Return the last estimate of the trunk, for `metrics.json`."""
    measured = np.isfinite(np.array([last.mass_sigma, *last.com_sigma_B]))
    names = ("mass", "com_x", "com_y", "com_z")
    return {
        "link": last.estimate.link,
        "mass_kg": last.estimate.mass,
        "mass_sigma_kg": last.mass_sigma,
        "payload_kg": last.payload.mass,
        "com_m": last.estimate.com_L.tolist(),
        "com_sigma_m": last.com_sigma_B.tolist(),
        "not_informed": [name for name, known in zip(names, measured, strict=True) if not known],
        "residual_m": last.residual,
        "method": last.method,
        "phase": last.phase.value,
        "converged": last.converged,
    }


def load_changes(series: PayloadSeries, time: TimeAxis) -> list[dict[str, Any]]:
    """Return the events, for `metrics.json`; times count from the start of the recording."""
    return [
        {
            "stamp_ns": event.stamp_ns,
            "time_s": time.at(event.stamp_ns),
            "kind": event.kind,
            "message": event.message,
            **event.values,
        }
        for event in series.events
    ]


LONGEST_BREAK_NS = round(0.2 * NANOSECONDS)  # within which a cause that is found again is the same

Found = list[tuple[int, LocatedCause]]


def located_loads(estimates: Sequence[InertialEstimate]) -> list[dict[str, Any]]:
    """Return the loads put on (positive mass) or taken off (negative mass), in order.

    Args:
        estimates: Of the inertial filter, in order.

    Returns:
        For each that became certain the stamp at which it was first reported, the links that the data hardly
        tell apart (the most probable first), and mass, position in the first link's frame and probability
        when it was last seen. Two loads of one instant are two entries with the same stamp.
    """
    return [
        {
            "stamp_ns": episode[0][0],
            "links": list(load.links),
            "mass_kg": load.mass,
            "com_m": None if load.com_L is None else load.com_L.tolist(),
            "probability": load.probability,
        }
        for episode in _episodes(estimates, Cause.LOAD)
        if any(cause.decided for _stamp, cause in episode)
        for load in episode[-1][1].loads
    ]


def external_wrenches(estimates: Sequence[InertialEstimate]) -> list[dict[str, Any]]:
    """Return the pushes, in order.

    Args:
        estimates: Of the inertial filter, in order.

    Returns:
        For each the stamps at which it was certain first and last, the links that the data hardly tell apart
        (the most probable first), the medians of force, moment about the origin and point of attack in the
        first link's frame (null where the data do not determine the point), and the probability.
    """
    rows = []
    for episode in _episodes(estimates, Cause.PUSH):
        on = [cause.links[0] for _stamp, cause in episode]
        link = max(set(on), key=on.count)
        causes = [cause for _stamp, cause in episode if cause.links[0] == link]
        last = causes[-1]
        rows.append(
            {
                "stamp_ns": episode[0][0],
                "end_stamp_ns": episode[-1][0],
                "links": list(last.links),
                "force_n": _median([cause.force_L for cause in causes]),
                "torque_nm": _median([cause.torque_L for cause in causes]),
                "point_m": _median([cause.point_L for cause in causes]),
                "probability": last.probability,
            }
        )
    return rows


def _episodes(estimates: Sequence[InertialEstimate], cause: Cause) -> Iterator[Found]:
    """Yield the segments in which a kind of cause was found, a load by the sign of its mass."""
    episode: Found = []
    for estimate in estimates:
        located = estimate.located
        if located is None or located.cause is not cause:
            continue
        if episode:
            stamp_ns, before = episode[-1]
            late = estimate.stamp_ns - stamp_ns > LONGEST_BREAK_NS
            if late or (before.mass < 0.0) != (located.mass < 0.0):
                yield episode
                episode = []
        episode.append((estimate.stamp_ns, located))
    if episode:
        yield episode


def _median(vectors: Sequence[Any]) -> list[float] | None:
    known = [vector for vector in vectors if vector is not None]
    return np.median(np.array(known), axis=0).tolist() if known else None


MASS_FACTOR = 2.0  # a load of the robot's own weight is not carried; half of the mass is not taken off
TORQUE_ERROR = 1.0  # relative; a prediction of zero torque has this error


@dataclass(frozen=True, eq=False)
class ReplayReference:
    """What a replay is compared with.

    Attributes:
        samples: Reference orientations, with positions where they are of poses; empty: none.
        trusted: Flags of the samples that are used; None uses all.
        exact: Whether the samples are the truth of a simulation, not measured ones.
        truth: True inertias of a simulated or synthetic recording; None where they are not known.
        settle_s: How long after the first estimate the base is not compared [s].
    """

    samples: Sequence[OrientationSample] = ()
    trusted: NDArray[np.bool_] | None = None
    exact: bool = False
    truth: TrueInertias | None = None
    settle_s: float = 0.0

    @property
    def settle_ns(self) -> int:
        """How long after the first estimate the base is not compared [ns]."""
        return round(self.settle_s * NANOSECONDS)


def read_reference(
    recording: BagRecording, bag: Path, given: str | None, trusted_file: Path | None, settle_s: float
) -> tuple[str, ReplayReference]:
    """Read the reference of a recording, and its truth if it is simulated.

    Args:
        recording: The recording.
        bag: Where it is.
        given: Topic of the reference; without one it is that of the truth of a simulation.
        trusted_file: File that says which of its samples are trusted.
        settle_s: Time at the begin that is not compared [s].

    Returns:
        The topic, empty if there is none, and what the estimates are compared with.

    Raises:
        RecordingError: If the topic or a file cannot be read, or the file does not fit the topic.
    """
    trusted = read_trusted(trusted_file) if trusted_file else None
    truth = read_truth(bag)
    simulated = truth is not None and GROUND_TRUTH_TOPIC in recording.topics
    topic = given or (GROUND_TRUTH_TOPIC if simulated else "")
    samples = read_orientations(recording, topic) if topic else []
    if trusted is not None and len(trusted) != len(samples):
        raise RecordingError(
            f"'{trusted_file}' has {len(trusted)} flags, expected one for each of the "
            f"{len(samples)} messages on '{topic}'"
        )
    exact = simulated and topic == GROUND_TRUTH_TOPIC
    return topic, ReplayReference(samples, trusted, exact, truth, settle_s)


@dataclass(frozen=True, eq=False)
class ReplayResults:
    """Series and metrics of a replay.

    Attributes:
        tilt: Base estimates over time.
        inertial: Inertial estimates over time.
        time: The time axis of all figures.
        metrics: What `metrics.json` holds.
        tilt_errors: Against the reference, None without one.
        base_errors: Yaw, position and velocity against the reference, None without one.
        payload: Estimates of the trunk over time, None without any.
        torques: Rows of the measurement over time, None without any.
        forces: Magnitude of the measured contact forces by contact: stamps [ns] and values [N].
        truth: True inertias, None where they are not known.
    """

    tilt: TiltSeries
    inertial: InertialSeries
    time: TimeAxis
    metrics: dict[str, Any]
    tilt_errors: TiltErrors | None = None
    base_errors: BaseErrors | None = None
    payload: PayloadSeries | None = None
    torques: TorqueSeries | None = None
    forces: Mapping[str, tuple[NDArray[np.int64], Array]] = field(default_factory=dict)
    truth: TrueInertias | None = None


def replay_results(
    run: ReplayRun,
    *,
    pipelines: Pipelines,
    reference: ReplayReference | None = None,
    hold_out_ns: int | None = None,
) -> ReplayResults:
    """Compute series and metrics of a replay.

    Args:
        run: The replay.
        pipelines: What was replayed.
        reference: What it is compared with.
        hold_out_ns: Stamp from which on the filter no longer learned [ns].

    Returns:
        The evaluation. A metric that needs what was not there is left out.

    Raises:
        ~inertial_estimation.errors.RecordingError: If reference and flags or stamps do not match.
    """
    known = reference or ReplayReference()
    time = TimeAxis(run.start_ns, run.begin_ns, run.end_ns, hold_out_ns)
    tilt = tilt_series(run.base)
    inertial, torques = _inertial_series(run, pipelines)
    payload = payload_series_of(run.payload) if run.payload else None
    errors, base = _compared_base(tilt, known)
    metrics: dict[str, Any] = {"time": time.as_json()}
    metrics |= _base_metrics(tilt, errors, base)
    if run.inertial:
        metrics |= _inertial_metrics(run, pipelines, inertial, hold_out_ns)
    if payload is not None:
        metrics["trunk"] = trunk_metrics(run.payload[-1])
        metrics["load_changes"] = load_changes(payload, time)
    true_tilt = true_tilt_errors(tilt, known.samples, known.settle_ns) if known.exact and run.base else None
    if true_tilt is not None or known.truth is not None:
        metrics["truth"] = truth_metrics(known.truth, inertial, payload, true_tilt)
    metrics |= _run_metrics(run)
    metrics["implausible"] = implausible_metrics(metrics, pipelines.nominal_mass)
    metrics["checks"] = as_json(run.checks)
    forces = _force_magnitudes(run)
    return ReplayResults(tilt, inertial, time, metrics, errors, base, payload, torques, forces, known.truth)


def _inertial_series(run: ReplayRun, pipelines: Pipelines) -> tuple[InertialSeries, TorqueSeries | None]:
    pipeline = pipelines.inertial
    if pipeline is None or not run.inertial:
        return inertial_series(()), None
    series = inertial_series(run.inertial, pipeline.model.prior(pipeline.config))
    delay_s = float(pipelines.inertial_values["inputs.joint_delay"])
    return series, torque_series(series, run.efforts, delay_s)


def _compared_base(
    tilt: TiltSeries, reference: ReplayReference
) -> tuple[TiltErrors | None, BaseErrors | None]:
    if not reference.samples or not len(tilt.stamps_ns):
        return None, None
    samples, trusted, settle_ns = reference.samples, reference.trusted, reference.settle_ns
    errors = tilt_errors(tilt.stamps_ns, tilt.tilts_B, samples, trusted, settle_ns=settle_ns)
    return errors, base_errors(tilt, samples, trusted, settle_ns=settle_ns)


def _base_metrics(tilt: TiltSeries, errors: TiltErrors | None, base: BaseErrors | None) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if errors is not None:
        found["tilt_error_deg"] = {
            name: float(np.degrees(value)) for name, value in vars(errors.summary).items()
        }
    if len(tilt.stamps_ns):
        found["tilt_sigma_deg"] = float(np.degrees(np.median(tilt.tilt_sigmas)))
    return found | (base.metrics() if base is not None else {})


def _inertial_metrics(
    run: ReplayRun, pipelines: Pipelines, series: InertialSeries, hold_out_ns: int | None
) -> dict[str, Any]:
    payloads = sum(float(link.payload_masses[-1]) for link in series.links)
    found: dict[str, Any] = {"total_mass_kg": pipelines.nominal_mass + payloads}
    found |= _final_estimates(run.inertial[-1], series)
    found["loads"] = located_loads(run.inertial)
    found["external_wrenches"] = external_wrenches(run.inertial)
    error = torque_error(run, pipelines, series, hold_out_ns)
    if error is not None:
        found["torque_error_relative"] = error
    found |= innovation_metrics(run.inertial)
    learning = np.array([decision is not Decision.DISABLED for decision in series.decisions])
    if learning.any():
        found["accepted_fraction"] = float(series.accepted[learning].mean())
    return found


def _final_estimates(last: InertialEstimate, series: InertialSeries) -> dict[str, Any]:
    """Return the last estimate of the filter: masses, standard deviations, payloads, friction."""
    links = {
        link.estimate.link: {
            "mass_kg": link.estimate.mass,
            "mass_sigma_kg": float(np.sqrt(link.covariance[0, 0])),
            "payload_kg": link.payload.mass,
            "com_m": link.estimate.com_L.tolist(),
            "com_sigma_m": np.sqrt(np.diag(link.covariance)[1:4]).tolist(),
            "not_informed": [
                name for name, known in zip(LINK_PARAMETERS, over_time.informed, strict=True) if not known
            ],
        }
        for link, over_time in zip(last.links, series.links, strict=True)
    }
    return {"links": links, "friction": dict(last.friction)} if last.friction else {"links": links}


def _run_metrics(run: ReplayRun) -> dict[str, Any]:
    ticks = {
        TILT_NODE: run.tilt_tick_ns,
        INERTIAL_NODE: run.inertial_tick_ns,
        PAYLOAD_NODE: run.payload_tick_ns,
    }
    samples = {"base_orientation": len(run.base), "link_inertias": len(run.inertial)}
    if run.payload:
        samples["trunk_inertia"] = len(run.payload)
    return {
        "tick_us": {name: percentiles_us(times) for name, times in ticks.items() if times},
        "realtime_factor": run.realtime_factor,
        "samples": samples,
    }


def _force_magnitudes(run: ReplayRun) -> dict[str, tuple[NDArray[np.int64], Array]]:
    return {
        contact: (
            np.array([sample.stamp_ns for sample in samples], dtype=np.int64),
            np.linalg.norm(np.array([sample.wrench_F[:3] for sample in samples]), axis=1),
        )
        for contact, samples in run.wrenches.items()
        if samples
    }


def implausible_metrics(metrics: Mapping[str, Any], nominal_mass: float) -> dict[str, str]:
    """Return why metrics are implausible, by their names.

    Args:
        metrics: Metrics of a replay.
        nominal_mass: Sum of the masses of the description [kg].
    """
    found = {}
    mass = metrics.get("total_mass_kg")
    if mass is not None and not nominal_mass / MASS_FACTOR < mass < nominal_mass * MASS_FACTOR:
        found["total_mass_kg"] = f"{mass:.4g} kg, the description has {nominal_mass:.4g} kg"
    error = metrics.get("torque_error_relative")
    if error is not None and not error < TORQUE_ERROR:
        found["torque_error_relative"] = f"{100 * error:.4g} %, no prediction at all has 100 %"
    return found
