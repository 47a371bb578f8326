import mujoco
import numpy as np
import pytest
from support.simulated_robots import talos_simulation

from inertial_estimation.errors import MissingDependencyError
from inertial_estimation.simulation.config import GroundConfig
from inertial_estimation.simulation.ground import terrain_from_config
from inertial_estimation.simulation.viewer import RobotViewer, visible_model


@pytest.mark.parametrize("terrain", ["flat", "rough"])
def test_model_to_look_at_has_the_robots_joints_and_shapes_that_touch_nothing(terrain):
    simulation = talos_simulation()
    model = visible_model(simulation.robot, terrain_from_config(GroundConfig(terrain=terrain)))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    assert model.nv == simulation.robot.model.nv
    assert model.ngeom > simulation.robot.n_joints
    assert data.ncon == 0
    low, high = data.geom_xpos[1:].min(axis=0), data.geom_xpos[1:].max(axis=0)
    assert np.all(high - low < 2.5)


def test_without_a_display_the_viewer_says_so(monkeypatch):
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    with pytest.raises(MissingDependencyError, match="needs a display"):
        RobotViewer(talos_simulation().robot, terrain_from_config(GroundConfig()))
