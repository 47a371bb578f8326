"""Results of one replay: its tables, and the metrics of `metrics.json`."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.stats import chi2

from inertial_estimation.configuration.node_names import TILT_NODE
from inertial_estimation.configuration.pipelines import Pipelines
from inertial_estimation.diagnosis.finding import Finding, as_json
from inertial_estimation.inertial.posterior import INFORMED
from inertial_estimation.located_cause import Cause, LocatedCause
from inertial_estimation.payload.estimate import PayloadEstimate
from inertial_estimation.payload.report import events_of
from inertial_estimation.recordings.truth_file import TrueInertias
from inertial_estimation.replay.metrics import summarise
from inertial_estimation.replay.reference import (
    ReferenceErrors,
    ReplayReference,
    base_errors,
    tilt_errors,
    true_tilt_errors,
)
from inertial_estimation.replay.replay import ReplayRun
from inertial_estimation.replay.tables import (
    BASE_FILE,
    COM,
    ERRORS_FILE,
    LINK_PARAMETERS,
    STATE_FILE,
    TELEMETRY_FILES,
    Table,
    TimeAxis,
    errors_table,
    estimate_tables,
    link_tables,
    vectors,
    xyz,
)
from inertial_estimation.replay.torque_errors import TorqueSeries, torque_error, torque_series
from inertial_estimation.signals import (
    NANOSECONDS,
    Array,
    Decision,
    Health,
    InertialEstimate,
    LinkEstimate,
    LinkInertia,
)

BASE_ERRORS = (  # name in metrics.json, quantity, unit
    ("tilt_error_deg", "tilt", "deg"),
    ("yaw_error_deg", "yaw", "deg"),
    ("position_error_m", "position", "m"),
    ("velocity_error_m_s", "velocity", "m/s"),
)
LONGEST_BREAK_NS = round(0.2 * NANOSECONDS)  # longest break after which a returning cause counts as the same
MASS_FACTOR = 2.0  # largest plausible ratio of estimated to nominal total mass, or of the inverse
CERTAIN = 3.0  # standard deviations of the links' masses by which the ratio must be exceeded
NOISE_BAND = 1.7  # factor between observed and assumed noise up to which they count as consistent
INTERVAL = 0.95  # probability of the chi-square interval of the NIS


@dataclass(frozen=True, eq=False)
class ReplayResults:
    """Tables and metrics of a replay."""

    time: TimeAxis  # the time axis of all tables and figures
    metrics: dict[str, Any] = field(default_factory=dict)  # content of `metrics.json`
    tables: Mapping[str, Table] = field(default_factory=dict)  # content of the CSV files, by their names
    links: Mapping[str, Table] = field(default_factory=dict)  # estimates of each link over time
    # errors of tilt, yaw, position and velocity against the reference, as far as it contains them
    errors: Mapping[str, ReferenceErrors] = field(default_factory=dict)
    torques: TorqueSeries | None = None  # rows of the measurement over time, low-passed; None without any
    # events of the trunk with their stamps [ns]: load changes, results and refusals, in order
    events: Sequence[tuple[int, Health]] = ()
    truth: TrueInertias | None = None  # true inertias, None where they are not known
    checks: Sequence[Finding] = ()  # verdicts on the data


def replay_results(
    run: ReplayRun,
    *,
    pipelines: Pipelines,
    reference: ReplayReference | None = None,
    hold_out_ns: int | None = None,
) -> ReplayResults:
    """Compute tables and metrics of a replay.

    Args:
        run: The replay.
        pipelines: The replayed pipelines.
        reference: Reference and truth to compare with.
        hold_out_ns: Stamp from which on the filter no longer learned [ns].

    Returns:
        The results. A metric whose inputs are missing is left out.

    Raises:
        ~inertial_estimation.errors.RecordingError: If reference and flags or stamps do not match.
    """
    known = reference or ReplayReference()
    time = TimeAxis(run.start_ns, run.begin_ns, run.end_ns, hold_out_ns)
    links = link_tables(run.inertial)
    tables = estimate_tables(run, links, pipelines, time)
    metrics: dict[str, Any] = {"time": time.as_json()}
    errors, true_tilt = _base_errors(tables, known)
    if errors:
        tables[ERRORS_FILE] = errors_table(errors, time)
    for name, quantity, unit in BASE_ERRORS:
        if quantity in errors:
            metrics[name] = _scaled(errors[quantity], unit)
    if run.base:
        sigmas = tables[TELEMETRY_FILES[TILT_NODE]]["tilt/sigma [rad]"]
        metrics["tilt_sigma_deg"] = float(np.degrees(np.median(sigmas)))
    torques = None
    if run.inertial and pipelines.inertial is not None:
        delay_s = float(pipelines.inertial_values["inputs.joint_delay"])
        torques = torque_series(run.inertial, run.efforts, delay_s)
        metrics |= _inertial_metrics(run, pipelines)
        if hold_out_ns is not None:
            error = torque_error(run, pipelines, torques, hold_out_ns)
            metrics |= {} if error is None else {"torque_error_relative": error}
    events = [(estimate.stamp_ns, event) for estimate in run.payload for event in events_of(estimate)]
    if run.payload:
        metrics["trunk"] = trunk_metrics(run.payload[-1])
        metrics["load_changes"] = [_load_change(*one, time) for one in events]
    if true_tilt is not None or known.truth is not None:
        metrics["truth"] = _truth_metrics(known.truth, run, true_tilt)
    metrics |= _run_metrics(run)
    metrics["implausible"] = implausible_metrics(metrics, pipelines.nominal_mass)
    metrics["checks"] = as_json(run.checks)
    drawn = None if torques is None else torques.low_passed()
    return ReplayResults(time, metrics, tables, links, errors, drawn, events, known.truth, run.checks)


def _base_errors(
    tables: Mapping[str, Table], known: ReplayReference
) -> tuple[dict[str, ReferenceErrors], Array | None]:
    """Return the errors after an alignment by quantity, and the angles to the true vertical [rad]."""
    if not known.samples or BASE_FILE not in tables:
        return {}, None
    base = tables[BASE_FILE]
    stamps_ns, tilts_B = base["stamp_ns"], vectors(base, xyz("tilt"))
    tilt = tilt_errors(stamps_ns, tilts_B, known.samples, known.trusted, settle_ns=known.settle_ns)
    exact = true_tilt_errors(stamps_ns, tilts_B, known) if known.exact else None
    return {"tilt": tilt, **base_errors(tables[STATE_FILE], known)}, exact


def _scaled(errors: ReferenceErrors, unit: str) -> dict[str, float]:
    scale = float(np.degrees(1.0)) if unit == "deg" else 1.0
    return {name: scale * value for name, value in errors.summary._asdict().items()}


def _inertial_metrics(run: ReplayRun, pipelines: Pipelines) -> dict[str, Any]:
    """Return the last estimate of the filter, the located causes, and the fit to the measurements."""
    last, pipeline = run.inertial[-1], pipelines.inertial
    assert pipeline is not None
    priors = {link.estimate.link: link for link in pipeline.model.prior(pipeline.config)}
    found: dict[str, Any] = {
        "total_mass_kg": pipelines.nominal_mass + sum(link.payload.mass for link in last.links),
        "links": {link.estimate.link: _link(link, priors[link.estimate.link]) for link in last.links},
    }
    if last.friction:
        found["friction"] = dict(last.friction)
    found["loads"] = located_loads(run.inertial)
    found["external_wrenches"] = external_wrenches(run.inertial)
    learning = [e for e in run.inertial if e.decision is not Decision.DISABLED]
    if learning:
        found["accepted_fraction"] = float(np.mean([e.accepted for e in learning]))
    return found | innovation_metrics(learning)


def _link(link: LinkEstimate, prior: LinkEstimate) -> dict[str, Any]:
    """Return the estimate of a link, and the parameters that the recording does not inform."""
    variances, before = (np.maximum(one.covariance.diagonal(), 0.0) for one in (link, prior))
    unknown = np.array(LINK_PARAMETERS)[(1.0 + INFORMED) * variances >= before]
    return _body(link.estimate, link.payload, np.sqrt(variances[:4]), unknown.tolist())


def trunk_metrics(last: PayloadEstimate) -> dict[str, Any]:
    """Return the last estimate of the trunk, for `metrics.json`."""
    sigmas = np.array([last.mass_sigma, *last.com_sigma_B])
    unknown = np.array(("mass", *COM))[~np.isfinite(sigmas)]
    return {
        "link": last.estimate.link,
        **_body(last.estimate, last.payload, sigmas, unknown.tolist()),
        "residual_m": last.residual,
        "method": last.method,
        "phase": last.phase.value,
        "converged": last.converged,
    }


def _body(estimate: LinkInertia, payload: LinkInertia, sigmas: Array, unknown: list[str]) -> dict[str, Any]:
    return {
        "mass_kg": estimate.mass,
        "mass_sigma_kg": float(sigmas[0]),
        "payload_kg": payload.mass,
        "com_m": estimate.com_L.tolist(),
        "com_sigma_m": sigmas[1:].tolist(),
        "not_informed": unknown,
    }


def _load_change(stamp_ns: int, event: Health, time: TimeAxis) -> dict[str, Any]:
    return {"stamp_ns": stamp_ns, "time_s": time.at(stamp_ns), "message": event.message, **event.values}


def _truth_metrics(truth: TrueInertias | None, run: ReplayRun, tilt: Array | None) -> dict[str, Any]:
    """Return the errors of the last estimates; quantities that are not known or estimated are left out.

    Args:
        truth: True inertias over the recording.
        run: The replay.
        tilt: Angles between estimated and true vertical [rad].

    Returns:
        ``tilt_error_deg``, and ``links`` and ``trunk`` with the true mass and the errors of mass and centre
        of mass, also in standard deviations of the estimate.
    """
    found: dict[str, Any] = {}
    if tilt is not None and len(tilt):
        found["tilt_error_deg"] = summarise(np.degrees(tilt))._asdict()
    links = {}
    for link in run.inertial[-1].links if run.inertial else ():
        sigmas = np.sqrt(np.maximum(link.covariance.diagonal()[:4], 0.0))
        links[link.estimate.link] = _errors(truth, link.estimate, sigmas)
    links = {link: errors for link, errors in links.items() if errors}
    found |= {"links": links} if links else {}
    if run.payload:
        last = run.payload[-1]
        trunk = _errors(truth, last.estimate, np.array([last.mass_sigma, *last.com_sigma_B]))
        found |= {"trunk": trunk} if trunk else {}
    return found


def _errors(truth: TrueInertias | None, estimate: LinkInertia, sigmas: Array) -> dict[str, Any]:
    """Return the errors of one body; sigmas of mass and centre of mass, shape (4,)."""
    true = None if truth is None else truth.at_end(estimate.link)
    if true is None:
        return {}
    error = np.array([estimate.mass - true.mass, *(estimate.com_L - true.com_L)])
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


def innovation_metrics(learning: Sequence[InertialEstimate]) -> dict[str, Any]:
    """Return the observed and expected NIS, and the ratio of the estimated to the stated noise.

    With a correct noise model the NIS of m rows follows a chi-square distribution with m degrees of freedom
    (Bar-Shalom, Li and Kirubarajan 2001, 5.4). The verdict is by the median, on which single pushes have no
    effect: consistent within `NOISE_BAND`; overconfident if the standard deviations of the estimates are too
    small; cautious if they are too large.

    Args:
        learning: Estimates of the inertial filter while it learned, in order.

    Returns:
        ``nis`` and ``noise`` of `metrics.json`; nothing if the filter never learned.
    """
    measured = [estimate for estimate in learning if estimate.measured]
    if not measured:
        return {}
    last, nis = measured[-1], np.array([e.nis for e in measured])
    rows = len(last.row_names)
    low, high = chi2.interval(INTERVAL, rows)
    median = float(np.median(nis))
    ratio = float(np.sqrt(median / chi2.median(rows)))
    verdict = "overconfident" if ratio > NOISE_BAND else "consistent"
    return {
        "nis": {
            "mean": float(nis.mean()),
            "median": median,
            "expected": rows,
            "inside_95": float(np.mean((nis >= low) & (nis <= high))),
            "noise_ratio": ratio,
            "verdict": "cautious" if ratio < 1.0 / NOISE_BAND else verdict,
        },
        "noise": dict(last.noise),
    }


def nis_sentence(nis: Mapping[str, Any]) -> str:
    """Return the reason for the verdict of `innovation_metrics`, in words."""
    return f"innovations are {nis['noise_ratio']:.2g} times as large as the filter's noise says"


def located_loads(estimates: Sequence[InertialEstimate]) -> list[dict[str, Any]]:
    """Return the loads put on (positive mass) or taken off (negative mass), in order.

    Args:
        estimates: Estimates of the inertial filter, in order.

    Returns:
        For each load that became certain, the stamp of its first report, the links that the data hardly
        distinguish (the most probable first), and mass, position in the first link's frame and probability
        in its last report.
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
        if not all(cause.is_ambiguous for _stamp, cause in episode)
        for load in [episode[-1][1]]
    ]


