"""How fast Talos is simulated on one core: simulated time over CPU time, and microseconds of each part.

    python benchmarks/simulation_speed.py [--seconds 10] [--terrain flat|ramp|rough]

The robot stands on a plain PD controller, which counts as its own part. CPU time is counted, medians over
windows of 0.1 s: what else runs on the machine then disturbs less.
"""

import argparse
import time
from pathlib import Path

import numpy as np

from inertial_estimation.parameters import build_config, iterate_parameters
from inertial_estimation.replay.config_file import load_config_file
from inertial_estimation.replay.urdf_source import read_urdf
from inertial_estimation.simulation.simulation import Simulation
from inertial_estimation.simulation.simulation_config import SimulationConfig

CONFIG = Path(__file__).resolve().parents[1] / "config" / "talos.yaml"
WINDOW = 33  # ticks of 3 ms
STIFFNESS, DAMPING, ARMATURE = 800.0, 15.0, 0.05


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=10.0, help="simulated time")
    parser.add_argument("--terrain", default="flat", choices=("flat", "ramp", "rough"))
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


if __name__ == "__main__":
    main()
