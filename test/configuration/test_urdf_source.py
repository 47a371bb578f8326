"""A robot description is found wherever it may come from."""

from pathlib import Path

import pytest

from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.errors import ModelError

URDF = "<robot name='r'><link name='base'/></robot>"


def test_text_is_itself() -> None:
    assert read_urdf("\n " + URDF) == "\n " + URDF


def test_path_absolute_or_beside_the_parameter_file(tmp_path: Path) -> None:
    (tmp_path / "r.urdf").write_text(URDF)
    assert read_urdf(str(tmp_path / "r.urdf")) == URDF
    assert read_urdf("r.urdf", folder=tmp_path) == URDF


def test_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "share" / "my_robot" / "urdf"
    folder.mkdir(parents=True)
    (folder / "r.urdf").write_text(URDF)
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path))
    assert read_urdf("package://my_robot/urdf/r.urdf") == URDF
    with pytest.raises(ModelError, match=r"no file 'package://my_robot/none.urdf'; looked for"):
        read_urdf("package://my_robot/none.urdf")


def test_missing_says_where_it_looked(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"no robot description 'none.urdf'; looked in /[^ ]+ and /[^ ]+$"):
        read_urdf("none.urdf", folder=tmp_path)
    with pytest.raises(ModelError, match="pass --urdf"):
        read_urdf("")


def test_example_robot_data() -> None:
    pytest.importorskip("example_robot_data")
    text = read_urdf("example-robot-data:panda")
    assert "panda_link7" in text
    assert read_urdf("example-robot-data:panda_description/urdf/panda.urdf") == text
    with pytest.raises(ModelError, match=r"no robot 'hal' in example-robot-data; it has .*panda"):
        read_urdf("example-robot-data:hal")