def external_wrenches(estimates: Sequence[InertialEstimate]) -> list[dict[str, Any]]:
    """Return the pushes, in order.

    Args:
        estimates: Estimates of the inertial filter, in order.

    Returns:
        For each push, the stamps of its first and last report, the links that the data hardly distinguish
        (the most probable first), the medians of force, moment about the origin and point of attack in the
        first link's frame (null where the data do not determine the point), and the probability.
    """
    rows = []
    for episode in _episodes(estimates, Cause.PUSH):
        first_links = [cause.links[0] for _stamp, cause in episode]
        link = max(set(first_links), key=first_links.count)
        causes = [cause for _stamp, cause in episode if cause.links[0] == link]
        rows.append(
            {
                "stamp_ns": episode[0][0],
                "end_stamp_ns": episode[-1][0],
                "links": list(causes[-1].links),
                "force_n": _median([cause.force_L for cause in causes]),
                "torque_nm": _median([cause.torque_L for cause in causes]),
                "point_m": _median([cause.point_L for cause in causes]),
                "probability": causes[-1].probability,
            }
        )
    return rows


def _episodes(
    estimates: Sequence[InertialEstimate], cause: Cause
) -> Iterator[list[tuple[int, LocatedCause]]]:
    """Yield the segments in which a kind of cause was found; loads of different sign are separate."""
    episode: list[tuple[int, LocatedCause]] = []
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


