"""Whether a recording is of the robot that a parameter file describes, by the names of its joints."""

from itertools import islice

from inertial_estimation.errors import MeasurementError, RecordingError, listing
from inertial_estimation.inputs.joints import JointNames
from inertial_estimation.inputs.messages import JOINT_STATE_TYPE
from inertial_estimation.models.robot_config import RobotGeometryConfig
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.recordings.recorded_topics import RecordedTopics
from inertial_estimation.recordings.recording import Recording
from inertial_estimation.signals import JointReading

LOOKED_AT = 100  # joint states
SHOWN = 4  # names of joints


def joints_that_are_missing(
    recording: Recording, topics: RecordedTopics, robot: RobotModel, config: RobotGeometryConfig
) -> str:
    """Return which joints of the robot the recording does not have, a sentence; empty where it has all.

    Raises:
        RecordingError: If it has none of them: it is of another robot, or needs a map of names.
    """
    read = [topics.of(name) for name in config.joint_states.topics]
    read = [topic for topic in read if recording.topics.get(topic) == JOINT_STATE_TYPE]
    samples = [entry.sample for entry in islice(recording.entries(read), LOOKED_AT)]
    readings = [sample for sample in samples if isinstance(sample, JointReading)]
    names = tuple(dict.fromkeys(name for reading in readings for name in reading.names))
    if not any(names):  # nothing to compare: the inputs say what they lack
        return ""
    expected = robot.joint_names
    try:
        found = JointNames(robot, config.joint_names).order(names).joints
    except MeasurementError:
        raise RecordingError(
            f"'{recording.name}' is of another robot: it has {_some(names)}, expected are {_some(expected)}, "
            "0 match; give the --config of its robot, or map the names (joint_names.map, joint_names.prefix)"
        ) from None
    missing = [name for j, name in enumerate(expected) if j not in found]
    counts = f"{len(found)} of the {len(expected)} joints of the robot are in '{recording.name}'"
    return f"{counts}; it lacks {listing(missing, limit=SHOWN)}" if missing else ""


def _some(names: tuple[str, ...]) -> str:
    return f"{len(names)} joints ({listing(names, limit=SHOWN)})"
