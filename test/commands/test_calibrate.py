"""`calibrate` from the command line to the files, good input and bad."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
import yaml
from support.calibration_scenes import feet_scene, marker_scene
from support.example_robots import talos

from inertial_estimation.commands.main import main
from inertial_estimation.configuration.config_file import load_config_file
from inertial_estimation.configuration.node_configs import robot_config
from inertial_estimation.spatial.rotations import quaternion_from_rotation

CONFIG = """
/**:
  ros__parameters:
    urdf: example-robot-data:panda
    floating_base: false
    locked_joints: [panda_finger_joint*]
"""
JOINTS = [f"panda_joint{i}" for i in range(1, 8)]


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("config") / "arm.yaml"
    path.write_text(CONFIG)
    return path


@pytest.fixture(scope="module")
def postures() -> tuple[list[str], list[list[object]], "np.ndarray"]:
    scene = marker_scene(np.random.default_rng(3), noise=2e-4, count=40, size=0.05)
    rows = np.hstack([scene.problem.q, scene.problem.positions_C]).tolist()
    return [*JOINTS, "x1", "y1", "z1"], rows, scene.offsets


def written(path: Path, header: list[str], rows: list[list[object]]) -> Path:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return path


def marker(source: Path, config: Path, output: Path, *more: str) -> list[str]:
    common = ["--config", str(config), "--frame", "panda_link7", "--output", str(output)]
    return ["calibrate", "marker", str(source), *common, *more]


def test_marker_files_hold_the_identifiable_offsets(postures, config: Path, tmp_path: Path) -> None:
    header, rows, offsets = postures
    split = [["validation" if k % 4 == 0 else "train", *row] for k, row in enumerate(rows)]
    source = written(tmp_path / "postures.csv", ["split", *header], split)
    assert main(marker(source, config, tmp_path / "out")) == 0
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"joint_offsets.yaml", "calibration.json", "report.html"}
    report = json.loads((tmp_path / "out" / "calibration.json").read_text())
    assert (report["samples"], report["held_out"]) == (30, 10)
    assert report["errors_rms"]["marker"]["held_out"] < 1.0
    robot = robot_config(load_config_file(tmp_path / "out" / "joint_offsets.yaml"))  # as the nodes read it
    found = dict(zip(robot.joint_offsets.joints, robot.joint_offsets.values, strict=True))
    assert set(found) == {j["joint"] for j in report["joints"] if j["identifiability"] == "identifiable"}
    assert {"panda_joint2", "panda_joint4"} <= set(found)
    assert "panda_joint1" not in found
    for name, value in found.items():
        assert value == pytest.approx(offsets[JOINTS.index(name)], abs=3e-3)


def test_known_offsets_are_applied_and_stay_in_the_file(postures, config: Path, tmp_path: Path) -> None:
    """What a second calibration does not see (panda_joint1) is kept, what it sees comes on top."""
    header, rows, offsets = postures
    source = written(tmp_path / "postures.csv", header, rows)
    assert main(marker(source, config, tmp_path / "plain", "--no-figures")) == 0
    known = tmp_path / "known.yaml"
    known.write_text(
        "/**: {ros__parameters: {joint_offsets: {joints: [panda_joint1, panda_joint4], "
        f"values: [0.02, {offsets[3]}]}}}}}}"
    )
    more = ("--config", str(known), "--no-figures")
    assert main(marker(source, config, tmp_path / "again", *more)) == 0

    def values(folder: str) -> dict[str, float]:
        content = yaml.safe_load((tmp_path / folder / "joint_offsets.yaml").read_text())
        found = content["/**"]["ros__parameters"]["joint_offsets"]
        return dict(zip(found["joints"], found["values"], strict=True))

    plain, again = values("plain"), values("again")
    assert again.pop("panda_joint1") == 0.02
    assert again == pytest.approx(plain, abs=2e-4)
    report = json.loads((tmp_path / "again" / "calibration.json").read_text())
    on_top = {j["joint"]: j["offset_rad"] for j in report["joints"]}
    assert abs(on_top["panda_joint4"]) < 3e-3 < abs(offsets[3])


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda h, r: (["panda_joint9", *h[1:]], r), "misses the joints panda_joint1"),
        (lambda h, r: (h[:-1], [row[:-1] for row in r]), "misses columns z1"),
        (lambda h, r: (h, [[np.rad2deg(v) for v in row[:7]] + row[7:] for row in r]), "expected radians"),
        (lambda h, r: (h, [["nan", *row[1:]] for row in r]), "no row of"),
        (lambda h, r: (h, r[:3]), "3 samples give 9 equations"),
        (lambda h, r: (h, [*r[:3], r[3][:5]]), "line 5 of"),
    ],
    ids=["missing", "marker", "degrees", "nan", "few", "ragged"],
)
def test_bad_tables(postures, config: Path, tmp_path: Path, spoil, message: str, refused) -> None:
    header, rows = spoil(list(postures[0]), [list(row) for row in postures[1]])
    source = written(tmp_path / "bad.csv", header, rows)
    assert message in refused(*marker(source, config, tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_rows_with_nan_are_dropped_and_counted(postures, config: Path, tmp_path: Path, ran) -> None:
    header, rows, _ = postures
    rows = [list(row) for row in rows]
    rows[4][2], rows[9][8] = "nan", ""
    source = written(tmp_path / "some.csv", header, rows)
    assert "2 postures left out" in ran(*marker(source, config, tmp_path / "out", "--no-figures")).err
    assert json.loads((tmp_path / "out" / "calibration.json").read_text())["samples"] == 38


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("marker GOOD --frame panda_link7 --joints knee*", "no joint 'knee*' moves"),
        ("marker none.csv --frame panda_link7", "cannot read"),
        ("flat-feet GOOD", "no IMU link"),
        ("flat-feet GOOD --imu-link tail", "no frame 'tail'"),
        ("flat-feet bag --imu-link panda_link1 --imu-link panda_link2", "share a topic"),
        ("flat-feet GOOD --imu-link none", "at least two contacts"),
    ],
)
def test_names_that_do_not_exist(postures, config: Path, tmp_path: Path, arguments, message, refused) -> None:
    source = written(tmp_path / "good.csv", postures[0], postures[1])
    words = [str(source) if word == "GOOD" else word for word in arguments.split()]
    assert message in refused("calibrate", *words, "--config", config, "--output", tmp_path / "out")


def feet_table(tmp_path: Path, *, vertical: bool) -> tuple[Path, "np.ndarray", list[str]]:
    scene = feet_scene(np.random.default_rng(4), imus=("imu_link",), use_yaw=False)
    problem = scene.problem
    names = list(talos().joint_names)
    rows = []
    for q, R in zip(problem.q[::3], problem.imus[0].R_WI[::3], strict=True):
        rows.append([*q, *(9.81 * R[2] if vertical else quaternion_from_rotation(R))])
    kinds = ["up_x", "up_y", "up_z"] if vertical else ["qx", "qy", "qz", "qw"]
    header = [*names, *(f"imu_link/{kind}" for kind in kinds)]
    return written(tmp_path / "feet.csv", header, rows), scene.offsets, list(problem.kinematics.joints)


@pytest.mark.parametrize("vertical", [True, False], ids=["accelerometer", "orientation"])
def test_flat_feet_from_a_table(tmp_path: Path, vertical: bool) -> None:
    source, offsets, joints = feet_table(tmp_path, vertical=vertical)
    arguments = ["--config", "talos", "--output", str(tmp_path / "out"), "--no-figures"]
    assert main(["calibrate", "flat-feet", str(source), *arguments]) == 0
    report = json.loads((tmp_path / "out" / "calibration.json").read_text())
    found = {j["joint"]: j["offset_rad"] for j in report["joints"] if j["written"]}
    assert sum(name.startswith("leg_") for name in found) == 12
    for name, value in found.items():
        assert value == pytest.approx(offsets[joints.index(name)], abs=1e-5)


def test_flat_feet_from_a_recording(tmp_path: Path) -> None:
    """TALOS stands and moves: its legs have no offsets, and little is known of them."""
    bag = tmp_path / "bag"
    assert main(["synthesize", "talos", "--output", str(bag), "--duration", "4", "--rate", "50"]) == 0
    arguments = ["--config", "talos", "--output", str(tmp_path / "out"), "--interval", "0.4", "--no-figures"]
    assert main(["calibrate", "flat-feet", str(bag), *arguments]) == 0
    report = json.loads((tmp_path / "out" / "calibration.json").read_text())
    assert report["samples"] >= 5
    assert report["held_out"] >= 5
    for joint in report["joints"]:
        assert joint["identifiability"] != "identifiable" or abs(joint["offset_deg"]) < 1.5
