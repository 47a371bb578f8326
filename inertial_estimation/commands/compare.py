"""The command `compare`: results of replay or identify side by side."""

import argparse
from collections.abc import Iterator

from inertial_estimation.commands.terminal import print_page, print_warnings, result_folder_with_report
from inertial_estimation.comparison.comparison import Row, compare, read_results
from inertial_estimation.errors import ConfigurationError
from inertial_estimation.files.outputs import check_output_folder, write_table
from inertial_estimation.plots.comparison_report import comparison_page

TABLE_FILE = "compare.csv"


def run(args: argparse.Namespace) -> int:
    """Read the results, print and write the comparison."""
    if len(args.folders) < 2:
        raise ConfigurationError("one folder has nothing to be compared with, expected at least two")
    folder = None if args.output is None else check_output_folder(args.output, overwrite=args.overwrite)
    comparison = compare(read_results(args.folders))
    print_warnings(comparison.warnings)
    drawn = folder is not None and not args.no_figures
    page = comparison_page(comparison, drawn=drawn)
    if folder is not None:
        with result_folder_with_report(folder, (TABLE_FILE,), page, drawn=drawn) as partial:
            columns = [column for name in comparison.names for column in (name, f"{name} sigma")]
            write_table(partial / TABLE_FILE, ("name", "unit", *columns), map(_cells, comparison.rows))
    print_page(page, folder)
    return 0


def _cells(row: Row) -> Iterator[object]:
    """Yield the cells of a row: name, unit, then each value with its standard deviation (empty if none)."""
    yield from (row.name, row.unit)
    for value in row.values:
        yield "" if value is None else value.value
        yield "" if value is None or value.sigma is None else value.sigma
