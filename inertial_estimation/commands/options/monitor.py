"""Show live nodes in a table: inputs with rates and ages, tilt, masses with deviations, gate, warnings.

The nodes are all those in the namespace that publish telemetry or diagnostics. Ctrl-C ends the command.
When the output is not a terminal, tables are printed one after the other without colours.
"""

import argparse

EXAMPLES = (
    "",
    "--once --namespace /robot1",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "--namespace", default="/", metavar="NS", help="show the nodes in this namespace and below (/)"
    )
    parser.add_argument("--once", action="store_true", help="print one table and exit")
    parser.add_argument(
        "--period", type=float, default=0.5, metavar="S", help="time between two tables (0.5 s)"
    )
    parser.add_argument(
        "--wait",
        type=float,
        default=10.0,
        metavar="S",
        help="longest time that --once waits for nodes (10 s)",
    )
