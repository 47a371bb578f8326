"""No text makes the YAML loader raise anything but one line that names what is wrong,"""

import json
import os
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from inertial_estimation.configuration.config_file import load_config_file
from inertial_estimation.errors import ConfigurationError
from inertial_estimation.files.yaml_file import load_yaml
from inertial_estimation.parameters import build_config

BOMB = "a: &a [1]\n" + "".join(
    f"{n}: &{n} [{', '.join([f'*{p}'] * 9)}]\n" for p, n in zip("abcdefgh", "bcdefghi", strict=True)
)
HOSTILE = {
    "recursive alias": ("a: &x [*x]", "line 1: the alias '\\*x'"),
    "alias bomb": (BOMB, "line 2: the alias '\\*a'"),
    "nested lists": ("[" * 3000, "nesting|recursion|depth"),
    "nested mappings": ("{a: " * 3000, "nesting|recursion|depth"),
    "huge integer": ("b: 1\na: 1" + "0" * 400, "line 2: '1000.*is no integer within"),
    "longer integer": ("a: " + "7" * 5000, "line 1: '777.*is no integer within"),
    "huge float": ("a: 1e400", "line 1: '1e400' is no number within"),
    "python object": ("a: !!python/object:os.system ls", "line 1: .* tag .*python"),
    "unknown tag": ("a: !secret x", "line 1: .* tag '!secret'"),
    "bad number": ("a: !!int x", "line 1: 'x' is no integer"),
    "repeated key": ("a: 1\nb: 2\na: 3", "line 3: the key 'a' is there a second time, first in line 1"),
    "list as key": ("? [1]\n: b", "line 1: a list or mapping as a key"),
    "zero byte": ("b: 1\na: \x00", "not valid YAML: .*(control|special) characters"),
    "unfinished": ("a: [1, 2", "line [12]: not valid YAML"),
    "two documents": ("a: 1\n---\nb: 2", "line 2: not valid YAML"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_texts_are_refused_with_their_line(case: str) -> None:
    text, message = HOSTILE[case]
    with pytest.raises(ConfigurationError, match=message) as refusal:
        load_yaml(text, "the file")
    assert "\n" not in str(refusal.value)
    assert len(str(refusal.value)) < 300


@pytest.mark.parametrize(
    "path", sorted((Path(__file__).parents[2] / "config").glob("*.yaml")), ids=lambda p: p.stem
)
def test_parameter_files_mean_what_they_mean_to_pyyaml(path: Path) -> None:
    text = path.read_text()
    assert load_yaml(text, str(path)) == yaml.safe_load(text)


def test_words_that_yaml_turns_into_dates_and_times_stay_words_as_in_ros() -> None:
    assert load_yaml("[2001-13-45, 1:30, 1_000, 017, 0x1F, 99999999999999999999]", "it") == [
        *("2001-13-45", "1:30", "1_000"),
        *(15, 31, 1e20),
    ]


@settings(max_examples=200, deadline=None)
@given(st.one_of(st.text(max_size=60), st.text(alphabet="a:-[]{}&*!?|>'\"%@#,\n\t 0e.", max_size=60)))
def test_any_text_is_read_or_refused_in_one_line(text: str) -> None:
    try:
        value = load_yaml(text, "it")
    except ConfigurationError as error:
        refusal = str(error)
    else:
        refusal = ""
        assert load_yaml(yaml.safe_dump(json.loads(json.dumps(value))), "it") == value or "nan" in repr(value)
    assert refusal.isprintable()


def test_what_is_no_regular_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, kind in (
        (tmp_path / "pipe", "no regular file"),
        (tmp_path, "no regular file"),
        (Path("/dev/zero"), "no regular file"),
    ):
        with pytest.raises(ConfigurationError, match=kind):
            load_config_file(path)


def test_a_wrong_value_is_named_with_its_line(tmp_path: Path) -> None:
    from inertial_estimation.tilt.config import TiltPipelineConfig

    path = tmp_path / "robot.yaml"
    shared = "/**:\n  ros__parameters:\n    contacts: [a, {b: 1}]\n"
    path.write_text(f"{shared}tilt_observer:\n  ros__parameters:\n    rate: 3\n")
    file = load_config_file(path)
    with pytest.raises(
        ConfigurationError, match=r"entry 2 of parameter 'contacts' is \{'b': 1\}.*robot.yaml', line 3"
    ):
        build_config(
            TiltPipelineConfig,
            file.values("tilt_observer", {"contacts"}),
            origins=file.origins_of("tilt_observer"),
        )
