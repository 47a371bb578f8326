"""The rules of docs/architecture.md, one line each, checked on the imports of every module."""

import ast
import functools
from collections.abc import Callable, Iterable
from graphlib import TopologicalSorter
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "inertial_estimation"
FOUNDATION = {"compilation", "errors", "figures", "files", "located_cause"}
FOUNDATION |= {"parallel", "parameters", "signals", "telemetry"}
BASE = FOUNDATION | {"spatial", "models", "inputs"}
STEPPED = BASE | {"pipeline"}
CHECKED = STEPPED | {"diagnosis"}
ONLINE = {"payload", "inertial", "tilt", "control", "simulation"}
OFFLINE = {"identification", "calibration"}
ESTIMATION = {"spatial", "models", "inputs", "diagnosis"} | ONLINE | OFFLINE
FILES = {"recordings", "configuration", "synthetic"}

MAY_IMPORT = {
    "errors": set(),
    "figures": {"errors", "signals"},
    "files": {"errors"},
    "parameters": {"errors"},
    "located_cause": set(),
    "parallel": {"errors"},
    "signals": {"errors", "located_cause"},
    "compilation": {"errors", "signals"},
    "telemetry": {"signals"},
    "spatial": FOUNDATION,
    "models": FOUNDATION | {"spatial"},
    "inputs": FOUNDATION | {"spatial", "models"},
    "pipeline": BASE,
    "diagnosis": BASE,
    "inertial": CHECKED,
    "payload": CHECKED | {"inertial"},
    "tilt": CHECKED,
    "control": STEPPED,
    "simulation": BASE,
    "identification": CHECKED,
    "calibration": BASE,
    "recordings": BASE,
    "configuration": FOUNDATION | ESTIMATION | {"recordings"},
    "synthetic": FOUNDATION | ESTIMATION | {"recordings", "configuration"},
    "offline": FOUNDATION | ESTIMATION | FILES | {"replay"},
    "replay": FOUNDATION | ESTIMATION | FILES,
    "tuning": FOUNDATION | ESTIMATION | FILES | {"replay"},
    "comparison": FOUNDATION | ESTIMATION | FILES | {"offline", "replay"},
    "closed_loop": FOUNDATION | ESTIMATION | FILES,
    "setup_assistant": FOUNDATION | ESTIMATION | FILES,
    "experiments": FOUNDATION | ESTIMATION | FILES | {"offline", "replay", "closed_loop"},
    "view": FOUNDATION | ESTIMATION | FILES | {"replay"},
    "plots": FOUNDATION | ESTIMATION | FILES | {"offline", "replay", "tuning", "comparison"},
    "ros": FOUNDATION | ESTIMATION | FILES,
    "commands": FOUNDATION
    | ESTIMATION
    | FILES
    | {"offline", "replay", "tuning", "comparison", "closed_loop", "setup_assistant"}
    | {"experiments", "view", "plots", "ros"},
}
ROS_PACKAGES = {"rclpy", "sensor_msgs", "geometry_msgs", "std_msgs", "std_srvs", "nav_msgs"}
ROS_PACKAGES |= {"diagnostic_msgs", "rcl_interfaces", "rosgraph_msgs", "builtin_interfaces", "tf2_ros"}
ROS_PACKAGES |= {"tf2_msgs", "visualization_msgs", "launch", "launch_ros"}
ONLY_IN = {
    **{name: {"ros"} for name in ROS_PACKAGES},
    "matplotlib": set(),
    "plotly": {"plots"},
    "jinja2": {"plots"},
    "rerun": {"view"},
    "coal": {"models"},
    "pinocchio": {"models", "spatial", "payload", "synthetic"},
    "rosbags": {"recordings"},
    "numba": {"compilation"},
    "joblib": {"parallel"},
    "mujoco": {"simulation"},
    "proxsuite": {"control"},
    "rich": {"commands"},
}
FACTORISATIONS = {
    *("svd", "svdvals", "eig", "eigh", "eigvals", "eigvalsh", "cholesky", "inv", "solve", "lstsq", "pinv"),
    *("matrix_rank", "cond", "tensorsolve", "tensorinv", "null_space", "orth", "LinAlgError"),
}
NO_CLOCK = {"errors", "parameters", "signals", "experiments", "closed_loop", "setup_assistant"} | ESTIMATION
MOST_ATTRIBUTES, MOST_METHODS = 14, 18
MOST_BODY_LINES = 50
CHANGING = {  # dataclasses that their owner changes; all others are values
    *("BankBlock", "ControllerStepCounts", "Diagnosis", "Event", "IdentifiedTrunk", "InputCounter", "Lack"),
    *("LiveRecord", "Loads", "NodeRecord", "OddStamps", "Progress", "ReplayRun", "WatchRecord"),
}
ENDING_WITH_THE_SHORTEST = 5  # zips that may: all others are of equally many
FORBIDDEN_NAMES = {"utils", "helpers", "common", "misc", "core"}


