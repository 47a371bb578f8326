"""The tilt pipeline gives the same numbers with and without numba."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from inertial_estimation.compilation import compiling

RUN = """
import sys
import numpy as np
from support.leg_robot import Stance, push_stance, tilt_pipeline

rows = []
for options in ({}, {"contact.point": "centre_of_pressure", "contact.velocity": "position_difference"}):
    pipeline, stance = tilt_pipeline(**options), Stance(3, still_until=0.5)
    for k in range(200):
        stamp = (k + 1) * 5_000_000
        push_stance(pipeline, stance, stamp, 1e-9 * stamp)
        for e in pipeline.tick(stamp):
            s = e.state
            rows.append([*s.quaternion_xyzw, *s.p_WB, *s.v_WB_B, *s.w_WB_B, *e.gyro_bias_I, *e.innovation_I,
                         *e.tilt_covariance_B.ravel(), *e.gyro_bias_variances])
np.save(sys.argv[1], np.array(rows))
"""


def estimates(path, **environment):
    paths = os.pathsep.join([str(Path(__file__).resolve().parents[2]), *filter(None, sys.path)])
    subprocess.run(
        [sys.executable, "-c", RUN, str(path)],
        check=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": paths, **environment},
    )
    return np.load(path)


def test_compiled_estimates_equal_those_of_the_python_source(tmp_path):
    if not compiling():
        pytest.skip("numba is not installed, or switched off")
    compiled = estimates(tmp_path / "compiled.npy")
    python = estimates(tmp_path / "python.npy", NUMBA_DISABLE_JIT="1")
    assert len(compiled) > 200
    np.testing.assert_allclose(compiled, python, rtol=0.0, atol=1e-12)
