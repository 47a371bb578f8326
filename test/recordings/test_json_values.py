"""What goes into a JSON file is finite all the way down, and otherwise the same."""

import json
import math

import numpy as np

from inertial_estimation.recordings.json_values import finite_values


def test_what_is_not_finite_becomes_null_at_any_depth():
    document = {"a": (1.0, math.inf, {"b": [math.nan, "x"]}), 3: None, "c": np.float64(2.5), "d": -math.inf}
    text = json.dumps(finite_values(document), allow_nan=False)
    assert json.loads(text) == {"a": [1.0, None, {"b": [None, "x"]}], "3": None, "c": 2.5, "d": None}
