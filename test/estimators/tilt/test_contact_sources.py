"""Contacts without force sensors, by joint torques or as a planner wants them, of a Go2 that trots."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

pytest.importorskip("example_robot_data")

from benchmarks.referee.gaits import TROT, quadruped
from inertial_estimation.configuration.pipelines import build_pipelines
from inertial_estimation.errors import ConfigurationError
from inertial_estimation.estimators.tilt.tilt_config import TiltPipelineConfig
from inertial_estimation.estimators.tilt.tilt_pipeline import TiltPipeline
from inertial_estimation.models.contacts import contact_probability, weighing_force
from inertial_estimation.models.robot_config import RobotSetup
from inertial_estimation.parameters import replace_value
from inertial_estimation.signals import BaseEstimate, HealthLevel, ImuSample, JointReading, WrenchSample
from inertial_estimation.synthetic.gait_sensors import GaitReadings, GaitSensors, feet_at_rest, gait_readings
from inertial_estimation.synthetic.synthetic_gait import gait_motion

RATE_HZ, REST_S = 250.0, 0.6
SENSORS = GaitSensors(vibration=1.0, rate_vibration=0.02, effort_noise=1e-3, effort_friction=1e-3)
PERIOD_NS = round(1e9 / RATE_HZ)


@dataclass(frozen=True, eq=False)
class Trot:
    config: TiltPipelineConfig
    setup: RobotSetup
    urdf: str
    readings: GaitReadings

    def pipeline(self, source: str) -> TiltPipeline:
        return TiltPipeline(replace_value(self.config, "contact.source", source), self.urdf)

    def drive(self, pipeline: TiltPipeline, k: int, *, tau: np.ndarray | None) -> list[BaseEstimate]:
        """Push joints and IMU of one instant, no wrench, and tick."""
        readings, stamp = self.readings, (k + 1) * PERIOD_NS
        names = self.setup.robot.joint_names
        pipeline.push_joints(JointReading(stamp, names, readings.q[k], readings.v[k], tau))
        pipeline.push_imu(ImuSample(stamp, readings.imu[k, :3], readings.imu[k, 3:]))
        return pipeline.tick(stamp)

    def error(self, estimate: BaseEstimate) -> float:
        """Tilt error [deg]."""
        truth = self.readings.up_B[estimate.state.stamp_ns // PERIOD_NS - 1]
        return float(np.degrees(np.linalg.norm(np.cross(truth, estimate.tilt_B))))


@pytest.fixture(scope="module")
def trot() -> Trot:
    file, setup, posture = quadruped("go2")
    built = build_pipelines(file, only=["tilt_observer"])
    config = replace(built.tilt.config, contact=replace(built.tilt.config.contact, source="wrench"))
    rng = np.random.default_rng(5)
    gait = replace(TROT, rest_s=REST_S, fade_s=0.4)
    motion = gait_motion(gait, feet_at_rest(setup, posture), 3.0, RATE_HZ, rng)
    return Trot(config, setup, built.urdf, gait_readings(setup, posture, motion, SENSORS, rng))


@pytest.fixture(scope="module")
def by_torques(trot: Trot) -> tuple[TiltPipeline, list[BaseEstimate]]:
    pipeline, estimates = trot.pipeline("joint_torques"), []
    for k, tau in enumerate(trot.readings.tau):
        estimates += trot.drive(pipeline, k, tau=tau)
    return pipeline, estimates


def test_a_trot_without_any_wrench_topic_is_estimated(trot: Trot, by_torques) -> None:
    pipeline, estimates = by_torques
    assert len(estimates) > 0.85 * len(trot.readings.tau)
    sensed, pipeline_of_sensors = [], trot.pipeline("wrench")
    for k, wrenches in enumerate(trot.readings.wrenches):
        for name, wrench in zip(trot.setup.contact_names, wrenches, strict=True):
            pipeline_of_sensors.push_wrench(name, WrenchSample((k + 1) * PERIOD_NS, wrench))
        sensed += trot.drive(pipeline_of_sensors, k, tau=None)
    rms, rms_sensed = (np.sqrt(np.mean([trot.error(e) ** 2 for e in es])) for es in (estimates, sensed))
    assert rms < 1.3 * rms_sensed
    health = pipeline.health(estimates[-1].state.stamp_ns)
    assert not [part for part in health if "wrench" in part.name]
    assert health[-1].level is HealthLevel.OK
    assert health[-1].values["contact forces from"] == "joint_torques"


def test_touchdowns_are_told_within_30_ms_and_feet_in_the_air_are_not_used(trot: Trot, by_torques) -> None:
    _pipeline, estimates = by_torques
    names, on = trot.setup.contact_names, trot.config.contact.force_on
    first = estimates[0].state.stamp_ns // PERIOD_NS - 1
    used = np.array([[name in e.contacts for name in names] for e in estimates])
    force = trot.readings.forces[first : first + len(used)]
    delays = []
    for closed, true in zip(used.T, force.T, strict=True):
        landings = 1 + np.flatnonzero((true[1:] > on) & (true[:-1] <= on))
        delays += [int(np.argmax(closed[k:])) for k in landings if k < len(true) - 15]
    assert len(delays) > 8
    assert np.median(delays) / RATE_HZ <= 0.03
    flown = np.array([(force[max(k - 10, 0) : k + 1] <= 0.0).all(axis=0) for k in range(len(force))])
    assert flown.sum() > 100
    assert used[flown].mean() < 0.02


def test_forces_and_probabilities_are_reported(trot: Trot, by_torques) -> None:
    _pipeline, estimates = by_torques
    first = estimates[0].state.stamp_ns // PERIOD_NS - 1
    found = np.array([e.contact_forces for e in estimates])
    true = trot.readings.forces[first : first + len(found)]
    weight = 9.81 * trot.setup.robot.total_mass
    assert np.sqrt(np.mean((found - true) ** 2)) < 0.08 * weight
    probable = np.array([e.contact_probabilities for e in estimates])
    assert np.median(probable[true > 0.4 * weight]) > 0.99
    assert np.median(probable[true <= 0.0]) < 0.05


def test_without_torques_nothing_is_said_to_be_well(trot: Trot) -> None:
    pipeline, estimates, rest = trot.pipeline("joint_torques"), [], round(0.5 * RATE_HZ)
    for k in range(rest):
        trot.drive(pipeline, k, tau=trot.readings.tau[k])
    assert pipeline.health(rest * PERIOD_NS)[-1].level is HealthLevel.OK
    for k in range(rest, rest + 50):
        estimates += trot.drive(pipeline, k, tau=None)
    assert pipeline.health((rest + 50) * PERIOD_NS)[-1].level > HealthLevel.OK
    assert not estimates[30:]


def stuck(tau: np.ndarray, k: int, onset: int) -> np.ndarray:
    return tau[onset]


def halved(tau: np.ndarray, k: int, onset: int) -> np.ndarray:
    return 0.5 * tau[k]


def leg_silent(tau: np.ndarray, k: int, onset: int) -> np.ndarray:
    return np.where(np.arange(tau.shape[1]) < 3, 0.0, tau[k])


@pytest.mark.parametrize("fault", [stuck, halved, leg_silent])
def test_wrong_torques_in_motion_leave_the_tilt_or_are_told(trot: Trot, fault) -> None:
    pipeline, tau, onset = trot.pipeline("joint_torques"), trot.readings.tau, round(1.4 * RATE_HZ)
    before, wrongly = 0.0, []
    for k in range(len(tau)):
        estimates = trot.drive(pipeline, k, tau=fault(tau, k, onset) if k >= onset else tau[k])
        error = max(map(trot.error, estimates), default=0.0)
        before = max(before, error) if k < onset else before
        if k % 25 == 0 and error > before + 0.5:
            wrongly.append(max(part.level for part in pipeline.health((k + 1) * PERIOD_NS)))
    assert HealthLevel.OK not in wrongly
    assert before < 1.5


def test_a_planners_forces_weigh_the_contacts_and_its_silence_is_told(trot: Trot) -> None:
    """It sends forces at a tenth of the rate; each holds until the next."""
    pipeline, estimates = trot.pipeline("desired"), []
    weight, last = 9.81 * trot.setup.robot.total_mass, round(2.0 * RATE_HZ)
    for k in range(last):
        if k % 10 == 0:
            for name, force in zip(trot.setup.contact_names, trot.readings.forces[k], strict=True):
                desired = WrenchSample((k + 1) * PERIOD_NS, [0.0, 0.0, force, 0.0, 0.0, 0.0])
                pipeline.push_desired_wrench(name, desired)
                pipeline.push_wrench(name, desired)  # of a sensor: not used
        estimates += trot.drive(pipeline, k, tau=None)
    assert len(estimates) > 300
    assert max(trot.error(e) for e in estimates[50:]) < 1.5
    assert max(estimates[-1].contact_forces) < weight
    assert pipeline.health(last * PERIOD_NS)[-1].level is HealthLevel.OK
    late = []
    for k in range(last, last + 60):
        late += trot.drive(pipeline, k, tau=None)
    assert len(late) < 30
    state = pipeline.health((last + 60) * PERIOD_NS)[-1]
    assert state.level is HealthLevel.STALE
    assert "fl_foot/desired_wrench" in state.message


def test_a_moving_foot_needs_more_force_but_a_large_one_outweighs_any_speed() -> None:
    on, off = 10.0, 5.0
    assert weighing_force(20.0, on, 0.0) == 20.0
    assert weighing_force(20.0, on, 1.0) < off < on < weighing_force(40.0, on, 100.0)
    forces = np.linspace(-50.0, 50.0, 41)
    odds = [contact_probability(force, on, off) for force in forces.tolist()]
    assert np.all(np.diff(odds) >= 0.0)
    assert contact_probability(0.5 * (on + off), on, off) == pytest.approx(0.5)
    assert contact_probability(on, on, off) == pytest.approx(1.0 / (1.0 + np.exp(-2.0)))
    assert 0.0 < contact_probability(-1e9, on, off) < contact_probability(1e9, on, on) <= 1.0


def test_contacts_that_share_all_joints_are_refused(trot: Trot) -> None:
    two = replace_value(trot.config, "contacts", ("a", "b"))
    two = replace_value(two, "contact_frames", ("FL_foot", "FL_calf"))
    two = replace_value(two, "contact.source", "joint_torques")
    with pytest.raises(ConfigurationError, match="shares all its joints"):
        TiltPipeline(two, trot.urdf)
