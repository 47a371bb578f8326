"""Mutation score: how many small faults in a module do its tests notice?

    python benchmarks/mutation_score.py                              # every module, 30 mutants each
    python benchmarks/mutation_score.py gate hand_over --sample 0    # all mutants of two modules

A mutant is the module with one change: an operator exchanged, a term, a sign, a transposition or a statement
dropped, a comparison moved by its boundary or negated, a number changed, minimum and maximum exchanged. It is
killed if a test fails, an error is raised or the tests take several times as long as without it. Annotations,
declarations of parameters, messages and assertions are left as they are.

Each mutant is run in a fork of a process that has imported the libraries already, with the mutated module
in the place of the one on disk, which is never written. The sample of each module is drawn with a fixed seed.
"""

import argparse
import ast
import copy
import importlib.abc
import importlib.machinery
import importlib.util
import os
import random
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, ModuleType

ROOT = Path(__file__).resolve().parents[1]
SEED = 12
MANY = 30  # mutants of a module, unless the command line says otherwise
PATIENCE = 5.0  # times the duration of the tests without a mutant
INERTIAL = [
    f"test/estimators/inertial/test_{name}.py"
    for name in ("reopening", "posterior", "linearisation", "linear_kalman", "log_cholesky_ekf")
]
TILT = [
    f"test/estimators/tilt/test_{name}.py" for name in ("axes", "flight", "two_stage", "comparison_observers")
]
SPATIAL = ["test/spatial"]
INPUTS = ["test/estimators/inputs"]
TESTS = {
    "spatial/rotations": SPATIAL,
    "spatial/vectors": SPATIAL,
    "spatial/sphere": SPATIAL,
    "spatial/linear_algebra": SPATIAL,
    "spatial/inertial_parameters": SPATIAL,
    "spatial/log_cholesky": SPATIAL,
    "spatial/parameter_covariance": SPATIAL,
    "estimators/inertial/inertial_filter": INERTIAL,
    "estimators/inertial/linearisation": INERTIAL,
    "estimators/inertial/log_cholesky_ekf": INERTIAL,
    "estimators/inertial/gate": ["test/estimators/inertial/test_gate_decisions.py"],
    "estimators/inertial/hand_over": ["test/estimators/inertial/test_hand_over.py"],
    "estimators/tilt/tilt_observer": TILT,
    "estimators/tilt/two_stage_observer": TILT,
    "estimators/tilt/r3s2_observer": TILT,
    "estimators/tilt/hua_observer": TILT,
    "estimators/inputs/alignment": INPUTS,
    "estimators/inputs/input_stream": INPUTS,
    "estimators/inputs/stamped_buffer": INPUTS,
    "estimators/inputs/thinned_mean": INPUTS,
    "models/contacts": ["test/models/test_contacts.py", "test/estimators/tilt/test_wrench_frames.py"],
    "models/measurement_noise": [
        "test/models/test_measurement_noise.py",
        "test/models/test_dynamics_measurement.py",
    ],
    "models/dynamics_measurement": [
        "test/models/test_dynamics_measurement.py",
        "test/models/test_measurement_noise.py",
        "test/identification/test_measured_rows.py",
    ],
}
LIBRARIES = ("numpy", "scipy.linalg", "scipy.optimize", "scipy.stats", "scipy.spatial.transform", "pinocchio")

EXCHANGED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
}
DROPPED = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow)  # a + b becomes a
COMPARED: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
EXTREMES = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum"}


@dataclass(frozen=True)
class Mutant:
    """One change of a module.

    Attributes:
        line: Where it is.
        text: What it was and what it is.
        code: The changed module.
    """

    line: int
    text: str
    code: CodeType


def expressions(node: ast.AST) -> Iterator[ast.expr]:
    """Return what may stand in the place of an expression."""
    if isinstance(node, ast.BinOp):
        if type(node.op) in EXCHANGED:
            yield ast.BinOp(node.left, EXCHANGED[type(node.op)](), node.right)
        if isinstance(node.op, DROPPED):
            yield node.left
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        for other in COMPARED[type(node.ops[0])]:
            yield ast.Compare(node.left, [other()], node.comparators)
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not):
        yield node.operand
    elif isinstance(node, ast.Constant):
        if isinstance(node.value, bool):
            yield ast.Constant(not node.value)
        elif isinstance(node.value, int | float):
            yield ast.Constant(node.value + 1 if isinstance(node.value, int) else 2.0 * node.value or 1.0)
    elif isinstance(node, ast.IfExp):
        yield ast.IfExp(ast.UnaryOp(ast.Not(), node.test), node.body, node.orelse)
    elif isinstance(node, ast.Attribute) and node.attr == "T":
        yield node.value
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in EXTREMES:
        yield ast.Name(EXTREMES[node.id], ast.Load())
    elif isinstance(node, ast.Attribute) and node.attr in EXTREMES:
        yield ast.Attribute(node.value, EXTREMES[node.attr], ast.Load())


def statements(node: ast.AST, *, constructing: bool) -> Iterator[ast.stmt]:
    """Return what may stand in the place of a statement."""
    if (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)) or isinstance(node, ast.AugAssign):
        yield ast.Pass()
    elif isinstance(node, ast.Assign) and not constructing:
        if all(isinstance(target, ast.Attribute | ast.Subscript) for target in node.targets):
            yield ast.Pass()
    elif isinstance(node, ast.If) and not any(isinstance(child, ast.Raise) for child in node.body):
        yield ast.If(ast.UnaryOp(ast.Not(), node.test), node.body, node.orelse)


