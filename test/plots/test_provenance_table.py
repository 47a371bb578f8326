"""The table that says where results come from."""

import pytest

pytest.importorskip("jinja2")
from inertial_estimation.plots.page import page_environment

TEMPLATE = "{% from 'provenance.html' import provenance_table %}{{ provenance_table(provenance) }}"


def page(version: dict[str, object]) -> str:
    provenance = {
        "command": ["inertial-estimation", "replay"],
        "version": version,
        "time": "2026-11-22T17:00:00+00:00",
        "bags": [],
        "config": [],
        "urdf": {"source": "robot.urdf", "sha256": 64 * "0"},
        "param": [],
        "machine": {"system": "Linux", "processor": "", "python": "3.11.7"},
    }
    return page_environment().from_string(TEMPLATE).render(provenance=provenance)


def test_a_package_that_is_no_checkout_has_no_commit() -> None:
    assert "0.1.0" in page({"package": "0.1.0"})
    assert "commit" not in page({"package": "0.1.0"})


def test_a_checkout_has_its_commit_and_says_whether_files_differ() -> None:
    version = {"package": "0.1.0", "commit": 40 * "a", "modified": True}
    assert "commit aaaaaaaaaaaa with changes" in page(version)
    assert "with changes" not in page({**version, "modified": False})
