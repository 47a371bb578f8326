"""Time of one step of the trunk's identification for HyQ, compared with the floor of its statics alone.

Step: a joint state, an IMU reading and a base state pushed, and the tick that aligns and averages them,
decides whether the robot is at rest, and measures or identifies. Floor: gravity torques, the Jacobians of the
four feet, four solutions of 3 x 3 and the legs' centre of mass, nothing else.
Run: python benchmarks/trunk_payload_update.py
"""

import argparse
import time
from collections.abc import Callable

import numpy as np
import pinocchio as pin

from inertial_estimation.configuration.config_file import load_config_file
from inertial_estimation.configuration.config_lookup import find_config
from inertial_estimation.configuration.node_names import PAYLOAD_NODE
from inertial_estimation.configuration.pipelines import build_pipelines
from inertial_estimation.estimators.payload.payload_config import METHODS
from inertial_estimation.estimators.payload.payload_estimate import Phase
from inertial_estimation.estimators.payload.payload_pipeline import TrunkPayloadPipeline
from inertial_estimation.signals import BaseState, ImuSample, JointReading

BOUND_US = 150.0
STEP_NS = 3_000_000
UP = np.array([0.0, 0.0, 9.80665])


class Stance:
    """Readings of HyQ at rest in its stance, with a little noise."""

    def __init__(self, pipeline: TrunkPayloadPipeline, rng: np.random.Generator) -> None:
        shared = load_config_file(find_config("hyq")).shared
        self.model = pipeline.robot.model
        self.data = self.model.createData()
        self.names = tuple(self.model.names)[2:]
        self.feet = [self.model.getFrameId(contact) for contact in shared["contacts"]]
        self._rng = rng
        posture = dict(zip(shared["stance.joints"], shared["stance.positions"], strict=True))
        self.q = pin.neutral(self.model)
        self.q[7:] = [posture[name] for name in self.names]
        gravity = pin.computeGeneralizedGravity(self.model, self.data, self.q)
        J = self.jacobian()
        forces = np.linalg.lstsq(J[:, :6].T, gravity[:6], rcond=None)[0]
        self.tau = (gravity - J.T @ forces)[6:]

    def jacobian(self) -> np.ndarray:
        """Stack the feet's Jacobians, rows of the force."""
        pin.computeJointJacobians(self.model, self.data, self.q)
        pin.updateFramePlacements(self.model, self.data)
        feet = [
            pin.getFrameJacobian(self.model, self.data, f, pin.LOCAL_WORLD_ALIGNED)[:3] for f in self.feet
        ]
        return np.vstack(feet)

    def push(self, pipeline: TrunkPayloadPipeline, stamp_ns: int, speed: float) -> None:
        """Push one reading of every sensor."""
        noise = self._rng.normal(size=(2, 12))
        base = BaseState(stamp_ns, (0, 0, 0, 1), (0, 0, 0.6), 1e-3 * self._rng.normal(size=3), (0, 0, 0))  # type: ignore[arg-type]
        pipeline.push_imu(ImuSample(stamp_ns, UP + 0.01 * self._rng.normal(size=3), np.zeros(3)))
        pipeline.push_base_state(base)
        joints = JointReading(
            stamp_ns, self.names, self.q[7:], speed + 1e-3 * noise[0], self.tau + 0.1 * noise[1]
        )
        pipeline.push_joints(joints)


def hyq_pipeline() -> TrunkPayloadPipeline:
    config = load_config_file(find_config("hyq"))
    overrides = [(PAYLOAD_NODE, name, value) for name, value in (("start", "on_request"), ("rate", 1000.0))]
    pipeline = build_pipelines(config.overridden(overrides)).payload
    assert pipeline is not None
    return pipeline


def floor(stance: Stance) -> Callable[[], None]:
    model, data, q = stance.model, stance.data, stance.q
    feet = stance.jacobian().reshape(-1, 3, model.nv)
    blocks = [6 + np.flatnonzero(np.abs(foot[:, 6:]).max(axis=0)) for foot in feet]

    def once() -> None:
        gravity = pin.computeGeneralizedGravity(model, data, q)
        pin.computeJointJacobians(model, data, q)
        pin.centerOfMass(model, data, q, False)
        for foot, block in zip(stance.feet, blocks, strict=True):
            J = pin.getFrameJacobian(model, data, foot, pin.LOCAL_WORLD_ALIGNED)
            np.linalg.solve(J[:3, block].T, gravity[block])

    return once


def times_us(call: Callable[[], object], count: int) -> np.ndarray:
    durations = []
    for _ in range(count):
        begin = time.perf_counter_ns()
        call()
        durations.append((time.perf_counter_ns() - begin) * 1e-3)
    return np.array(durations)


def step_times_us(
    method: str, count: int, rng: np.random.Generator, *, speed: float = 0.0
) -> dict[str, np.ndarray]:
    """Times of a tick by what it does; pushes are counted in."""
    pipeline = hyq_pipeline()
    stance = Stance(pipeline, rng)
    durations: dict[str, list[float]] = {}
    stamp_ns = STEP_NS
    for k in range(count):
        stamp_ns += STEP_NS
        if method and k % 1000 == 300:
            pipeline.identify(method)
        begin = time.perf_counter_ns()
        stance.push(pipeline, stamp_ns, speed)
        estimates = pipeline.tick(stamp_ns)
        elapsed = (time.perf_counter_ns() - begin) * 1e-3
        if k > 300 and estimates:
            phase = estimates[-1].phase
            doing = method if phase is Phase.COM else phase.value
            durations.setdefault(doing if estimates[-1].at_rest else "moving", []).append(elapsed)
    return {name: np.array(values) for name, values in durations.items() if len(values) > 30}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=3000)
    args = parser.parse_args()
    rng = np.random.default_rng(0)
    rows = step_times_us("", args.steps, rng, speed=1.0)
    for method in ("", *METHODS):
        rows = {**step_times_us(method, args.steps, rng), **rows}
    bare = times_us(floor(Stance(hyq_pipeline(), rng)), args.steps)
    print("HyQ, four feet, forces of the ground from joint torques; making the readings is in the times")
    for name, durations in {**rows, "floor": bare}.items():
        p50, p99 = np.percentile(durations, (50, 99))
        ratio = p50 / np.percentile(bare, 50)
        print(
            f"{name:<18} p50 {p50:7.1f} us   p99 {p99:7.1f} us   {ratio:5.1f} floors   {len(durations)} steps"
        )
    slowest = max(float(np.percentile(durations, 50)) for durations in rows.values())
    print(f"slowest p50 {slowest:.1f} us, bound {BOUND_US:.0f} us")
    return 0 if slowest <= BOUND_US else 1


if __name__ == "__main__":
    raise SystemExit(main())
