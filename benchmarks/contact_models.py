"""Contacts of this package against MuJoCo's native contacts, under a robot that stands and is pushed.

    python benchmarks/contact_models.py [--robots talos hyq] [--seconds 6]

The same robot (bodies, inertias, posture, joint PD controller, contact points) stands on these grounds:

    own              spring-dampers of K N/m and D Ns/m a point, bristle friction, end-of-step forces
    native           MuJoCo's spheres on a plane, elliptic cone, default solref and solimp
    native, no slip  the same with impratio 10 and 20 iterations of MuJoCo's no-slip solver
    native, K and D  native with solref set from the constraint's regulariser R at the start, so that
                     the normal force at rest is K times the depth: solref = (-K R, -D R) at impedance 0.5;
                     "native, K and D, no slip" also has the no-slip solver

It prints the sinkage against weight / (n K), without and with a load of 5 kg bolted to the base after R was
found; creep of the feet on a slope of 0.05 rad; ripple of the vertical force at rest; the farthest shift of
the base and slip of the feet in a push of 60 N for 0.1 s, and how far the shift is from that at an eighth of
the step; whether a second run is the same bit by bit; CPU time of a step.
"""

import argparse
import math
import time
from dataclasses import dataclass, replace
from typing import Any

import mujoco
import numpy as np

from inertial_estimation.closed_loop.robot_loop import RobotLoop
from inertial_estimation.configuration.node_names import SIMULATOR_NODE
from inertial_estimation.models.stance_config import stance_positions
from inertial_estimation.signals import Array
from inertial_estimation.simulation.robot_build import body_inertia, robot_spec, set_body_inertia
from inertial_estimation.simulation.robot_physics import RobotPhysics
from inertial_estimation.simulation.simulation_config import GroundConfig, SimulationConfig
from inertial_estimation.simulation.standing import stand_at_rest
from inertial_estimation.spatial.inertial_parameters import InertialParameters

STIFFNESS, DAMPING, ARMATURE = 800.0, 15.0, 0.05  # PD controller of the joints [Nm/rad, Nms/rad, kg m^2]
SLOPE = 0.05  # [rad]
LOAD_KG = 5.0
PUSH_N, PUSH_BEGIN_S, PUSH_END_S = 60.0, 2.0, 2.1
RADIUS = 0.005  # of the spheres of the native contacts [m]
IMPEDANCE = 0.5
OWN, NATIVE, NO_SLIP = "own", "native", "native, no slip"
CALIBRATED, CALIBRATED_NO_SLIP = "native, K and D", "native, K and D, no slip"
KINDS = (OWN, NATIVE, NO_SLIP, CALIBRATED, CALIBRATED_NO_SLIP)
BASE = 1  # MuJoCo's body of the floating base


class OwnGround:
    """The physics of this package."""

    def __init__(self, config: SimulationConfig, urdf: str) -> None:
        self.physics = RobotPhysics(config, urdf)
        stand_at_rest(self.physics, stance_positions(config.stance, self.physics.robot))
        self.physics.rest()
        self.tau_rest = self.physics.tau_link.copy()
        self.model, self.data = self.physics.model, self.physics.data

    def step(self, tau: Array, push_W: Array) -> None:
        """Integrate one step with joint torques [Nm] and a force on the base [N]."""
        self.physics.clear_pushes()
        if push_W.any():
            self.physics.push(BASE, self.data.xipos[BASE], push_W)
        self.physics.actuators.motors.command(tau)
        self.physics.step()

    def refresh(self) -> None:
        """Take over changed inertias."""
        self.physics.refresh()

    def depth(self) -> Array:
        """Return the depth of each point [m]."""
        return self.physics.points.depth.copy()

    def points(self) -> Array:
        """Return the points in the world [m]."""
        return self.physics.points.position_W.copy()

    def vertical_force(self) -> float:
        """Return the vertical force of the ground [N]."""
        return float(self.physics.accelerate()[:, 2].sum())


