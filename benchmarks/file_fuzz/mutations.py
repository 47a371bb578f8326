"""Seeded mutations of a file: flipped and inserted bytes, cuts, and changes of the structure of texts."""

import re
from collections.abc import Callable

from numpy.random import Generator

NUMBERS = (
    *(
        b"-1",
        b"0",
        b"1e308",
        b"-1e308",
        b"1e400",
        b"nan",
        b".nan",
        b"inf",
        b"1" + 400 * b"0",
        b"1_0",
        b"0x1p3",
    ),
    *(b"true", b"''", b"[1, 2]", b"{a: 1}", b"~", b"1 2 3", b"99999999999999999999", b"2001-13-45", b"1:30"),
)
FRAGMENTS = (
    *(
        b"&a [*a]",
        b"*a",
        b"&a ",
        b"!!python/object:os.system x",
        b"!!binary x",
        b"<<: *a",
        b"? ",
        b"- ",
        b"\t",
    ),
    *(
        b"\xff",
        b"\xe9",
        b"\x00",
        b"\xef\xbb\xbf",
        b"\xed\xa0\x80",
        b"---\n",
        b"...\n",
        b"%YAML 9.9\n",
        b"|",
        b">",
    ),
    *(
        b"<!ENTITY a 'b'>",
        b"&a;",
        b"<link name='x'/>",
        b"</robot>",
        b"<xacro:x/>",
        b"${x}",
        b"<!--",
        b"<![CDATA[",
    ),
    *(
        b",",
        b'"',
        b"'",
        b"#",
        b"\r",
        b"\n\n",
        b":",
        b"{",
        b"}",
        b"[",
        b"]",
        b"<",
        b">",
        3000 * b"[",
        3000 * b"<a>",
    ),
    *(3000 * b"- ", 3000 * b"{a: ", b"9" * 5000, b"x" * 100_000),
)
_NUMBER = re.compile(rb"-?\d+\.?\d*(?:[eE][-+]?\d+)?")
_WORD = re.compile(rb"[A-Za-z_][\w/]*")
Mutation = Callable[[bytes, Generator], bytes]


def mutated(content: bytes, text: bool, rng: Generator) -> bytes:
    """Return a file with one to four random changes.

    Args:
        content: The good file.
        text: Whether it is a text, whose structure is changed too.
        rng: Source of the changes.
    """
    changes = (*_OF_BYTES, *_OF_TEXT, *_OF_TEXT) if text else _OF_BYTES
    for _ in range(int(rng.integers(1, 5))):
        content = changes[int(rng.integers(len(changes)))](content, rng)
    return content


def _position(content: bytes, rng: Generator) -> int:
    return int(rng.integers(len(content) + 1))


def _flip(content: bytes, rng: Generator) -> bytes:
    changed = bytearray(content)
    for _ in range(int(rng.integers(1, 9)) if changed else 0):
        changed[int(rng.integers(len(changed)))] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def _overwrite(content: bytes, rng: Generator) -> bytes:
    at, length = _position(content, rng), int(rng.integers(1, 17))
    return content[:at] + rng.bytes(length) + content[at + length :]


def _insert(content: bytes, rng: Generator) -> bytes:
    at = _position(content, rng)
    return content[:at] + rng.bytes(int(rng.integers(1, 17))) + content[at:]


def _cut(content: bytes, rng: Generator) -> bytes:
    return content[: _position(content, rng)]


def _remove(content: bytes, rng: Generator) -> bytes:
    at = _position(content, rng)
    return content[:at] + content[at + int(rng.integers(1, 65)) :]


def _zeros(content: bytes, rng: Generator) -> bytes:
    at = _position(content, rng)
    length = min(int(rng.integers(1, 4097)), len(content) - at)
    return content[:at] + bytes(length) + content[at + length :]


def _repeat(content: bytes, rng: Generator) -> bytes:
    at, to = _position(content, rng), _position(content, rng)
    length = int(rng.integers(1, 257))
    return content[:to] + content[at : at + length] + content[to:]


def _replaced(pattern: re.Pattern[bytes], content: bytes, rng: Generator, by: bytes) -> bytes:
    found = list(pattern.finditer(content))
    if not found:
        return content
    match = found[int(rng.integers(len(found)))]
    return content[: match.start()] + by + content[match.end() :]


def _number(content: bytes, rng: Generator) -> bytes:
    return _replaced(_NUMBER, content, rng, NUMBERS[int(rng.integers(len(NUMBERS)))])


def _word(content: bytes, rng: Generator) -> bytes:
    words = _WORD.findall(content)
    by = words[int(rng.integers(len(words)))] if words else b"x"
    return _replaced(_WORD, content, rng, by)


def _fragment(content: bytes, rng: Generator) -> bytes:
    at = _position(content, rng)
    return content[:at] + FRAGMENTS[int(rng.integers(len(FRAGMENTS)))] + content[at:]


def _lines(content: bytes, rng: Generator) -> bytes:
    """Move, repeat or remove a line."""
    lines = content.splitlines(keepends=True)
    if not lines:
        return content
    line = lines[int(rng.integers(len(lines)))]
    kind = int(rng.integers(3))
    if kind:
        lines.insert(int(rng.integers(len(lines) + 1)), line)
    if kind != 1:
        lines.remove(line)
    return b"".join(lines)


_OF_BYTES: tuple[Mutation, ...] = (_flip, _overwrite, _insert, _cut, _remove, _zeros, _repeat)
_OF_TEXT: tuple[Mutation, ...] = (_number, _word, _fragment, _lines)
