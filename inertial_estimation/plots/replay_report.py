"""Report of a replay: one self-contained page."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from inertial_estimation.diagnosis.finding import Verdict, severest_first
from inertial_estimation.errors import counted, listing
from inertial_estimation.inertial.noise import noise_sentence
from inertial_estimation.payload.estimate import Phase
from inertial_estimation.plots.page import (
    BAD,
    CAUTION,
    GOOD,
    Card,
    Cell,
    Findings,
    Notes,
    Page,
    Section,
    Table,
    number,
    percent,
    sources,
    with_sigma,
)
from inertial_estimation.plots.replay_figures import replay_figures
from inertial_estimation.replay.results import BASE_ERRORS, NOISE_BAND, ReplayResults, nis_sentence

INCLUDED = " (it contains errors of real robots and sensors; a simulation has less)"
Metrics = Mapping[str, Any]


def replay_page(results: ReplayResults, *, drawn: bool) -> Page:
    """Return the page of a replay whose metrics have their provenance, with figures if they are drawn."""
    metrics = results.metrics
    provenance = metrics["provenance"]
    settings = {
        f"{node}.{name}": value
        for node, values in provenance["parameters"].items()
        for name, value in values.items()
    }
    failed = severest_first(results.checks)
    figures = [one for one in (replay_figures(results) if drawn else ()) if one.panels or one.note]
    sections = [
        *([Section("Findings about the data", [Findings(failed)], printed=True)] if failed else []),
        *_tables(metrics),
        *(Section(figure.title, [figure]) for figure in figures),
        sources(provenance, settings),
    ]
    title = f"Replay of {Path(provenance['bags'][0]['path']).name}"
    return Page(title, *_lead(results), list(_cards(metrics)), sections)


def _lead(results: ReplayResults) -> tuple[str, str]:
    """Return the first sentences and their tone."""
    metrics, failed = results.metrics, severest_first(results.checks)
    wrong = sum(one.verdict is Verdict.WRONG for one in failed)
    warnings, fine = len(failed) - wrong, len(results.checks) - len(failed)
    if wrong:
        count = "One thing contradicts" if wrong == 1 else f"{wrong} things contradict"
        first = f"first: {failed[0].check} of {failed[0].subject}"
        return f"{count} the description, so that all numbers are uncertain; {first}.", BAD
    if metrics["implausible"]:
        reasons = "; ".join(f"{name}: {why}" for name, why in metrics["implausible"].items())
        suspects = list(dict.fromkeys(f"{one.check} of {one.subject}" for one in failed))
        check = listing(suspects or ["signs", "units", "the description"], limit=3)
        return f"The estimates are implausible: {reasons}. Check {check}.", BAD
    agree = "Data and description agree: " if not warnings else ""
    news = [f"{agree}{counted(fine, 'check')} found nothing" if fine else "Too few data for checks"]
    if "tilt_error_deg" in metrics:
        news.append(f"the tilt is within {metrics['tilt_error_deg']['rms']:.2f} deg (rms) of the reference")
    elif "tilt_sigma_deg" in metrics:
        news.append(f"the tilt is known to {metrics['tilt_sigma_deg']:.2g} deg (sigma)")
    if "total_mass_kg" in metrics:
        news.append(f"the masses add up to {metrics['total_mass_kg']:.4g} kg")
    some = f" {counted(warnings, 'check')} gave a warning, see below." if warnings else ""
    return f"{', '.join(news)}.{some}", CAUTION if warnings > fine else GOOD


def _cards(metrics: Metrics) -> Iterator[Card]:
    time, implausible = metrics["time"], metrics["implausible"]
    speed = f"replayed at {metrics['realtime_factor']:.1f} times real time"
    yield Card("recording", f"{time['end_s'] - time['begin_s']:.1f} s", speed)
    if "tilt_error_deg" in metrics:
        against = f"against {metrics['provenance']['options']['reference']}"
        yield Card("tilt error, rms", f"{metrics['tilt_error_deg']['rms']:.3f} deg", against)
    truth = metrics.get("truth", {})
    if "tilt_sigma_deg" in metrics:
        sigma = metrics["tilt_sigma_deg"]
        true = truth.get("tilt_error_deg")
        reason = INCLUDED if true and sigma > 2.0 * true["rms"] else ""
        yield Card("sigma of the tilt", f"{sigma:.3f} deg", f"median, as the estimator knows it{reason}")
    if "total_mass_kg" in metrics:
        why = implausible.get("total_mass_kg")
        yield Card("total mass", f"{metrics['total_mass_kg']:.4g} kg", f"implausible: {why}" if why else "")
    if "trunk" in metrics:
        trunk = metrics["trunk"]
        mass, load = (with_sigma(trunk[name], trunk["mass_sigma_kg"]) for name in ("mass_kg", "payload_kg"))
        true = f", truth {truth['trunk']['true_mass_kg']:.3f} kg" if truth.get("trunk") else ""
        yield Card("trunk", f"{mass} kg", f"payload {load} kg{true}")
        com = ", ".join(
            "not measured" if f"com_{axis}" in trunk["not_informed"] else number(1e3 * value)
            for axis, value in zip("xyz", trunk["com_m"], strict=True)
        )
        yield Card("trunk's centre of mass", f"{com} mm", "x, y, z")
    if "torque_error_relative" in metrics:
        why = implausible.get("torque_error_relative")
        note = f"implausible: {why}" if why else "after the hold-out"
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
        yield Section("Errors of the base", [Table(("", "mean", "rms", "95 %", "largest"), texts)], True)
    if metrics.get("links"):
        yield Section("Links at the end", list(_links(metrics)), printed=True)
    if metrics.get("load_changes"):
        changes = [(f"{change['time_s']:.3f}", change["message"]) for change in metrics["load_changes"]]
        yield Section("Load changes", [Table(("time [s]", "what"), changes, (1,))], printed=True)
    trunk = metrics.get("trunk")
    if trunk and trunk["phase"] != Phase.WATCHING.value:
        doing = f"identification under way ({trunk['method']}, phase {trunk['phase']}): not yet a result"
        yield Section("At the end", [Notes([doing], CAUTION)], printed=True)
    noise = [
        f"{noise_sentence(name, factor)}{INCLUDED if factor < 1.0 else ''}; the filter ended with "
        f"{factor:.2g} times the stated one"
        for name, factor in metrics.get("noise", {}).items()
        if not 1.0 / NOISE_BAND < factor < NOISE_BAND
    ]
    if noise:
        yield Section("Stated noise", [Notes(noise, CAUTION)], printed=True)
    ticks = [(name, f"{us['p50']:.0f}", f"{us['p99']:.0f}") for name, us in metrics["tick_us"].items()]
    yield Section("Time of a step", [Table(("", "median [us]", "99 % [us]"), ticks)], printed=True)


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
