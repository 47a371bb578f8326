"""The truth of a recording is read back as it was written; another file of its name is no truth."""

import json
from pathlib import Path

import numpy as np
import pytest

from inertial_estimation.errors import RecordingError
from inertial_estimation.recordings.truth_file import InertiaStep, inertias_as_json, read_truth
from inertial_estimation.signals import LinkInertia


def step(time_s: float, mass: float) -> InertiaStep:
    moment = np.array([[1.0, 0.1, 0.2], [0.1, 2.0, 0.3], [0.2, 0.3, 3.0]])
    return InertiaStep(time_s, LinkInertia("arm", mass, np.array([0.1, 0.2, 0.3 * mass]), moment))


def test_steps_are_read_back_in_the_order_of_their_times(tmp_path: Path) -> None:
    steps = [step(3.0, 7.0), step(0.0, 2.0)]
    (tmp_path / "truth.json").write_text(json.dumps({"seed": 0, "inertias": inertias_as_json(steps)}))
    bag = tmp_path / "x.mcap"
    bag.touch()
    for place in (tmp_path, bag):
        truth = read_truth(place)
        assert truth is not None
        np.testing.assert_array_equal(truth.masses("arm", np.array([-1.0, 2.9, 3.0, 9.0])), [2, 2, 7, 7])
        np.testing.assert_allclose(truth.coms("arm", np.array([0.0, 9.0]))[:, 2], [0.6, 2.1])
        end = truth.at_end("arm")
        assert end is not None
        np.testing.assert_array_equal(end.inertia_Lcm, steps[0].inertia.inertia_Lcm)
        assert truth.at_end("leg") is None


@pytest.mark.parametrize("text", [None, "{}", "[]", '{"inertias": null}', "3"])
def test_another_file_is_no_truth(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "truth.json").write_text(text)
    assert read_truth(tmp_path) is None


@pytest.mark.parametrize(
    "text", ["{", '{"inertias": [{}]}', '{"inertias": 3}', '{"inertias": [{"time_s": NaN}]}']
)
def test_damaged_truth_is_told_in_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "truth.json").write_text(text)
    with pytest.raises(RecordingError, match="is no truth of a recording") as error:
        read_truth(tmp_path)
    assert "\n" not in str(error.value)
