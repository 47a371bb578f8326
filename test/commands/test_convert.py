"""`convert`: tables become recordings, in SI units and with their times; what does not fit is named."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from inertial_estimation.commands.main import main
from inertial_estimation.recordings.recording import BagRecording


def converted(folder: Path, *arguments: str) -> dict[str, list[Any]]:
    """Convert into a bag of this name, and read the samples of each topic back."""
    assert main(["convert", *arguments, "--output", str(folder / "bag")]) == 0
    with BagRecording(folder / "bag") as recording:
        return {topic: [e.sample for e in recording.entries([topic])] for topic in recording.topics}


def written(path: Path, *lines: str) -> str:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


def test_units_names_and_stamps_of_a_csv(tmp_path: Path) -> None:
    table = written(
        tmp_path / "log.csv",
        "sec,nanosec,q_b,q_a,dq_a,dq_b,fx,fy,fz,wx,wy,wz",
        "1700000000,123456789,90,180,1,2,0,0,1,0,0,180",
        "1700000000,133456789,-90,0,3,4,0,0,2,0,0,0",
    )
    samples = converted(
        tmp_path,
        table,
        *("--map", "time=1[s],nanosec[ns]", "--map", "position=q_*[deg]", "--map", "velocity=dq_*"),
        *("--map", "specific_force=fx,fy,fz[g]", "--map", "angular_rate=wx,wy,wz[deg/s]"),
    )
    first, second = samples["/joint_states"]
    assert first.stamp_ns == 1_700_000_000_123_456_789
    assert second.stamp_ns - first.stamp_ns == 10_000_000
    assert first.names == ("b", "a")
    np.testing.assert_allclose(first.position, [np.pi / 2, np.pi])
    np.testing.assert_array_equal(first.velocity, [2.0, 1.0])  # by name: the columns are in another order
    assert first.effort is None
    imu = samples["/imu/data"][0]
    np.testing.assert_allclose(imu.specific_force_I, [0.0, 0.0, 9.80665])
    np.testing.assert_allclose(imu.angular_rate_I, [0.0, 0.0, np.pi])


def test_files_without_header_are_joined_by_their_times(tmp_path: Path) -> None:
    q = written(tmp_path / "q.dat", "# encoder", "5 0.1 0.2", "6 0.3 0.4", "7 0.5 0.6")
    tau = written(tmp_path / "tau.dat", "6\t\t1\t2", "7\t\t3\t4", "8\t\t5\t6")
    force = written(tmp_path / "force.dat", "5;10", "6;20")
    samples = converted(
        tmp_path,
        *(q, tau, force, "--joints", "hip", "knee", "--map", "time=1[ms]"),
        *("--map", "position=q.2-3", "--map", "effort=tau.2-3[-1]", "--map", "foot/force=force.2"),
    )
    joints = samples["/joint_states"]
    assert [reading.names for reading in joints] == 2 * [("hip", "knee")]
    np.testing.assert_array_equal([r.position for r in joints], [[0.3, 0.4], [0.5, 0.6]])
    np.testing.assert_array_equal([r.effort for r in joints], [[-1.0, -2.0], [-3.0, -4.0]])
    wrenches = samples["/foot/wrench"]
    np.testing.assert_array_equal([w.wrench_F[2] for w in wrenches], [10.0, 20.0])
    assert wrenches[1].stamp_ns == joints[0].stamp_ns  # moved alike: they began before the first stamp of ROS


def test_separators_at_the_end_of_lines_and_columns_without_a_name(tmp_path: Path) -> None:
    table = written(tmp_path / "log.csv", "t;force;;;;", "# ;x;y;z;", "1;2;3;4", "2;5;6;7;")
    samples = converted(tmp_path, table, "--map", "time=t", "--map", "foot/force=force,3,4")
    np.testing.assert_array_equal(samples["/foot/wrench"][1].wrench_F[:3], [5.0, 6.0, 7.0])


def test_switches_of_feet(tmp_path: Path) -> None:
    table = written(tmp_path / "log.csv", "t,left", "1,0", "2,1")
    samples = converted(tmp_path, table, "--map", "time=t", "--map", "foot/contact=left")
    assert [sample.value for sample in samples["/foot/wrench"]] == [0.0, 1.0]


def test_runs_that_follow_one_another_in_a_table_are_named(tmp_path: Path, capsys) -> None:
    table = written(tmp_path / "log.csv", "t,j", "1,0.1", "2,0.2", "1.5,0.3", "2.5,0.4")
    converted(tmp_path, table, "--map", "time=t", "--map", "position=j")
    assert f"the time of '{table}' steps back (1 x)" in capsys.readouterr().err


def test_rows_of_several_rates_and_a_last_line_cut_short(tmp_path: Path, capsys) -> None:
    table = written(tmp_path / "log.csv", "x,y,z,j", "1,2,3,", ",,,0.5", "4,5,6,", "1,2")
    arguments = ["--rate", "100", "--map", "foot/force=x,0,z[kN]", "--map", "position=j"]
    samples = converted(tmp_path, table, *arguments)
    said = capsys.readouterr().err
    assert "/foot/wrench: 1 rows without a number are left out" in said
    assert f"line 5 of '{table}' has 2 cells, expected 4, and is left out" in said
    assert [s.stamp_ns for s in samples["/foot/wrench"]] == [1_000_000_000, 1_020_000_000]
    np.testing.assert_array_equal(samples["/foot/wrench"][1].wrench_F[:3], [4e3, 0.0, 6e3])
    assert [s.stamp_ns for s in samples["/joint_states"]] == [1_010_000_000]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["time=t[fs]", "position=q_*"], "no unit 'fs' of 'time'; there are s, ms"),
        (["time=t", "positon=q_*"], "no field 'positon' in --map, did you mean 'position'?"),
        (["time=t", "position=p_*"], "no column 'p_*' in"),
        (["time=t", "position=q_*", "effort=q_a"], "'effort' has 1 columns, expected one for each of the 2"),
        (["position=q_*"], "0 maps of 'time'"),
        (["time=t", "velocity=q_*"], "expected 'position', too"),
        (["time=t", "position=2-3"], "name no joints; give --joints"),
        (["time=t", "specific_force=q_a,q_b"], "gives 2 columns, expected 3"),
        (["time=t", "position=q_*,bad"], "line 2 of "),
        (["time=t", "position=q_*", "effort=none,q_a"], "column 'none' of "),
        (["time=t", "foot/force=0,0,0"], "'foot/force' is mapped to zeros alone"),
        (["time=t", "position=q_a", "position=q_b"], "'position' is mapped more than once"),
        (["time=t", "foot/force=q_a", "foot/contact=q_b"], "'foot/contact' is mapped more than once"),
    ],
)
def test_what_does_not_fit_is_named_in_one_line(tmp_path: Path, refused, arguments, said: str) -> None:
    table = written(tmp_path / "log.csv", "t,q_a,q_b,none,bad", "0,1,2,,x", "1,1,2,,y")
    maps = [part for text in arguments for part in ("--map", text)]
    assert said in refused("convert", table, *maps, "--output", tmp_path / "bag")
    assert not (tmp_path / "bag").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "and no rows"),
        ("t,j\n", "has the header t, j and no rows"),
        ("t,j\n0,1,2\n1,2\n", "line 2 of "),
        ("0,1\n0,1,2\n0,1,2\n", "line 2 of "),
        ("t,t\n0,1\n", "more than one column t"),
        ("t,j\n0," + 200_000 * "x" + "\n1,2\n", "line 2 of "),
        ("t,j\nnan,1\n", "expected a number"),
    ],
)
def test_a_damaged_table_is_refused_in_one_line(tmp_path: Path, refused, text: str, said: str) -> None:
    (tmp_path / "log.csv").write_text(text, encoding="utf-8")
    maps = ["--map", "time=t", "--map", "position=j"]
    assert said in refused("convert", tmp_path / "log.csv", *maps, "--output", tmp_path / "bag")
