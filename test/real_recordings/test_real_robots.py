"""Recordings of real robots: bounds on what the referee measures, and published errors of other filters."""

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from benchmarks.referee import recordings
from benchmarks.referee.commands import dataset
from benchmarks.referee.task import SkippedError
from inertial_estimation.commands.main import main
from inertial_estimation.recordings.recording import BagRecording, read_orientations
from inertial_estimation.replay.metrics import verticals
from inertial_estimation.replay.reference import read_trusted, tilt_errors

TILT, HELD_OUT = "iCub walking: tilt error", "error of held-out torques"
BOUNDS = {  # largest values of rows, by the name of what measures them
    "iCub": (recordings.icub, {f"{TILT}, rms": 0.40, f"{TILT}, p95": 0.80, "iCub: weight, error": 0.3}),
    "Panda online": (partial(recordings.online, "Panda"), {f"Panda online: {HELD_OUT}": 2.0}),
    "Panda offline": (partial(recordings.offline, "Panda"), {f"Panda offline: {HELD_OUT}": 1.5}),
    "UR10 offline": (partial(recordings.offline, "UR10"), {f"UR10 offline: {HELD_OUT}": 5.5}),
    "TALOS marker": (recordings.marker, {"TALOS marker: leave-one-out error": 2.0}),
}


def recording(*names: str) -> Path:
    """A recording of the data sets; the test is skipped where there is none."""
    try:
        return dataset("/".join(names))
    except SkippedError as reason:
        pytest.skip(str(reason))


LONG = ("iCub", "Panda online", "Panda offline")  # whole recordings through filters, checks, identification


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.experiment if name in LONG else ()) for name in BOUNDS]
)
def test_rows_of_the_referee_keep_their_bounds(name: str) -> None:
    measured, bounds = BOUNDS[name]
    try:
        values = {row.key: row.value for row in measured()}
    except SkippedError as reason:
        pytest.skip(str(reason))
    for key, bound in bounds.items():
        assert values[key] <= bound, key


def test_bodies_of_a_real_leg_are_possible_and_predict_better_than_plain_least_squares() -> None:
    recording("go2_chirp")
    found = recordings.fitted("Go2, legs in the air")
    assert found["relative_error_validation"] <= 0.165  # plain least squares: 21.8 %
    assert not any(body["violations"] for body in found["bodies"].values())


def icub_errors_deg(topic: str, estimated) -> list[float]:
    """Mean, rms, 95 % and largest tilt error of another filter; `estimated` gives quaternions of samples."""
    folder = recording(recordings.ICUB)
    with BagRecording(folder / recordings.WALK) as bag:
        reference = read_orientations(bag, "/vicon/root_link/pose")
        samples = [entry.sample for entry in bag.entries([topic])]
    stamps = np.array([sample.stamp_ns for sample in samples])
    trusted = read_trusted(folder / f"{recordings.WALK}_vicon_ok.csv")
    s = tilt_errors(stamps, verticals(estimated(samples)), reference, trusted).summary
    return [float(np.degrees(value)) for value in (s.mean, s.rms, s.p95, s.max)]


def test_metric_gives_the_published_error_of_the_imus_own_filter() -> None:
    errors = icub_errors_deg("/xsens/orientation", lambda found: np.array([s.quaternion_xyzw for s in found]))
    assert errors == pytest.approx([0.276, 0.338, 0.648, 1.57], abs=0.015)


def test_metric_gives_the_published_error_of_vqf() -> None:
    vqf = pytest.importorskip("vqf")

    def filtered(imu) -> np.ndarray:
        rates, forces = (
            np.array([getattr(s, n) for s in imu]) for n in ("angular_rate_I", "specific_force_I")
        )
        return vqf.VQF(0.01).updateBatch(rates, forces)["quat6D"][:, [1, 2, 3, 0]]

    assert icub_errors_deg("/imu/data", filtered) == pytest.approx([0.361, 0.444, 0.864, 3.02], abs=0.015)


def calibrated(tmp_path: Path, kind: str, *options: str) -> dict:
    table = recording("talos_calibration", "table_contact_left.csv")
    common = ["--config", "talos", "--output", str(tmp_path), "--no-figures"]
    assert main(["calibrate", kind, str(table), *common, *options]) == 0
    return json.loads((tmp_path / "calibration.json").read_text())


def test_offsets_alone_predict_held_out_touches_within_the_published_errors(tmp_path: Path) -> None:
    report = calibrated(tmp_path, "plane", "--frame", "gripper_left_base_link")
    assert report["held_out"] == 9
    for name, published in (("height", 9.3), ("roll", 0.75), ("pitch", 0.52)):
        assert report["errors_rms"][name]["held_out_written"] <= published


def test_legs_that_were_closed_by_their_controller_have_no_offsets(tmp_path: Path) -> None:
    report = calibrated(tmp_path, "flat-feet", "--imu-link", "none")
    assert len(report["joints"]) == 12
    for joint in report["joints"]:
        assert abs(joint["offset_deg"]) < 0.1 or joint["identifiability"] == "not identifiable"
