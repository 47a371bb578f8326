"""A small seeded part of the fuzz of files, in this process: each file is read, or refused in one line."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.file_fuzz import KINDS, mutated
from inertial_estimation.errors import InertialEstimationError

CASES = 15


@pytest.mark.parametrize("name", KINDS)
def test_mutated_files_are_read_or_refused_in_one_line(name: str, tmp_path: Path) -> None:
    kind = KINDS[name]
    file = kind.make(tmp_path / "good")
    good = file.read_bytes()
    kind.read(file)
    refused = 0
    for seed in range(CASES):
        file.write_bytes(mutated(good, kind.text, np.random.default_rng(seed)))
        try:
            kind.read(file)
        except InertialEstimationError as error:
            refusal = str(error)
            refused += 1
        else:
            refusal = ""
        assert "\n" not in refusal
    assert refused or name == "metadata"  # without which a bag is read from its files
