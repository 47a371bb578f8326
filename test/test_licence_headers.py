"""The copyright statement of source files: once, first, below the line that names the interpreter."""

import importlib.util
from pathlib import Path

_spec = importlib.util.spec_from_file_location(
    "licence_headers", Path(__file__).resolve().parents[1] / "docs" / "licence_headers.py"
)
assert _spec is not None
licence_headers = importlib.util.module_from_spec(_spec)
assert _spec.loader is not None
_spec.loader.exec_module(licence_headers)


def test_the_statement_comes_first_and_once() -> None:
    written = licence_headers.with_statement('"""A module."""\n')
    assert written == licence_headers.STATEMENT + '"""A module."""\n'
    assert licence_headers.with_statement(written) == written


def test_the_line_that_names_the_interpreter_stays_the_first() -> None:
    written = licence_headers.with_statement("#!/bin/sh\nexec true\n")
    assert written.splitlines() == ["#!/bin/sh", licence_headers.STATEMENT.rstrip(), "exec true"]
    assert licence_headers.with_statement(written) == written


def test_an_empty_file_stays_empty() -> None:
    assert licence_headers.with_statement("") == ""
