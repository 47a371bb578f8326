"""Mutation score: how many small faults in a module do its tests notice?

    python -m benchmarks.mutation_score spatial/rotations                        # 30 mutants
    python -m benchmarks.mutation_score models/contacts --sample 0 --tests test/models/test_contacts.py

A mutant is the module with one change: an operator exchanged, a term, a sign, a transposition or a statement
dropped, a comparison moved by its boundary or negated, a number changed, minimum and maximum exchanged. It is
killed if a test fails, an error is raised or the tests take several times as long as without it. Annotations,
declarations of parameters, messages and assertions are left as they are. Without --tests the tests of the
module's folder run. Each mutant is run in a fork of a process that has imported the libraries already, with
the mutated module in the place of the one on disk, which is never written.
"""

import argparse
import ast
import copy
import importlib
import importlib.abc
import importlib.util
import os
import random
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
SEED = 12
PATIENCE = 5.0  # times the duration of the tests without a mutant
LIBRARIES = ("numpy", "scipy.linalg", "scipy.optimize", "scipy.stats", "pinocchio", "pytest", "hypothesis")
EXCHANGED = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult}
DROPPED = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow)  # a + b becomes a
COMPARED: dict[type, tuple[type, ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
}
COMPARED |= {ast.GtE: (ast.Gt, ast.Lt), ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,)}
COMPARED |= {ast.IsNot: (ast.Is,), ast.In: (ast.NotIn,), ast.NotIn: (ast.In,)}
EXTREMES = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum"}


class Mutant(NamedTuple):
    """One change of a module: its line, what was and what is, and the changed module."""

    line: int
    text: str
    code: CodeType


def expressions(node: ast.AST) -> Iterator[ast.expr]:
    """Return what may stand in the place of an expression."""
    match node:
        case ast.BinOp():
            if type(node.op) in EXCHANGED:
                yield ast.BinOp(node.left, EXCHANGED[type(node.op)](), node.right)
            if isinstance(node.op, DROPPED):
                yield node.left
        case ast.Compare(ops=[op]):
            for other in COMPARED[type(op)]:
                yield ast.Compare(node.left, [other()], node.comparators)
        case ast.BoolOp():
            yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
        case ast.UnaryOp(op=ast.USub() | ast.Not()):
            yield node.operand
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield ast.Constant(value + 1)
        case ast.Constant(value=float(value)):
            yield ast.Constant(2.0 * value or 1.0)
        case ast.IfExp():
            yield ast.IfExp(ast.UnaryOp(ast.Not(), node.test), node.body, node.orelse)
        case ast.Attribute(attr="T"):
            yield node.value
        case ast.Name(ctx=ast.Load()) if node.id in EXTREMES:
            yield ast.Name(EXTREMES[node.id], ast.Load())
        case ast.Attribute() if node.attr in EXTREMES:
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


def places(node: ast.AST, *, constructing: bool = False) -> Iterator[tuple[ast.AST, str, Any, ast.AST]]:
    """Walk through what is executed: yield parent, field, index there, and another node for the place."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "bases", "type_params"):
            continue
        for index, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if not isinstance(child, ast.AST) or _declared(child, node):
                continue
            inside = child.name == "__init__" if isinstance(child, ast.FunctionDef) else constructing
            for other in (*expressions(child), *statements(child, constructing=inside)):
                yield node, name, index, other
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
    tree = ast.parse(path.read_text(encoding="utf-8"))
    before, found = ast.dump(tree), []
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

    def __init__(self, module: str, code: CodeType) -> None:
        self.name = f"inertial_estimation.{module.replace('/', '.')}"
        self.path, self.code = ROOT / f"inertial_estimation/{module}.py", code

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:
        """Answer for the one module."""
        found = fullname == self.name
        return importlib.util.spec_from_file_location(fullname, self.path, loader=self) if found else None

    def exec_module(self, module: Any) -> None:
        """Execute the mutant."""
        exec(self.code, module.__dict__)


def passes(module: str, mutant: Mutant | None, tests: Sequence[str], limit_s: float) -> bool:
    """Run tests in a fork, with a mutant; say whether all of them pass in time."""
    child = os.fork()
    if child == 0:
        try:
            signal.alarm(max(1, round(limit_s)))  # ends the process
            silent = os.open(os.devnull, os.O_WRONLY)
            os.dup2(silent, 1)
            os.dup2(silent, 2)
            if mutant is not None:
                sys.meta_path.insert(0, Replaced(module, mutant.code))
            import pytest

            options = [
                "-x",
                "-m",
                "",
                "--tb=no",
                "-p",
                "no:cacheprovider",
                "-p",
                "no:xdist",
                "--hypothesis-seed=0",
            ]
            os._exit(int(pytest.main([*options, "--hypothesis-profile=mutants", *tests])))
        finally:
            os._exit(1)
    return os.waitpid(child, 0)[1] == 0


def main() -> None:
    """Print the score of modules, survivors below them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("modules", nargs="+", help="paths in the package, without ending")
    parser.add_argument("--tests", nargs="+", help="what runs for each mutant")
    parser.add_argument("--sample", type=int, default=30, help="mutants of a module; 0: all (30)")
    args = parser.parse_args()
    os.chdir(ROOT)
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    for library in LIBRARIES:
        importlib.import_module(library)
    from hypothesis import Phase, settings

    phases = (Phase.explicit, Phase.generate)  # no search for the simplest example that fails
    settings.register_profile("mutants", phases=phases, deadline=None, database=None)
    for module in args.modules:
        tests = args.tests or [f"test/{Path(module).parent}"]
        begin = time.monotonic()
        if not passes(module, None, tests, 600.0):
            raise SystemExit(f"the tests of {module} do not pass as it is: {' '.join(tests)}")
        limit_s = 10.0 + PATIENCE * (time.monotonic() - begin)
        every = mutants(ROOT / f"inertial_estimation/{module}.py")
        chosen = random.Random(SEED).sample(every, min(args.sample or len(every), len(every)))
        survived = [mutant for mutant in chosen if passes(module, mutant, tests, limit_s)]
        share = 100.0 * (1.0 - len(survived) / max(len(chosen), 1))
        print(f"{module}: {len(every)} mutants, {len(chosen)} run, {share:.1f} % killed", flush=True)
        for mutant in sorted(survived, key=lambda m: m.line):
            print(f"    {mutant.line:4d}: {mutant.text}", flush=True)


if __name__ == "__main__":
    main()
