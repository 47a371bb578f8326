"""Applies disturbances to a robot's physics."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.models.robot_model import LinkBody
from inertial_estimation.signals import LinkInertia
from inertial_estimation.simulation.disturbances import Attachment, Disturbance, Impact, MassWaveform, Push
from inertial_estimation.simulation.robot_build import set_body_inertia
from inertial_estimation.simulation.robot_physics import RobotPhysics
from inertial_estimation.spatial.inertial_parameters import InertialParameters


class DisturbedRobot:
    """Applies the masses, payloads and forces of disturbances to a robot."""

    def __init__(self, physics: RobotPhysics, disturbances: Sequence[Disturbance], step: float) -> None:
        """Resolve the links.

        Args:
            physics: The robot.
            disturbances: The disturbances of the robot.
            step: Step of the integration, over which an impact lasts [s].

        Raises:
            ~inertial_estimation.errors.ModelError: If a link does not exist.
            ConfigurationError: If the body of a link whose inertia changes does not move.
        """
        self._physics, self._step = physics, step
        self._bodies: dict[str, LinkBody] = {d.link: physics.robot.link_body(d.link) for d in disturbances}
        inertial = [d for d in disturbances if isinstance(d, MassWaveform | Attachment)]
        self._waves: dict[int, list[MassWaveform]] = {}
        self._attached: dict[int, list[Attachment]] = {}
        self._blows = [d for d in disturbances if isinstance(d, Push | Impact)]
        for d in inertial:
            joint = self._bodies[d.link].joint_id
            if joint == 0:
                raise ConfigurationError(f"link '{d.link}' is bolted to the world: its inertia has no effect")
            if isinstance(d, MassWaveform):
                self._waves.setdefault(joint, []).append(d)
            else:
                self._attached.setdefault(joint, []).append(d)
        for waves in self._waves.values():
            _check_one_at_a_time(waves)
        self._state: dict[int, tuple[Any, ...]] = {}

    def set_inertias(self, time: float) -> bool:
        """Set the inertias of the bodies at a time.

        Args:
            time: Since the release [s].

        Returns:
            Whether any changed.
        """
        changed = False
        for joint in self._waves.keys() | self._attached.keys():
            mass = next((m for w in self._waves.get(joint, ()) if (m := w.mass(time)) is not None), None)
            present = tuple(a.present(time) for a in self._attached.get(joint, ()))
            state = (mass, present)
            if state != self._state.get(joint):
                self._state[joint] = state
                set_body_inertia(self._physics.model, self._physics.built.bodies[joint], self._inertia(joint))
                changed = True
        return changed

    def push(self, time: float) -> None:
        """Apply the forces of the step that begins at a time [s]."""
        if not self._blows:
            return
        self._physics.clear_pushes()
        for blow in self._blows:
            force = blow.force_at(time, self._step)
            if force is None:
                continue
            body = self._bodies[blow.link]
            index = self._physics.built.bodies[body.joint_id]
            R_WJ = self._physics.data.xmat[index].reshape(3, 3)
            point_W = self._physics.data.xpos[index] + R_WJ @ body.T_JL.act(np.asarray(blow.point_L))
            force_W = R_WJ @ body.T_JL.rotation @ force if blow.frame == "link" else force
            self._physics.push(index, point_W, force_W)

    def link_inertia(self, link: str) -> LinkInertia:
        """Return the present inertia of the body of a link, in the link's frame.

        Raises:
            ~inertial_estimation.errors.ModelError: If there is no such link.
        """
        body = self._physics.robot.link_body(link)
        value = self._inertia(body.joint_id).expressed_in(body.T_JL.inverse())
        return LinkInertia(link, value.mass, value.com_F, value.inertia_Fcm)

    def _inertia(self, joint: int) -> InertialParameters:
        nominal = InertialParameters.from_pinocchio(self._physics.robot.model.inertias[joint])
        mass, present = self._state.get(joint, (None, ()))
        vector = nominal.vector if mass is None else nominal.vector * (mass / nominal.mass)
        for attachment, here in zip(self._attached.get(joint, ()), present, strict=False):
            if here:
                body = attachment.body
                added = InertialParameters(body.mass, body.com_L, body.inertia_Lcm)
                vector = vector + added.expressed_in(self._bodies[body.link].T_JL).vector
        return InertialParameters.from_vector(vector)


def _check_one_at_a_time(waves: Sequence[MassWaveform]) -> None:
    ordered = sorted(waves, key=lambda wave: wave.start)
    for first, second in pairwise(ordered):
        if second.start < first.stop:
            raise ConfigurationError(
                f"the mass waveforms of '{first.link}' (until {first.stop:g} s) and '{second.link}' (from "
                f"{second.start:g} s) overlap on one body, expected one at a time"
            )
