"""What of a command line does not arrive at a node, by rcl itself, is said."""

import pytest
import yaml

rclpy = pytest.importorskip("rclpy", reason="needs rclpy and the ROS messages")

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rclpy.node import Node

from inertial_estimation.commands.ros_domains import claimed_domain
from inertial_estimation.errors import ConfigurationError
from inertial_estimation.ros.parameters import lost_parameters

NAME = "tilt_observer"
NAMESPACES = ["/", "/robot1", "/fleet/robot1"]
SECTIONS = [
    "/**",
    f"/**/{NAME}",
    f"/*/{NAME}",
    NAME,
    f"/{NAME}",
    f"/robot1/{NAME}",
    f"robot1/{NAME}",
    f"/fleet/robot1/{NAME}",
    "/robot1/**",
    "/robot1/*",
    "/**/inertial_ekf",
]


@pytest.fixture(scope="module")
def context():
    found = rclpy.Context()
    with claimed_domain() as domain:
        rclpy.init(args=[], context=found, domain_id=domain)
        yield found
        rclpy.shutdown(context=found)


@pytest.fixture
def write(tmp_path):
    """Write parameter files; sections are given as (name, parameters)."""

    def written(*files):
        paths = [tmp_path / f"{k}.yaml" for k in range(len(files))]
        for path, sections in zip(paths, files, strict=True):
            texts = [yaml.safe_dump({name: {"ros__parameters": values}}) for name, values in sections]
            path.write_text("".join(texts))
        return [str(path) for path in paths]

    return written


def arguments(files, rules, rules_first=False):
    of_files = [word for file in files for word in ("--params-file", file)]
    of_rules = [word for rule in rules for word in ("-p", rule)]
    return ["node", "--ros-args", *(of_rules + of_files if rules_first else of_files + of_rules)]


def received(context, words, namespace):
    """What rcl gives a node of this name, and what is said to be lost."""
    node = Node(
        NAME,
        namespace=namespace,
        context=context,
        cli_args=words[1:],
        use_global_arguments=False,
        enable_rosout=False,
        start_parameter_services=False,
    )
    try:
        given = {name: parameter.value for name, parameter in node._parameter_overrides.items()}
        return given, list(lost_parameters(node, words))
    finally:
        node.destroy_node()


PARAMETERS = st.dictionaries(st.sampled_from(["rate", "gain", "links"]), st.integers(0, 99), min_size=1)
FILE = st.dictionaries(st.sampled_from(SECTIONS), PARAMETERS, min_size=1, max_size=4).map(
    lambda content: list(content.items())
)
RULE = st.builds(
    "{}{}:={}".format,
    st.sampled_from(["", f"{NAME}:", "inertial_ekf:"]),
    st.sampled_from(["rate", "gain"]),
    st.integers(0, 99),
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    files=st.lists(FILE, max_size=3),
    rules=st.lists(RULE, max_size=2),
    rules_first=st.booleans(),
    namespace=st.sampled_from(NAMESPACES),
)
def test_a_rule_is_said_to_be_lost_exactly_if_its_value_does_not_arrive(
    context, write, files, rules, rules_first, namespace
):
    words = arguments(write(*files), rules, rules_first)
    given, said = received(context, words, namespace)
    for rule in rules:
        names, _, value = rule.rpartition(":=")
        node, _, name = names.rpartition(":")
        lost = node in ("", NAME) and given.get(name) != int(value)
        lost |= node == NAME and namespace != "/"
        assert any(text.startswith(f"'-p {rule}' ") for text in said) is lost


@pytest.mark.parametrize("section", [NAME, f"/robt1/{NAME}", f"/*/*/{NAME}"])
def test_a_section_of_another_namespace_is_said_with_file_name_and_remedy(context, write, section):
    words = arguments(write([(section, {"rate": 5.0})]), [])
    given, (text,) = received(context, words, "/robot1")
    assert given == {}
    for part in (f"section '{section}' of {words[-1]}", f"'/robot1/{NAME}'", f"'/**/{NAME}'"):
        assert part in text


def test_the_remedies_of_a_section_reach_the_node(context, write):
    for section in (f"/**/{NAME}", f"/robot1/{NAME}"):
        words = arguments(write([(section, {"rate": 5.0})]), [])
        assert received(context, words, "/robot1") == ({"rate": 5.0}, [])


def test_a_rule_that_the_file_overrules_is_said_with_the_way_that_works(context, write):
    (file,) = write([("/**", {"rate": 1.0}), (f"/**/{NAME}", {"rate": 2.0})])
    words = arguments([file], ["rate:=100.0"])
    given, (text,) = received(context, words, "/")
    assert given == {"rate": 2.0}
    assert "rate is 2.0 by a section" in text
    way = f"{NAME}:rate:=100.0"
    assert f"-p {way} " in text
    works = arguments([file], [way])
    assert received(context, works, "/") == ({"rate": 100.0}, [])


def test_in_a_namespace_the_way_is_a_file(context, write):
    files = write(
        [("/**", {"rate": 1.0}), (f"/**/{NAME}", {"rate": 2.0})], [(f"/robot1/{NAME}", {"rate": 100.0})]
    )
    for rule in ("rate:=100.0", f"{NAME}:rate:=100.0"):
        words = arguments(files[:1], [rule])
        given, (text,) = received(context, words, "/robot1")
        assert given == {"rate": 2.0}
        assert f"a parameter file given last with a section '/robot1/{NAME}' does" in text
    assert received(context, arguments(files, []), "/robot1") == ({"rate": 100.0}, [])


@pytest.mark.parametrize(
    ("sections", "rules"),
    [
        ([("/**", {"rate": 1.0})], ["rate:=100.0"]),
        ([(f"/**/{NAME}", {"rate": 100.0})], ["rate:=100.0"]),
        ([(f"/**/{NAME}", {"rate": 1.0})], ["gain:=2.0"]),
        ([(f"/**/{NAME}", {"rate": 1.0}), (f"/robot1/{NAME}", {"rate": 2.0})], []),
        ([("/**/inertial_ekf", {"rate": 1.0}), ("/robot1/inertial_ekf", {"rate": 1.0})], []),
    ],
)
def test_what_arrives_is_passed_over(context, write, sections, rules):
    assert not received(context, arguments(write(sections), rules), "/")[1]


def test_arguments_that_are_not_of_ros_are_passed_over(context, write):
    (file,) = write([(NAME, {"rate": 1.0})])
    words = ["node", "-p", "rate:=1.0", "--ros-args", "--params-file", file, "--", "-p", "rate:=2.0"]
    assert received(context, words, "/") == ({"rate": 1.0}, [])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a: {x: 1}\na: {x: 2}", "line 2: the key 'a'"),
        ("a: &x [*x]", "line 1: the alias"),
        ("a: \xe9", "UTF-8"),
    ],
)
def test_a_file_of_which_rcl_takes_the_last_value_silently_is_refused(context, tmp_path, content, message):
    path = tmp_path / "robot.yaml"
    path.write_bytes(content.encode("latin-1"))
    node = Node(NAME, context=context, use_global_arguments=False, start_parameter_services=False)
    with pytest.raises(ConfigurationError, match=message):
        list(lost_parameters(node, ["node", "--ros-args", "--params-file", str(path)]))
    node.destroy_node()
