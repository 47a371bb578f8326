"""The numbers of a result that are compared, by names that replay and identify share where they can."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from inertial_estimation.replay.result_files import BASE_ERRORS


@dataclass(frozen=True)
class Value:
    """A number of a result.

    Attributes:
        value: The number, or a word.
        unit: Its unit.
        sigma: Its standard deviation, None where there is none.
        smaller_is_better: Whether a smaller magnitude is a better result.
        mass_of: Link whose mass it is; empty for another quantity.
    """

    value: float | str
    unit: str = ""
    sigma: float | None = None
    smaller_is_better: bool = False
    mass_of: str = ""


def value_text(value: Value | None) -> str:
    """Return a value with its standard deviation as text; a hyphen for none."""
    if value is None or isinstance(value.value, str):
        return "-" if value is None else str(value.value)
    number = f"{value.value:.4g}" if math.isfinite(value.value) else "-"
    return f"{number} +- {value.sigma:.2g}" if value.sigma is not None else number


def replayed_values(metrics: Mapping[str, Any]) -> dict[str, Value]:
    """Return the values of `metrics.json`."""
    return dict(_replayed(metrics))


def identified_values(report: Mapping[str, Any]) -> dict[str, Value]:
    """Return the values of `identification.json`: those of the method that was chosen."""
    return dict(_identified(report))


def _replayed(metrics: Mapping[str, Any]) -> Iterator[tuple[str, Value]]:
    for parts in (_base, _masses, _torques):
        yield from parts(metrics)
    checks = metrics.get("checks", [])
    failed = sum(check["verdict"] != "ok" for check in checks)
    if checks:
        yield "data checks not ok", Value(float(failed))
    for node, times in metrics.get("tick_us", {}).items():
        yield f"step of {node}, median", Value(times["p50"], "us")


def _base(metrics: Mapping[str, Any]) -> Iterator[tuple[str, Value]]:
    for name, quantity, unit in BASE_ERRORS:
        for statistic in ("rms", "p95"):
            if name in metrics:
                yield f"{quantity} error, {statistic}", _error(metrics[name][statistic], unit)
    true = metrics.get("truth", {}).get("tilt_error_deg")
    if true:
        yield "tilt error against the truth, rms", _error(true["rms"], "deg")
    if "tilt_sigma_deg" in metrics:
        yield "tilt's own sigma, median", Value(metrics["tilt_sigma_deg"], "deg")


def _masses(metrics: Mapping[str, Any]) -> Iterator[tuple[str, Value]]:
    if "total_mass_kg" in metrics:
        yield "total mass", Value(metrics["total_mass_kg"], "kg")
    truth = metrics.get("truth", {}).get("links", {})
    for link, found in metrics.get("links", {}).items():
        yield _mass(link, found["mass_kg"], found["mass_sigma_kg"])
        if link in truth:
            yield f"mass error of {link}", _error(truth[link]["mass_error_kg"], "kg")
    trunk = metrics.get("trunk")
    if trunk:
        link = f"{trunk['link']} (at rest)"
        yield _mass(link, trunk["mass_kg"], trunk["mass_sigma_kg"])
        true = metrics.get("truth", {}).get("trunk")
        if true:
            yield f"mass error of {link}", _error(true["mass_error_kg"], "kg")


def _torques(metrics: Mapping[str, Any]) -> Iterator[tuple[str, Value]]:
    if "torque_error_relative" in metrics:
        yield "torque error on other data", _error(100.0 * metrics["torque_error_relative"], "%")
    nis = metrics.get("nis")
    if nis:
        yield "innovations", Value(str(nis["verdict"]))
        yield "NIS, median over expected", Value(nis["median"] / nis["expected"])
    if "accepted_fraction" in metrics:
        yield "measurements accepted", Value(100.0 * metrics["accepted_fraction"], "%")
    for name, title in (("loads", "loads located"), ("external_wrenches", "pushes located")):
        if name in metrics:
            yield title, Value(float(len(metrics[name])))


def _identified(report: Mapping[str, Any]) -> Iterator[tuple[str, Value]]:
    result = report["methods"][report["chosen"]]
    yield "method", Value(str(report["chosen"]))
    yield "rank", Value(float(report["rank"]))
    yield "condition number", Value(report["condition"])
    for name, title in (
        ("relative_error", "torque error on fitted data"),
        ("relative_error_validation", "torque error on other data"),
    ):
        if result.get(name) is not None:
            yield title, _error(100.0 * result[name], "%")
    for link, body in result["bodies"].items():
        parameter = result["parameters"].get(f"{link}/m", {})
        yield _mass(link, body["identified"]["mass"], parameter.get("sigma"))
    load = result.get("payload")
    if load:
        yield _mass(load["link"], load["mass"], load["mass_sigma"])


def _mass(link: str, mass: float, sigma: float | None) -> tuple[str, Value]:
    return f"mass of {link}", Value(mass, "kg", sigma, mass_of=link)


def _error(value: float | None, unit: str) -> Value:
    return Value(float("nan") if value is None else value, unit, smaller_is_better=True)
