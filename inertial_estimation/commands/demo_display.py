"""Progress of the demo: a live table on a terminal, a line every two seconds in a pipe."""

import math
import sys
import time
from collections.abc import Sequence

from inertial_estimation.commands.demo_run import NODES, DemoPhase, DemoRun
from inertial_estimation.commands.terminal import table_lines
from inertial_estimation.replay.payload_response import PayloadResponse, PayloadScene

TABLE_PERIOD_S, LINE_PERIOD_S = 0.5, 2.0
HEADER = ("adaptation", "t [s]", "elbow [deg]", "error [deg]", "rmse [rad]", "forearm [kg]", "truth [kg]")


class Display:
    """Prints the progress of both runs; on a terminal each print replaces the last one."""

    def __init__(self, scene: PayloadScene, *, live: bool, quiet: bool) -> None:
        """Initialise the display.

        Args:
            scene: What happens.
            live: Whether a print may be replaced by the next, as on a terminal.
            quiet: Whether only the last table is printed.
        """
        self._scene, self._live, self._quiet = scene, live, quiet
        self._begin_s = time.monotonic()
        self._next_s = 0.0
        self._phases: dict[DemoRun, DemoPhase] = {}
        self._lines = 0

    def show(self, runs: Sequence[DemoRun]) -> None:
        """Print the progress of the runs if an update is due."""
        now = time.monotonic()
        due = now >= self._next_s
        lines = [
            f"[{now - self._begin_s:5.1f} s] {progress_line(self._scene, run)}"
            for run in runs
            if self._live or self._phases.get(run) is not run.phase or (due and not run.over)
        ]
        if self._quiet or not lines or (self._live and not due):
            return
        self._phases = {run: run.phase for run in runs}
        if due:
            self._next_s = now + (TABLE_PERIOD_S if self._live else LINE_PERIOD_S)
        if self._live:
            self._paint([*table(self._scene, runs), *lines])
        else:
            print("\n".join(lines), flush=True)

    def finish(self, runs: Sequence[DemoRun]) -> None:
        """Print the table of the finished runs."""
        self._paint(table(self._scene, runs))

    def _paint(self, lines: list[str]) -> None:
        if self._live and self._lines:
            sys.stdout.write(f"\x1b[{self._lines}A\x1b[J")
        print("\n".join(lines), flush=True)
        self._lines = len(lines)


def progress_line(scene: PayloadScene, run: DemoRun) -> str:
    """Return the state of a run in one line."""
    name = f"{'with' if run.adaptation else 'without'} adaptation:"
    return f"{name:<20} {_activity(scene, run)}"


def _activity(scene: PayloadScene, run: DemoRun) -> str:
    response, elbow = run.response(), ""
    if response is not None and len(response.angle):
        elbow = f", elbow {math.degrees(float(response.angle[-1]) - scene.home):.1f} deg off"
    simulated = f"{run.simulated_s:.1f} of {scene.duration_s:g} s simulated{elbow}"
    match run.phase:
        case DemoPhase.STARTING:
            if awaited := run.awaited:
                return f"starting {len(NODES)} nodes, waiting for {', '.join(awaited)}"
            return f"{len(NODES)} nodes are up, waiting for the first sensor readings"
        case DemoPhase.HOISTED:
            return f"the robot hangs on its hoist, {run.simulated_s:.1f} s simulated, waiting for its release"
        case DemoPhase.RELEASED:
            return f"released, {simulated}; the weight is attached at {scene.time_s:g} s"
        case DemoPhase.LOADED:
            return f"{scene.payload:.2f} kg attached at {scene.time_s:g} s, {simulated}"
        case DemoPhase.OVER:
            return f"over after {run.wall_s:.1f} s"


def table(scene: PayloadScene, runs: Sequence[DemoRun]) -> list[str]:
    """Render the newest values of each run as lines of text."""
    title = (
        f"{scene.payload:.2f} kg on {scene.link} from {scene.time_s:g} s on; elbow reference "
        f"{math.degrees(scene.home):.1f} deg, forearm {scene.nominal_mass:.2f} kg without the weight"
    )
    responses = [response for run in runs if (response := run.response()) is not None and len(response.t)]
    return [title, *table_lines([HEADER, *(_row(scene, response) for response in responses)], indent=2)]


def _row(scene: PayloadScene, response: PayloadResponse) -> tuple[str, ...]:
    t, angle = float(response.t[-1]), float(response.angle[-1])
    rmse = response.numbers(scene)["elbow_rmse_rad"]
    return (
        "on" if response.adaptation else "off",
        f"{t:.2f}",
        f"{math.degrees(angle):.1f}",
        f"{math.degrees(angle - scene.home):.1f}",
        "-" if math.isnan(rmse) else f"{rmse:.3f}",
        f"{response.mass[-1]:.2f}" if len(response.mass) else "-",
        f"{scene.mass(t):.2f}",
    )
