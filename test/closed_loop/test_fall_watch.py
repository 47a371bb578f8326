"""What is said of a fall: the torques at their limits before it, with the times of the first."""

from types import SimpleNamespace

import numpy as np

from inertial_estimation.closed_loop.loop_watch import LoopWatch


def test_a_torque_at_its_limit_before_the_robot_falls_is_named_with_its_time():
    def truth(_links=()):
        return SimpleNamespace(tau_motor=np.array([loop.torque, 1e6]), inertias={}, stamp_ns=0)

    model = SimpleNamespace(effortLimit=np.array([10.0, 0.0]))  # the wrist has no limit
    robot = SimpleNamespace(model=model, n_base=0, joint_names=("knee", "wrist"), link_names=())
    simulation = SimpleNamespace(robot=robot, fallen=False, truth=truth)
    loop = SimpleNamespace(simulation=simulation, base=None, time_s=0.0, torque=0.0)
    watch = LoopWatch(loop)
    for loop.time_s, loop.torque in ((1.0, 5.0), (1.1, -10.0), (1.2, 10.0)):
        watch.look()
    loop.time_s, simulation.fallen = 1.4, True
    assert watch.fall().startswith("the robot fell after 1.4 s")
    assert "knee (first at 1.1 s)" in watch.fall()
    assert "wrist" not in watch.fall()
