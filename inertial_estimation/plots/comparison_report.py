"""Page of a comparison of results."""

from collections.abc import Iterable
from functools import partial
from pathlib import Path

from inertial_estimation.comparison.comparison import FIGURES, Comparison
from inertial_estimation.comparison.result_values import value_text
from inertial_estimation.files.outputs import write_text
from inertial_estimation.plots.page import NO_NUMBER, page_environment


def write_comparison_report(path: Path, comparison: Comparison, figures: Iterable[Path]) -> Path:
    """Write the page.

    Args:
        path: File to write.
        comparison: Results side by side.
        figures: Files of the figures, PNG, which the page contains.

    Raises:
        ConfigurationError: If the file cannot be written.
    """
    return write_text(path, comparison_page(comparison, figures))


def comparison_page(comparison: Comparison, figures: Iterable[Path]) -> str:
    """Return the page as HTML; see `write_comparison_report`."""
    environment = page_environment()
    environment.filters["shown"] = partial(value_text, nothing=NO_NUMBER, plus_minus="±")
    images = [(FIGURES[path.name], path) for path in figures]
    page: str = environment.get_template("comparison.html").render(
        title=f"{' and '.join(comparison.names[:3])} compared", comparison=comparison, images=images
    )
    return page