class NativeGround:
    """MuJoCo's dynamics and contacts; the robot begins where it rests on the other ground."""

    def __init__(self, config: SimulationConfig, urdf: str, kind: str) -> None:
        own = OwnGround(config, urdf)
        physics = own.physics
        self.tau_rest, self._dof = own.tau_rest, physics.built.dof
        self.model = _native_model(physics, config)
        self.data: Any = mujoco.MjData(self.model)
        self._spheres = [self.model.geom(f"point_{k}").id for k in range(len(physics.points))]
        _, self._normal = physics.points.ground_below(np.zeros(3))
        height, _ = physics.points.ground_below(np.zeros(3))
        self._origin = np.array([0.0, 0.0, height])
        self.data.qpos[:] = physics.data.qpos
        mujoco.mj_forward(self.model, self.data)
        if kind in (NO_SLIP, CALIBRATED_NO_SLIP):
            self.model.opt.impratio, self.model.opt.noslip_iterations = 10.0, 20
        if kind in (CALIBRATED, CALIBRATED_NO_SLIP):
            self.model.geom_solimp[:, :2] = IMPEDANCE
            mujoco.mj_forward(self.model, self.data)
            R = float(np.median(self.data.efc_R[: 3 * self.data.ncon : 3]))
            K, D = config.ground.stiffness, config.ground.damping
            self.model.geom_solref[:] = (-K * R * IMPEDANCE, -D * R * IMPEDANCE)

    def step(self, tau: Array, push_W: Array) -> None:
        """Integrate one step with joint torques [Nm] and a force on the base [N]."""
        self.data.qfrc_applied[self._dof] = tau
        self.data.xfrc_applied[BASE, :3] = push_W
        mujoco.mj_step(self.model, self.data)

    def refresh(self) -> None:
        """Take over changed inertias."""
        mujoco.mj_setConst(self.model, mujoco.MjData(self.model))
        mujoco.mj_forward(self.model, self.data)

    def depth(self) -> Array:
        """Return the depth of each point [m]."""
        return -((self.points() - self._origin) @ self._normal)

    def points(self) -> Array:
        """Return the points in the world [m]."""
        centres: Array = self.data.geom_xpos[self._spheres]
        return centres - RADIUS * self._normal

    def vertical_force(self) -> float:
        """Return the vertical force of the ground [N]."""
        total, wrench = 0.0, np.zeros(6)
        for k in range(self.data.ncon):
            mujoco.mj_contactForce(self.model, self.data, k, wrench)
            axes = self.data.contact[k].frame.reshape(3, 3)
            total += float(abs((wrench[:3] @ axes)[2]))
        return total


Ground = OwnGround | NativeGround


def _native_model(physics: RobotPhysics, config: SimulationConfig) -> Any:
    """The robot's bodies with a sphere at each contact point, and the ground as a plane."""
    spec, bodies = robot_spec(physics.robot, config.step)
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    height, normal = physics.points.ground_below(np.zeros(3))
    friction = [config.ground.friction, 0.0, 0.0]
    spec.worldbody.add_geom(
        type=mujoco.mjtGeom.mjGEOM_PLANE, size=[20, 20, 1], pos=[0, 0, height], zaxis=normal,
        friction=friction, condim=3, contype=1, conaffinity=0,
    )  # fmt: skip
    for k, centre_W in enumerate(physics.points.position_W + RADIUS * normal):
        j = next(j for j, body in enumerate(physics.built.bodies) if body == _body_of(physics, k))
        R_WB = physics.data.xmat[physics.built.bodies[j]].reshape(3, 3)
        bodies[j].add_geom(
            name=f"point_{k}", type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[RADIUS, 0, 0], mass=0.0,
            pos=R_WB.T @ (centre_W - physics.data.xpos[physics.built.bodies[j]]),
            friction=friction, condim=3, contype=0, conaffinity=1,
        )  # fmt: skip
    model = spec.compile()
    for j in range(1, physics.robot.model.njoints):
        inertia = InertialParameters.from_pinocchio(physics.robot.model.inertias[j])
        set_body_inertia(model, model.body(f"body_{j}").id, inertia)
    model.dof_armature[physics.built.dof] = ARMATURE
    mujoco.mj_setConst(model, mujoco.MjData(model))
    return model


def _body_of(physics: RobotPhysics, k: int) -> int:
    patch = next(p for p in physics.patches if p.where.start <= k < p.where.stop)
    frame = physics.robot.model.frames[physics.robot.frame_id(patch.wrench_frame)]
    return physics.built.bodies[frame.parentJoint]


@dataclass
class Run:
    """What a robot did: every 10 ms, shape (n,) or (n, ...) each, and the CPU time of a step [s]."""

    t: Array
    base: Array
    points: Array
    depth: Array
    force: Array
    step_s: float
    end: Array


def run(ground: Ground, built: Any, config: SimulationConfig, seconds: float, *, push: bool) -> Run:
    """Let a PD controller hold the posture; the push is sideways on the base."""
    home = ground.data.qpos[built.qpos].copy()
    rows: list[tuple[Any, ...]] = []
    spent, steps = 0.0, round(seconds / config.step)
    every = round(0.01 / config.step)
    for k in range(steps):
        t = k * config.step
        if k % every == 0:
            state = (t, ground.data.qpos[:3].copy(), ground.points(), ground.depth(), ground.vertical_force())
            rows.append(state)
        q, v = ground.data.qpos[built.qpos], ground.data.qvel[built.dof]
        tau = ground.tau_rest + STIFFNESS * (home - q) - DAMPING * v
        pushed = push and PUSH_BEGIN_S - 1e-9 <= t < PUSH_END_S - 1e-9
        push_W = np.array([0.0, PUSH_N if pushed else 0.0, 0.0])
        begin = time.process_time()
        ground.step(tau, push_W)
        spent += time.process_time() - begin
    t_k, base, points, depth, force = (np.array(column) for column in zip(*rows, strict=True))
    return Run(t_k, base, points, depth, force, spent / steps, ground.data.qpos.copy())


