import pytest
from support.simulated_robots import talos_simulation

from inertial_estimation.errors import MissingDependencyError
from inertial_estimation.simulation.config import GroundConfig
from inertial_estimation.simulation.ground import terrain_from_config
from inertial_estimation.simulation.viewer import RobotViewer


def test_without_a_display_the_viewer_says_so(monkeypatch):
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    with pytest.raises(MissingDependencyError, match="needs a display"):
        RobotViewer(talos_simulation().robot, terrain_from_config(GroundConfig()))
