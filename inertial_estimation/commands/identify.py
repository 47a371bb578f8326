"""`inertial-estimation identify`: recordings streamed into the identification, its files and summary."""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from inertial_estimation.commands.arguments import check_output
from inertial_estimation.commands.identify_summary import print_run_warnings, print_summary
from inertial_estimation.commands.options.identify import DEFAULT_METHOD
from inertial_estimation.commands.progress_bar import progress_bar
from inertial_estimation.commands.remappings import parse_remappings
from inertial_estimation.commands.warnings_on_stderr import recording_with_warnings
from inertial_estimation.configuration.config_lookup import load_configs
from inertial_estimation.configuration.node_configs import checked_overrides
from inertial_estimation.configuration.node_names import IDENTIFICATION, INERTIAL_NODE
from inertial_estimation.configuration.provenance import provenance
from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.errors import ConfigurationError, RecordingError
from inertial_estimation.files.outputs import result_folder
from inertial_estimation.identification.identification_config import IdentificationConfig
from inertial_estimation.identification.identifier import Identifier
from inertial_estimation.identification.methods import METHODS, method_named
from inertial_estimation.offline.identification_files import FILES, REPORT_FILE, write_identification
from inertial_estimation.offline.identification_run import (
    IdentificationRun,
    block_stream,
    run_identification,
)
from inertial_estimation.offline.identification_setup import (
    check_different_data,
    check_split,
    identification_config,
    identification_topics,
)
from inertial_estimation.parameters import parameter_values, replace_value
from inertial_estimation.recordings.recording import BagRecording
from inertial_estimation.signals import seconds

OPTIONS = ("method", "split", "links", "payload", "unloaded", "validate", "remap")
SAME_WITHOUT_LOAD = "a recording without the load is another one than that with it"


def run(args: argparse.Namespace) -> int:
    """Stream the recordings, identify, write the files and print a summary."""
    method = args.method or DEFAULT_METHOD
    methods = list(METHODS) if args.compare else [method]
    method_named(method)
    _check_arguments(args)
    folder = check_output(args)
    config, folder_of_urdf = _config(args)
    urdf = read_urdf(args.urdf or config.robot.urdf, folder=folder_of_urdf)
    identifier = Identifier(config, urdf)
    topics = identification_topics(config, parse_remappings(args.remap))
    with ExitStack() as stack:
        training = [stack.enter_context(recording_with_warnings(bag)) for bag in args.bags]
        bare = [stack.enter_context(recording_with_warnings(bag)) for bag in args.unloaded]
        validation = [stack.enter_context(recording_with_warnings(bag)) for bag in args.validate]
        streams, unloaded, held_out = (
            [block_stream(recording, topics, identifier, config) for recording in recordings]
            for recordings in (training, bare, validation)
        )
        if args.split is not None:
            for recording in (*training, *bare):
                check_split(recording, args.split)
        for recording in training:
            for other in validation:
                check_different_data(recording, other, topics.joints)
            for other in bare:
                check_different_data(recording, other, topics.joints, SAME_WITHOUT_LOAD)
        with _progress_bar([*training, *bare, *validation]) as progress:
            result = run_identification(
                identifier,
                streams,
                held_out,
                methods=methods,
                chosen=method,
                unloaded=unloaded,
                split_s=args.split,
                progress=progress,
            )
    source = _source(args, config, identifier, urdf)
    with result_folder(folder, FILES) as partial:
        write_identification(partial, result, config, identifier.robot, source)
        if not args.no_figures:
            _write_page(partial, result, source)
    print_run_warnings(result)
    print_summary(folder, result)
    return 0


def _config(args: argparse.Namespace) -> tuple[IdentificationConfig, Path]:
    """Return the parameters, and the folder relative to which the description is given."""
    file = load_configs(args.config).overridden(
        checked_overrides(args.param, (IDENTIFICATION, INERTIAL_NODE))
    )
    config = identification_config(file)
    if args.links:
        config = replace_value(config, "links", args.links)
    if args.payload:
        config = replace_value(config, "payload.link", args.payload)
    if args.unloaded and not config.payload.link:
        raise ConfigurationError("--unloaded needs the link of the load: give it with --payload LINK")
    return config, Path(file.name).parent


def _check_arguments(args: argparse.Namespace) -> None:
    if args.split is not None and args.validate:
        raise ConfigurationError("--split and --validate exclude each other: give one of them")
    paths = [Path(bag).resolve() for bag in (*args.bags, *args.unloaded)]
    if len(set(paths)) < len(paths):
        twice = next(path for path in paths if paths.count(path) > 1)
        raise RecordingError(f"'{twice}' is given more than once: its data would count twice")


def _source(
    args: argparse.Namespace, config: IdentificationConfig, identifier: Identifier, urdf: str
) -> dict[str, Any]:
    settings = {name: _plain(value) for name, value in parameter_values(config).items()}
    urdf_source = args.urdf or config.robot.urdf
    return {
        "robot": identifier.robot.model.name,
        "bags": [str(bag) for bag in args.bags],
        "unloaded_bags": [str(bag) for bag in args.unloaded],
        "validation_bags": [str(bag) for bag in args.validate],
        "split_s": args.split,
        "config": list(args.config),
        "settings": {**settings, "urdf": urdf_source[:200]},
        "provenance": provenance(
            bags=[*args.bags, *args.unloaded, *args.validate],
            configs=args.config,
            urdf_source=urdf_source,
            urdf=urdf,
            overrides=args.param,
            options={name: getattr(args, name) for name in OPTIONS},
            parameters={IDENTIFICATION: settings},
        ),
    }


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _write_page(folder: Path, result: IdentificationRun, source: dict[str, Any]) -> None:
    try:
        from inertial_estimation.plots.identification_report import write_identification_report
    except ImportError as error:
        print(f"no report: {error} (pip install matplotlib jinja2)", file=sys.stderr)
        return
    write_identification_report(folder / REPORT_FILE, result, source)


@contextmanager
def _progress_bar(recordings: Sequence[BagRecording]) -> Iterator[Callable[[str, float], None]]:
    """Show one progress bar for all recordings."""
    total_s = seconds(sum(recording.end_ns - recording.start_ns for recording in recordings))
    done: dict[str, float] = {}
    with progress_bar("identify", total_s, "s") as show:

        def add(name: str, done_s: float) -> None:
            done[name] = done_s
            show(sum(done.values()))

        yield add
