"""The report of an identification has every number, and hides nothing."""

import re
from dataclasses import replace
from html import unescape

import pytest
from support.identification_scene import made_up_run

from inertial_estimation.identification.identifiability import Identifiability
from inertial_estimation.offline.result_diagnostics import result_diagnostics
from inertial_estimation.plots.identification_report import write_identification_report
from inertial_estimation.plots.page import with_sigma

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


def text_of(html: str) -> str:
    """What a reader sees, without tags."""
    bare = re.sub(r"<(script|style).*?</\1>", " ", html, flags=re.DOTALL)
    words = unescape(re.sub(r"<[^>]*>", " ", bare))
    return re.sub(r"\s+", " ", words).replace("−", "-")


@pytest.fixture(scope="module")
def run():
    return made_up_run()


def written(run, path) -> str:
    return write_identification_report(path, run, SOURCE).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def text(run, tmp_path_factory):
    return text_of(written(run, tmp_path_factory.mktemp("report") / "report.html"))


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
    alone = text_of(written(replace(run, report=report, training=None, validation=None), tmp_path / "a.html"))
    assert "nothing was held out" in alone
    assert "nan" not in alone.lower().split()
    assert "smallest mass" in text  # the table of methods
    assert "smallest mass" not in alone
