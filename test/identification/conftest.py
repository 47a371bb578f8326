"""Recordings of robots whose parameters are known, made by inverse dynamics with gravity."""

import numpy as np
import pinocchio as pin
import pytest

import inertial_estimation as ie
from inertial_estimation.identification.rows import SignalBlock
from inertial_estimation.models.imu import ImuMount
from inertial_estimation.synthetic.ideal_robots import IdealSensors, MotionState

STEP = 2e-3
EXACT = {"smoothing.window": 0.02, "smoothing.order": 5, "smoothing.row_rate": 50.0}
ROBOTS = {
    "ur10_joint_limited_robot": {
        "floating_base": False,
        "contact_wrenches": "none",
        "friction.joints": ["*"],
        "nominal_friction.smoothing_speed": 0.5,
    },
    "panda": {
        "floating_base": False,
        "locked_joints": ["panda_finger_joint*"],
        "contact_wrenches": "none",
        "friction.joints": ["*"],
        "friction.terms": ["coulomb", "viscous", "offset", "armature"],
        "nominal_friction.smoothing_speed": 0.5,  # smooth enough for exact derivatives
    },
    "hyq_no_sensors": {
        "imu_frame": "trunk_imu",
        "contacts": ["lf_foot", "rf_foot", "lh_foot", "rh_foot"],
        "point_contacts": True,
    },
}


class Scene:
    """A robot as described, and the same robot as it is."""

    def __init__(self, name, **parameters):
        self.urdf = ie.read_urdf(f"example-robot-data:{name}")
        values = {**ROBOTS[name], **EXACT, **{k.replace("__", "."): v for k, v in parameters.items()}}
        self.config = ie.build_config(ie.IdentificationConfig, values)
        self.robot_values = values

    def identifier(self, **parameters):
        values = {**self.robot_values, **{k.replace("__", "."): v for k, v in parameters.items()}}
        return ie.Identifier(ie.build_config(ie.IdentificationConfig, values), self.urdf)

    def true_robot(self, identifier, x):
        """The robot whose parameters deviate by x."""
        robot, given = identifier.robot, identifier.parameters
        model = robot.model.copy()
        phi_J = given.to_joint @ given.standard(x)
        for i, body in enumerate(given.bodies):
            model.inertias[body.joint_id] = pin.Inertia.FromDynamicParameters(phi_J[10 * i : 10 * i + 10])
        return ie.RobotModel(model)

    def recording(self, identifier, x, seed, *, seconds=4.0, scale=1.0, torque_noise=0.0, moving=None):
        """What sensors of the true robot read during a random motion, as one segment."""
        rng = np.random.default_rng(seed)
        robot = self.true_robot(identifier, x)
        config = identifier._config
        contacts = list(config.robot.contacts)
        points = contacts if config.rows.point_contacts else []
        floating = robot.floating_base
        frame = config.robot.imu_frame
        imu = ImuMount.on(robot, frame) if frame else None
        sensors = IdealSensors(robot, imu=imu, contact_frames=contacts, point_contacts=points)
        t = STEP * np.arange(round(seconds / STEP))
        q, v, a = sines(t, robot.n_joints, rng, 0.6 * scale)
        if moving is not None:
            still = [j for j in range(robot.n_joints) if j not in moving]
            q[:, still], v[:, still], a[:, still] = 0.1, 0.0, 0.0
        base = sines(t, 4, rng, 0.4 * scale)
        axis = rng.normal(size=3) / np.sqrt(3.0)
        readings = []
        for k in range(len(t)):
            state = MotionState(robot.configuration(q[k]), v[k], a[k])
            if floating:
                state = floating_state(state, [part[k] for part in base], axis)
            readings.append(sensors.read(state))
        tau = np.array([r.tau for r in readings])
        friction = identifier.parameters.friction
        if friction:
            phi = identifier.parameters.standard(x)[identifier.parameters.friction_rows]
            tau += friction.regressor(q, v, a) @ phi
        tau += torque_noise * rng.normal(size=tau.shape)
        imu = [[r.specific_force_I for r in readings], [r.angular_rate_I for r in readings]]
        wrenches = np.array([r.wrenches_C for r in readings]) if contacts else None
        return SignalBlock(10**9, STEP, q, v, tau, *(np.array(imu) if floating else (None, None)), wrenches)


def sines(t, columns, rng, amplitude):
    """Sums of three sinusoids with their first two derivatives, shape (k, columns) each."""
    parts = [np.zeros((len(t), columns)) for _ in range(3)]
    for _ in range(3):
        w, phase = rng.uniform(1.0, 5.0, columns), rng.uniform(0.0, 6.0, columns)
        size = amplitude * rng.uniform(0.3, 1.0, columns) / 2.0
        angle = np.outer(t, w) + phase
        for part, derivative in zip(
            parts, (np.sin(angle), w * np.cos(angle), -(w**2) * np.sin(angle)), strict=True
        ):
            part += size * derivative
    return parts


def floating_state(joints, base, axis):
    """Add a base that turns about a fixed axis and moves along sinusoids."""
    (p, angle), (pd, rate), (pdd, change) = ((part[:3], part[3]) for part in base)
    axis = axis / np.linalg.norm(axis)
    R = pin.exp3(axis * angle)
    w, v = axis * rate, R.T @ pd
    q = joints.q.copy()
    q[:3], q[3:7] = p, pin.Quaternion(R).coeffs()
    linear = R.T @ pdd - np.cross(w, v)
    return MotionState(q, np.concatenate((v, w, joints.v)), np.concatenate((linear, axis * change, joints.a)))


def deviation(identifier, rng, share=0.2):
    """A random deviation of the unknowns of typical size, friction positive."""
    from inertial_estimation.identification.methods import typical_deviations

    x = share * typical_deviations(identifier.parameters, identifier._config.mass_deviation)
    x = x * rng.uniform(-1.0, 1.0, len(x))
    friction = [i for i, n in enumerate(identifier.parameters.unknowns) if n.endswith(FRICTION)]
    x[friction] = np.abs(x[friction])
    return x


FRICTION = ("coulomb", "viscous", "armature")


@pytest.fixture(scope="session")
def make_scene():
    return Scene


@pytest.fixture(scope="session")
def random_deviation():
    return deviation
