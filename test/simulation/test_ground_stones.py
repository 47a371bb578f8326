"""Stepping stones: level on top, as high as drawn, with slopes that are those of the heights."""

import numpy as np
import pytest

from inertial_estimation.parameters import build_config
from inertial_estimation.simulation.config import GroundConfig
from inertial_estimation.simulation.ground import STONE_EDGE, RoughGround, terrain_from_config

CELL, HEIGHT = 0.3, 0.04


def ground(**values):
    given = {"terrain": "stones", "roughness": HEIGHT, "cell": CELL, "begin": 0.4, **values}
    return terrain_from_config(build_config(GroundConfig, given))


def test_a_stone_is_level_and_of_one_height():
    stones = ground()
    centres = CELL * np.stack(np.meshgrid(np.arange(3, 9), np.arange(-3, 3)), axis=-1).reshape(-1, 2)
    heights, _normals = stones.surface(centres)
    assert np.abs(heights).max() <= HEIGHT
    assert np.ptp(heights) > HEIGHT
    reach = 0.49 * (1.0 - STONE_EDGE) * CELL
    for corner in ([reach, reach], [-reach, reach], [reach, -reach]):
        height, normals = stones.surface(centres + corner)
        assert height == pytest.approx(heights, abs=1e-12)
        assert normals == pytest.approx(np.tile([0.0, 0.0, 1.0], (len(height), 1)), abs=1e-12)


def test_edges_as_wide_as_stones_are_rough_ground_and_the_start_is_flat():
    xy = np.random.default_rng(1).uniform(-1.0, 3.0, (300, 2))
    stones = RoughGround(HEIGHT, CELL, 0.4, np.random.default_rng(0), edge=1.0)
    wide, rough = stones.surface(xy), ground(terrain="rough").surface(xy)
    assert wide[0] == pytest.approx(rough[0], abs=0.0)
    assert not ground().surface(xy)[0][xy[:, 0] < 0.3].any()
