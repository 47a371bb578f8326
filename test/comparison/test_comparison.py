"""Results side by side: the table, what differs, and what speaks against the comparison."""

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest

from inertial_estimation.commands.main import main
from inertial_estimation.comparison.comparison import compare, read_results
from inertial_estimation.errors import RecordingError


def provenance(bag: str = "a" * 64, rate: float = 500.0, **options: Any) -> dict[str, Any]:
    return {
        "version": {"package": "1.0", "commit": "c0ffee", "modified": False},
        "time": "2026-01-01T00:00:00+00:00",
        "bags": [{"path": "bag", "files": [{"path": "bag/x.mcap", "bytes": 3, "sha256": bag}]}],
        "config": [{"name": "talos", "path": "talos.yaml", "bytes": 3, "sha256": "b" * 64}],
        "urdf": {"source": "talos.urdf", "sha256": "d" * 64},
        "param": [],
        "options": {"settle": 0.0, **options},
        "parameters": {"tilt_observer": {"rate": rate, "imu_frame": "imu"}},
        "machine": {"python": "3.11"},
    }


def replayed(folder: Path, tilt: float, mass: float, **given: Any) -> Path:
    """Write the files of a replay that a comparison reads."""
    folder.mkdir(parents=True)
    metrics = {
        "tilt_error_deg": {"mean": tilt, "rms": tilt, "p95": 2 * tilt, "max": 3 * tilt},
        "total_mass_kg": 30.0 + mass,
        "links": {"arm": {"mass_kg": mass, "mass_sigma_kg": 0.1}},
        "truth": {"links": {"arm": {"mass_error_kg": mass - 2.0}}},
        "nis": {"median": 3.0, "expected": 6, "verdict": "consistent"},
        "checks": [{"verdict": "ok"}, {"verdict": "warn"}],
        "provenance": provenance(**given),
    }
    (folder / "metrics.json").write_text(json.dumps(metrics))
    times = [0.5 + 0.01 * k for k in range(50)]
    errors = "\n".join(f"{t:.3f},{round(1e9 * t)},1,{tilt},,,," for t in times)
    (folder / "base_errors.csv").write_text(
        f"time_s,stamp_ns,trusted,tilt_error_deg,yaw_error_deg,error_x,error_y,error_z\n{errors}\n"
    )
    masses = "\n".join(f"{t:.3f},{round(1e9 * t)},{mass},0.1,3.0" for t in times)
    (folder / "inertial_ekf.csv").write_text(
        f"time_s,stamp_ns,mass/arm [kg],mass_sigma/arm [kg],nis\n{masses}\n"
    )
    return folder


def identified(folder: Path, mass: float) -> Path:
    folder.mkdir(parents=True)
    result = {
        "relative_error": 0.02,
        "relative_error_validation": None,
        "bodies": {"arm": {"inertia": {"mass": mass}}},
        "parameters": {"arm/m": {"sigma": 0.05}},
    }
    report = {"chosen": "consistent", "rank": 9, "condition": 5.0, "methods": {"consistent": result}}
    (folder / "identification.json").write_text(json.dumps({**report, "provenance": provenance()}))
    return folder


def test_the_better_result_is_marked_and_changes_are_of_magnitudes(tmp_path: Path) -> None:
    folders = [replayed(tmp_path / "a", 0.4, 1.9), replayed(tmp_path / "b", 0.3, 2.3)]
    rows = {row.name: row for row in compare(read_results(folders)).rows}
    tilt, error, mass = (rows[name] for name in ("tilt error, rms", "mass error of arm", "mass of arm"))
    assert (tilt.best, tilt.change(1)) == ((1,), pytest.approx(-0.25))
    assert (error.best, error.change(1)) == ((0,), pytest.approx(2.0))  # 0.3 in place of -0.1 kg
    assert mass.best == ()
    assert [value.sigma for value in mass.values] == [0.1, 0.1]
    assert rows["data checks not ok"].change(1) is None


def test_what_differs_is_named_and_nothing_else(tmp_path: Path) -> None:
    folders = [replayed(tmp_path / "a", 0.4, 1.9), replayed(tmp_path / "b", 0.3, 2.3, rate=250.0)]
    comparison = compare(read_results(folders))
    (difference,) = comparison.differences
    assert (difference.group, difference.name) == ("parameter", "tilt_observer.rate")
    assert difference.values == ("500", "250")
    assert comparison.warnings == ()


def test_results_that_cannot_be_compared_are_warned_of(tmp_path: Path) -> None:
    folders = [
        replayed(tmp_path / "a", 0.4, 1.9),
        replayed(tmp_path / "b", 0.3, 2.3, bag="e" * 64, settle=2.0),
        identified(tmp_path / "c", 2.05),
    ]
    comparison = compare(read_results(folders))
    said = " | ".join(comparison.warnings)
    assert "of different recordings" in said
    assert "different commands (replay, identify)" in said
    assert "(--settle)" in said
    rows = {row.name: row for row in comparison.rows}
    assert [value and value.value for value in rows["mass of arm"].values] == [1.9, 2.3, 2.05]
    assert [value and value.value for value in rows["tilt error, rms"].values] == [0.4, 0.3, None]


def test_folders_of_one_name_are_told_apart(tmp_path: Path) -> None:
    folders = [replayed(tmp_path / day / "run", 0.4, 1.9) for day in ("monday", "tuesday")]
    assert [result.name for result in read_results(folders)] == ["monday/run", "tuesday/run"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "is no result of replay or identify: expected metrics.json or identification.json in it"),
        ("{", "is no result of replay"),
        ('{"links": {"arm": {}}}', "is no result of replay"),
    ],
)
def test_other_folders_are_refused(tmp_path: Path, content: str | None, message: str) -> None:
    if content is not None:
        (tmp_path / "metrics.json").write_text(content)
    with pytest.raises(RecordingError, match=message):
        read_results([tmp_path, tmp_path])


def test_command_writes_table_page_and_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("plotly")
    folders = [replayed(tmp_path / "a", 0.4, 1.9), replayed(tmp_path / "b <b>", 0.3, 2.3, rate=250.0)]
    assert main(["compare", *map(str, folders), "--output", str(tmp_path / "out")]) == 0
    printed = capsys.readouterr().out
    assert re.search(r"tilt error, rms +deg +0.4 +0.3 \* +-25.0 %", printed)
    assert re.search(r"parameter +tilt_observer.rate", printed)
    with (tmp_path / "out" / "compare.csv").open(newline="") as file:
        rows = {row["name"]: row for row in csv.DictReader(file)}
    assert (rows["mass of arm"]["b <b>"], rows["mass of arm"]["b <b> sigma"]) == ("2.3", "0.1")
    page = (tmp_path / "out" / "report.html").read_text()
    assert "b &lt;b&gt;" in page
    assert "<b>b" not in page
    titles = re.findall(r'<div class="caption">([^<]*)</div>', page)
    assert titles == ["Tilt error against the reference [deg]", "arm [kg], with two sigma"]
    assert "0.40 (2.8 sigma)" in page  # of the mass
    assert "−25.0 %" in page  # of the tilt error
    assert main(["compare", str(folders[0])]) == 1
    assert "expected at least two" in capsys.readouterr().err
