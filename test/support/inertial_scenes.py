"""A Panda arm whose links differ from nominal, and the equations its motion gives."""

from dataclasses import replace

import numpy as np
import pinocchio as pin

from inertial_estimation.inertial.cause_table import CauseTable, InputNames
from inertial_estimation.inertial.config import PriorConfig
from inertial_estimation.inertial.noise import EquationBlock, NoiseScale, row_groups
from inertial_estimation.inertial.posterior import Unknowns
from inertial_estimation.models.bodies import estimated_bodies
from inertial_estimation.models.candidate_columns import CandidateColumns
from inertial_estimation.models.dynamics_measurement import DynamicsMeasurement, MeasuredState
from inertial_estimation.models.measurement_rows import MeasurementNoise, RowsConfig
from support.example_robots import panda

PRIOR = PriorConfig(mass=1.0, com=0.1, radii=0.5)
MEMORY = 1e9  # of filters for comparison [s]


class ArmScene:
    """Random states of the arm; torques of a truth that differs in the estimated bodies."""

    def __init__(self, links=("panda_link5", "panda_link7"), sigma_torque=0.1, seed=0):
        self.rng = np.random.default_rng(seed)
        self.robot = panda()
        self.bodies = estimated_bodies(self.robot, links)
        noise = MeasurementNoise(torque=sigma_torque, joint_acceleration=0.0)
        self.sigma_torque = sigma_torque
        self.measurement = DynamicsMeasurement(self.robot, self.bodies, RowsConfig(), noise)
        self.truth = [body.nominal_C.copy() for body in self.bodies]

    def unknowns(self, convention="rucker"):
        return Unknowns(self.bodies, PRIOR, convention=convention)

    def noise(self):
        return NoiseScale(*row_groups(self.measurement.row_names))

    def table(self):
        """The causes on all links of the arm, and the estimated ones among them."""
        links = self.robot.links_matching((*(body.link for body in self.bodies), "*"), "the robot")
        names = InputNames(self.robot.joint_names, 0, {}, "")
        table = CauseTable(
            self.measurement, CandidateColumns(self.robot, links), names, self.robot.total_mass
        )
        number = {body.joint_id: i for i, body in enumerate(self.bodies)}
        joints = [self.robot.link_body(link).joint_id for link in links]
        return table, {i: number[joint] for i, joint in enumerate(joints) if joint in number}

    def block(self, dt=0.05, **options):
        """An equation as rows to learn from."""
        equation = self.equation(**options)
        return EquationBlock(equation.regressor, equation.value, equation.noise, dt), equation

    def true_parameters(self):
        return np.concatenate([b.to_joint @ pi for b, pi in zip(self.bodies, self.truth, strict=True)])

    def state(self, *, still=False):
        n = self.robot.n_joints
        q = self.rng.uniform(-1.5, 1.5, n)
        v, a = np.zeros((2, n)) if still else self.rng.normal(size=(2, n)) * [[1.0], [3.0]]
        return MeasuredState(q, v, a, np.zeros(n))

    def equation(self, *, noisy=True, state=None):
        bare = self.measurement.equation(self.state() if state is None else state)
        value = bare.regressor @ self.true_parameters()
        if noisy:
            value = value + self.rng.normal(0.0, self.sigma_torque, len(value))
        return replace(bare, value=value, measured=value)

    def add_payload(self, index, mass, com_L):
        body = self.bodies[index]
        payload_L = pin.Inertia.FromSphere(mass, 0.05)
        payload_L.lever = np.array(com_L)
        extra = np.linalg.solve(body.to_link, payload_L.toDynamicParameters())
        self.truth[index] = self.truth[index] + extra
