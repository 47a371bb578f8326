"""Loads located while an input is stale: each is reported once, with the next estimate."""

import numpy as np
import pytest
from support.hopper import URDF
from support.pipeline_inputs import push

from inertial_estimation.inertial.config import InertialPipelineConfig
from inertial_estimation.inertial.located_events import LocatedEvents, LocatedKind, WithheldLoads
from inertial_estimation.inertial.pipeline import InertialPipeline
from inertial_estimation.located_cause import Cause, LocatedCause
from inertial_estimation.parameters import build_config
from inertial_estimation.replay.results import located_loads
from inertial_estimation.signals import Decision, ImuSample, InertialEstimate, JointReading, WrenchSample

STEP_NS = 10_000_000


def load(mass, link="hand", decided=True):
    return LocatedCause(
        Cause.LOAD, 0.99, decided=decided, is_open=not decided, links=(link,), mass=mass, com_L=np.ones(3)
    )


PUSH = LocatedCause(Cause.PUSH, 0.99, decided=True, links=("hand",), force_L=np.ones(3))
SEQUENCE = [None, load(2.0, decided=False), load(1.9), load(2.0), None, None, PUSH, None, load(-2.0), None]
SEQUENCE += [None, load(1.0, "foot"), load(1.0, "foot"), None, None, None, None]


def estimates():
    zero = np.zeros(1)
    return [
        InertialEstimate(
            i * STEP_NS, (), ("knee",), zero, 1.0, 9.0, True, Decision.ACCEPTED, zero, 1, located=cause
        )
        for i, cause in enumerate(SEQUENCE)
    ]


def given(withheld):
    """Return the estimates that are given out where those of some numbers are withheld."""
    log, given_out = WithheldLoads(), []
    for i, estimate in enumerate(estimates()):
        if i in withheld:
            log.keep(estimate)
        else:
            given_out.append(log.completed(estimate))
    return given_out


@pytest.mark.parametrize("seed", range(40))
def test_every_load_is_an_event_and_an_entry_of_a_replay_once_whatever_is_withheld(seed):
    chance = np.random.default_rng(seed)
    withheld = set(np.flatnonzero(chance.random(len(SEQUENCE) - 4) < 0.6).tolist())
    events, out = LocatedEvents(), given(withheld)
    seen = [event for estimate in out if (event := events.take(estimate)) is not None]
    kinds = [event.kind for event in seen if event.kind in (LocatedKind.LOADED, LocatedKind.UNLOADED)]
    assert kinds == [LocatedKind.LOADED, LocatedKind.UNLOADED, LocatedKind.LOADED]
    assert [abs(row["mass_kg"]) for row in located_loads(out)][1:] == [2.0, 1.0]
    assert events.take(out[-1]) is None


def test_a_push_that_ended_while_estimates_were_withheld_is_not_reported_as_present():
    assert [e.located for e in given({6})][6] is None


def test_a_load_that_becomes_certain_while_the_clock_is_late_is_reported_afterwards():
    """The robot stands still, and weighs 1.5 kg more from 1 s on; from 4 s to 8 s all inputs look stale."""
    values = {"imu_frame": "imu", "contacts": ["foot"], "contact_frames": ["sole"], "links": ["auto"]}
    values |= {"rate": 100.0}
    pipeline = InertialPipeline(build_config(InertialPipelineConfig, values), URDF)
    out = []
    for k in range(1000):
        stamp_ns = 10**18 + k * STEP_NS
        mass = 10.0 if k < 100 else 11.5
        push(pipeline, "imu/data", ImuSample(stamp_ns, [0, 0, 9.80665], [0, 0, 0]))
        push(pipeline, "joint_states", JointReading(stamp_ns, ("hip",), [0.0], [0.0], [0.0]))
        push(pipeline, "wrench/foot", WrenchSample(stamp_ns, [0, 0, mass * 9.80665, 0, 0, 0]))
        late_ns = 10**9 if 400 <= k < 800 else 0
        given_out = pipeline.tick(stamp_ns + late_ns)
        assert not (given_out and late_ns)
        out += given_out
    assert abs(pipeline.total_mass - 11.5) < 0.01
    (found,) = located_loads(out)
    assert abs(found["mass_kg"] - 1.5) < 0.05
