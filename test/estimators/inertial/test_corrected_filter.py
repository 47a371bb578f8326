"""Learning that begins anew where the first data have taught something wrong."""

import numpy as np
from support.inertial_scenes import MEMORY, PRIOR, ArmScene

from inertial_estimation.estimators.inertial.adaptive_noise import AdaptiveNoise
from inertial_estimation.estimators.inertial.corrected_filter import MOST_STARTS, CorrectedFilter
from inertial_estimation.estimators.inertial.guarded_filter import GuardedFilter
from inertial_estimation.estimators.inertial.log_cholesky_ekf import LogCholeskyEkf
from inertial_estimation.estimators.inertial.noise_config import NoiseAdaptationConfig
from inertial_estimation.estimators.inertial.residual_bias import ResidualBias
from inertial_estimation.estimators.inertial.watch_config import WatchConfig

DT = 0.01


class DoubtfulNoise(AdaptiveNoise):
    """Noise of which a test says whether the first seconds show far too much."""

    doubtful = gone = False

    @property
    def outgrown(self):
        return self.doubtful

    @property
    def subsided(self):
        return self.gone


def corrected(scene):
    gate, rows = scene.gate(), scene.measurement.row_names
    filter_ = LogCholeskyEkf(scene.bodies, PRIOR, gate, MEMORY)
    guarded = GuardedFilter(filter_, len(rows), WatchConfig(), scene.inquiry(), 0.05)
    noise = DoubtfulNoise(rows, gate.config.quantile, NoiseAdaptationConfig())
    other = LogCholeskyEkf(scene.bodies, PRIOR, scene.gate(), MEMORY)
    return CorrectedFilter(guarded, ResidualBias(len(rows), 2.0, 0.05), noise, other)


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
    filter_.noise.doubtful = True
    fed(filter_, scene, 1)
    assert abs(mass_of(filter_) - nominal) < 1e-9
    assert "begun anew" in filter_.noise_note(3.0)
    fed(filter_, scene, MOST_STARTS)  # from the last start on, whatever the noise
    fed(filter_, scene, 50)
    assert abs(mass_of(filter_) - nominal - 1.0) < 0.1
    fed(filter_, scene, round(10.0 / DT))
    assert filter_.noise_note(3.0) == ""


def test_once_more_when_noise_that_was_adapted_to_was_that_of_the_first_data():
    scene = ArmScene(links=("panda_link7",))
    scene.add_payload(0, 1.0, [0.0, 0.0, 0.1])
    filter_, nominal = corrected(scene), scene.bodies[0].nominal_C[0]
    filter_.noise.doubtful = True
    fed(filter_, scene, MOST_STARTS)
    assert abs(mass_of(filter_) - nominal) > 0.5, "the last start"
    filter_.noise.gone = True
    fed(filter_, scene, 1)
    assert abs(mass_of(filter_) - nominal) < 1e-9
    assert "begun anew" in filter_.noise_note(3.0)
    fed(filter_, scene, 50)
    assert abs(mass_of(filter_) - nominal - 1.0) < 0.1, "once"
