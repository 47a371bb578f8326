"""How probable assumptions about the joints are: many at once as one by one."""

from dataclasses import replace

import numpy as np
import pytest

from inertial_estimation.bring_up.case import Case
from inertial_estimation.bring_up.hypothesis_evidence import evidence, evidence_of_exchanged_efforts
from inertial_estimation.models.robot_config import robot_from_config

SOLES = np.tile([0.0, 0.0, 1.0], (2, 1))


@pytest.fixture(scope="module", params=["panda", "talos"])
def case(request):
    robot = request.getfixturevalue(request.param)
    return Case(robot.streams, robot_from_config(robot.config, robot.urdf), robot.config)


def exchanged(values, i, j):
    values = values.copy()
    values[:, [i, j]] = values[:, [j, i]]
    return values


def numbers(found):
    return [(one.log, one.disagreement) for one in found]


def test_exchanged_efforts_are_judged_as_a_table_with_their_columns_exchanged(case):
    table, slopes = case.signals.windows, case.signals.dtau
    silent = replace(table, tau=table.tau * (np.arange(table.n_joints) != 2))  # one joint sends no effort
    pairs = [(0, 1), (2, 5), (4, 2)]
    for given in (table, silent):
        explicit = [
            evidence([replace(given, tau=exchanged(given.tau, i, j))], [exchanged(slopes, i, j)], SOLES)[0]
            for i, j in pairs
        ]
        found = evidence_of_exchanged_efforts(given, slopes, pairs, SOLES)
        np.testing.assert_allclose(numbers(found), numbers(explicit), rtol=1e-9)
        assert len({round(one.log, 3) for one in found}) == len(pairs), "they differ"


def test_tables_are_judged_together_as_one_by_one(case):
    table, slopes = case.signals.windows, case.signals.dtau
    unknown = replace(table, tau=np.where(np.arange(len(table.tau))[:, None] < 7, np.nan, table.tau))
    without = replace(table, tau=np.full_like(table.tau, np.nan))
    tables = [table, unknown, without, replace(table, tau=-table.tau)]
    together = evidence(tables, [slopes] * len(tables), SOLES)
    alone = [evidence([one], [slopes], SOLES)[0] for one in tables]
    np.testing.assert_allclose(numbers(together), numbers(alone), rtol=1e-9)
    assert together[0].log > together[3].log, "the efforts have the described sign"
