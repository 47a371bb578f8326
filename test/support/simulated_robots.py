"""Robots and loops the tests of the simulation share."""

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

import inertial_estimation as ie
from support.control_robots import config_of

GRAVITY = 9.81
MASS, SIDE = 8.0, 0.2
_MOMENT = MASS * SIDE**2 / 6.0
BLOCK = f"""<robot name="block"><link name="block"><inertial>
<origin xyz="0 0 {SIDE / 2}"/><mass value="{MASS}"/>
<inertia ixx="{_MOMENT}" iyy="{_MOMENT}" izz="{_MOMENT}" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="imu"/><joint name="imu_mount" type="fixed"><parent link="block"/><child link="imu"/>
<origin xyz="0.05 0.02 0.2" rpy="0.3 -0.2 0.5"/></joint></robot>"""
"""A cube, origin in the middle of its sole; the IMU sits off centre, turned."""
ON_GROUND = {"contacts": ("block",), "stance.soles": (-SIDE / 2, SIDE / 2, -SIDE / 2, SIDE / 2)}


def block_simulation(values: dict[str, object], disturbances: Sequence = ()) -> ie.Simulation:
    config = ie.build_config(ie.SimulationConfig, {"imu_frame": "imu", **values})
    return ie.Simulation(config, BLOCK, disturbances)


def released(simulation: ie.Simulation) -> ie.Simulation:
    """The same, with the torques that keep it at rest."""
    simulation.apply(simulation.truth().tau_link)
    return simulation


@cache
def talos_urdf() -> str:
    return ie.read_urdf("example-robot-data:talos_reduced")


def talos_simulation(values: dict[str, object] | None = None, disturbances: Sequence = ()) -> ie.Simulation:
    return ie.Simulation(
        config_of(ie.SimulationConfig, "talos", "simulator", values or {}), talos_urdf(), disturbances
    )


class PostureHold:
    """A PD controller on every joint about posture and torques of the start, on the true joint states."""

    def __init__(self, simulation: ie.Simulation) -> None:
        truth = simulation.truth()
        self.simulation, self.q, self.tau = simulation, truth.q.copy(), truth.tau_link.copy()

    def run(self, duration_s: float, offset: Callable[[float], np.ndarray]) -> list:
        """Follow an offset to the posture in time; returns all readings."""
        simulation, readings = self.simulation, []
        begin_ns = simulation.stamp_ns
        while (time := (simulation.stamp_ns - begin_ns) * 1e-9) < duration_s - 1e-9:
            truth = simulation.truth()
            q = self.q + offset(time)
            simulation.apply(self.tau + 800.0 * (q - truth.q) - 15.0 * truth.v)
            readings += simulation.advance(simulation.period_ns)
        return readings
