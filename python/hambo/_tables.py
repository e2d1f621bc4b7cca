"""Tables as text and as HTML."""

from collections.abc import Sequence

__all__ = ["aligned", "escaped", "html_page", "html_table"]


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


def html_page(title: str, body: str) -> str:
    """A page that needs no other file."""
    style = (
        "body { font: 16px/1.5 sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em } "
        "table { border-collapse: collapse } th, td { text-align: left; padding: .2em 1em .2em 0 }"
    )
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escaped(title)}</title>'
        f"<style>{style}</style></head><body><h1>{escaped(title)}</h1>{body}</body></html>"
    )
