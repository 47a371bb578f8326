"""Report of a replay: one self-contained page."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from inertial_estimation.diagnosis.finding import Verdict, severest_first
from inertial_estimation.plots.page import (
    BAD,
    CAUTION,
    GOOD,
    Card,
    Cell,
    Findings,
    Page,
    Section,
    Table,
    number,
    percent,
    sources,
    with_sigma,
    write_page,
)
from inertial_estimation.plots.replay_figures import replay_figures
from inertial_estimation.replay.results import BASE_ERRORS, ReplayResults, nis_sentence

Metrics = Mapping[str, Any]


def write_replay_report(path: Path, results: ReplayResults) -> Path:
    """Write the page of a replay whose metrics have their provenance.

    Raises:
        ~inertial_estimation.errors.ConfigurationError: If the file cannot be written.
    """
    metrics = results.metrics
    provenance = metrics["provenance"]
    settings = {
        f"{node}.{name}": value
        for node, values in provenance["parameters"].items()
        for name, value in values.items()
    }
    failed = severest_first(results.checks)
    figures = [figure for figure in replay_figures(results) if figure.panels or figure.note]
    sections = [
        *([Section("Findings about the data", [Findings(failed)])] if failed else []),
        *_tables(metrics),
        *(Section(figure.title, [figure]) for figure in figures),
        sources(provenance, settings),
    ]
    title = f"Replay of {Path(provenance['bags'][0]['path']).name}"
    return write_page(path, Page(title, *_lead(results), list(_cards(metrics)), sections))


def _lead(results: ReplayResults) -> tuple[str, str]:
    """Return the first sentences and their tone."""
    metrics, failed = results.metrics, severest_first(results.checks)
    wrong = sum(one.verdict is Verdict.WRONG for one in failed)
    warnings, fine = len(failed) - wrong, len(results.checks) - len(failed)
    if wrong:
        count = "One thing contradicts" if wrong == 1 else f"{wrong} things contradict"
        return f"{count} the description; first: {failed[0].check} of {failed[0].subject}.", BAD
    if metrics["implausible"]:
        reasons = "; ".join(f"{name}: {why}" for name, why in metrics["implausible"].items())
        return f"The estimates are implausible: {reasons}.", BAD
    news = [f"Data and description agree: {fine} checks are fine" if fine else "The estimators ran"]
    if "tilt_error_deg" in metrics:
        news.append(f"the tilt is within {metrics['tilt_error_deg']['rms']:.2f} deg (rms) of the reference")
    elif "tilt_sigma_deg" in metrics:
        news.append(f"the tilt is known to {metrics['tilt_sigma_deg']:.2g} deg (sigma)")
    if "total_mass_kg" in metrics:
        news.append(f"the masses add up to {metrics['total_mass_kg']:.4g} kg")
    some = f" {warnings} of the checks gave a warning, see below." if warnings else ""
    return f"{', '.join(news)}.{some}", CAUTION if warnings > fine else GOOD


def _cards(metrics: Metrics) -> Iterator[Card]:
    time, implausible = metrics["time"], metrics["implausible"]
    speed = f"replayed at {metrics['realtime_factor']:.1f} times real time"
    yield Card("recording", f"{time['end_s'] - time['begin_s']:.1f} s", speed)
    if "tilt_error_deg" in metrics:
        against = f"against {metrics['provenance']['options']['reference']}"
        yield Card("tilt error, rms", f"{metrics['tilt_error_deg']['rms']:.3f} deg", against)
    if "tilt_sigma_deg" in metrics:
        known = f"{metrics['tilt_sigma_deg']:.3f} deg"
        yield Card("sigma of the tilt", known, "median, as the estimator knows it")
    if "total_mass_kg" in metrics:
        yield Card("total mass", f"{metrics['total_mass_kg']:.4g} kg", implausible.get("total_mass_kg", ""))
    if "trunk" in metrics:
        trunk = metrics["trunk"]
        mass = with_sigma(trunk["mass_kg"], trunk["mass_sigma_kg"])
        yield Card(
            "trunk", f"{mass} kg", f"payload {with_sigma(trunk['payload_kg'], trunk['mass_sigma_kg'])} kg"
        )
    if "torque_error_relative" in metrics:
        note = implausible.get("torque_error_relative", "after the hold-out")
        yield Card("torque error", percent(metrics["torque_error_relative"]), note)
    if "nis" in metrics:
        yield Card("innovations", metrics["nis"]["verdict"], nis_sentence(metrics["nis"]))
    if "accepted_fraction" in metrics:
        yield Card("accepted", percent(metrics["accepted_fraction"]), "of the measurements")


def _tables(metrics: Metrics) -> Iterator[Section]:
    rows = [
        (f"{quantity} [{unit}]", metrics[name]) for name, quantity, unit in BASE_ERRORS if name in metrics
    ]
    true = metrics.get("truth", {}).get("tilt_error_deg")
    rows += [("tilt, against the truth without alignment [deg]", true)] if true else []
    if rows:
        texts = [(title, *(number(value, 3) for value in values.values())) for title, values in rows]
        yield Section("Errors of the base", [Table(("", "mean", "rms", "95 %", "largest"), texts)])
    if metrics.get("links"):
        yield Section("Links at the end", list(_links(metrics)))
    if metrics.get("load_changes"):
        changes = [(f"{change['time_s']:.3f}", change["message"]) for change in metrics["load_changes"]]
        yield Section("Load changes", [Table(("time [s]", "what"), changes, (1,))])


def _links(metrics: Metrics) -> Iterator[str | Table]:
    truth = metrics.get("truth", {}).get("links", {})
    held = metrics["time"]["hold_out_s"]
    yield (
        "A body is a link with all that is fixed to it, in the axes of the link, with one standard "
        "deviation. Faded: not measured, as the recording has not halved the standard deviation of the "
        "description's value."
    )
    if held is not None:
        yield f"From {held:.2f} s on, the dashed line in the figures, the inertial filter did not learn."
    columns = ["link", "mass [kg]", "payload [kg]", "com x [mm]", "com y [mm]", "com z [mm]"]
    columns += ["true mass [kg]", "error [sigma]"] if truth else []
    rows = []
    for name, link in metrics["links"].items():
        mass_sigma, unknown = link["mass_sigma_kg"], link["not_informed"]
        values = [("mass", link["mass_kg"], mass_sigma), ("mass", link["payload_kg"], mass_sigma)]
        for axis, value, sigma in zip("xyz", link["com_m"], link["com_sigma_m"], strict=True):
            values.append((f"com_{axis}", 1e3 * value, 1e3 * sigma))
        row: list[str | Cell] = [name]
        row += [Cell(with_sigma(v, s), "faded" if what in unknown else "") for what, v, s in values]
        if truth:
            true = truth.get(name, {})
            row += [number(true.get("true_mass_kg")), number(true.get("mass_error_sigmas"), 2)]
        rows.append(row)
    yield Table(columns, rows)
