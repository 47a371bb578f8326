"""Time of one inertial update of TALOS with three bodies, compared with the floor of its dynamics alone.

Update: measurement equation (38 rows) and log-Cholesky EKF (30 states). Floor: bare inverse dynamics,
the Jacobians and body regressors of the three bodies, and one Cholesky factorisation of 38 rows, nothing
else. With --sensor-errors: the same update with slowly varying errors of the sensors as states
(`sensor_errors.treatment`), in turn with the one without.
Run: python benchmarks/inertial_update.py [--sensor-errors]
"""

import argparse
import time
from collections.abc import Callable

import numpy as np
import pinocchio as pin

from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.estimators.inertial.inertial_config import InertialPipelineConfig
from inertial_estimation.estimators.inertial.inertial_pipeline import InertialPipeline
from inertial_estimation.models.measured_state import MeasuredState
from inertial_estimation.parameters import build_config

SETTLED = 300  # updates before the measured ones
LINKS = ("torso_2_link", "arm_left_5_link", "arm_right_5_link")


def talos_pipeline(**changes: object) -> InertialPipeline:
    values = {
        "imu_frame": "imu_link",
        "contacts": ("left_foot", "right_foot"),
        "contact_frames": ("left_sole_link", "right_sole_link"),
        "links": LINKS,
        **changes,
    }
    urdf = read_urdf("example-robot-data:talos_reduced")
    return InertialPipeline(build_config(InertialPipelineConfig, values), urdf)


def consistent_states(pipeline: InertialPipeline, n: int, rng: np.random.Generator) -> list[MeasuredState]:
    """Random states whose torques and wrenches fit the nominal model, so that the gate accepts them."""
    joints = pipeline.robot.n_joints
    measurement = pipeline.model.measurement
    states = []
    for _ in range(n):
        q, v, a = 0.3 * rng.normal(size=(3, joints))
        f_B = np.array([0.0, 0.0, 9.81]) + 0.1 * rng.normal(size=3)
        w_B, wd_B = 0.1 * rng.normal(size=(2, 3))
        equation = measurement.equation(
            MeasuredState(q, v, a, np.zeros(joints), f_B, w_B, wd_B, np.zeros((2, 6)))
        )
        needed = pipeline.filter.predict(equation) - equation.value
        J = equation.paths.contacts  # in all generalized forces
        wrenches = np.linalg.lstsq(J[:, :6].T, needed[:6], rcond=None)[0]
        tau = (needed - J.T @ wrenches)[6:] + 0.1 * rng.normal(size=joints)
        states.append(MeasuredState(q, v, a, tau, f_B, w_B, wd_B, wrenches.reshape(2, 6)))
    return states


def floor(pipeline: InertialPipeline, state: MeasuredState) -> Callable[[], None]:
    model = pipeline.robot.model
    data = model.createData()
    joint_ids = [pipeline.robot.link_body(link).joint_id for link in LINKS]
    q = pipeline.robot.configuration(state.q)
    v = np.concatenate((np.zeros(3), state.w_B, state.v))
    a = np.concatenate((state.f_B, state.wd_B, state.a))
    S = np.eye(len(pipeline.row_names)) + 0.1

    def once() -> None:
        pin.rnea(model, data, q, v, a)
        pin.computeJointJacobians(model, data, q)
        for joint_id in joint_ids:
            J = pin.getJointJacobian(model, data, joint_id, pin.LOCAL)
            J.T @ pin.jointBodyRegressor(model, data, joint_id)
        np.linalg.cholesky(S)

    return once


def with_errors(states: list[MeasuredState]) -> Callable[[int], object]:
    """Return one update with errors of the sensors, from the equation to the errors of all rows."""
    pipeline = talos_pipeline(**{"sensor_errors.treatment": "estimated"})
    model, filter_, errors = pipeline.model, pipeline.filter, pipeline.model.errors
    assert errors is not None
    row_errors = model.make_row_errors(pipeline.config)

    def once(k: int) -> None:
        equation = errors.appended(model.measurement.equation(states[k % len(states)]))
        update = filter_.update(equation, 0.003)
        row_errors.update(update.innovation, equation.noise, 0.003)

    for k in range(SETTLED):
        once(k)
    return once


def times_us(rounds: int, calls: list[Callable[[int], object]]) -> np.ndarray:
    """Call each function once a round, in turn; return their times, shape (len(calls), rounds)."""
    clock, durations = time.perf_counter_ns, np.zeros((len(calls), rounds))
    for k in range(rounds):
        for i, call in enumerate(calls):
            begin = clock()
            call(k)
            durations[i, k] = clock() - begin
    return 1e-3 * durations


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--updates", type=int, default=2000)
    parser.add_argument("--sensor-errors", action="store_true", help="compare with errors as states")
    args = parser.parse_args()
    pipeline = talos_pipeline()
    states = consistent_states(pipeline, 200, np.random.default_rng(0))
    measurement, filter_ = pipeline.model.measurement, pipeline.filter

    decisions: dict[str, int] = {}

    def update(k: int) -> None:
        equation = measurement.equation(states[k % len(states)])
        begin = time.perf_counter_ns()
        result = filter_.update(equation, 0.003)
        filter_us[k] = 1e-3 * (time.perf_counter_ns() - begin)
        decisions[result.decision.value] = decisions.get(result.decision.value, 0) + 1

    filter_us = np.zeros(max(args.updates, SETTLED))
    for k in range(SETTLED):
        update(k)
    if args.sensor_errors:
        plain, more = times_us(args.updates, [update, with_errors(states)])
        tell({"update": plain, "with errors": more})
        ratios = [float(np.percentile(more, p) / np.percentile(plain, p)) for p in (10, 50)]
        print(f"with / without errors: {ratios[0]:.2f} (p10), {ratios[1]:.2f} (p50)")
        return
    bare = floor(pipeline, states[0])
    whole, bare_us = times_us(args.updates, [update, lambda _k: bare()])
    rows = {"update": whole, "  filter alone": filter_us[: args.updates], "floor": bare_us}
    print(f"TALOS, {len(LINKS)} bodies, {len(pipeline.row_names)} rows, {len(filter_.x)} states; {decisions}")
    tell(rows)
    ratios = [float(np.percentile(whole, p) / np.percentile(bare_us, p)) for p in (10, 50)]
    print(f"update / floor: {ratios[0]:.1f} (p10), {ratios[1]:.1f} (p50)")


def tell(rows: dict[str, np.ndarray]) -> None:
    for name, durations in rows.items():
        print(
            f"{name:<16} p10 {np.percentile(durations, 10):7.1f} us"
            f"   p50 {np.percentile(durations, 50):7.1f} us   p99 {np.percentile(durations, 99):7.1f} us"
        )


if __name__ == "__main__":
    main()
