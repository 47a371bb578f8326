"""What estimates are compared with: a topic that the user names, or the truth of a simulation."""

from pathlib import Path

from inertial_estimation.errors import RecordingError
from inertial_estimation.recordings.recording import BagRecording, read_orientations
from inertial_estimation.recordings.truth_file import read_truth
from inertial_estimation.replay.replay_metrics import ReplayReference
from inertial_estimation.replay.result_files import read_trusted
from inertial_estimation.synthetic.synthetic_sensors import GROUND_TRUTH_TOPIC


def read_reference(
    recording: BagRecording, bag: Path, given: str | None, trusted_file: Path | None, settle_s: float
) -> tuple[str, ReplayReference]:
    """Read the reference of a recording, and its truth if it is simulated.

    Args:
        recording: The recording.
        bag: Where it is.
        given: Topic of the reference; without one it is that of the truth of a simulation.
        trusted_file: File that says which of its samples are trusted.
        settle_s: Time at the begin that is not compared [s].

    Returns:
        The topic, empty if there is none, and what the estimates are compared with.

    Raises:
        RecordingError: If the topic or a file cannot be read, or the file does not fit the topic.
    """
    trusted = read_trusted(trusted_file) if trusted_file else None
    truth = read_truth(bag)
    simulated = truth is not None and GROUND_TRUTH_TOPIC in recording.topics
    topic = given or (GROUND_TRUTH_TOPIC if simulated else "")
    samples = read_orientations(recording, topic) if topic else []
    if trusted is not None and len(trusted) != len(samples):
        raise RecordingError(
            f"'{trusted_file}' has {len(trusted)} flags, expected one for each of the "
            f"{len(samples)} messages on '{topic}'"
        )
    exact = simulated and topic == GROUND_TRUTH_TOPIC
    return topic, ReplayReference(samples, trusted, exact, truth, settle_s)
