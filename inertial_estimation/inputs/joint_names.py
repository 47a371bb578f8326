"""Which joint of the model is which entry of a joint state: names in any order, prefixes, maps, no names."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.errors import ConfigurationError, MeasurementError, did_you_mean, listing
from inertial_estimation.inputs.config import JointNameConfig
from inertial_estimation.models.robot_model import RobotModel

MOST_LISTED = 6  # names of a message


class JointOrder(NamedTuple):
    """Where a joint state has which joints of the model."""

    joints: NDArray[np.int64]  # indices of the joints of the model that it has, ascending
    places: NDArray[np.int64]  # place of each of them among the entries of the joint state
    remark: str = ""  # what was done to the names, for people


class JointNames:
    """Finds the joints of a model among the names of joint states."""

    def __init__(self, robot: RobotModel, config: JointNameConfig) -> None:
        """Check the parameters against the model.

        Raises:
            ConfigurationError: If the map or the order names a joint that the model does not have.
        """
        self._joints = {name: j for j, name in enumerate(robot.joint_names)}
        self._prefix, self._order = config.prefix, config.order
        self._map = dict(entry.partition("=")[::2] for entry in config.map)
        for name in (*self._map.values(), *config.order):
            if name not in self._joints:
                hint = did_you_mean(name, robot.joint_names, "the model has")
                raise ConfigurationError(
                    f"'joint_names' names '{name}', which is no joint of the model{hint}"
                )

    def order(self, names: tuple[str, ...]) -> JointOrder:
        """Return which joints of the model a joint state has, and where; without names all of them are empty.

        Raises:
            MeasurementError: If it has no names, none of the model, or one of the model twice.
        """
        if not any(names):
            names = self._without_names(len(names))
        sent, remark = [self._map.get(name, name.removeprefix(self._prefix)) for name in names], ""
        if not any(name in self._joints for name in sent):
            sent, remark = self._without_prefix(sent)
        places = {name: place for place, name in enumerate(sent)}
        twice = [name for name in self._joints if sent.count(name) > 1] if len(places) < len(sent) else []
        if twice:
            raise MeasurementError(f"the joint state names {listing(twice)} more than once")
        joints = [name for name in self._joints if name in places]
        if not joints:
            hint = did_you_mean(names[0], self._joints, "the model has", limit=MOST_LISTED) if names else ""
            has = listing(names, limit=MOST_LISTED)
            raise MeasurementError(f"the joint state has no joint of the model, it has {has}{hint}")
        numbers = np.array([[self._joints[name], places[name]] for name in joints], dtype=np.int64).T
        return JointOrder(numbers[0], numbers[1].copy(), remark)

    def _without_names(self, count: int) -> tuple[str, ...]:
        if not count or len(self._order) == count:
            return self._order[:count]
        has = f"'joint_names.order' has {len(self._order)}" if self._order else "set joint_names.order"
        raise MeasurementError(f"the joint state has {count} positions and no names: {has}")

    def _without_prefix(self, sent: list[str]) -> tuple[list[str], str]:
        """Return names without the prefix that all of them have before those of the model."""
        ends = [name for joint in self._joints for name in sent if name.endswith(joint)]
        for joint in self._joints if len(ends) >= min(2, len(sent)) else ():
            prefix = next((name.removesuffix(joint) for name in sent if name.endswith(joint)), "")
            if prefix and all(name.startswith(prefix) for name in sent):
                taken = f"joint names have the prefix '{prefix}', which is taken off (joint_names.prefix)"
                return [name.removeprefix(prefix) for name in sent], taken
        return sent, ""
