"""Values that are made past their constructor are what this would have made."""

import copy
import pickle
from dataclasses import FrozenInstanceError, dataclass, fields

import numpy as np
import pytest

from inertial_estimation.construction import made_of_checked
from inertial_estimation.signals import BaseState


@dataclass(frozen=True, slots=True)
class Pair:
    """Two values, one with a default."""

    first: float
    second: tuple[int, ...] = (1, 2)


def test_a_value_is_the_one_that_its_constructor_makes_and_as_frozen():
    made = made_of_checked(Pair)(1.5, (3,))
    assert type(made) is Pair
    assert made == Pair(1.5, (3,))
    assert (hash(made), repr(made)) == (hash(Pair(1.5, (3,))), repr(Pair(1.5, (3,))))
    with pytest.raises(FrozenInstanceError):
        made.first = 2.0
    with pytest.raises((AttributeError, TypeError)):
        object.__setattr__(made, "third", 0)
    with pytest.raises(TypeError, match="second"):
        made_of_checked(Pair)(1.5)


@pytest.mark.parametrize("same", [copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])
def test_a_value_is_copied_and_pickled(same):
    zeros = np.zeros(3)
    made = made_of_checked(BaseState)(7, np.array([0.0, 0.0, 0.0, 1.0]), zeros, zeros, zeros)
    again = same(made)
    assert type(again) is BaseState
    for field in fields(BaseState):
        np.testing.assert_array_equal(getattr(again, field.name), getattr(made, field.name))
