"""How fast Talos is simulated on one core: simulated time over CPU time, and microseconds of each part.

    python benchmarks/simulation_speed.py [--seconds 10] [--terrain flat|ramp|rough] [--repeats 3]

First the simulation by itself on the terrain: the robot stands on a plain PD controller, which counts as
its own part; medians over windows of 0.1 s. Then the closed loop, standing and walking on flat ground:
simulation and controller, then with the tilt observer, then with the inertial filter too. Simulation alone
and controller alone repeat the run of both, with its torques and its readings. CPU time; the best of the
repeats is printed with the worst, because other work on the machine only ever adds.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from inertial_estimation.closed_loop.closed_loop import ClosedLoop
from inertial_estimation.closed_loop.robot_loop import RobotLoop
from inertial_estimation.configuration.config_file import load_config_file
from inertial_estimation.configuration.node_names import CONTROLLER_NODE, SIMULATOR_NODE, TILT_NODE
from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.control.controller_config import ControllerConfig
from inertial_estimation.control.controller_pipeline import ControllerPipeline
from inertial_estimation.control.references import WalkCommand
from inertial_estimation.estimators.tilt.tilt_config import TiltPipelineConfig
from inertial_estimation.estimators.tilt.tilt_pipeline import TiltPipeline
from inertial_estimation.parameters import build_config, iterate_parameters
from inertial_estimation.signals import BaseState, OrientationSample
from inertial_estimation.simulation.ground_truth import SensorReadings
from inertial_estimation.simulation.simulation import Simulation
from inertial_estimation.simulation.simulation_config import SimulationConfig

CONFIG = Path(__file__).resolve().parents[1] / "config" / "talos.yaml"
WINDOW = 33  # ticks of 3 ms
STIFFNESS, DAMPING, ARMATURE = 800.0, 15.0, 0.05
LOOP_SECONDS = 6.0  # of each closed loop
STEPS = 4  # walked in that time
Tick = tuple[SensorReadings, BaseState, np.ndarray]  # readings, true base, the torques that answer


def build(terrain: str) -> Simulation:
    file = load_config_file(CONFIG)
    known = {spec.name for spec in iterate_parameters(SimulationConfig)}
    changed = {"actuators.armature": ARMATURE, "ground.terrain": terrain, "ground.begin": -10.0}
    config = build_config(SimulationConfig, {**file.values("simulator", known), **changed})
    return Simulation(config, read_urdf(str(file.shared["urdf"])))


def measure(simulation: Simulation, seconds: float) -> dict[str, list[float]]:
    """Microseconds of each part per tick, window by window."""
    start = simulation.truth()
    parts: dict[str, list[float]] = {"controller (PD)": [], "simulation with sensors": [], "truth": []}
    clock = time.process_time
    for _ in range(max(1, round(seconds * 1e9 / (WINDOW * simulation.period_ns)))):
        spent = np.zeros(3)
        for _ in range(WINDOW):
            a = clock()
            truth = simulation.truth()
            b = clock()
            simulation.apply(start.tau_link + STIFFNESS * (start.q - truth.q) - DAMPING * truth.v)
            c = clock()
            simulation.advance(simulation.period_ns)
            spent += (c - b, clock() - c, b - a)
        for name, value in zip(parts, spent / WINDOW * 1e6, strict=True):
            parts[name].append(value)
    if simulation.fallen:
        raise SystemExit("the robot has fallen: the figures are not those of standing")
    return parts


def cpu_seconds(work: Callable[[], None]) -> float:
    begin = time.process_time()
    work()
    return time.process_time() - begin


def new_simulation(robot: RobotLoop) -> Simulation:
    return Simulation(robot.config(SIMULATOR_NODE, SimulationConfig), robot.urdf)


def new_controller(robot: RobotLoop, steps: int) -> ControllerPipeline:
    controller = ControllerPipeline(robot.config(CONTROLLER_NODE, ControllerConfig), robot.urdf)
    if steps:
        controller.push_walk_command(WalkCommand(steps, 0.15))
    return controller


def answer(controller: ControllerPipeline, readings: SensorReadings, base: BaseState) -> np.ndarray:
    """Torques for the readings of one stamp, the base being known."""
    controller.push_joints(readings.joints)
    controller.push_orientation(OrientationSample(base.stamp_ns, base.quaternion_xyzw))
    controller.push_base_state(base)
    for contact, wrench in readings.wrenches.items():
        controller.push_wrench(contact, wrench)
    (command,) = controller.tick(readings.stamp_ns)
    return command.tau


def run_both(simulation: Simulation, controller: ControllerPipeline, ticks: list[Tick]) -> None:
    """Simulation and controller on the true base; every tick is kept."""
    for _ in range(round(LOOP_SECONDS * 1e9 / simulation.period_ns)):
        (readings,) = simulation.advance(simulation.period_ns)
        base = simulation.truth().base
        tau = answer(controller, readings, base)
        simulation.apply(tau)
        ticks.append((readings, base, tau))


def run_simulation(simulation: Simulation, ticks: list[Tick]) -> None:
    for _, _, tau in ticks:
        simulation.advance(simulation.period_ns)
        simulation.apply(tau)


def run_controller(controller: ControllerPipeline, ticks: list[Tick]) -> None:
    for readings, base, _ in ticks:
        answer(controller, readings, base)


def closed_loop(robot: RobotLoop, steps: int, *, inertial: bool) -> ClosedLoop:
    """Simulation, controller and tilt observer, released; the inertial filter if wanted."""
    tilt = TiltPipeline(robot.config(TILT_NODE, TiltPipelineConfig), robot.urdf)
    loop = ClosedLoop(
        new_simulation(robot), new_controller(robot, 0), tilt, robot.inertial() if inertial else None
    )
    loop.release()
    if steps:
        loop.controller.push_walk_command(WalkCommand(steps, 0.15))
    return loop


def check(simulation: Simulation, controller: ControllerPipeline, steps: int) -> None:
    if simulation.fallen or controller.controller.gait.steps_made < steps:
        raise SystemExit(f"the robot did not stand or make its {steps} steps: the figures mean nothing")


def loop_seconds(robot: RobotLoop, steps: int) -> dict[str, float]:
    """CPU time of each composition [s], over `LOOP_SECONDS` of simulated time."""
    simulation, controller, ticks = new_simulation(robot), new_controller(robot, steps), list[Tick]()
    both = cpu_seconds(lambda: run_both(simulation, controller, ticks))
    check(simulation, controller, steps)
    again, same = new_simulation(robot), new_controller(robot, steps)
    found = {
        "simulation alone": cpu_seconds(lambda: run_simulation(again, ticks)),
        "controller alone": cpu_seconds(lambda: run_controller(same, ticks)),
        "simulation and controller": both,
    }
    for name, inertial in (("with tilt observer", False), ("with inertial filter too", True)):
        loop = closed_loop(robot, steps, inertial=inertial)
        found[name] = cpu_seconds(lambda loop=loop: loop.run(LOOP_SECONDS))
        check(loop.simulation, loop.controller, steps)
    return found


def print_loops(repeats: int) -> None:
    robot = RobotLoop("talos")
    print(f"closed loop, {LOOP_SECONDS:g} s: simulated / CPU time, best (worst) of {repeats}")
    for scene, steps in (("standing", 0), (f"walking {STEPS} steps", STEPS)):
        runs = [loop_seconds(robot, steps) for _ in range(repeats)]
        for name in runs[0]:
            ratios = [LOOP_SECONDS / run[name] for run in runs]
            print(f"  {scene:<16s} {name:<26s} {max(ratios):6.2f} ({min(ratios):.2f})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=10.0, help="simulated time")
    parser.add_argument("--terrain", default="flat", choices=("flat", "ramp", "rough"))
    parser.add_argument("--repeats", type=int, default=3, help="of the closed loops")
    arguments = parser.parse_args()
    simulation = build(arguments.terrain)
    parts = measure(simulation, arguments.seconds)
    period_us = simulation.period_ns * 1e-3
    steps = simulation.period_ns // 1_000_000
    print(
        f"Talos, {simulation.robot.n_joints} joints, 8 contact points, {arguments.terrain} ground, 1 ms steps"
    )
    for name, values in parts.items():
        print(
            f"  {name:<26s} {np.median(values):8.1f} us a tick ({np.min(values):.1f} to {np.max(values):.1f})"
        )
    alone = float(np.median(parts["simulation with sensors"]))
    print(f"  one step with its share of the sensors: {alone / steps:.1f} us")
    print(f"simulated / CPU time: {period_us / alone:.1f} (simulation alone)")
    print_loops(arguments.repeats)


if __name__ == "__main__":
    main()
