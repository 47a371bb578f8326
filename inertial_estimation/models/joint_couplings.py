"""Motors that drive several joints: their friction and rotor inertia act on all of these joints.

In a coupled wrist a motor turns with a combination of joint speeds, w = C v with one row of C for each motor.
(The wrist of the Staubli TX40, whose sixth motor turns with q5 + q6, is the textbook case: Khalil and Dombre
2002, section 12.6.)
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.signals import Array

COUPLING_TERMS = ("coulomb", "viscous", "armature")  # a constant torque belongs to the joints' own offsets


@dataclass(frozen=True, eq=False)
class JointCouplings:
    """Motors that each drive several joints.

    Attributes:
        names: Speed of each motor as a combination of joints, in one way of writing: "a + b", "a - 0.5*b".
        matrix: C, the speed of each motor by those of the joints, shape (k, n_joints).
    """

    names: tuple[str, ...]
    matrix: Array

    @classmethod
    def parsed(cls, texts: Sequence[str], robot_joints: Sequence[str], name: str) -> "JointCouplings":
        """Read combinations of joints such as ``joint_5 + joint_6``, ``a - 0.5*b``.

        Args:
            texts: One for each motor; signs stand between spaces.
            robot_joints: Names of the joints in the model's order.
            name: Name of the parameter, for messages.

        Raises:
            ConfigurationError: If a text has another form, fewer than two joints, or is given twice.
        """
        matrix = np.zeros((len(texts), len(robot_joints)))
        for i, text in enumerate(texts):
            for factor, joint in _terms(text, name):
                if joint not in robot_joints:
                    raise ConfigurationError(
                        f"'{name}' couples '{joint}' in '{text}', which is no joint; the model has "
                        f"{', '.join(robot_joints)}"
                    )
                matrix[i, list(robot_joints).index(joint)] += factor
            if np.count_nonzero(matrix[i]) < 2:
                raise ConfigurationError(f"'{name}' has '{text}', expected two joints or more")
        names = tuple(_in_words(row, robot_joints) for row in matrix)
        if len(set(names)) < len(names):
            raise ConfigurationError(f"'{name}' gives a coupling more than once: {', '.join(texts)}")
        return cls(names, matrix)

    @property
    def size(self) -> int:
        """Number of motors."""
        return len(self.names)


def _terms(text: str, name: str) -> list[tuple[float, str]]:
    """Return factor and joint of every term of a combination."""
    text = re.sub(r"\s*\*\s*", "*", text.strip())
    text = f"{text[0]} {text[1:]}" if text[:1] in ("+", "-") else f"+ {text}"
    tokens = text.split()
    found: list[tuple[float, str]] = []
    for sign, token in zip(tokens[::2], tokens[1::2], strict=False):
        number, star, joint = token.rpartition("*")
        try:
            factor = float(number) if star else 1.0
        except ValueError:
            factor = 0.0
        if sign not in ("+", "-") or not joint or not np.isfinite(factor) or not factor > 0.0:
            found = []
            break
        found.append((-factor if sign == "-" else factor, joint))
    if len(found) < 2 or len(tokens) % 2:
        raise ConfigurationError(
            f"'{name}' has '{text}', expected joints between signs and spaces, as 'joint_5 + joint_6' or "
            "'joint_5 - 0.5*joint_6'"
        )
    return found


def _in_words(row: Array, joints: Sequence[str]) -> str:
    """Return a combination in the order of the joints, so that two ways of writing it have one name."""
    words = ""
    for j in np.flatnonzero(row).tolist():
        factor = float(row[j])
        sign = ("-" if factor < 0.0 else "") if not words else (" - " if factor < 0.0 else " + ")
        size = "" if abs(factor) == 1.0 else f"{abs(factor):g}*"
        words += f"{sign}{size}{joints[j]}"
    return words
