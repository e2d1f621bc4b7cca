"""Tables as text and as HTML."""

from collections.abc import Sequence

__all__ = ["aligned", "escaped", "html_table"]


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """One line per row."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def escaped(text: str) -> str:
    """As HTML shows it."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def html_table(rows: Sequence[Sequence[str]]) -> str:
    """With the first row as its head."""

    def line(cells: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{escaped(cell)}</{tag}>" for cell in cells) + "</tr>"

    return "<table>" + line(rows[0], "th") + "".join(line(row, "td") for row in rows[1:]) + "</table>"
