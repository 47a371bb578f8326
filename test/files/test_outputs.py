"""Results are checked for before the work, written whole or not at all; mutated files are read or refused."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from benchmarks.file_fuzz import KINDS, mutated
from inertial_estimation.errors import ConfigurationError, InertialEstimationError
from inertial_estimation.files.outputs import (
    check_output_folder,
    output_file,
    result_folder,
    write_json,
    write_text,
)
from inertial_estimation.files.text_file import resolved_path


def test_what_is_not_finite_becomes_null_at_any_depth(tmp_path: Path) -> None:
    document = {"a": (1.0, math.inf, {"b": [math.nan, "x"]}), 3: None, "c": np.float64(2.5), "d": -math.inf}
    text = write_json(tmp_path / "m.json", document).read_text()
    assert json.loads(text) == {"a": [1.0, None, {"b": [None, "x"]}], "3": None, "c": 2.5, "d": None}


def test_places_that_cannot_be_written_are_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file" / "in", Path("/proc/x"), tmp_path / ("x" * 300)):
        with pytest.raises(ConfigurationError, match=r"cannot write into '.*': \w"):
            check_output_folder(path)
    with pytest.raises(ConfigurationError, match="names a user that does not exist"):
        resolved_path("~nosuchuser/x")


def test_other_results_are_not_mixed_with_unless_it_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "metrics.json").write_text("")
    with pytest.raises(ConfigurationError, match=r"is not empty, it has metrics.json: .*--overwrite"):
        check_output_folder(tmp_path)
    check_output_folder(tmp_path, overwrite=True)
    check_output_folder(tmp_path, shared=True)


def test_results_replace_those_of_an_earlier_run_and_nothing_else(tmp_path: Path) -> None:
    for name in ("metrics.json", "tilt.png", "notes.txt"):
        (tmp_path / name).write_text("old")
    (tmp_path / "bag").mkdir()
    (tmp_path / "bag" / "old").touch()
    with result_folder(tmp_path, ("metrics.json", "tilt.png", "bag")) as partial:
        (partial / "metrics.json").write_text("new")
        (partial / "bag").mkdir()
    assert {p.name for p in tmp_path.iterdir()} == {"metrics.json", "notes.txt", "bag"}
    assert (tmp_path / "metrics.json").read_text() == "new"
    assert list((tmp_path / "bag").iterdir()) == []


def write_half(folder: Path, error: type[BaseException]) -> None:
    with result_folder(folder, ("metrics.json",)) as partial:
        (partial / "metrics.json").write_text("half")
        raise error


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_an_interrupted_run_leaves_everything_as_it_was(tmp_path: Path, error: type[BaseException]) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "metrics.json").write_text("old")
    for folder in (tmp_path / "old", tmp_path / "new"):
        with pytest.raises(error):
            write_half(folder, error)
    assert [p.name for p in tmp_path.rglob("*")] == ["old", "metrics.json"]
    assert (tmp_path / "old" / "metrics.json").read_text() == "old"


def test_a_file_is_replaced_whole_and_a_link_is_not_followed(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("thesis")
    (tmp_path / "robot.urdf").symlink_to(precious)
    file = output_file(tmp_path / "robot.urdf", ".urdf", "parameter 'export_path'")
    write_text(file, "<robot/>")
    assert (precious.read_text(), file.read_text()) == ("thesis", "<robot/>")
    assert not file.is_symlink()
    with pytest.raises(ConfigurationError, match="cannot write"):
        write_text(file, "\udc80")  # no UTF-8
    assert file.read_text() == "<robot/>"
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize(
    "path", ["robot.txt", ".urdf", "~nosuchuser/x.urdf", "/nowhere/x.urdf", "/proc/x.urdf", "a\0.urdf"]
)
def test_files_that_cannot_be_an_export_are_refused(path: str) -> None:
    with pytest.raises(ConfigurationError) as refusal:
        output_file(path, ".urdf", "parameter 'export_path'")
    assert "\n" not in str(refusal.value)


CASES = 15


@pytest.mark.parametrize("name", KINDS)
def test_mutated_files_are_read_or_refused_in_one_line(name: str, tmp_path: Path) -> None:
    kind = KINDS[name]
    file = kind.make(tmp_path / "good")
    good = file.read_bytes()
    kind.read(file)
    refused = 0
    for seed in range(CASES):
        file.write_bytes(mutated(good, kind.text, np.random.default_rng(seed)))
        try:
            kind.read(file)
        except InertialEstimationError as error:
            refusal = str(error)
            refused += 1
        else:
            refusal = ""
        assert "\n" not in refusal
    assert refused or name == "metadata"  # without which a bag is read from its files
