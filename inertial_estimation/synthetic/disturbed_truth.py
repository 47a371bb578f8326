"""Loads and pushes of a robot that moves as before: what its ideal sensors would read with them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.models.inverse_dynamics import IdealReadings, IdealSensors, MotionState, PointForce
from inertial_estimation.signals import LinkInertia
from inertial_estimation.simulation.disturbances import Attachment, Push
from inertial_estimation.synthetic.synthetic_truth import Truth


def disturbed_truth(
    truth: Truth, contact_frames: Mapping[str, str], disturbances: Sequence[Attachment | Push]
) -> Truth:
    """Return the truth with loads and pushes, whose effect joints and contacts carry without giving way.

    Args:
        truth: The motion and its readings, without a payload of its own.
        contact_frames: Frame of each contact by the contact's name.
        disturbances: Loads and pushes; their times count from the first sample [s].

    Raises:
        ConfigurationError: If the truth has a payload already, or a push is in axes of its link.
    """
    if truth.payload is not None:
        raise ConfigurationError("a truth with a payload cannot be disturbed, expected one without")
    frames = [contact_frames[name] for name in truth.contacts]
    loads = [d for d in disturbances if isinstance(d, Attachment)]
    pushes = [d for d in disturbances if isinstance(d, Push)]
    if any(push.frame != "world" for push in pushes):
        raise ConfigurationError("a push in axes of its link is not supported here, expected 'world'")
    sensors: dict[tuple[int, ...], IdealSensors] = {}

    def read(t: float, state: MotionState, before: IdealReadings) -> IdealReadings:
        present = tuple(i for i, load in enumerate(loads) if load.present(t))
        forces = [force for push in pushes if (force := _force_at(push, t)) is not None]
        if not (present or forces):
            return before
        if present not in sensors:
            bodies: list[LinkInertia] = [loads[i].body for i in present]
            sensors[present] = IdealSensors(
                truth.robot,
                imu=truth.imu,
                contact_frames=frames,
                point_contacts=truth.points,
                payloads=bodies,
            )
        return sensors[present].read(state, forces)

    moments = zip(truth.times_s.tolist(), truth.states, truth.readings, strict=True)
    return replace(truth, readings=tuple(read(*moment) for moment in moments))


def _force_at(push: Push, t: float) -> PointForce | None:
    if not push.start <= t < push.start + push.duration:
        return None
    return PointForce(push.link, np.asarray(push.force), np.asarray(push.point_L))