def _run_metrics(run: ReplayRun) -> dict[str, Any]:
    samples = {"base_orientation": len(run.base), "link_inertias": len(run.inertial)}
    if run.payload:
        samples["trunk_inertia"] = len(run.payload)
    return {
        "tick_us": {name: _percentiles_us(times) for name, times in run.tick_ns.items()},
        "realtime_factor": run.realtime_factor,
        "samples": samples,
    }


def _percentiles_us(durations_ns: Sequence[float]) -> dict[str, float]:
    p50, p99 = np.percentile(np.array(durations_ns) * 1e-3, [50.0, 99.0]).tolist()
    return {"p50": round(p50, 2), "p99": round(p99, 2)}


def implausible_metrics(metrics: Mapping[str, Any], nominal_mass: float) -> dict[str, str]:
    """Return why metrics are implausible, by their names.

    Args:
        metrics: Metrics of a replay.
        nominal_mass: Sum of the masses of the description [kg].
    """
    found = {}
    mass, links = metrics.get("total_mass_kg"), metrics.get("links", {}).values()
    margin = CERTAIN * sum(link["mass_sigma_kg"] for link in links)  # for masses that are not informed
    least, most = nominal_mass / MASS_FACTOR - margin, nominal_mass * MASS_FACTOR + margin
    if mass is not None and not least < mass < most:
        found["total_mass_kg"] = f"{mass:.4g} kg, the description has {nominal_mass:.4g} kg"
    error = metrics.get("torque_error_relative")
    if error is not None and not error < 1.0:
        found["torque_error_relative"] = f"{100 * error:.4g} %, no prediction at all has 100 %"
    return found
