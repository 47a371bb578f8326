"""Report of an identification: one self-contained page."""

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from markupsafe import Markup

from inertial_estimation.files.outputs import write_text
from inertial_estimation.identification.identification_result import (
    Identifiability,
    IdentificationReport,
    ParameterResult,
)
from inertial_estimation.models.measurement_rows import BASE_ROWS
from inertial_estimation.offline.identification_run import IdentificationRun, TorqueTrace, nominal_error
from inertial_estimation.offline.result_diagnostics import result_diagnostics
from inertial_estimation.plots.identification_figures import (
    MOST_ROWS,
    figure_of_identified_masses,
    figure_of_singular_values,
    figures_of_torques,
    inline_svg,
)
from inertial_estimation.plots.page import page_environment

MARKS = {
    Identifiability.IDENTIFIABLE: "●",
    Identifiability.COMBINATION: "◐",
    Identifiability.NOT: "○",
}
UNCHANGED_SHARE = 1e-6  # of the nominal value, below which a parameter counts as unchanged


def write_identification_report(path: Path, run: IdentificationRun, source: Mapping[str, Any]) -> Path:
    """Write the page.

    Args:
        path: File to write.
        run: What was found.
        source: Where it came from: ``robot``, ``bags``, ``validation_bags``, ``split_s``, ``config`` and
            ``settings`` (values by parameter name).

    Raises:
        ConfigurationError: If the file cannot be written.
    """
    return write_text(path, identification_page(run, source))


def identification_page(run: IdentificationRun, source: Mapping[str, Any]) -> str:
    """Return the page as HTML; see `write_identification_report`."""
    report, result = run.report, run.result
    environment = page_environment()
    environment.tests.update(
        not_identifiable=lambda kind: kind is Identifiability.NOT, unchanged=_is_unchanged
    )
    counts = Counter(parameter.identifiability for parameter in result.parameters)
    page: str = environment.get_template("identification.html").render(
        title=f"Identification of {source.get('robot') or 'a robot'}",
        run=run,
        report=report,
        result=result,
        source=source,
        nan=float("nan"),
        nominal_error=nominal_error,
        marks=MARKS,
        force_rows=BASE_ROWS[:3],
        diagnostics=result_diagnostics(report),
        parameter_counts=" ".join(f"{counts[kind]}\N{THIN SPACE}{mark}" for kind, mark in MARKS.items()),
        method_notes=_method_notes(report),
        parameters_by_owner=_by_owner(result.parameters),
        traces=[
            _trace(title, trace, name)
            for title, trace, name in (
                ("Fitted data", run.training, "training"),
                ("Other data", run.validation, "validation"),
            )
            if trace is not None
        ],
        masses=_svg(figure_of_identified_masses(result), "masses"),
        singular_values=_svg(figure_of_singular_values(report), "singular"),
    )
    return page


def _method_notes(report: IdentificationReport) -> list[str]:
    return [
        f"{name}: {note}"
        for name, result in report.methods.items()
        for note in (*result.notes, *filter(None, [result.unfinished]))
    ]


def _by_owner(parameters: Iterable[ParameterResult]) -> dict[str, list[ParameterResult]]:
    """Gather parameters by link or joint; friction comes term after term."""
    gathered: dict[str, list[ParameterResult]] = {}
    for parameter in parameters:
        gathered.setdefault(parameter.name.rpartition("/")[0], []).append(parameter)
    return gathered


def _is_unchanged(parameter: ParameterResult) -> bool:
    return abs(parameter.value - parameter.nominal) <= UNCHANGED_SHARE * abs(parameter.nominal)


def _trace(title: str, trace: TorqueTrace, name: str) -> dict[str, Any]:
    count = len(trace.row_names)
    some = f"; the {MOST_ROWS} of {count} rows with the largest remaining error" if count > MOST_ROWS else ""
    text = (
        f"The part with most motion of {Path(trace.recording).name}, {trace.times_s[0]:.1f} to "
        f"{trace.times_s[-1]:.1f} s{some}."
    )
    figures = [_svg(figure, f"{name}{i}") for i, figure in enumerate(figures_of_torques(trace))]
    return {"title": title, "text": text, "figures": figures}


def _svg(figure: Any, name: str) -> Markup:
    return Markup(inline_svg(figure, name))  # drawn by matplotlib, which escapes its text
