"""Reports are one valid page with every number, need nothing else, and their graphs carry the data."""

import base64
import gzip
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.identification_scene import made_up_run

from inertial_estimation.figures import Figure, Level, Mark, Panel, Series, Span, decimated, spans_of
from inertial_estimation.identification.identification_result import PayloadResult
from inertial_estimation.offline.result_diagnostics import result_diagnostics
from inertial_estimation.plots.identification_report import identification_page
from inertial_estimation.plots.page import Card, Cell, Notes, Page, Section, Table, with_sigma, write_page
from inertial_estimation.signals import Identifiability
from inertial_estimation.spatial.inertial_parameters import InertialParameters

EMPTY = {"meta", "br", "link", "img", "hr"}
LARGEST = 6_000_000  # bytes of a page


class Read(HTMLParser):
    """Collects text, attributes and breaches of nesting."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.open: list[str] = []
        self.breaches: list[str] = []
        self.words: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.packed: dict[str, str] = {}
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in EMPTY:
            self.open.append(tag)
        self.script = dict(attrs).get("id", "") if tag == "script" else None

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.breaches.append(tag)

    def handle_data(self, data):
        if self.open and self.open[-1] in ("script", "style"):
            self.packed[self.script or "script"] = data
        else:
            self.words.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.words)).replace("−", "-")

    @property
    def graphs(self) -> list[dict[str, Any]]:
        return json.loads(gzip.decompress(base64.b64decode(self.packed["graphs"])))


def numbers(encoded: dict[str, str]) -> np.ndarray:
    assert encoded["dtype"] == "f4"
    return np.frombuffer(base64.b64decode(encoded["bdata"]), "<f4")


X = np.linspace(0.0, 10.0, 50)
PANEL = Panel(
    "a <panel>",
    "time [s]",
    "y [m]",
    [Series("line", X, np.sin(X), low=np.sin(X) - 0.1, high=np.sin(X) + 0.1), Series("dots", X, X, "points")],
    spans=[Span(1.0, 2.0, "held")],
    levels=[Level(0.5, "bound")],
    marks=[Mark(3.0, "event")],
)
ROWS = Panel(
    "bodies", "mass [kg]", "", [Series("found", X[:3], np.arange(3.0), "circles")], rows=["a", "b", "c"]
)
PAGE = Page(
    "title <1>",
    "Good news.",
    "good",
    [Card("name", "1.5 kg", "note")],
    [
        Section(
            "First",
            ["a sentence", Table(("one", "two"), [("x", Cell("0.1", "faded"))]), Notes(["note"], "bad")],
        ),
        Section("Second", [Figure("Second", [PANEL, ROWS], "what it is"), Section("folded", ["inside"])]),
    ],
)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return write_page(tmp_path_factory.mktemp("page") / "report.html", PAGE)


def test_a_page_is_well_formed_small_and_asks_the_network_for_nothing(page: Path) -> None:
    read = Read(page)
    assert (read.breaches, read.open) == ([], [])
    identifiers = [value for _tag, name, value in read.attributes if name == "id"]
    assert len(identifiers) == len(set(identifiers))
    references = [value for _tag, name, value in read.attributes if name in ("href", "src")]
    assert {f"#{one}" for one in identifiers if one.startswith("section")} == set(references)  # the contents
    assert "@import" not in read.packed["script"]
    assert page.stat().st_size < LARGEST
    for said in ("width=device-width", "prefers-color-scheme: dark", "@media print"):
        assert said in page.read_text()
    for said in ("title <1>", "Good news.", "1.5 kg", "a sentence", "0.1", "a <panel>", "inside"):
        assert said in read.text


def test_graphs_are_the_data(page: Path) -> None:
    first, second = Read(page).graphs
    low, high, line, dots = first["data"]
    np.testing.assert_allclose(numbers(line["y"]), np.sin(X), atol=1e-6)
    np.testing.assert_allclose(numbers(high["y"]) - numbers(low["y"]), 0.2, atol=1e-6)
    assert (line["name"], dots["mode"]) == ("line", "markers")
    assert first["layout"]["xaxis"]["title"]["text"] == "time [s]"
    assert [shape["name"] for shape in first["layout"]["shapes"]] == ["held", "bound", "event"]
    assert second["layout"]["yaxis"]["ticktext"] == ["a", "b", "c"]


def test_many_long_curves_stay_below_the_largest_page(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x = np.linspace(0.0, 100.0, 20_000)
    lines = [Series(f"{k}", x, rng.normal(size=len(x))) for k in range(500)]
    panels = [Panel("many", "time [s]", "", lines[k : k + 5]) for k in range(0, 500, 5)]
    path = write_page(tmp_path / "a.html", Page("many", "", "", (), [Section("a", [Figure("a", panels)])]))
    assert path.stat().st_size < LARGEST


def test_a_thinned_curve_keeps_its_peaks_and_gaps() -> None:
    x = np.linspace(0.0, 1.0, 10_000)
    y = np.sin(9.0 * x)
    y[5_003], y[7_001] = 99.0, -99.0
    y[1_000:2_000] = np.nan
    drawn = decimated(Series("a", x, y), 500)
    assert len(drawn.x) <= 500
    assert (np.nanmax(drawn.y), np.nanmin(drawn.y)) == (99.0, -99.0)
    assert np.isnan(drawn.y).any()
    assert np.all(np.diff(drawn.x) >= 0.0)


def test_the_widest_part_of_a_band_does_not_hide_the_curve() -> None:
    sigma = np.where(X < 0.5, 1e3, 0.1)
    low, high = Panel("", "", "", [Series("a", X, X, low=X - sigma, high=X + sigma)]).visible() or (0.0, 0.0)
    assert -2.0 < low < 0.0
    assert 10.0 < high < 12.0


def test_runs_of_flags_are_spans() -> None:
    flags = np.array([True, True, False, True])
    assert spans_of(np.arange(4.0), flags, "on") == [Span(0.0, 2.0, "on"), Span(3.0, 3.0)]


@pytest.mark.parametrize(
    ("value", "sigma", "said"),
    [
        (1.23456, 0.0123, "1.235 ± 0.012"),
        (-1234.5, 67.0, "−1234 ± 67"),
        (1.23456, None, "1.235"),
        (1.2, np.inf, "1.2"),
        (np.nan, 0.1, "–"),
    ],
)
def test_numbers_are_rounded_to_their_sigma(value: float, sigma: float | None, said: str) -> None:
    assert with_sigma(value, sigma) == said


SOURCE = {
    "robot": "arm <1>",
    "bags": ["bags/one"],
    "validation_bags": ["bags/two"],
    "split_s": None,
    "settings": {"smoothing.window": 0.12},
    "provenance": {
        "command": [],
        "version": {"package": "1"},
        "time": "",
        "urdf": {"source": "robot.urdf", "sha256": ""},
        "machine": {"system": "", "processor": "", "python": ""},
        **{key: [] for key in ("bags", "config", "param")},
    },
}


@pytest.fixture(scope="module")
def run():
    return made_up_run()


def written(run, path) -> str:
    return Read(write_page(path, identification_page(run, SOURCE))).text


@pytest.fixture(scope="module")
def text(run, tmp_path_factory):
    return written(run, tmp_path_factory.mktemp("report") / "report.html")


def test_every_number_of_the_result_is_there(text, run):
    for p in run.result.parameters:
        value = "stays" if p.name == "lower/mcy" else with_sigma(p.value, p.sigma).replace("−", "-")
        if p.identifiability is not Identifiability.NOT or value == "stays":
            assert f" {p.name.rpartition('/')[2]} {p.unit} {p.nominal:.4g} {value} " in text
    for row in (*run.result.direct, *run.result.validation):
        for value in (row.rms_measured, row.rms_nominal, row.rms):
            assert f" {value:.4g} " in text
    for fact in ("4 of 6", "1.23", "4.56", "joint_states: not finite: 3", "0.12"):
        assert fact in text


def test_the_unfavourable_is_there(text, run):
    assert "1 of 2 impossible" in text
    assert run.refusal in text
    for sentence in (*result_diagnostics(run.report), *run.report.warnings, *run.result.notes):
        assert sentence in text
    for violation in run.result.bodies[1].violations:
        assert violation in text
    assert "arm <1>" in text  # escaped, not taken for a tag


def test_one_method_without_other_data(run, text, tmp_path):
    result = replace(
        run.result, validation=(), relative_error_validation=float("nan"), cost_validation=float("nan")
    )
    report = replace(run.report, validation=None, methods={"least-squares": result})
    alone = written(replace(run, report=report, training=None, validation=None), tmp_path / "a.html")
    assert "nothing was held out" in alone
    assert "nan" not in alone.lower().split()
    assert "smallest mass" in text  # the table of methods
    assert "smallest mass" not in alone


@pytest.mark.parametrize(
    ("violations", "said"), [(("too flat",), "possible no: too flat"), ((), "possible yes")]
)
def test_a_load_is_a_body_of_its_own_that_may_be_impossible(run, tmp_path, violations, said):
    inertia = InertialParameters(1.25, np.array([0.01, 0.02, 0.03]), np.diag([0.1, 0.2, 0.25]))
    load = PayloadResult("hand", "cup", inertia, 0.13, np.full(3, 0.001), np.full((3, 3), 0.01), violations)
    methods = {**run.report.methods, "least-squares": replace(run.result, payload=load)}
    text = written(replace(run, report=replace(run.report, methods=methods)), tmp_path / "a.html")
    for words in (said, "the frame of hand", "1.25 ± 0.13", "10.0 ± 1.0, 20.0 ± 1.0, 30.0 ± 1.0"):
        assert words in text
