"""The iCub walking recording: the metric against independent filters, the replay, its speed."""

import json
import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np
import pytest

from inertial_estimation.commands.main import main
from inertial_estimation.recordings.recording import BagRecording, read_orientations
from inertial_estimation.replay.metrics import TiltErrors, tilt_errors, verticals
from inertial_estimation.replay.result_files import read_trusted
from inertial_estimation.signals import ImuSample

ROOT = Path(__file__).resolve().parents[2]
DATASETS = Path(os.environ.get("INERTIAL_ESTIMATION_DATASETS", ROOT.parent / "shared" / "datasets"))
ICUB = DATASETS / "icub_walking"
BAG, TRUSTED = ICUB / "walk_front_back_2021", ICUB / "walk_front_back_2021_vicon_ok.csv"

pytestmark = pytest.mark.skipif(
    not BAG.exists(), reason="no recording: set INERTIAL_ESTIMATION_DATASETS to the folder of data sets"
)


def degrees(errors: TiltErrors) -> list[float]:
    s = errors.summary
    return [float(np.degrees(value)) for value in (s.mean, s.rms, s.p95, s.max)]


def test_metric_gives_the_published_error_of_the_imus_own_filter() -> None:
    with BagRecording(BAG) as recording:
        reference = read_orientations(recording, "/vicon/root_link/pose")
        xsens = read_orientations(recording, "/xsens/orientation")
    stamps = np.array([sample.stamp_ns for sample in xsens])
    tilts = verticals(np.array([sample.quaternion_xyzw for sample in xsens]))
    errors = tilt_errors(stamps, tilts, reference, read_trusted(TRUSTED))
    assert degrees(errors) == pytest.approx([0.276, 0.338, 0.648, 1.57], abs=0.015)


def test_metric_gives_the_published_error_of_vqf() -> None:
    vqf = pytest.importorskip("vqf")
    with BagRecording(BAG) as recording:
        reference = read_orientations(recording, "/vicon/root_link/pose")
        imu = [e.sample for e in recording.entries(["/imu/data"]) if isinstance(e.sample, ImuSample)]
    rates = np.array([sample.angular_rate_I for sample in imu])
    forces = np.array([sample.specific_force_I for sample in imu])
    xyzw = vqf.VQF(0.01).updateBatch(rates, forces)["quat6D"][:, [1, 2, 3, 0]]
    stamps = np.array([sample.stamp_ns for sample in imu])
    errors = tilt_errors(stamps, verticals(xyzw), reference, read_trusted(TRUSTED))
    assert degrees(errors) == pytest.approx([0.356, 0.444, 0.864, 3.02], abs=0.015)


def replayed(folder: Path, *more: str) -> dict[str, object]:
    arguments = [
        *("replay", str(BAG), "--config", "icub", "--urdf", str(ICUB / "iCubGenova04.urdf")),
        *("--reference", "/vicon/root_link/pose", "--trusted", str(TRUSTED), "--output", str(folder)),
    ]
    assert main([*arguments, "--no-figures", *more]) == 0
    metrics: dict[str, object] = json.loads((folder / "metrics.json").read_text())
    return metrics


@pytest.fixture(scope="module")
def metrics(
    tmp_path_factory: pytest.TempPathFactory, processor_time: Callable[[], AbstractContextManager[None]]
) -> dict[str, object]:
    with processor_time():
        return replayed(tmp_path_factory.mktemp("icub"))


def test_replay_meets_the_bounds(metrics: dict[str, object]) -> None:
    assert metrics["tilt_error_deg"]["rms"] <= 0.40
    assert metrics["tilt_error_deg"]["p95"] <= 0.80
    if "total_mass_kg" in metrics:
        assert metrics["total_mass_kg"] == pytest.approx(33.9, abs=0.3)


def test_replay_started_mid_walk(tmp_path: Path) -> None:
    metrics = replayed(tmp_path, "--start", "20", "--settle", "10")
    assert metrics["tilt_error_deg"]["rms"] <= 0.50


def test_replay_is_fast(metrics: dict[str, object]) -> None:
    assert metrics["realtime_factor"] > 4.0  # recorded per computed seconds; 20 on an idle machine
