"""When a simulation goes on and with which torques, by a wall clock that the test turns."""

import numpy as np
import pytest
from support.arm_robot import HOLDING, JOINTS, URDF

from inertial_estimation.errors import InertialEstimationError
from inertial_estimation.inputs.config import RobotConfig
from inertial_estimation.models.robot_config import StanceConfig
from inertial_estimation.signals import HealthLevel, TorqueCommand
from inertial_estimation.simulation.config import SensorConfig, SimulationConfig, SimulationPacing
from inertial_estimation.simulation.driver import MAX_BACKLOG, SimulationDriver
from inertial_estimation.simulation.simulation import Simulation

ROBOT = RobotConfig(floating_base=False)
TICK = 0.002
HOIST = 10  # ticks
HELD = np.array([HOLDING[name] for name in JOINTS])


class Bench:
    """A driver, its wall clock, and a controller that answers when asked."""

    def __init__(self, **options):
        sensors = SensorConfig(rate=1.0 / TICK)
        simulation = Simulation(SimulationConfig(robot=ROBOT, stance=StanceConfig(), sensors=sensors), URDF)
        given = {"lockstep": True, "hoist": HOIST * TICK, "real_time_factor": 1.0, **options}
        self.driver = SimulationDriver(simulation, ROBOT, SimulationPacing(**given))
        self.simulation = simulation
        self.wall = 100.0

    def wait(self, duration=TICK):
        """Let wall time pass; return what came."""
        self.wall += duration
        return self.driver.poll(self.wall)

    def command(self, tau=HELD, names=JOINTS, stamp_ns=None):
        stamp_ns = self.simulation.stamp_ns if stamp_ns is None else stamp_ns
        self.driver.push_command(TorqueCommand(stamp_ns, tuple(names), np.asarray(tau, dtype=float)))

    def release(self):
        """End the hoist; the readings of the first tick wait for their command."""
        for _ in range(10 * HOIST):
            self.wait(0.5 * TICK)
            if self.simulation.released:
                self.wall += 1.0  # whatever was due has come
                return self
            self.command()
        raise AssertionError("never released")

    def health(self, name):
        (found,) = [part for part in self.driver.health() if part.name == name]
        return found

    @property
    def q(self):
        return self.simulation.truth().q

    @property
    def tau(self):
        return self.simulation.truth().tau_motor


def test_lockstep_waits_for_the_command_of_its_last_reading():
    bench = Bench().release()
    for _ in range(20):
        before = bench.simulation.stamp_ns
        assert not bench.wait(0.1)
        bench.command(stamp_ns=before - bench.driver.pace.tick_ns)
        assert not bench.wait(0.1), "an older command does not answer"
        bench.command(stamp_ns=before)
        (readings,) = bench.wait()
        assert readings.stamp_ns == before + bench.driver.pace.tick_ns
    np.testing.assert_allclose(bench.q, 0.0, atol=1e-4)


@pytest.mark.parametrize(
    ("tau", "names", "reason"),
    [
        ([0.0, np.inf], JOINTS, "not finite"),
        ([0.0, 0.0], ("shoulder", "wrist"), "no joint wrist"),
        ([0.0, 0.0], JOINTS, "stamp in the future"),
    ],
)
def test_a_bad_command_is_refused_and_counted_and_never_applied(tau, names, reason):
    bench = Bench().release()
    bench.command(tau, names, bench.simulation.stamp_ns + ("future" in reason))
    assert not bench.wait(0.1)
    assert bench.driver.commands.refused == 1
    report = bench.health("joint_torque_commands")
    assert (report.level, reason in report.message) == (HealthLevel.WARN, True)
    bench.command()
    assert bench.wait()
    np.testing.assert_allclose(bench.tau, HELD)


def test_without_lockstep_an_old_command_ends_in_zero_torque():
    bench = Bench(lockstep=False, command_timeout=0.021).release()
    torques = []
    for _ in range(20):
        assert bench.wait()
        torques.append(bool(np.any(bench.tau)))
    assert torques == [True] * 10 + [False] * 10, "as long as the command is not older"
    assert bench.driver.commands.timeouts == 10
    bench.command()
    assert bench.wait()
    np.testing.assert_allclose(bench.tau, HELD)