class Bench:
    """One robot, its parameters and the three grounds."""

    def __init__(self, name: str, seconds: float) -> None:
        self.loop, self.seconds = RobotLoop(name), seconds
        config = self.loop.config(SIMULATOR_NODE, SimulationConfig)
        self.config = replace(config, actuators=replace(config.actuators, armature=ARMATURE))
        self.physics = RobotPhysics(self.config, self.loop.urdf)

    def make(self, kind: str, ground: GroundConfig | None = None, step: float = 1e-3) -> tuple[Ground, Any]:
        """Return one of the grounds under the robot at rest, and its parameters."""
        config = replace(self.config, step=step, ground=ground or self.config.ground)
        if kind == OWN:
            return OwnGround(config, self.loop.urdf), config
        return NativeGround(config, self.loop.urdf, kind), config

    def run(self, kind: str, *, push: bool = False, **options: Any) -> Run:
        """Run one of the grounds."""
        ground, config = self.make(kind, **options)
        return run(ground, self.physics.built, config, self.seconds, push=push)

    def sinkage(self, kind: str, load: float) -> float:
        """Mean depth of the points at rest over weight / (n K)."""
        ground, config = self.make(kind)
        if load:
            nominal = body_inertia(ground.model, BASE)
            loaded = InertialParameters(nominal.mass + load, nominal.com_F, nominal.inertia_Fcm)
            set_body_inertia(ground.model, BASE, loaded)
            ground.refresh()
        found = run(ground, self.physics.built, config, self.seconds, push=False)
        weight = -float(ground.model.body_mass[1:].sum() * ground.model.opt.gravity[2])
        expected = weight / (len(self.physics.points) * config.ground.stiffness)
        return float(found.depth[found.t > self.seconds - 1.0].mean()) / expected

    def report(self, kind: str) -> None:
        """Print what is measured on one of the grounds."""
        ramp = replace(self.config.ground, terrain="ramp", slope=SLOPE, begin=-10.0)
        still, again, sloping = self.run(kind), self.run(kind), self.run(kind, ground=ramp)
        pushed, fine = self.run(kind, push=True), self.run(kind, push=True, step=1.25e-4)
        late = still.t > self.seconds - 1.0
        creep = sloping.points[-1].mean(axis=0) - sloping.points[sloping.t >= 1.0][0].mean(axis=0)
        slips = np.linalg.norm(pushed.points - pushed.points[pushed.t < PUSH_BEGIN_S][-1], axis=2)
        shift, fine_shift = (np.abs(r.base[:, 1] - r.base[0, 1]).max() for r in (pushed, fine))
        print(f"  {kind}")
        print(f"    sinkage / (W / n K)            {self.sinkage(kind, 0.0):10.4f}")
        print(f"    the same with {LOAD_KG:g} kg more       {self.sinkage(kind, LOAD_KG):10.4f}")
        print(
            f"    creep on a slope          {1e3 * np.linalg.norm(creep) / (self.seconds - 1.0):15.2e} mm/s"
        )
        print(f"    ripple of the force (sigma) {still.force[late].std():13.2e} N")
        print(f"    shift of the base in a push{1e3 * shift:14.2f} mm")
        print(f"    slip of a foot's point, at most{1e3 * slips[pushed.t > PUSH_BEGIN_S].max():10.4f} mm")
        print(f"    shift against that at 1/8 ms{1e2 * (shift / fine_shift - 1.0):13.2f} %")
        print(f"    the same bit by bit again   {np.array_equal(still.end, again.end)!s:>13}")
        print(f"    CPU time of a step          {1e6 * min(still.step_s, again.step_s):13.1f} us", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--robots", nargs="+", default=["talos", "hyq"], help="floating-base robots")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS, help="grounds")
    parser.add_argument("--seconds", type=float, default=6.0, help="simulated time of a run")
    arguments = parser.parse_args()
    if not arguments.seconds > PUSH_END_S + 1.0 or not math.isfinite(arguments.seconds):
        parser.error(f"--seconds is {arguments.seconds}, expected more than {PUSH_END_S + 1.0}")
    for name in arguments.robots:
        bench = Bench(name, arguments.seconds)
        ground = bench.config.ground
        n, K, D = len(bench.physics.points), ground.stiffness, ground.damping
        print(f"{name}: {n} points, K {K:g} N/m, D {D:g} Ns/m")
        for kind in arguments.kinds:
            bench.report(kind)


if __name__ == "__main__":
    main()
