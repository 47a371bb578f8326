"""Table and figure of the walk over stones, from invented runs whose numbers are known."""

import numpy as np
import pytest

pytest.importorskip("mujoco")
pytest.importorskip("proxsuite")

from inertial_estimation.experiments.crawl_run import CrawlRun, Event, EventKind
from inertial_estimation.experiments.tournois_walk import (
    HEIGHTS_M,
    stones_cases,
    stones_panels,
    stones_rows,
)

LOAD_S = 4.0
NAMES = ("ahead", "roll", "pitch", "margin", "hold")


def run(*, error_mm: float, fell_s: float | None = None, events: tuple[Event, ...] = ()) -> CrawlRun:
    time = np.linspace(0.0, 10.0, 101)
    columns = {name: np.full(101, 0.05) for name in NAMES}
    columns |= {"time": time, "ahead": 0.06 * time}
    for axis, value in (("x", 0.1), ("y", -0.2), ("z", 0.0), ("mass", 60.0)):
        columns |= {f"{axis}{kind}": np.full(101, value) for kind in ("", "_hat", "_used")}
    columns["x_hat"] += 1e-3 * error_mm
    found = (
        Event(LOAD_S + 0.2, EventKind.LOADED, "loaded: 50 -> 60 kg"),
        Event(LOAD_S + 3.0, EventKind.RESUMED, "goes on"),
    )
    return CrawlRun(LOAD_S, fell_s, 10.0, 3, (*events, *found), columns)


@pytest.fixture(scope="module")
def data() -> dict[str, list[CrawlRun]]:
    early = Event(2.0, EventKind.SHIFTED, "shifted: 50 -> 50 kg")
    runs: dict[str, list[CrawlRun]] = {}
    for height in HEIGHTS_M:
        name = f"stones +- {100.0 * height:g} cm" if height else "flat"
        runs[name] = [run(error_mm=1.0), run(error_mm=3.0, events=(early,))]
        runs[f"{name}, without identification"] = [run(error_mm=80.0, fell_s=9.0), run(error_mm=80.0)]
    return runs


def test_the_table_counts_falls_and_false_alarms_and_gives_the_worst_error(data):
    cases = stones_cases(quick=False)
    rows = {row.quantity: row for name, case in cases.items() for row in stones_rows(name, case, data[name])}
    for name in ("flat", "stones +- 2 cm", "stones +- 4 cm"):
        assert rows[f"{name}: falls, of 2"].ours == 0.0
        assert rows[f"{name}, without identification: falls, of 2"].ours == 1.0
        assert rows[f"{name}: load change found, of 2"].ours == 2.0
        assert rows[f"{name}: load changes reported before the load came"].ours == 1.0
        assert rows[f"{name}: error in x and y, worst"].ours == pytest.approx(3.0)
        assert rows[f"{name}: speed"].ours == pytest.approx(0.06, rel=1e-6)


def test_the_figure_shows_every_ground_against_the_time_of_the_load(data):
    distance, _tilt, error, mass = stones_panels(stones_cases(quick=False), data, 0)
    assert len(distance.series) == 2 * len(HEIGHTS_M)
    assert len(error.series) == len(mass.series) == len(HEIGHTS_M)
    assert all(series.y == pytest.approx(np.ones(len(series.y))) for series in error.series)
    assert min(series.x[0] for series in distance.series) == pytest.approx(-LOAD_S)