@pytest.mark.parametrize("factor", [0.5, 4.0])
def test_the_pace_without_lockstep_is_the_factor_asked_for(factor):
    bench = Bench(lockstep=False, real_time_factor=factor, command_timeout=100.0).release()
    while bench.wait(0.0):  # catches up with the second that passed at the release
        pass
    begin = bench.simulation.stamp_ns
    for _ in range(2000):
        bench.wait(0.0005)
    assert (bench.simulation.stamp_ns - begin) * 1e-9 == pytest.approx(factor, rel=0.01)
    assert bench.health("simulation").values["fallen"] == "false"


def test_as_fast_as_possible_holds_only_after_the_hoist():
    bench = Bench(real_time_factor=0.0)
    assert sum(bool(bench.wait(TICK / 10)) for _ in range(100)) == pytest.approx(10, abs=1)
    bench.release()
    begin = bench.simulation.stamp_ns
    for _ in range(10):
        bench.command()
        assert bench.wait(1e-6)
    assert bench.simulation.stamp_ns - begin == 10 * bench.driver.pace.tick_ns


def test_a_controller_that_lags_behind_is_waited_for_on_the_hoist_and_does_not_release_it():
    bench = Bench()
    while bench.simulation.stamp_ns < 3 * HOIST * bench.driver.pace.tick_ns:
        bench.wait()
    bench.command(stamp_ns=bench.simulation.stamp_ns // 2)
    assert [bool(bench.wait(0.6 * MAX_BACKLOG)) for _ in range(4)] == [False, False, True, False]
    assert not bench.simulation.released
    bench.command()
    assert bench.wait()
    assert bench.simulation.released


@pytest.mark.parametrize("factor", [1.0, 0.0])
def test_a_dead_controller_does_not_stop_time_and_the_first_fresh_command_ends_the_braking(factor):
    bench = Bench(lockstep=True, lockstep_timeout=0.5, real_time_factor=factor).release()
    begin = bench.simulation.stamp_ns
    for _ in range(1500):
        bench.wait(0.001)
    passed = (bench.simulation.stamp_ns - begin) * 1e-9
    assert 0.98 <= passed <= 1.0 + 1.01 * MAX_BACKLOG, "after the time-out it runs in real time"
    np.testing.assert_allclose(bench.q, 0.0, atol=1e-3, err_msg="the joints are braked")
    np.testing.assert_array_equal(bench.tau, 0.0)
    report = bench.health("joint_torque_commands")
    assert (report.level, "braked" in report.message) == (HealthLevel.ERROR, True)
    bench.command(stamp_ns=begin)
    bench.wait()
    assert bench.driver.unattended is True, "an old command does not end it"
    bench.command()
    while not bench.wait():
        pass
    assert bench.driver.unattended is False
    bench.health("joint_torque_commands")  # tells of what has timed out since the last report
    assert bench.health("joint_torque_commands").level is HealthLevel.OK
    np.testing.assert_allclose(bench.tau, HELD)
    assert not bench.wait(0.1), "in lockstep again: it waits for the next answer"


def test_a_motion_that_diverges_stops_the_simulation_until_a_reset_and_health_says_why():
    bench = Bench(lockstep=False).release()

    def diverges(_duration_ns):
        raise InertialEstimationError("the simulation diverges")

    advance, bench.simulation.advance = bench.simulation.advance, diverges
    bench.command()
    assert not bench.wait()
    bench.simulation.advance = advance
    report = bench.health("simulation")
    assert (report.level, "diverges" in report.message) == (HealthLevel.ERROR, True)
    assert not bench.wait(10.0)
    bench.driver.reset()
    assert not bench.simulation.released
    np.testing.assert_array_equal(bench.q, 0.0)
    assert bench.release().health("simulation").level == HealthLevel.OK
