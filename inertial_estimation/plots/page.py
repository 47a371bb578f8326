"""Building blocks of a self-contained HTML page: read on a phone, printed, without a network."""

from collections.abc import Collection, Sequence
from html import escape

__all__ = ["STYLE", "cards", "listed", "table"]

STYLE = """
:root { color-scheme: light; }
body { margin: 0; background: #fff; color: #222; font: 16px/1.45 system-ui, sans-serif; }
main { max-width: 66rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.5rem; margin: 0.5rem 0 1rem; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 2rem 0 0.5rem; }
h2, h2 + p { break-after: avoid; }
.cards { display: flex; flex-wrap: wrap; gap: 0.6rem; }
.card { flex: 1 1 9rem; border: 1px solid #ccc; border-radius: 6px; padding: 0.5rem 0.7rem; }
.card .name, .card .note { font-size: 0.8rem; color: #555; }
.card .value { font-size: 1.2rem; font-weight: 600; overflow-wrap: anywhere; }
.box { border-left: 4px solid #888; background: #f4f4f4; padding: 0.5rem 0.8rem; margin: 0.7rem 0; }
.box.doubt { border-color: #D55E00; background: #fdf1ea; }
.box.warning { border-color: #E69F00; background: #fdf7e8; }
.box ul { margin: 0; padding-left: 1.1rem; }
.box { overflow-wrap: anywhere; }
.scroll { overflow-x: auto; margin: 0.5rem 0; }
table { border-collapse: collapse; font-size: 0.82rem; font-variant-numeric: tabular-nums; }
th, td { padding: 0.2rem 0.55rem; border-bottom: 1px solid #ddd; text-align: right; white-space: nowrap; }
th { background: #f4f4f4; font-weight: 600; vertical-align: bottom; }
th.text, td.text { text-align: left; }
th.group { text-align: center; border-left: 1px solid #ccc; }
td.long { white-space: normal; min-width: 14rem; }
b.bad { color: #b34700; }
.figure { overflow-x: auto; margin: 0.5rem 0; break-inside: avoid; }
.figure svg { width: 100%; min-width: 38rem; height: auto; display: block; }
details { break-inside: avoid; margin: 0.4rem 0; }
summary { cursor: pointer; font-weight: 600; }
.columns { columns: 30rem 2; column-gap: 1.5rem; }
@media print {
  body { font-size: 10.5pt; }
  main { max-width: none; padding: 0; }
  .scroll, .figure { overflow: visible; }
  .figure svg { min-width: 0; }
  table { font-size: 7.5pt; }
  th, td { padding: 0.1rem 0.25rem; }
  td.long { min-width: 0; }
  tr, .card, .box { break-inside: avoid; }
}
"""
LONG = 40  # characters, beyond which a text cell may break into lines


def cards(facts: Sequence[tuple[str, str, str]]) -> str:
    """Return a grid of facts.

    Args:
        facts: Name, value and note of each; the value is HTML.
    """
    parts = [
        f'<div class="card"><div class="name">{escape(name)}</div><div class="value">{value}</div>'
        f'<div class="note">{note}</div></div>'
        for name, value, note in facts
    ]
    return '<div class="cards">' + "\n".join(parts) + "</div>\n"


def listed(sentences: Sequence[str], kind: str) -> str:
    """Return plain sentences in a box of a kind (``doubt``, ``warning``, ``note``); empty without any."""
    if not sentences:
        return ""
    items = "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences)
    return f'<div class="box {escape(kind)}"><ul>{items}</ul></div>\n'


def table(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    text: Collection[int] = (),
    groups: Sequence[tuple[str, int]] = (),
) -> str:
    """Return a table that scrolls by itself where the page is narrow.

    Args:
        head: Names of the columns, plain text.
        rows: Cells, HTML.
        text: Columns that are read as text, left-aligned.
        groups: Names of groups of columns and how many each spans, above the head.
    """
    above = "".join(f'<th class="group" colspan="{span}">{escape(name)}</th>' for name, span in groups)
    above = f"<tr>{above}</tr>" if groups else ""
    names = "".join(_cell("th", escape(name), i in text) for i, name in enumerate(head))
    lines = [
        "<tr>" + "".join(_cell("td", cell, i in text) for i, cell in enumerate(row)) + "</tr>" for row in rows
    ]
    body = "\n".join(lines)
    return (
        f'<div class="scroll"><table><thead>{above}<tr>{names}</tr></thead>\n'
        f"<tbody>{body}</tbody></table></div>\n"
    )


def _cell(tag: str, content: str, is_text: bool) -> str:
    kinds = [*(["text"] if is_text else []), *(["long"] if is_text and len(content) > LONG else [])]
    attribute = f' class="{" ".join(kinds)}"' if kinds else ""
    return f"<{tag}{attribute}>{content}</{tag}>"
