"""Which joint of the model is which entry of a joint state: names in any order, prefixes, maps, no names."""

import os
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.errors import ConfigurationError, MeasurementError, did_you_mean, listing
from inertial_estimation.inputs.config import JointNameConfig
from inertial_estimation.models.robot_model import RobotModel

MOST_KNOWN = 128  # orders of names that are remembered
FEWEST_FOR_PREFIX = 2  # joints that must have a prefix in common, unless the model has a single one
UNNAMED = ""  # in place of each name of a message that has none


class JointOrder(NamedTuple):
    """Where a joint state has which joints of the model.

    Attributes:
        joints: Indices of the joints of the model that it has, ascending.
        places: Place of each of them among the entries of the joint state.
        remark: What was done to the names, for people; empty where they are those of the model.
    """

    joints: NDArray[np.int64]
    places: NDArray[np.int64]
    remark: str


class JointNames:
    """Finds the joints of a model among the names of joint states; each order of names is resolved once.

    Attributes:
        changes: Number of times that names have come which were not known.
    """

    def __init__(self, robot: RobotModel, config: JointNameConfig) -> None:
        """Check the parameters against the model.

        Raises:
            ConfigurationError: If the map or the order names a joint that the model does not have.
        """
        self._joints = {name: j for j, name in enumerate(robot.joint_names)}
        self._prefix = config.prefix
        self._map: dict[str, str] = {}
        for entry in config.map:
            sent, equals, name = (part.strip() for part in entry.partition("="))
            if not equals:
                raise ConfigurationError(f"'joint_names.map' has '{entry}', expected 'sent=model'")
            self._map[sent] = name
        self._order = config.order
        wanted = [*self._map.values(), *(name for name in config.order if name)]
        for name in wanted:
            if name not in self._joints:
                hint = did_you_mean(name, robot.joint_names, "the model has")
                raise ConfigurationError(f"'joint_names' names '{name}', which is no joint of the model{hint}")
        self._known: dict[tuple[str, ...], JointOrder] = {}
        self.changes = 0

    def order(self, names: tuple[str, ...]) -> JointOrder:
        """Return which joints of the model a joint state has, and where.

        Args:
            names: Its names; all of them empty where it has none.

        Raises:
            MeasurementError: If it has no names, none of the model, or one of the model twice.
        """
        known = self._known.get(names)
        if known is None:
            known = self._resolved(names)
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            self._known[names] = known
            self.changes += 1
        return known

    def _resolved(self, names: tuple[str, ...]) -> JointOrder:
        remark = ""
        if names and not any(names):
            names = self._in_order(len(names))
        sent = [self._map.get(name, name.removeprefix(self._prefix)) for name in names]
        if not any(name in self._joints for name in sent):
            sent, remark = self._without_prefix(sent)
        where: dict[int, int] = {}
        for place, name in enumerate(sent):
            joint = self._joints.get(name)
            if joint is None:
                continue
            if joint in where:
                raise MeasurementError(f"the joint state names {name} more than once")
            where[joint] = place
        if not where:
            hint = did_you_mean(names[0], self._joints, "the model has") if names else ""
            raise MeasurementError(f"the joint state has no joint of the model, it has {listing(names, limit=6)}{hint}")
        joints = sorted(where)
        places = np.array([where[j] for j in joints], dtype=np.int64)
        return JointOrder(np.array(joints, dtype=np.int64), places, remark)

    def _in_order(self, count: int) -> tuple[str, ...]:
        if not self._order:
            raise MeasurementError(
                f"the joint state has {count} positions and no names: set joint_names.order to the names of the model"
            )
        if len(self._order) != count:
            raise MeasurementError(
                f"the joint state has {count} positions and no names, joint_names.order has {len(self._order)}"
            )
        return self._order

    def _without_prefix(self, sent: list[str]) -> tuple[list[str], str]:
        """Return names without the prefix that all of them have, or with the one that those of the model have."""
        needed = min(FEWEST_FOR_PREFIX, len(self._joints), len(sent))
        shared = os.path.commonprefix(sent) if len(sent) > 1 else (sent[0] if sent else "")
        for cut in range(len(shared), 0, -1):
            cut_names = [name[cut:] for name in sent]
            if sum(name in self._joints for name in cut_names) >= needed:
                return cut_names, f"joint names have the prefix '{shared[:cut]}', which is taken off"
        own = os.path.commonprefix(list(self._joints)) if len(self._joints) > 1 else next(iter(self._joints), "")
        for cut in range(len(own), 0, -1):
            longer = [own[:cut] + name for name in sent]
            if sum(name in self._joints for name in longer) >= needed:
                return longer, f"the model's joint names have the prefix '{own[:cut]}', which is put before those sent"
        return sent, ""
