"""What TALOS and HyQ stand: the controller on the tilt observer, noisy sensors, the inertias of the URDF.

Run from the root of the project: ``python -m benchmarks.control_robustness [--seeds N] [NAME ...]``. All
scenes without a name, each once for every seed of the sensor noise.
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from inertial_estimation.closed_loop.closed_loop import ClosedLoop
from inertial_estimation.closed_loop.robot_loop import RobotLoop
from inertial_estimation.control.control_result import ControlState
from inertial_estimation.control.references import WalkCommand
from inertial_estimation.signals import BaseReference
from inertial_estimation.simulation.disturbances import Attachment, Disturbance, MassWaveform, Push
from inertial_estimation.simulation.payload import ball
from inertial_estimation.spatial.minimum_jerk import minimum_jerk

TORSO, TORSO_KG = "torso_2_link", 17.56
SETTLE_S = 1.0
CORNER = (-0.75, 0.4, 0.0)  # of HyQ's trunk, where Tournois et al. put their loads
LOADED_S = SETTLE_S + 1.0  # before the first swing


@dataclass(frozen=True)
class Scene:
    """What happens: duration after settling, steps, sim parameters, disturbances, what is done each tick."""

    duration_s: float
    walk: WalkCommand | None = None
    simulator: dict[str, Any] = field(default_factory=dict)
    disturbances: tuple[Disturbance, ...] = ()
    each: Callable[[ClosedLoop, float], None] | None = None
    robot: str = "talos"
    controller: dict[str, Any] = field(default_factory=dict)


def walking(steps: int, length: float, simulator: dict[str, Any] | None = None, *what: Disturbance) -> Scene:
    return Scene(3.0 + 1.1 * steps, WalkCommand(steps, length), simulator or {}, what)


def heavy(extra: float) -> MassWaveform:
    return MassWaveform(TORSO, "step", TORSO_KG + extra)


def push(x: float, y: float, at: float) -> Push:
    return Push(TORSO, np.array([x, y, 0.0]), SETTLE_S + at)


def lean(degrees: float) -> Callable[[ClosedLoop, float], None]:
    """Lean the pelvis by minimum jerk within a second and back within the next."""

    def profile(t: float) -> float:
        u = min(1.0, max(0.0, t if t < 1.0 else 2.0 - t))
        return float(np.radians(degrees)) * minimum_jerk(u)

    def each(loop: ClosedLoop, t: float) -> None:
        last = loop.controller.last
        rate = (profile(t + 1e-4) - profile(t)) / 1e-4
        loop.controller.push_base_reference(BaseReference(last.height_ref, pitch=profile(t), pitch_rate=rate))

    return each


def crawling(
    swings: int,
    length: float,
    simulator: dict[str, Any] | None = None,
    *what: Disturbance,
    told: bool = False,
    **controller: Any,
) -> Scene:
    """HyQ; `told`: the controller gets the true inertia of the trunk."""
    walk, each = WalkCommand(swings, length), tell if told else None
    return Scene(3.0 + 1.6 * swings, walk, simulator or {}, what, each, "hyq", controller)


def tell(loop: ClosedLoop, t: float) -> None:
    simulation = loop.simulation
    loop.controller.push_inertia(simulation.stamp_ns, simulation.truth(("trunk",)).inertias["trunk"])


def load(mass: float) -> Attachment:
    return Attachment(ball("trunk", mass, CORNER), start=LOADED_S)


def ramp(degrees: float) -> dict[str, Any]:
    return {"ground.terrain": "ramp", "ground.slope": float(np.radians(degrees)), "ground.begin": -0.6}


def rough(roughness: float, seed: int) -> dict[str, Any]:
    return {"ground.terrain": "rough", "ground.roughness": roughness, "ground.seed": seed}


FAST = {"crawl.swing_duration": 0.3, "crawl.acceleration": 2.0, "crawl.dwell": 0.3}
SCENES: dict[str, Scene] = {
    "10 steps of 0.15 m": walking(10, 0.15),
    "10 steps in place": walking(10, 0.0),
    "8 steps of 0.25 m": walking(8, 0.25),
    "6 steps of -0.1 m": walking(6, -0.1),
    "torso 5 kg heavier": walking(6, 0.15, None, heavy(5.0)),
    "torso 17 kg heavier": walking(6, 0.15, None, heavy(17.0)),
    "torso 8 kg lighter": walking(6, 0.15, None, heavy(-8.0)),
    "rough +-1 cm": walking(10, 0.15, rough(0.01, 0)),
    "rough +-2 cm": walking(10, 0.15, rough(0.02, 1)),
    "rough +-3 cm": walking(10, 0.15, rough(0.03, 1)),
    "ramp 0.1 rad up": walking(10, 0.1, {"ground.terrain": "ramp", "ground.slope": 0.1}),
    "soft ground, 3e4 N/m": walking(4, 0.1, {"ground.stiffness": 3e4, "ground.damping": 500.0}),
    "joints: 0.1 kg m2, 2 Nm, 1 Nms": walking(
        4, 0.1, {"actuators.armature": 0.1, "actuators.coulomb": 2.0, "actuators.viscous": 1.0}
    ),
    "torque lag 10 ms": walking(4, 0.1, {"actuators.lag": 0.01}),
    "lean 25 deg and back in 2 s": Scene(3.5, each=lean(25.0)),
    "lean -25 deg and back in 2 s": Scene(3.5, each=lean(-25.0)),
    "standing, 200 N back, 0.1 s": Scene(3.5, disturbances=(push(-200.0, 0.0, 0.5),)),
    "standing, 300 N aside, 0.1 s": Scene(3.5, disturbances=(push(0.0, 300.0, 0.5),)),
    "standing, 300 N forward, 0.1 s": Scene(3.5, disturbances=(push(300.0, 0.0, 0.5),)),
    "step, 200 N forward": walking(6, 0.1, None, push(200.0, 0.0, 1.8)),
    "step, 200 N to the swing foot": walking(6, 0.1, None, push(0.0, -200.0, 2.5)),
    "step, 200 N to the standing foot": walking(6, 0.1, None, push(0.0, 200.0, 2.5)),
    "HyQ, 12 swings of 0.3 m": crawling(12, 0.3),
    "HyQ, 12 swings of 0.4 m": crawling(12, 0.4),
    "HyQ, 0.4 m, swings and body faster": crawling(12, 0.4, **FAST),
    "HyQ, 8 swings of -0.2 m": crawling(8, -0.2),
    "HyQ, ramp 10 deg": crawling(8, 0.25, ramp(10.0)),
    "HyQ, ramp 10 deg, along the slope": crawling(8, 0.25, ramp(10.0), **{"walking.follow_slope": 1.0}),
    "HyQ, ramp 15 deg": crawling(8, 0.25, ramp(15.0)),
    "HyQ, ramp -15 deg": crawling(8, 0.25, ramp(-15.0)),
    "HyQ, onto a ramp of 10 deg": crawling(12, 0.25, {**ramp(10.0), "ground.begin": 0.6}),
    "HyQ, rough +-2 cm": crawling(12, 0.25, {**rough(0.02, 1), "ground.begin": 0.6}),
    "HyQ, 5.1 kg, known": crawling(12, 0.3, None, load(5.1), told=True),
    "HyQ, 10.2 kg, known": crawling(12, 0.3, None, load(10.2), told=True),
    "HyQ, 5.1 kg, not known": crawling(12, 0.3, None, load(5.1)),
    "HyQ, 10.2 kg, not known": crawling(12, 0.3, None, load(10.2)),
}


def run(scene: Scene, seed: int) -> tuple[bool, np.ndarray]:
    """Return whether it stands, and per tick: DCM error, height error, largest torque, damping, x, time.

    The place x is nan after the last step, so that place over time is the speed.
    """
    robot = RobotLoop(scene.robot, {"simulator": scene.simulator, "whole_body_controller": scene.controller})
    loop = robot.build(disturbances=scene.disturbances, seed=seed, adaptation=False)
    loop.inertial = None
    rows: list[tuple[float, ...]] = []
    steps = scene.walk.steps if scene.walk is not None else -1

    def record(loop: ClosedLoop) -> None:
        last, gait = loop.controller.last, loop.controller.controller.gait
        error = float(np.abs(last.dcm - last.dcm_ref).max())
        x = float(loop.simulation.truth().base.p_WB[0]) if gait.steps_made < steps else np.nan
        height = last.height - last.height_ref
        rows.append(
            (error, height, np.abs(last.tau).max(), last.state is not ControlState.CONTROL, x, loop.time_s)
        )
        if scene.each is not None and loop.time_s > SETTLE_S:
            scene.each(loop, loop.time_s - SETTLE_S)

    loop.release(1.5)
    loop.run(SETTLE_S, record)
    if scene.walk is not None:
        loop.controller.push_walk_command(scene.walk)
    loop.run(scene.duration_s, record)
    made = loop.controller.controller.gait.steps_made
    arrived = scene.walk is None or made == scene.walk.steps
    return not loop.simulation.fallen and arrived, np.array(rows, dtype=float)


def speed(rows: np.ndarray) -> float:
    """Mean speed forward from the command to the last step [m/s]; nan where nothing walks."""
    walked = rows[(rows[:, 5] > SETTLE_S) & np.isfinite(rows[:, 4])]
    return float((walked[-1, 4] - walked[0, 4]) / (walked[-1, 5] - walked[0, 5])) if len(walked) else np.nan


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="a scene, or the beginning of its name")
    parser.add_argument("--seeds", type=int, default=1)
    options = parser.parse_args(arguments)
    print(f"{'scene':34} stands   DCM error [m]  height rms [mm]  torque [Nm]  ticks in damping  speed [m/s]")
    chosen = [n for n in SCENES if not options.names or any(n.startswith(name) for name in options.names)]
    for name in chosen:
        runs = [run(SCENES[name], seed) for seed in range(options.seeds)]
        rows = np.concatenate([found for _, found in runs])
        stood = f"{sum(ok for ok, _ in runs)}/{len(runs)}"
        height = 1e3 * float(np.sqrt(np.mean(rows[:, 1] ** 2)))
        print(
            f"{name:34} {stood:6} {rows[:, 0].max():12.3f} {height:14.1f} {rows[:, 2].max():14.0f} "
            f"{int(rows[:, 3].sum()):14} {np.mean([speed(found) for _, found in runs]):16.3f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
