"""Progress of the demo: a live table on a terminal, a line every two seconds in a pipe."""

import math
import sys
import time
from collections.abc import Sequence

from inertial_estimation.commands.demo_nodes import NODES
from inertial_estimation.commands.demo_run import DemoPhase, DemoRun
from inertial_estimation.replay.payload_response import PayloadResponse, PayloadScene

TABLE_PERIOD_S = 0.5
LINE_PERIOD_S = 2.0


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
            self._paint([*table(self._scene, _responses(runs)), *lines])
        else:
            print("\n".join(lines), flush=True)

    def finish(self, runs: Sequence[DemoRun]) -> None:
        """Print the table of the finished runs."""
        self._paint(table(self._scene, _responses(runs)))

    def _paint(self, lines: list[str]) -> None:
        if self._live and self._lines:
            sys.stdout.write(f"\x1b[{self._lines}A\x1b[J")
        print("\n".join(lines), flush=True)
        self._lines = len(lines)


def _responses(runs: Sequence[DemoRun]) -> list[PayloadResponse]:
    responses = (run.response() for run in runs)
    return [response for response in responses if response is not None]


def progress_line(scene: PayloadScene, run: DemoRun) -> str:
    """Return the state of a run in one line."""
    name = f"{'with' if run.adaptation else 'without'} adaptation"
    return f"{name + ':':<20} {_activity(scene, run)}"


def _activity(scene: PayloadScene, run: DemoRun) -> str:
    time_of = f"{run.simulated_s:.1f} of {scene.duration_s:g} s simulated{_elbow(scene, run)}"
    match run.phase:
        case DemoPhase.STARTING:
            found = run.found
            awaited = [node for node in NODES if node not in found]
            if awaited:
                return f"starting {len(NODES)} nodes, waiting for {', '.join(awaited)}"
            return f"{len(NODES)} nodes are up, waiting for the first sensor readings"
        case DemoPhase.HOISTED:
            return f"the robot hangs on its hoist, {run.simulated_s:.1f} s simulated, waiting for its release"
        case DemoPhase.RELEASED:
            return f"released, {time_of}; the weight is attached at {scene.time_s:g} s"
        case DemoPhase.LOADED:
            return f"{scene.payload:.2f} kg attached at {scene.time_s:g} s, {time_of}"
        case DemoPhase.OVER:
            return f"over after {run.wall_s:.1f} s"


def _elbow(scene: PayloadScene, run: DemoRun) -> str:
    response = run.response()
    if response is None or not len(response.angle):
        return ""
    return f", elbow {math.degrees(float(response.angle[-1]) - scene.home):.1f} deg off"


def table(scene: PayloadScene, responses: Sequence[PayloadResponse]) -> list[str]:
    """Render the newest values of each run as lines of text."""
    lines = [
        f"{scene.payload:.2f} kg on {scene.link} from {scene.time_s:g} s on; elbow reference "
        f"{math.degrees(scene.home):.1f} deg, forearm {scene.nominal_mass:.2f} kg without the weight",
        f"  {'adaptation':<12}{'t [s]':>7}{'elbow [deg]':>13}{'error [deg]':>13}{'rmse [rad]':>12}"
        f"{'forearm [kg]':>14}{'truth [kg]':>12}",
    ]
    return [*lines, *(_row(scene, response) for response in responses if len(response.t))]


def _row(scene: PayloadScene, response: PayloadResponse) -> str:
    t, angle = float(response.t[-1]), float(response.angle[-1])
    mass = f"{response.mass[-1]:.2f}" if len(response.mass) else "-"
    rmse = response.numbers(scene)["elbow_rmse_rad"]
    return (
        f"  {'on' if response.adaptation else 'off':<12}{t:>7.2f}{math.degrees(angle):>13.1f}"
        f"{math.degrees(angle - scene.home):>13.1f}{'-' if math.isnan(rmse) else f'{rmse:.3f}':>12}"
        f"{mass:>14}{scene.mass(t):>12.2f}"
    )
