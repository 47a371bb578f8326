"""The iCub walking recording, replayed once: tilt against motion capture and other filters, weight, speed."""

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from inertial_estimation.commands.main import main
from inertial_estimation.configuration.config_file import load_config_file
from inertial_estimation.configuration.pipelines import build_pipelines, replay_topics
from inertial_estimation.recordings.recording import BagRecording, MemoryRecording, read_orientations
from inertial_estimation.replay.metrics import verticals
from inertial_estimation.replay.reference import read_trusted, tilt_errors
from inertial_estimation.replay.replay import ReplayReaders, replay_recording
from inertial_estimation.signals import ImuSample

ROOT = Path(__file__).resolve().parents[2]
DATASETS = Path(os.environ.get("INERTIAL_ESTIMATION_DATASETS", ROOT.parent / "shared" / "datasets"))
ICUB = DATASETS / "icub_walking"
BAG, TRUSTED = ICUB / "walk_front_back_2021", ICUB / "walk_front_back_2021_vicon_ok.csv"
URDF = ICUB / "iCubGenova04.urdf"
CONFIG = ROOT / "config" / "icub.yaml"
REST_BIAS = (-0.003, -0.003, -0.007)  # of the first 1.5 s, from the README of the data sets

pytestmark = pytest.mark.skipif(
    not BAG.exists(), reason="no recording: set INERTIAL_ESTIMATION_DATASETS to the folder of data sets"
)


@pytest.fixture(scope="module")
def reference():
    with BagRecording(BAG) as recording:
        return read_orientations(recording, "/vicon/root_link/pose")


@pytest.fixture(scope="module")
def trusted():
    return read_trusted(TRUSTED)


def degrees(errors):
    s = errors.summary
    return [float(np.degrees(value)) for value in (s.mean, s.rms, s.p95, s.max)]


def test_metric_gives_the_published_error_of_the_imus_own_filter(reference, trusted):
    with BagRecording(BAG) as recording:
        xsens = read_orientations(recording, "/xsens/orientation")
    stamps = np.array([sample.stamp_ns for sample in xsens])
    tilts = verticals(np.array([sample.quaternion_xyzw for sample in xsens]))
    errors = tilt_errors(stamps, tilts, reference, trusted)
    assert degrees(errors) == pytest.approx([0.276, 0.338, 0.648, 1.57], abs=0.015)


def test_metric_gives_the_published_error_of_vqf(reference, trusted):
    vqf = pytest.importorskip("vqf")
    with BagRecording(BAG) as recording:
        imu = [e.sample for e in recording.entries(["/imu/data"]) if isinstance(e.sample, ImuSample)]
    rates = np.array([sample.angular_rate_I for sample in imu])
    forces = np.array([sample.specific_force_I for sample in imu])
    xyzw = vqf.VQF(0.01).updateBatch(rates, forces)["quat6D"][:, [1, 2, 3, 0]]
    stamps = np.array([sample.stamp_ns for sample in imu])
    errors = tilt_errors(stamps, verticals(xyzw), reference, trusted)
    assert degrees(errors) == pytest.approx([0.356, 0.444, 0.864, 3.02], abs=0.015)


def replayed(folder, config, *more):
    arguments = [
        *("replay", str(BAG), "--config", str(config), "--urdf", str(URDF)),
        *("--reference", "/vicon/root_link/pose", "--trusted", str(TRUSTED), "--output", str(folder)),
    ]
    assert main([*arguments, "--no-figures", *more]) == 0
    return json.loads((folder / "metrics.json").read_text())


@pytest.fixture(scope="module")
def whole(tmp_path_factory, processor_time):
    """The whole recording through the command: its metrics, and the estimates that it holds."""
    runs = []

    def kept(*args, **options):
        runs.append(replay_recording(*args, **options))
        return runs[-1]

    with pytest.MonkeyPatch.context() as patch, processor_time():
        patch.setattr("inertial_estimation.commands.replay.replay_recording", kept)
        metrics = replayed(tmp_path_factory.mktemp("icub"), CONFIG)
    return metrics, runs[0]


@pytest.fixture(scope="module")
def metrics(whole):
    return whole[0]


@pytest.fixture(scope="module")
def base(whole):
    return whole[1].base


def test_tilt_with_the_raw_gyroscope(metrics):
    assert metrics["tilt_error_deg"]["rms"] <= 0.40
    assert metrics["tilt_error_deg"]["p95"] <= 0.80


def test_total_mass_is_the_weight_on_the_feet(whole):
    """Found from the base rows alone: there are no torque sensors."""
    metrics, run = whole
    assert metrics["total_mass_kg"] == pytest.approx(33.9, abs=0.3)
    assert len(run.inertial) > 8000
    for estimate in run.inertial:
        body = estimate.links[0].estimate
        moments = np.linalg.eigvalsh(body.inertia_Lcm)
        assert body.mass > 0.0
        assert moments[0] > 0.0
        assert moments[2] < moments[0] + moments[1]


def test_bias_is_that_of_the_rest(base):
    biases = np.array([e.gyro_bias_I for e in base])
    np.testing.assert_allclose(np.median(biases, axis=0), REST_BIAS, atol=1e-3)
    assert np.abs(biases).max() < 0.015


def test_base_comes_back_to_its_height(base):
    """Dead reckoning over feet that give way: 7 cm higher after 89 s, some 1 mm a step."""
    height = np.array([e.state.p_WB[2] for e in base])
    assert abs(np.median(height[-100:]) - np.median(height[:100])) < 0.10
    assert 0.4 < np.median(height[:100]) < 0.7


def test_stamps_in_bursts_cost_less_than_a_tenth_of_a_degree(metrics, base, reference, trusted):
    """Messages held back up to 0.16 s and then delivered 0.05 ms apart, stamped on arrival."""
    with BagRecording(BAG) as recording:
        entries = list(recording.entries([t for t in recording.topics if "vicon" not in t]))
        entries = [e for e in entries if "xsens" not in e.topic]
        topics = {t: kind for t, kind in recording.topics.items() if t in {e.topic for e in entries}}
    true = np.unique([e.sample.stamp_ns for e in entries])
    arrival = dict(zip(true.tolist(), _arrivals(true).tolist(), strict=True))
    late = [
        replace(e, log_ns=arrival[s], sample=replace(e.sample, stamp_ns=arrival[s]))
        for e in entries
        if (s := e.sample.stamp_ns) is not None
    ]
    pipelines = build_pipelines(load_config_file(CONFIG), urdf=str(URDF))
    recording = MemoryRecording(tuple(late), topics)
    in_bursts = replay_recording(
        recording, replay_topics(pipelines.values, {}), ReplayReaders(tilt=pipelines.tilt)
    ).base
    back = {a: t for t, a in arrival.items()}
    stamps = np.array([back[e.state.stamp_ns] for e in in_bursts])
    errors = tilt_errors(stamps, np.array([e.tilt_B for e in in_bursts]), reference, trusted)
    assert len(in_bursts) > 0.95 * len(base)
    assert np.degrees(errors.summary.rms) < metrics["tilt_error_deg"]["rms"] + 0.1


def _arrivals(true):
    rng = np.random.default_rng(0)
    arrival, k = true.copy(), 0
    while k < len(true):
        n = int(rng.integers(1, 17)) if rng.random() < 0.3 else 1
        last = min(k + n, len(true)) - 1
        arrival[k : last + 1] = true[last] + 50_000 * np.arange(last + 1 - k)
        k = last + 1
    for k in range(1, len(arrival)):
        arrival[k] = max(arrival[k], arrival[k - 1] + 50_000)
    return arrival
