"""Trunk payload of a loaded HyQ where joints rub and the ground gives way.

`python -m benchmarks.trunk_payload_realism`: it stands, 100 N are put on its trunk at (-0.75, 0.4, 0) m, and
the pipeline identifies in the closed loop, sensors with realistic noise. Printed: what the result is off
by, or why there is none.
"""

import argparse
from typing import Any

from inertial_estimation.closed_loop.robot_loop import RobotLoop
from inertial_estimation.configuration.node_names import PAYLOAD_NODE, SIMULATOR_NODE
from inertial_estimation.simulation.disturbance_yaml import parse_disturbance

LOAD = parse_disturbance("{kind: ball, link: trunk, mass: 10.19, at: [-0.75, 0.4, 0], start: 0.5}")
RUBBING: dict[str, Any] = {"actuators.viscous": 0.5, "actuators.coulomb_speed": 0.001}
MOTOR = {**RUBBING, "sensors.effort_at": "motor"}
SCENES: dict[str, dict[str, Any]] = {
    "as modelled": {},
    "1 Nm, torque at the link": {**RUBBING, "actuators.coulomb": 1.0},
    "1 Nm, torque at the motor": {**MOTOR, "actuators.coulomb": 1.0},
    "2 Nm, torque at the motor": {**MOTOR, "actuators.coulomb": 2.0},
    "ground of 2e4 N/m": {"ground.stiffness": 2e4, "ground.damping": 500.0},
    "ground of 5e3 N/m": {"ground.stiffness": 5e3, "ground.damping": 300.0},
}


def row(scene: str, method: str, forces: str, seed: int, duration_s: float) -> str:
    """Run one scene until it has a result or a refusal."""
    overrides = {SIMULATOR_NODE: SCENES[scene], PAYLOAD_NODE: {"method": method, "ground_forces": forces}}
    loop = RobotLoop("hyq", overrides).build(disturbances=[LOAD], payload=True, inertial=False, seed=seed)
    loop.release(1.0)
    last = None
    while loop.time_s < duration_s and not loop.simulation.fallen:
        loop.run(0.25)
        last = loop.identified
        assert last is not None
        if last.refusal or (last.converged and last.phase.value == "watching"):
            break
    assert last is not None
    truth = loop.simulation.truth(("trunk",)).inertias["trunk"]
    said = f"{scene:28s}{method:20s}{forces:11s}{loop.time_s:6.1f} s  "
    if not last.converged:
        return said + (f"refused: {last.refusal}" if last.refusal else f"no result, phase {last.phase.value}")
    x, y, z = (1e3 * (last.estimate.com_L - truth.com_L)).tolist()
    mass = last.estimate.mass / truth.mass - 1.0
    return said + f"mass {100 * mass:+.2f} %  x {x:+.2f}  y {y:+.2f}  z {z:+.2f} mm"


def main() -> None:
    """Print one row a scene."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scenes", nargs="+", choices=SCENES, default=list(SCENES))
    parser.add_argument(
        "--method", default="contact_forces", choices=["contact_forces", "static_poses", "orientation_error"]
    )
    parser.add_argument("--ground-forces", default="estimated", choices=["estimated", "measured"])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--duration", type=float, default=60.0)
    given = parser.parse_args()
    for scene in given.scenes:
        for seed in range(given.seeds):
            print(row(scene, given.method, given.ground_forces, seed, given.duration), flush=True)


if __name__ == "__main__":
    main()
