"""Learning that begins anew where the first data have taught something wrong."""

import numpy as np
from support.inertial_scenes import MEMORY, PRIOR, ArmScene

from inertial_estimation.inertial.noise import AdaptiveNoise
from inertial_estimation.estimators.inertial.corrected_filter import MOST_STARTS, CorrectedFilter
from inertial_estimation.estimators.inertial.guarded_filter import GuardedFilter
from inertial_estimation.estimators.inertial.log_cholesky_ekf import LogCholeskyEkf
from inertial_estimation.estimators.inertial.noise_config import NoiseAdaptationConfig
from inertial_estimation.inertial.residual_bias import ResidualBias
from inertial_estimation.estimators.inertial.watch_config import WatchConfig

DT = 0.01


class Fresh:
    """A comparison of which a test says whether a filter that begins now predicts better."""

    is_past = better = False

    def reset(self):
        pass

    def feed(self, equation, update, dt):
        return self.better

    def pause(self, dt):
        pass


def corrected(scene):
    gate, rows = scene.gate(), scene.measurement.row_names
    filter_ = LogCholeskyEkf(scene.bodies, PRIOR, gate, MEMORY)
    guarded = GuardedFilter(filter_, len(rows), WatchConfig(), scene.inquiry(), 0.05)
    noise = AdaptiveNoise(rows, gate.config.quantile, NoiseAdaptationConfig())
    other = LogCholeskyEkf(scene.bodies, PRIOR, scene.gate(), MEMORY)
    made = CorrectedFilter(guarded, ResidualBias(len(rows), 2.0, 0.05), noise, other)
    made._fresh = Fresh()
    return made


def mass_of(filter_):
    return filter_.guarded.filter.masses_of(filter_.guarded.reported.x)[0]


def fed(filter_, scene, steps):
    still = np.zeros(scene.robot.n_joints)
    for _ in range(steps):
        filter_.update(scene.equation(), still, DT, learn=True)


def test_learning_begins_anew_a_few_times_and_says_so():
    scene = ArmScene(links=("panda_link7",))
    scene.add_payload(0, 1.0, [0.0, 0.0, 0.1])
    filter_, nominal = corrected(scene), scene.bodies[0].nominal_C[0]
    fed(filter_, scene, 50)
    learned = mass_of(filter_)
    assert abs(learned - nominal - 1.0) < 0.1
    assert filter_.noise_note(3.0) == ""
    filter_._fresh.better = True
    fed(filter_, scene, 1)
    assert abs(mass_of(filter_) - nominal) < 1e-9
    assert "begun anew" in filter_.noise_note(3.0)
    fed(filter_, scene, MOST_STARTS)  # from the last start on, whatever is better
    fed(filter_, scene, 50)
    assert abs(mass_of(filter_) - nominal - 1.0) < 0.1
    fed(filter_, scene, round(10.0 / DT))
    assert filter_.noise_note(3.0) == ""
