"""Sound synthetic recordings, in memory and as streams."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pytest

import inertial_estimation as ie
from inertial_estimation.diagnosis.diagnose import diagnose
from inertial_estimation.models.robot_config import robot_from_config
from inertial_estimation.recordings.robot_streams import read_streams
from inertial_estimation.synthetic.synthetic_robots import SYNTHETIC_ROBOTS, synthetic_robot
from inertial_estimation.synthetic.synthetic_truth import StanceMotion

ARMS = ("arm_*", "gripper*", "head_*")  # of TALOS: where they do not matter they are locked


@dataclass(frozen=True)
class Recorded:
    """A robot and its streams."""

    config: object
    urdf: str
    streams: object
    recording: object

    @cached_property
    def sound(self):
        """What is found as recorded, without an error."""
        return self.diagnosis().findings

    def diagnosis(self, streams=None, *, urdf="", config=None):
        """Check, with something changed."""
        config = config or self.config
        return diagnose(streams or self.streams, robot_from_config(config, urdf or self.urdf), config)

    def failed(self, streams=None, **changes):
        """What is not right, as pairs of check and subject."""
        results = self.diagnosis(streams, **changes).findings
        return [(result.check, result.subject) for result in results if result.failed]

    def error(self, streams=None, **changes):
        """The only finding that is not right."""
        (found,) = (one for one in self.diagnosis(streams, **changes).findings if one.failed)
        return found


def recorded(name, seconds, *, locked_joints=(), payload_time_s=None, **payload):
    """Of a standing robot joints may be locked: it takes less time to check."""
    spec = synthetic_robot(name)
    timing, rng, urdf = ie.Timing(seconds, 100.0), np.random.default_rng(1), ie.read_urdf(spec.urdf)
    if locked_joints:
        robot = ie.RobotModel.from_urdf(urdf, locked_joints=locked_joints)
        left = StanceMotion(
            *(
                {joint: value for joint, value in values.items() if joint in robot.joint_names}
                for values in (spec.motion.posture, spec.motion.reach)
            )
        )
        spec = replace(spec, locked_joints=locked_joints, motion=left)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(SYNTHETIC_ROBOTS, name, spec)
        truth = ie.synthetic_truth(name, timing, rng, payload_time_s=payload_time_s, **payload)
    config = spec.config
    recording = ie.measure(truth, ie.REALISTIC, np.random.default_rng(2), config)
    topics = ie.replay_topics(ie.parameter_values(config), {})
    span = (recording.start_ns, recording.end_ns)
    setup = robot_from_config(config, urdf)
    streams = read_streams(recording, topics, setup, config, span)
    return Recorded(config, urdf, streams, recording)
