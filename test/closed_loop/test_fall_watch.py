"""What is said of a fall: what was seen before, in the order in which it happened."""

from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np

from inertial_estimation.closed_loop.loop_watch import FallWatch

FEET = {"left": np.array([[0.1, 0.2, 0.0], [-0.1, 0.2, 0.0]]), "right": np.array([[0.1, -0.2, 0.0]])}


@dataclass
class Loop:
    """A loop whose robot's centre of mass and torques are set by hand."""

    time_s: float = 0.0
    com: tuple[float, float, float] = (0.0, 0.1, 1.0)
    tau: tuple[float, float] = (0.0, 0.0)
    fallen: bool = False
    depths: dict[str, np.ndarray] = field(
        default_factory=lambda: {"left": np.full(2, 1e-4), "right": np.full(1, 1e-4)}
    )

    @property
    def simulation(self):
        """The robot: two joints with limits of 10 and none."""
        truth = SimpleNamespace(
            tau_motor=np.array(self.tau), points_W=FEET, depths=self.depths, com_W=np.array(self.com)
        )
        model = SimpleNamespace(effortLimit=np.array([10.0, 0.0]))
        robot = SimpleNamespace(model=model, n_base=0, joint_names=("knee", "wrist"))
        return SimpleNamespace(robot=robot, fallen=self.fallen, truth=lambda: truth)


def watched(*moments):
    loop = Loop()
    watch = FallWatch(loop)
    for time_s, com_x, knee in moments:
        loop.time_s, loop.com, loop.tau = time_s, (com_x, 0.1, 1.0), (knee, 1e6)
        watch.look()
    loop.time_s, loop.fallen = moments[-1][0] + 0.1, True
    watch.look()
    return watch.sentence()


def test_a_torque_at_its_limit_before_the_robot_tips_is_named_with_its_time():
    said = watched((1.0, 0.0, 5.0), (1.1, 0.0, -10.0), (1.2, 0.5, 10.0), (1.3, 0.9, 0.0))
    assert said.startswith("the robot fell after 1.4 s")
    assert "from 1.2 s on its centre of mass" in said
    assert "knee (first at 1.1 s)" in said
    assert "wrist" not in said  # it has no limit