def places(
    node: ast.AST, *, constructing: bool = False
) -> Iterator[tuple[ast.AST, str, int | None, ast.AST]]:
    """Walk through what is executed: yield parent, field, index there, and another node for the place."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "bases", "type_params"):
            continue
        for index, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if not isinstance(child, ast.AST) or _declared(child, node):
                continue
            inside = child.name == "__init__" if isinstance(child, ast.FunctionDef) else constructing
            others = (*expressions(child), *statements(child, constructing=inside))
            yield from ((node, name, index, other) for other in others)
            yield from places(child, constructing=inside)


def _declared(child: ast.AST, parent: ast.AST) -> bool:
    """Whether a node is no behaviour: a message, an assertion, the declaration of a parameter or a name."""
    if isinstance(child, ast.Raise | ast.Assert | ast.JoinedStr | ast.Import | ast.ImportFrom):
        return True
    if isinstance(child, ast.AnnAssign) and isinstance(parent, ast.ClassDef):
        return True
    return isinstance(child, ast.Assign) and any(getattr(t, "id", "") == "__all__" for t in child.targets)


def mutants(path: Path) -> list[Mutant]:
    """Return every mutant of a module that differs from it."""
    tree = ast.parse(path.read_text())
    before = ast.dump(tree)
    found = []
    for parent, name, index, other in list(places(tree)):
        old = getattr(parent, name) if index is None else getattr(parent, name)[index]
        _put(parent, name, index, other)
        changed = ast.fix_missing_locations(copy.deepcopy(tree))
        if ast.dump(changed) != before:
            text = f"{_line(old)}  ->  {_line(other)}"
            found.append(Mutant(old.lineno, text, compile(changed, str(path), "exec")))
        _put(parent, name, index, old)
    return found


def _put(parent: ast.AST, name: str, index: int | None, node: ast.AST) -> None:
    if index is None:
        setattr(parent, name, node)
    else:
        getattr(parent, name)[index] = node


def _line(node: ast.AST) -> str:
    return ast.unparse(ast.fix_missing_locations(copy.deepcopy(node))).splitlines()[0]


class Replaced(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports one module from a code object instead of its file."""

    def __init__(self, name: str, path: Path, code: CodeType) -> None:
        self.name, self.path, self.code = name, path, code

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Answer for the one module."""
        if fullname != self.name:
            return None
        return importlib.util.spec_from_file_location(fullname, self.path, loader=_Executed(self.code))


class _Executed(importlib.abc.Loader):
    def __init__(self, code: CodeType) -> None:
        self.code = code

    def exec_module(self, module: ModuleType) -> None:
        exec(self.code, module.__dict__)


def passes(module: str, mutant: Mutant | None, tests: Sequence[str], limit: float) -> bool:
    """Run tests in a fork, with a mutant; say whether all of them pass in time."""
    child = os.fork()
    if child == 0:
        try:
            os._exit(_tested(module, mutant, tests, limit))
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    return status == 0


def _tested(module: str, mutant: Mutant | None, tests: Sequence[str], limit: float) -> int:
    signal.alarm(max(1, round(limit)))  # ends the process
    import pytest

    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    if mutant is not None:
        path = ROOT / f"inertial_estimation/{module}.py"
        sys.meta_path.insert(
            0, Replaced(f"inertial_estimation.{module.replace('/', '.')}", path, mutant.code)
        )
    options = ["-x", "--tb=no", "-p", "no:cacheprovider", "-p", "no:xdist"]
    options += ["--hypothesis-seed=0", "--hypothesis-profile=mutants"]
    return int(pytest.main([*options, *tests]))


def score(module: str, tests: Sequence[str], most: int) -> tuple[int, int, int, list[Mutant]]:
    """Return how many mutants there are, were run and were killed, and those that survived.

    Raises:
        SystemExit: If the tests do not pass without a mutant.
    """
    begin = time.monotonic()
    if not passes(module, None, tests, 600.0):
        raise SystemExit(f"the tests of {module} do not pass as it is: {' '.join(tests)}")
    limit = 10.0 + PATIENCE * (time.monotonic() - begin)
    every = mutants(ROOT / f"inertial_estimation/{module}.py")
    chosen = random.Random(SEED).sample(every, most) if 0 < most < len(every) else every
    survived = [mutant for mutant in chosen if passes(module, mutant, tests, limit)]
    return len(every), len(chosen), len(chosen) - len(survived), survived


def main() -> None:
    """Print the score of modules as rows of a table, survivors below them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("modules", nargs="*", help="parts of their paths; default: all")
    parser.add_argument(
        "--sample", type=int, default=MANY, help="mutants of a module; 0: all (default %(default)s)"
    )
    arguments = parser.parse_args()
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT))
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    for library in (*LIBRARIES, "pytest", "hypothesis"):
        importlib.import_module(library)
    from hypothesis import Phase, settings

    phases = (Phase.explicit, Phase.generate)  # no search for the simplest example that fails
    settings.register_profile("mutants", phases=phases, deadline=None, database=None)
    total = killed_in_all = 0
    for module, tests in TESTS.items():
        if arguments.modules and not any(part in module for part in arguments.modules):
            continue
        every, run, killed, survived = score(module, tests, arguments.sample)
        total, killed_in_all = total + run, killed_in_all + killed
        print(f"{module:42s} {every:5d} {run:5d} {killed:5d} {100 * killed / run:6.1f} %", flush=True)
        for mutant in sorted(survived, key=lambda m: m.line):
            print(f"    {mutant.line:4d}: {mutant.text}", flush=True)
    print(f"{'all':42s}       {total:5d} {killed_in_all:5d} {100 * killed_in_all / max(total, 1):6.1f} %")


if __name__ == "__main__":
    main()
