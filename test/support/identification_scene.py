"""A small arm identified: recordings with known truth, and a made-up report to write and to draw."""

from dataclasses import replace

import numpy as np

import inertial_estimation as ie
from inertial_estimation.identification.identification_result import (
    BodyResult,
    DataSummary,
    MethodResult,
    ParameterResult,
    RowError,
)
from inertial_estimation.models.estimated_model import EstimatedModel
from inertial_estimation.models.urdf_inertia import perturbed_urdf
from inertial_estimation.offline.identification_run import IdentificationRun, TorqueTrace
from inertial_estimation.signals import Identifiability
from inertial_estimation.simulation.config import NOISE_FREE
from support.arm_robot import JOINTS, URDF

COULOMB, VISCOUS = 0.3, 0.1
NOMINAL_URDF = perturbed_urdf(URDF, np.random.default_rng(3), mass_sigma=0.3, com_sigma=0.02)
CONFIG = """
/**:
  ros__parameters:
    urdf: nominal.urdf
    floating_base: false
inertial_ekf:
  ros__parameters:
    links: [lower]
    contact_wrenches: none
    friction: {joints: ["*"], terms: [coulomb, viscous], share: 0.003}
identification:
  ros__parameters:
    smoothing: {window: 0.1}
"""


def moving_arm(seed: int = 0, duration_s: float = 12.0, load: float = 0.0) -> ie.MemoryRecording:
    """The true arm with friction in its joints, at 100 Hz, by ideal sensors; a load [kg] on link 'lower'."""
    rng = np.random.default_rng(seed)
    timing = ie.Timing(duration_s=duration_s, rate_hz=100.0, rest_s=0.5)
    loaded = {"payload_mass": load or 1.0, "payload_time_s": 0.0 if load else None, "payload_link": "lower"}
    truth = ie.synthetic_truth("arm", timing, rng, urdf=URDF, **loaded)
    recording = ie.measure(truth, NOISE_FREE, rng)
    return with_samples(
        recording,
        lambda r: replace(r, effort=r.effort + COULOMB * np.tanh(r.velocity / 0.02) + VISCOUS * r.velocity),
    )


def with_samples(recording: ie.MemoryRecording, change) -> ie.MemoryRecording:
    """The same recording with every sample changed; those that become None are left out."""
    entries = [replace(entry, sample=change(entry.sample)) for entry in recording.messages]
    return ie.MemoryRecording(tuple(e for e in entries if e.sample is not None), recording.topics)


def made_up_run(*, consistent: bool = False) -> IdentificationRun:
    """A run with all that can be unfavourable, every number of its own."""
    robot = ie.RobotModel.from_urdf(URDF, floating_base=False)
    nominal = [ie.InertialParameters.from_pinocchio(robot.model.inertias[j]) for j in (1, 2)]
    heavy = ie.InertialParameters(5.25, nominal[0].com_F, nominal[0].inertia_Fcm)
    odd = heavy if consistent else ie.InertialParameters(-0.125, np.zeros(3), np.diag([1.0, 2.0, 4.0]))
    bodies = tuple(
        BodyResult(link, before, after, tuple(after.violations()))
        for link, before, after in zip(("upper", "lower"), nominal, (heavy, odd), strict=True)
    )
    parameters = (
        ParameterResult("upper/m", "kg", 2.0, 5.25, 0.0625, Identifiability.IDENTIFIABLE),
        ParameterResult("upper/Ixx", "kg m^2", 0.01, 0.375, 0.875, Identifiability.IDENTIFIABLE),
        ParameterResult("lower/m", "kg", 1.0, odd.mass, np.inf, Identifiability.COMBINATION),
        ParameterResult("lower/mcy", "kg m", 0.0, 0.0, np.inf, Identifiability.NOT),
        ParameterResult("shoulder/coulomb", "Nm", 0.0, 0.3125, 0.03, Identifiability.IDENTIFIABLE),
        ParameterResult("elbow/coulomb", "Nm", 0.0, -0.21875, 0.03, Identifiability.IDENTIFIABLE),
    )
    direct = (RowError("shoulder", 0.5, 3.0, 8.0), RowError("elbow", 0.7, 0.6, 1.1))
    validation = (RowError("shoulder", 1.5, 3.5, 9.0), RowError("elbow", 0.9, 0.8, 1.3))
    method = MethodResult(
        method="least-squares",
        parameters=parameters,
        bodies=bodies,
        friction={"shoulder/coulomb": 0.3125, "elbow/coulomb": -0.21875},
        direct=direct,
        validation=validation,
        cost=0.98,
        cost_nominal=41.0,
        cost_validation=2.5,
        cost_validation_nominal=44.0,
        relative_error=0.0123,
        relative_error_validation=0.0456,
        notes=("stopped after 17 steps <at a bound>",),
        x=np.array([3.25, 0.365]),
    )
    other = replace(method, method="consistent", relative_error_validation=0.0321, notes=())
    report = ie.IdentificationReport(
        rank=4,
        unknowns=6,
        condition=123.0,
        singular_values=np.array([3.0, 1.0, 0.5, 0.1, 1e-15, 0.0]),
        row_names=JOINTS,
        row_sigma=np.array([0.11, 0.22]),
        training=DataSummary(1200, 12.0, 2400, {"joint_states: not finite": 3}),
        validation=DataSummary(600, 6.0, 1200),
        methods={"least-squares": method, "consistent": other},
        chosen="least-squares",
        warnings=("joints that do not move: <elbow & co>",),
    )
    t = np.linspace(0.0, 10.0, 800)
    measured = np.stack([np.sin(t), np.cos(t)], axis=1)
    trace = TorqueTrace("bags/one", t, JOINTS, measured, 0.5 * measured, 0.9 * measured)
    refusal = "" if consistent else "no identified.urdf: lower is impossible"
    estimate = np.array([body.inertia.vector for body in bodies])
    model = EstimatedModel(URDF, False, (), ("upper", "lower"), estimate, None, "it is made up")
    return IdentificationRun(report, URDF if consistent else None, refusal, model, trace, trace)
