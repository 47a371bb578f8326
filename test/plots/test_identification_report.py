"""The report of an identification is one valid page, needs nothing else, and hides nothing."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from support.identification_scene import made_up_run

from inertial_estimation.identification.identification_result import rounded
from inertial_estimation.offline.result_diagnostics import result_diagnostics
from inertial_estimation.plots.identification_report import (
    MOST_ROWS,
    figures_of_torques,
    write_identification_report,
)
from inertial_estimation.plots.page import svg

pytest.importorskip("matplotlib")
SOURCE = {
    "robot": "arm <1>",
    "bags": ["bags/one"],
    "validation_bags": ["bags/two"],
    "split_s": None,
    "settings": {"smoothing.window": 0.12},
}
EMPTY = {"meta", "br", "link", "img", "hr"}


class Page(HTMLParser):
    """Collects text, attributes and breaches of nesting."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.breaches: list[str] = []
        self.words: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.breaches.append(tag)

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.words)).replace("−", "-")


@pytest.fixture(scope="module")
def run():
    return made_up_run()


def written(run, path) -> str:
    return write_identification_report(path, run, SOURCE).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def html(run, tmp_path_factory):
    return written(run, tmp_path_factory.mktemp("report") / "report.html")


@pytest.fixture(scope="module")
def page(html):
    return Page(html)


def test_the_page_is_well_formed_and_its_identifiers_are_unique(page):
    assert page.breaches == []
    assert page.open == []
    identifiers = [value for _tag, name, value in page.attributes if name == "id"]
    assert len(identifiers) == len(set(identifiers)) > 100
    references = {value[1:] for _tag, name, value in page.attributes if name.endswith("href")}
    assert references <= set(identifiers)


def test_the_page_asks_the_network_for_nothing(page, html):
    loaded = [
        (tag, value)
        for tag, name, value in page.attributes
        if name in ("src", "href", "xlink:href", "data", "action") and not value.startswith(("#", "data:"))
    ]
    assert loaded == []
    tags = {tag for tag, _name, _value in page.attributes}
    assert not tags & {"script", "link", "iframe", "object", "img"}
    assert "@import" not in html
    assert not re.search(r"url\((?!#)", html)


def test_it_can_be_read_on_a_phone_and_printed(page, html):
    assert ("meta", "content", "width=device-width, initial-scale=1") in page.attributes
    assert "@media print" in html
    widths = [value for tag, name, value in page.attributes if tag == "svg" and name == "width"]
    assert widths == []  # as wide as the page allows


def test_every_number_of_the_result_is_there(page, run):
    for p in run.result.parameters:
        value = "stays" if p.name == "lower/mcy" else f"{rounded(p.value, p.sigma):.4g}"
        assert f" {p.name.rpartition('/')[2]} {p.unit} {p.nominal:.4g} {value} " in page.text
    for row in (*run.result.direct, *run.result.validation):
        for value in (row.rms_measured, row.rms_nominal, row.rms):
            assert f" {value:.4g} " in page.text
    for fact in ("4 of 6", "1.23", "4.56", "joint_states: not finite: 3", "0.12"):
        assert fact in page.text


def test_the_unfavourable_is_there(page, run):
    assert "1 of 2 impossible" in page.text
    assert run.refusal in page.text
    for sentence in (*result_diagnostics(run.report), *run.report.warnings, *run.result.notes):
        assert sentence in page.text
    for violation in run.result.bodies[1].violations:
        assert violation in page.text
    assert "arm <1>" in page.text  # escaped, not taken for a tag


def test_one_method_without_other_data(run, page, tmp_path):
    result = replace(
        run.result, validation=(), relative_error_validation=float("nan"), cost_validation=float("nan")
    )
    report = replace(run.report, validation=None, methods={"least-squares": result})
    alone = Page(written(replace(run, report=report, training=None, validation=None), tmp_path / "a.html"))
    assert "nothing was held out" in alone.text
    assert "nan" not in alone.text.lower().split()
    assert "smallest mass" in page.text  # the table of methods
    assert "smallest mass" not in alone.text


def test_the_worst_rows_are_drawn_where_there_are_many(run):
    trace = run.training
    names = tuple(f"joint_{i}" for i in range(20))
    scale = [1.0 + (i % 7) for i in range(20)]
    measured = trace.measured[:, :1] * scale
    many = replace(
        trace, row_names=names, measured=measured, nominal=0.0 * measured, identified=0.5 * measured
    )
    titles = [axis.get_title(loc="left") for figure in figures_of_torques(many) for axis in figure.axes]
    drawn = {title.partition(":")[0] for title in titles if title}
    assert len(drawn) == MOST_ROWS
    worst = {name for name, factor in zip(names, scale, strict=True) if factor >= 5.0}
    assert worst <= drawn


def test_a_figure_is_valid_xml_by_itself(run):
    root = ElementTree.fromstring(svg(figures_of_torques(run.training)[0], "one"))
    assert root.tag.endswith("svg")
    assert "shoulder" in "".join(root.itertext())
