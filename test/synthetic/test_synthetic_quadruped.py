"""A quadruped on point feet, from `config/hyq.yaml`: both pipelines see four contacts and a payload."""

from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from inertial_estimation.configuration.config_file import load_config_file
from inertial_estimation.configuration.pipelines import Pipelines, build_pipelines, replay_topics
from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.models.imu import ImuMount
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.replay.replay import ReplayReaders, ReplayRun, replay_recording
from inertial_estimation.simulation.config import REALISTIC
from inertial_estimation.simulation.disturbances import Attachment, ball
from inertial_estimation.synthetic.synthetic_sensors import measure
from inertial_estimation.synthetic.synthetic_truth import StanceMotion, Timing, Truth, stance_truth

pytest.importorskip("example_robot_data")
CONFIG = Path(__file__).parents[2] / "config" / "hyq.yaml"
PAYLOAD = ball("trunk", 5.0, (0.1, 0.05, 0.15))
PAYLOAD_TIME_S = 3.0


def standing(
    pipelines: Pipelines, rng: np.random.Generator, timing: Timing, payload: Attachment | None
) -> Truth:
    values = pipelines.values
    robot = RobotModel.from_urdf(read_urdf(values["urdf"]), floating_base=True)
    posture = {f"{leg}_{joint}_joint": sign * angle for leg, sign in LEGS for joint, angle in BENT}
    return stance_truth(
        robot,
        timing,
        rng,
        contacts={contact: contact for contact in values["contacts"]},
        imu=ImuMount.on(robot, values["imu_frame"]),
        motion=StanceMotion(posture, base_reach=(0.03, 0.03, 0.03, 0.1, 0.1, 0.1)),
        payload=payload,
    )


LEGS = (("lf", 1.0), ("rf", 1.0), ("lh", -1.0), ("rh", -1.0))
BENT = (("hfe", 0.75), ("kfe", -1.5))


@pytest.fixture(scope="module")
def session() -> tuple[Truth, ReplayRun]:
    rng = np.random.default_rng(11)
    pipelines = build_pipelines(load_config_file(CONFIG))
    timing = Timing(duration_s=6.0, rate_hz=250.0)
    truth = standing(pipelines, rng, timing, Attachment(PAYLOAD, PAYLOAD_TIME_S))
    topics = replay_topics(pipelines.values, {})
    recording = measure(truth, REALISTIC, rng)
    return truth, replay_recording(
        recording, topics, ReplayReaders(tilt=pipelines.tilt, inertial=pipelines.inertial)
    )


def test_tilt_from_four_point_feet(session: tuple[Truth, ReplayRun]) -> None:
    truth, run = session
    by_stamp = dict(zip(truth.stamps_ns.tolist(), truth.states, strict=True))
    errors = []
    for estimate in run.base[len(run.base) // 3 :]:
        state = by_stamp[estimate.state.stamp_ns]
        vertical_B = pin.Quaternion(*state.q[[6, 3, 4, 5]]).toRotationMatrix().T[:, 2]
        errors.append(np.degrees(np.linalg.norm(np.cross(estimate.tilt_B, vertical_B))))
        assert len(estimate.contacts) == 4
    assert np.sqrt(np.mean(np.square(errors))) < 0.15


def test_payload_on_the_trunk_without_foot_sensors(session: tuple[Truth, ReplayRun]) -> None:
    truth, run = session
    load = run.inertial[-1].links[0].payload
    before = [e for e in run.inertial if e.stamp_ns < truth.stamps_ns[0] + PAYLOAD_TIME_S * 1e9]
    assert before[-1].links[0].payload.mass == pytest.approx(0.0, abs=0.25)
    assert load.mass == pytest.approx(PAYLOAD.mass, abs=0.25)
    np.testing.assert_allclose(load.com_L[:2], PAYLOAD.com_L[:2], atol=0.02)
