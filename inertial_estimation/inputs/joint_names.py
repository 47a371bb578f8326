"""Which joint of the model is which entry of a joint state: names in any order, prefixes, maps, no names."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.errors import ConfigurationError, MeasurementError, did_you_mean, listing
from inertial_estimation.inputs.config import JointNameConfig
from inertial_estimation.models.robot_model import RobotModel

MOST_LISTED = 6  # names of a message


class JointOrder(NamedTuple):
    """Where a joint state has which joints of the model.

    Attributes:
        joints: Indices of the joints of the model that it has, ascending.
        places: Place of each of them among the entries of the joint state.
        remark: What was done to the names, for people; empty where they are those of the model.
    """

    joints: NDArray[np.int64]
    places: NDArray[np.int64]
    remark: str = ""


class JointNames:
    """Finds the joints of a model among the names of joint states."""

    def __init__(self, robot: RobotModel, config: JointNameConfig) -> None:
        """Check the parameters against the model.

        Raises:
            ConfigurationError: If the map or the order names a joint that the model does not have.
        """
        self._joints = {name: j for j, name in enumerate(robot.joint_names)}
        self._prefix, self._order = config.prefix, config.order
        pairs = [tuple(part.strip() for part in entry.split("=", 1)) for entry in config.map]
        if any(len(pair) != 2 for pair in pairs):
            raise ConfigurationError(
                f"'joint_names.map' has {listing(config.map)}, expected 'sent=model' each"
            )
        self._map = {pair[0]: pair[1] for pair in pairs}
        for name in (*self._map.values(), *config.order):
            if name not in self._joints:
                hint = did_you_mean(name, robot.joint_names, "the model has")
                raise ConfigurationError(
                    f"'joint_names' names '{name}', which is no joint of the model{hint}"
                )

    def order(self, names: tuple[str, ...]) -> JointOrder:
        """Return which joints of the model a joint state has, and where.

        Args:
            names: Its names; all of them empty where it has none.

        Raises:
            MeasurementError: If it has no names, none of the model, or one of the model twice.
        """
        if not any(names):
            names = self._without_names(len(names))
        sent, remark = [self._map.get(name, name.removeprefix(self._prefix)) for name in names], ""
        if not any(name in self._joints for name in sent):
            sent, remark = self._without_prefix(sent)
        places = {name: place for place, name in enumerate(sent)}
        if len(places) < len(sent):
            twice = [name for name in self._joints if sent.count(name) > 1]
            if twice:
                raise MeasurementError(f"the joint state names {listing(twice)} more than once")
        joints = [j for name, j in self._joints.items() if name in places]
        if not joints:
            hint = did_you_mean(names[0], self._joints, "the model has", limit=MOST_LISTED) if names else ""
            has = listing(names, limit=MOST_LISTED)
            raise MeasurementError(f"the joint state has no joint of the model, it has {has}{hint}")
        known = list(self._joints)
        return JointOrder(np.array(joints), np.array([places[known[j]] for j in joints]), remark)

    def _without_names(self, count: int) -> tuple[str, ...]:
        if not count or len(self._order) == count:
            return self._order[:count]
        has = f"'joint_names.order' has {len(self._order)}" if self._order else "set joint_names.order"
        raise MeasurementError(f"the joint state has {count} positions and no names: {has}")

    def _without_prefix(self, sent: list[str]) -> tuple[list[str], str]:
        """Return names without the prefix that all have, or with the one that those of the model have."""
        shared = _common_start(sent)
        for cut in range(len(shared), 0, -1):
            if sum(name[cut:] in self._joints for name in sent) >= min(2, len(sent)):
                taken = (
                    f"joint names have the prefix '{shared[:cut]}', which is taken off (joint_names.prefix)"
                )
                return [name[cut:] for name in sent], taken
        own = _common_start(list(self._joints))
        for cut in range(len(own), 0, -1):
            if sum(own[:cut] + name in self._joints for name in sent) >= min(2, len(sent)):
                put = f"the model's joint names have the prefix '{own[:cut]}', which is put before those sent"
                return [own[:cut] + name for name in sent], put
        return sent, ""


def _common_start(names: Sequence[str]) -> str:
    """Return the longest text that all names begin with."""
    first, last = min(names, default=""), max(names, default="")
    same = [a == b for a, b in zip(first, last, strict=False)]
    return first[: same.index(False) if False in same else len(same)]
