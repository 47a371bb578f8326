"""Without noise: how exactly the parameters that are excited are found.

TALOS, three bodies that differ from nominal by about 20 %, random states, exact torques and base rows;
the log-Cholesky filter with an assumed torque noise of 1e-4 Nm. Prints the largest error of mass, centre
of mass and inertia relative to the size of each, and of predicted torques. Run:
python benchmarks/noise_free.py
"""

import argparse

import numpy as np

from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.estimators.inertial.gate import GateConfig, InnovationGate
from inertial_estimation.estimators.inertial.log_cholesky_ekf import LogCholeskyEkf
from inertial_estimation.estimators.inertial.prior import PriorSigma
from inertial_estimation.models.body_reference import estimated_bodies
from inertial_estimation.models.dynamics_measurement import DynamicsMeasurement, LinearEquation
from inertial_estimation.models.measured_state import MeasuredState
from inertial_estimation.models.measurement_noise import MeasurementNoise
from inertial_estimation.models.measurement_rows import RowSelection
from inertial_estimation.models.robot_model import RobotModel

LINKS = ("torso_2_link", "arm_left_5_link", "arm_right_5_link")
EXACT = MeasurementNoise(
    torque=1e-4, base_force=1e-4, base_moment=1e-4, proper_acceleration=0.0, angular_acceleration=0.0,
    joint_acceleration=0.0,
)  # fmt: skip


def random_state(robot: RobotModel, rng: np.random.Generator) -> MeasuredState:
    q, v, a = rng.normal(size=(3, robot.n_joints)) * [[0.5], [1.0], [3.0]]
    f_B = np.array([0.0, 0.0, 9.81]) + rng.normal(size=3)
    return MeasuredState(q, v, a, np.zeros(robot.n_joints), f_B, *rng.normal(size=(2, 3)))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--updates", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    rng = np.random.default_rng(args.seed)
    robot = RobotModel.from_urdf(read_urdf("example-robot-data:talos_reduced"))
    bodies = estimated_bodies(robot, LINKS)
    measurement = DynamicsMeasurement(robot, bodies, RowSelection(), EXACT)
    gate = InnovationGate(GateConfig(enabled=False), len(measurement.row_names))
    prior = PriorSigma(mass=0.3, com=0.03, radii=0.2, friction=np.zeros(0))
    filter_ = LogCholeskyEkf(bodies, prior, gate, memory=1e9)
    x_true = filter_.x + 0.7 * filter_.prior_factor @ rng.normal(size=len(filter_.x))
    pi_true, _jacobian = filter_._body_map(x_true.reshape(-1, 10))
    phi = np.concatenate([body.to_joint @ pi for body, pi in zip(bodies, pi_true, strict=True)])
    for _ in range(args.updates):
        bare = measurement.equation(random_state(robot, rng))
        value = bare.regressor @ phi
        filter_.update(LinearEquation(bare.regressor, value, bare.noise, value), 0.003)
    pi, _covariance = filter_.body_parameters()
    print(f"{args.updates} noise-free updates, log-Cholesky EKF; largest relative error")
    for name, part in (("mass", slice(0, 1)), ("first moment", slice(1, 4)), ("inertia", slice(4, 10))):
        error = np.abs(pi[:, part] - pi_true[:, part]).max(axis=1) / np.abs(pi_true[:, part]).max(axis=1)
        print(f"  {name:<14}" + "  ".join(f"{link} {e:.1e}" for link, e in zip(LINKS, error, strict=True)))
    fresh = measurement.equation(random_state(robot, rng)).regressor
    predicted = filter_.predict(LinearEquation(fresh, fresh @ phi, np.eye(len(fresh)), fresh @ phi))
    print(f"  torques       {np.linalg.norm(predicted - fresh @ phi) / np.linalg.norm(fresh @ phi):.1e}")


if __name__ == "__main__":
    main()
