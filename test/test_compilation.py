"""Compiled functions: the same numbers as their Python source, compiled once and kept on disk."""

import math
import os
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from inertial_estimation import compilation
from inertial_estimation.compilation import Column, MutableColumn, compiled, inlined, warm_up

Pair = tuple[float, float]


@inlined
def turned(angle: float, a: Pair) -> Pair:
    return math.cos(angle) * a[0] - math.sin(angle) * a[1], math.sin(angle) * a[0] + math.cos(angle) * a[1]


@compiled
def step(h: float, on: bool, count: int, a: Pair, x: Column, y: MutableColumn) -> tuple[Pair, float]:
    for i in range(count):
        y[i] += h * x[i]
    return turned(h, a), math.exp(h) if on else 0.0


@pytest.fixture
def numba():
    if not compilation.compiling():
        pytest.skip("numba is not installed, or switched off")
    return pytest.importorskip("numba")


def test_a_compiled_function_gives_the_numbers_of_its_source(numba):
    warm_up()
    x = np.array([1.0, 2.0, 3.0])
    x.setflags(write=False)
    y, expected = np.zeros(3), np.zeros(3)
    vector, growth = step(0.3, True, 2, (0.1, -0.7), x, y)
    its_vector, its_growth = step.py_func(0.3, True, 2, (0.1, -0.7), x, expected)
    assert (*vector, growth) == pytest.approx((*its_vector, its_growth), rel=1e-15)
    assert y.tolist() == expected.tolist() == [0.3, 0.6, 0.0]


def test_a_call_converts_integers_and_compiles_nothing(numba):
    warm_up()
    y = np.zeros(3)
    (a, b), growth = step(0, True, 3, (1, 0), np.ones(3), y)
    assert (a, b, growth) == (1.0, 0.0, 1.0)
    assert isinstance(a, float)
    assert len(step.signatures) == 1
    with pytest.raises(TypeError, match="No matching definition"):
        step("0", True, 3, (1, 0), np.ones(3), y)


def test_arguments_that_cannot_be_compiled_are_named(numba, monkeypatch):
    def of_text(name: str) -> int:
        return len(name)

    monkeypatch.setattr(compilation, "_waiting", [])
    compiled(of_text)
    with pytest.raises(TypeError, match=r"of_text' cannot be compiled for .*str"):
        warm_up()


def test_machine_code_is_kept_where_numba_is_told(numba, monkeypatch, tmp_path):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    folder = compilation._cache_folder.__wrapped__()
    assert Path(folder).parent == tmp_path / "inertial_estimation"
    assert Path(folder).is_dir()


def test_what_is_not_on_disk_is_told_once_and_counted(numba, monkeypatch, tmp_path):
    monkeypatch.setattr(compilation, "_cache_folder", lambda: str(tmp_path))
    monkeypatch.setattr(compilation, "_waiting", [])
    (tmp_path / "functions.py").write_text(
        "from inertial_estimation.compilation import compiled\n"
        "@compiled\ndef doubled(a: float) -> float:\n    return 2.0 * a\n"
        "@compiled\ndef tripled(a: float) -> float:\n    return 3.0 * a\n"
    )
    told = []
    for expected in (2, 0):  # compiled, then from disk
        runpy.run_path(str(tmp_path / "functions.py"))
        compilation.when_compiling(told.append)
        assert warm_up() == expected
        assert told == [1]
    compilation._tellers.clear()


def test_processes_that_start_together_share_the_work(numba, tmp_path):
    source = "from inertial_estimation.compilation import compiled, warm_up\n" + "".join(
        f"@compiled\ndef f{i}(a: float) -> float:\n    return a ** {i} + max(a, {i}.0) * abs(a)\n"
        for i in range(8)
    )
    (tmp_path / "functions.py").write_text(source)
    code = "import functions; print(functions.warm_up(), functions.f2(3.0))"
    environment = {
        **os.environ,
        "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
        "PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}",
    }
    command = [sys.executable, "-c", code]
    both = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    made, results = zip(*(process.communicate(timeout=120)[0].split() for process in both), strict=True)
    assert sum(map(int, made)) == 8, "each function by one of them"
    assert results == ("18.0", "18.0")


def test_whether_others_compile_is_seen_by_their_locks(monkeypatch, tmp_path):
    fcntl = pytest.importorskip("fcntl", reason="needs locks of files")
    monkeypatch.setattr(compilation, "_cache_folder", lambda: str(tmp_path))
    assert not compilation.others_compile()
    with (tmp_path / "module.function.lock").open("w") as file:
        assert not compilation.others_compile()
        fcntl.flock(file, fcntl.LOCK_EX)
        assert compilation.others_compile()
    assert not compilation.others_compile()


def test_without_a_writable_folder_functions_are_compiled_all_the_same(numba, monkeypatch, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(blocked))
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    assert compilation._cache_folder.__wrapped__() == ""
    monkeypatch.setattr(compilation, "_cache_folder", lambda: "")
    assert compilation.kept_in() == ""

    def doubled(a: float) -> float:
        return 2.0 * a

    function = compiled(doubled)
    warm_up()
    assert function(1.5) == 3.0
    assert len(function.signatures) == 1


def test_the_folder_is_named_after_the_contents_of_the_compiled_sources(monkeypatch, tmp_path):
    monkeypatch.setattr(compilation, "__file__", str(tmp_path / "compilation.py"))
    names = []
    for text in ("x = 1", "x = 2"):
        (tmp_path / "other.py").write_text(text)
        names.append(compilation._fingerprint())
        (tmp_path / "step.py").write_text(f"from {compilation.MARK.decode()} import compiled; {text}")
        names.append(compilation._fingerprint())
    assert names[0] != names[1] == names[2] != names[3]


@pytest.mark.parametrize("switch", ["NUMBA_DISABLE_JIT=1", "not installed"])
def test_without_numba_the_decorators_return_the_function(switch, tmp_path):
    code = (
        "import os, sys\n"
        + ("sys.modules['numba'] = None\n" if switch == "not installed" else "")
        + "from inertial_estimation.compilation import compiled, compiling, inlined, warm_up\n"
        "def f(a: float) -> float: return a\n"
        "assert compiled(f) is f and inlined(f) is f and not compiling()\n"
        "warm_up()\n"
        "assert sys.modules.get('numba') is None, 'nothing has loaded it'\n"
    )
    environment = {**os.environ, **({} if switch[0] == "n" else {"NUMBA_DISABLE_JIT": "1"})}
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60, env=environment)


def test_a_numba_that_does_not_load_is_said_once_and_not_used(monkeypatch, tmp_path):
    (tmp_path / "numba.py").write_text("raise ImportError('Numba needs NumPy 2.2 or less')")
    code = (
        "import warnings\n"
        "from inertial_estimation.compilation import compiled\n"
        "with warnings.catch_warnings(record=True) as said:\n"
        "    warnings.simplefilter('always')\n"
        "    def f(a: float) -> float: return a\n"
        "    assert compiled(f) is f and compiled(f) is f\n"
        "assert [str(w.message) for w in said] == "
        "['numba does not load, so nothing is compiled: Numba needs NumPy 2.2 or less']\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    path = f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"
    environment = {**os.environ, "PYTHONPATH": path, "NUMBA_DISABLE_JIT": "0"}
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60, env=environment)
