"""The command `compare`: results of replay or identify side by side."""

import argparse
from collections.abc import Iterator

from inertial_estimation.commands.terminal import drawing, print_warnings, table_lines
from inertial_estimation.comparison.comparison import Comparison, Row, compare, read_results, value_text
from inertial_estimation.errors import ConfigurationError
from inertial_estimation.files.outputs import check_output_folder, result_folder, write_table

TABLE_FILE, PAGE_FILE = "compare.csv", "report.html"


def run(args: argparse.Namespace) -> int:
    """Read the results, print and write the comparison."""
    if len(args.folders) < 2:
        raise ConfigurationError("one folder has nothing to be compared with, expected at least two")
    folder = None if args.output is None else check_output_folder(args.output, overwrite=args.overwrite)
    comparison = compare(read_results(args.folders))
    print_warnings(comparison.warnings)
    names = [f"{row.name} [{row.unit}]" if row.unit else row.name for row in comparison.rows]
    rows = [
        (name, *(_cell_text(row, place) for place in range(len(row.values))))
        for name, row in zip(names, comparison.rows, strict=True)
    ]
    print("\n".join(table_lines([("", *comparison.names), *rows])))
    _print_differences(comparison)
    if folder is not None:
        with result_folder(folder, (TABLE_FILE, PAGE_FILE)) as partial:
            columns = [column for name in comparison.names for column in (name, f"{name} sigma")]
            write_table(partial / TABLE_FILE, ("name", "unit", *columns), map(_cells, comparison.rows))
            if not args.no_figures:
                with drawing("page"):
                    from inertial_estimation.plots.comparison_report import write_comparison_report

                    write_comparison_report(partial / PAGE_FILE, comparison)
        print(f"\nresults               {folder}")
    return 0


def _print_differences(comparison: Comparison) -> None:
    found = comparison.differences
    if not found:
        print("\nnothing differs in recordings, files, options, parameters, version and machine")
        return
    print()
    rows = [(f"{d.group} {d.name}", *d.values) for d in found]
    print("\n".join(table_lines([("what differs", *comparison.names), *rows], left=True)))


def _cell_text(row: Row, place: int) -> str:
    text = value_text(row.values[place])
    change = row.change(place)
    text += f" ({100 * change:+.1f} %)" if change is not None else ""
    return f"{text} *" if place in row.best else text


def _cells(row: Row) -> Iterator[object]:
    """Yield the cells of a row: name, unit, then each value with its standard deviation (empty if none)."""
    yield from (row.name, row.unit)
    for value in row.values:
        yield "" if value is None else value.value
        yield "" if value is None or value.sigma is None else value.sigma
