"""What `identify` prints of its result."""

import math
import sys
from pathlib import Path

import numpy as np

from inertial_estimation.commands.warnings_on_stderr import print_warnings
from inertial_estimation.identification.identification_result import (
    IdentificationReport,
    MethodResult,
    PayloadResult,
)
from inertial_estimation.models.measurement_rows import BASE_ROWS
from inertial_estimation.offline.identification_run import IdentificationRun, nominal_error
from inertial_estimation.offline.result_diagnostics import result_diagnostics


def print_run_warnings(result: IdentificationRun) -> None:
    """Print warnings of the data, what was left out and why there is no URDF, to stderr."""
    report = result.report
    print_warnings(report.warnings)
    for name, data in (("fitted data", report.training), ("other data", report.validation)):
        if data is not None and data.dropped:
            left_out = ", ".join(f"{reason} ({count})" for reason, count in data.dropped.items())
            print(f"left out of the {name}: {left_out}", file=sys.stderr)
    if result.refusal:
        print(result.refusal, file=sys.stderr)


def print_summary(folder: Path, run: IdentificationRun) -> None:
    """Print what was found, and what speaks against it."""
    report, result = run.report, run.result
    data = report.training
    print(f"data                  {data.duration_s:.1f} s, {data.samples} samples, {data.rows} rows")
    print(f"rank                  {report.rank} of {report.unknowns}, condition {report.condition:.3g}")
    if len(report.methods) > 1:
        _print_methods(report)
    else:
        print(f"method                {result.method}")
    print(
        f"relative error        {_percent(result.relative_error)} on the fitted data "
        f"(nominal {_percent(nominal_error(result.direct))})"
    )
    if result.validation:
        print(
            f"                      {_percent(result.relative_error_validation)} on other data "
            f"(nominal {_percent(nominal_error(result.validation))})"
        )
    _print_base(result)
    bad = [body.link for body in result.bodies if body.violations]
    print(f"bodies                {'all consistent' if not bad else 'impossible: ' + ', '.join(bad)}")
    if result.payload:
        _print_payload(result.payload)
    for sentence in result_diagnostics(report):
        print(f"but                   {sentence}")
    print(f"results               {folder}")


def _print_methods(report: IdentificationReport) -> None:
    print(f"{'method':<22}{'fitted':>9}{'other':>9}{'cost':>10}{'other':>10}   bodies")
    for name, one in report.methods.items():
        bad = sum(1 for body in one.bodies if body.violations)
        mark = " (written)" if name == report.chosen else ""
        verdict = "consistent" if not bad else f"{bad} of {len(one.bodies)} impossible"
        print(
            f"{name:<22}{_percent(one.relative_error):>9}{_percent(one.relative_error_validation):>9}"
            f"{one.cost:>10.3g}{one.cost_validation:>10.3g}   {verdict}{mark}"
        )


def _print_base(result: MethodResult) -> None:
    """Print the prediction error of the base rows if the relative error covers only joint torques."""
    for rows, data in ((result.direct, "fitted"), (result.validation, "other")):
        base = [row for row in rows if row.row in BASE_ROWS]
        if base and len(base) < len(rows):
            measured, left, nominal = (
                math.hypot(*(getattr(row, name) for row in base))
                for name in ("rms_measured", "rms", "rms_nominal")
            )
            if measured > 0.0:
                print(
                    f"base rows             {_percent(left / measured)} on the {data} data "
                    f"(nominal {_percent(nominal / measured)})"
                )


def _print_payload(load: PayloadResult) -> None:
    com, sigma = (", ".join(f"{c:.4f}" for c in values) for values in (load.inertia.com_F, load.com_sigma))
    moments = ", ".join(f"{value:.3g}" for value in np.diag(load.inertia.inertia_Fcm))
    spread = ", ".join(f"{value:.2g}" for value in np.diag(load.inertia_sigma))
    print(f"payload               {load.inertia.mass:.4g} kg (sigma {load.mass_sigma:.2g}) on '{load.link}'")
    if not load.mass_known:
        print("                      centre of mass and inertia not determined: the mass may be zero")
        return
    print(f"                      centre of mass {com} m (sigma {sigma}) in the frame of '{load.link}'")
    print(f"                      moments of inertia about it {moments} kg m^2 (sigma {spread})")


def _percent(value: float) -> str:
    return f"{100 * value:.2f} %" if value == value else "-"