@functools.cache
def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def layer_of(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


@functools.cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@functools.cache
def walked(path: Path) -> list[ast.AST]:
    """All nodes of a module: every rule goes through them."""
    return list(ast.walk(tree_of(path)))


def breaches(rule: Callable[[Path], Iterable[str]]) -> dict[str, list[str]]:
    """What a rule finds in each module of the package; modules that keep it are left out."""
    found = {path.relative_to(PACKAGE).as_posix(): list(rule(path)) for path in modules()}
    return {name: faults for name, faults in found.items() if faults}


@functools.cache
def imports_of(path: Path) -> list[tuple[str, bool]]:
    """Every imported module by its full name, and whether it is imported at the top of the module."""
    top = {id(node) for node in tree_of(path).body}
    found: list[tuple[str, bool]] = []
    for node in walked(path):
        if isinstance(node, ast.Import):
            found += [(alias.name, id(node) in top) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            base = node.module or ""
            found += [(f"{base}.{alias.name}", id(node) in top) for alias in node.names]
    return found


def broken_layers(layer: str, imported: Iterable[str]) -> list[str]:
    """Imports that a layer may not make."""
    if layer == "__init__":
        return []
    if layer not in MAY_IMPORT:
        return [f"layer '{layer}' is not in docs/architecture.md"]
    found = []
    for name in imported:
        parts = name.split(".")
        if parts[0] == "inertial_estimation" and len(parts) > 1:
            if parts[1] not in {layer, "__version__", *MAY_IMPORT[layer]}:
                found.append(f"{layer} imports {parts[1]}")
        elif parts[0] in ONLY_IN and layer not in ONLY_IN[parts[0]]:
            found.append(f"{layer} imports {parts[0]}, which only {ONLY_IN[parts[0]]} may")
    return found


def test_modules_keep_to_their_layers() -> None:
    assert not breaches(lambda path: broken_layers(layer_of(path), (name for name, _ in imports_of(path))))


def surroundings_of(path: Path) -> list[str]:
    """What a module reads of its surroundings: clock, environment, processes, a global random generator."""
    roots = {name.split(".")[0] for name, _ in imports_of(path)}
    found = sorted(roots & {"time", "datetime", "os", "random", "subprocess", "socket"})
    for node in walked(path):
        if isinstance(node, ast.Attribute) and node.attr == "random":
            found += ["np.random"] if isinstance(node.value, ast.Name) and node.value.id == "np" else []
    return found


def test_core_reads_no_clock_no_environment_no_global_generator() -> None:
    assert not breaches(lambda path: surroundings_of(path) if layer_of(path) in NO_CLOCK else [])


def test_a_message_is_converted_in_one_place() -> None:
    conversion = PACKAGE / "inputs" / "messages.py"
    foreign = {name.split(".")[0] for name, _ in imports_of(conversion)} & {"rosbags", *ROS_PACKAGES}
    assert not foreign, "it serves the message classes of rclpy and rosbags alike"


def test_no_module_imports_itself_by_way_of_others() -> None:
    names = {".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts): path for path in modules()}
    names = {name.removesuffix(".__init__"): path for name, path in names.items()}
    graph: dict[str, set[str]] = {}
    for name, path in names.items():
        found = {full for full, at_top in imports_of(path) if at_top}
        targets = found | {full.rpartition(".")[0] for full in found}
        parents = {target.rpartition(".")[0] for target in targets}  # importing a module runs its package
        graph[name] = {t for t in targets | parents if t in names and not name.startswith(f"{t}.")} - {name}
    order = TopologicalSorter(graph)
    order.prepare()  # raises CycleError, which names the circle


def factorisations_of(path: Path) -> list[str]:
    """Uses of what can end in a LinAlgError: attributes of `linalg`, names imported from one."""
    found = [
        name
        for full, _at_top in imports_of(path)
        for module, _dot, name in [full.rpartition(".")]
        if module in ("numpy.linalg", "scipy.linalg") and name in {*FACTORISATIONS, "qr"}
    ]
    for node in walked(path):
        if isinstance(node, ast.Attribute) and node.attr in FACTORISATIONS:
            owner = node.value
            name = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")
            found += [node.attr] if name == "linalg" else []
    return found


def test_a_factorisation_that_can_fail_is_called_in_one_module() -> None:
    found = breaches(factorisations_of)
    assert found.pop("spatial/linear_algebra.py")
    assert not found, "call it from spatial/linear_algebra.py, which names what failed"


def test_no_module_has_an_empty_name() -> None:
    assert not {path.stem for path in modules()} & FORBIDDEN_NAMES


def long_functions(path: Path) -> list[str]:
    """The functions of a module that are too long to read."""
    found = []
    for node in walked(path):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = [
                item
                for item in node.body
                if not (isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant))
            ]
            length = (node.end_lineno or 0) - body[0].lineno + 1 if body else 0
            found += [f"{node.name} is {length} lines long"] if length > MOST_BODY_LINES else []
    return found


def test_functions_are_of_a_size_to_read() -> None:
    assert not breaches(long_functions)


def size_of(node: ast.ClassDef) -> tuple[int, int]:
    """Number of attributes that the methods of a class set on self, and number of its methods."""
    methods = [item for item in node.body if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef)]
    attributes = {
        inner.attr
        for method in methods
        for inner in ast.walk(method)
        if isinstance(inner, ast.Attribute)
        and isinstance(inner.ctx, ast.Store)
        and isinstance(inner.value, ast.Name)
        and inner.value.id == "self"
    }
    return len(attributes), len(methods)


def is_dataclass(node: ast.ClassDef) -> bool:
    """Whether a class is made by the dataclass decorator, as the configs are: its fields are no state."""
    decorators = [item.func if isinstance(item, ast.Call) else item for item in node.decorator_list]
    return any(isinstance(item, ast.Name) and item.id == "dataclass" for item in decorators)


def large_classes(path: Path) -> set[str]:
    """Names of the classes of a module with too many attributes or methods."""
    classes = [node for node in walked(path) if isinstance(node, ast.ClassDef)]
    sizes = {node.name: size_of(node) for node in classes if not is_dataclass(node)}
    return {name for name, (a, m) in sizes.items() if a > MOST_ATTRIBUTES or m > MOST_METHODS}


def test_a_class_keeps_few_attributes_and_methods() -> None:
    assert not breaches(large_classes), "split these classes"


def loose_values(path: Path) -> Iterable[str]:
    """Dataclasses that may change, and those that compare arrays, whose equality is no truth value."""
    for node in walked(path):
        if isinstance(node, ast.ClassDef) and is_dataclass(node):
            calls = [item for item in node.decorator_list if isinstance(item, ast.Call)]
            given = {keyword.arg: ast.unparse(keyword.value) for call in calls for keyword in call.keywords}
            fields = [ast.unparse(item.annotation) for item in node.body if isinstance(item, ast.AnnAssign)]
            compared = any("Array" in field for field in fields) and given.get("eq") != "False"
            if compared or (given.get("frozen") != "True") != (node.name in CHANGING):
                yield node.name


def test_values_are_frozen_and_compare_no_arrays() -> None:
    assert not breaches(loose_values)


def lenient_zips(path: Path) -> list[str]:
    """Zips that end with the shortest of what they are given, and lose the rest in silence."""
    zips = [node for node in walked(path) if isinstance(node, ast.Call) and ast.unparse(node.func) == "zip"]
    given = [{keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords} for node in zips]
    return [
        f"line {node.lineno}" for node, how in zip(zips, given, strict=True) if how.get("strict") != "True"
    ]


def test_nearly_all_zips_are_strict() -> None:
    assert sum(map(len, breaches(lenient_zips).values())) <= ENDING_WITH_THE_SHORTEST


def test_rules_find_a_breach(tmp_path: Path) -> None:
    module = tmp_path / "m.py"
    module.write_text("import rclpy\ndef f():\n    from inertial_estimation.ros import qos\n")
    assert imports_of(module) == [("rclpy", True), ("inertial_estimation.ros.qos", False)]
    module = tmp_path / "n.py"
    module.write_text("import numpy as np\nfrom scipy.linalg import qr\nnp.linalg.svd(np.linalg.norm(A))\n")
    assert factorisations_of(module) == ["qr", "svd"]
    module = tmp_path / "c.py"
    attributes = "; ".join(f"self.a{k} = {k}" for k in range(MOST_ATTRIBUTES + 1))
    module.write_text(f"class Large:\n    def __init__(self):\n        {attributes}\n")
    assert large_classes(module) == {"Large"}
    module = tmp_path / "v.py"
    module.write_text(
        "@dataclass(frozen=True)\nclass A:\n    x: Array\n@dataclass(eq=False)\nclass B:\n    y: int\n"
    )
    assert list(loose_values(module)) == ["A", "B"]
    module = tmp_path / "z.py"
    module.write_text("zip(a, b, strict=True)\nzip(a, b)\nzip(a, b, strict=False)\n")
    assert lenient_zips(module) == ["line 2", "line 3"]
    module = tmp_path / "r.py"
    module.write_text("import time\nimport numpy as np\nx = np.random.rand()\n")
    assert surroundings_of(module) == ["time", "np.random"]
    module = tmp_path / "s.py"
    module.write_text("def long():\n" + "    a = 1\n" * (MOST_BODY_LINES + 1))
    assert long_functions(module) == [f"long is {MOST_BODY_LINES + 1} lines long"]
    assert broken_layers("models", ["rclpy.node", "inertial_estimation.control.dcm", "numpy"]) == [
        f"models imports rclpy, which only {ONLY_IN['rclpy']} may",
        "models imports control",
    ]
    assert broken_layers("new", [])
    assert not broken_layers("control", ["proxsuite", "inertial_estimation.models.imu"])
