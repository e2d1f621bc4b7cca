"""A hook of mkdocs: the pages are the files of this repository, each at its own path."""

import json
import re
import subprocess
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

SHOWN = {".md", ".svg", ".png"}
"""What is a page, or in one. Whatever else a page links to is copied beside it."""


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """All pages and pictures that git knows, and what they link to."""
    root = Path(config.config_file_path).parent
    listed = subprocess.run(["git", "ls-files"], cwd=root, check=True, capture_output=True, text=True)
    known = [Path(line) for line in listed.stdout.splitlines()]
    shown = {path for path in known if path.suffix in SHOWN and (root / path).is_file()}
    notebooks = {path: as_markdown(root / path) for path in known if path.suffix == ".ipynb"}
    texts = {path: (root / path).read_text(encoding="utf-8") for path in shown if path.suffix == ".md"} | notebooks
    linked = set()
    for page, text in texts.items():
        for target in links(text):
            path = (root / page.parent / target).resolve()
            if path.is_file():
                linked.add(path.relative_to(root.resolve()))
    every = sorted((shown | linked) - notebooks.keys())
    found = [File.generated(config, path.as_posix(), abs_src_path=str(root / path)) for path in every]
    for path, text in notebooks.items():
        found.append(File.generated(config, path.with_suffix(".md").as_posix(), content=text))
    of_theme = [file for file in files if file.src_dir != config.docs_dir]
    return Files([*found, *of_theme])


def on_page_markdown(markdown: str, *, page: object, config: MkDocsConfig, files: Files) -> str:
    """A folder's page is its README, and marks for the tests of code blocks are not shown."""
    root, here = Path(config.config_file_path).parent, Path(page.file.src_uri).parent  # type: ignore[attr-defined]

    def whole(match: re.Match[str]) -> str:
        target = match[1]
        is_folder = not target.startswith(("http", "#")) and (root / here / target / "README.md").is_file()
        return f"]({target.rstrip('/')}/README.md)" if is_folder else match[0]

    markdown = re.sub(r"(\]\([^)\s]+)\.ipynb\)", r"\1.md)", markdown)
    return re.sub(r"\]\(([^)\s]+)\)", whole, markdown).replace("```python no-run\n", "```python\n")


def as_markdown(notebook: Path) -> str:
    """A notebook's text, code and outputs."""
    parts = []
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if "text/html" in data:
                shown = re.sub(r"<style.*?</style>", "", "".join(data["text/html"]), flags=re.DOTALL)
                # As the site draws its own tables.
                parts.append(re.sub(r"<table[^>]*>", "<table>", shown))
            else:
                text = "".join(data.get("text/plain", output.get("text", [])))
                parts.append(f"```text\n{text.rstrip()}\n```")
    return "\n\n".join(parts)


def links(text: str) -> list[str]:
    """Targets of links and pictures, without anchors."""
    found = re.findall(r"\]\(([^)\s#]+)[^)]*\)|(?:src|srcset|href)=\"([^\"#]+)\"", text)
    targets = (target or source for target, source in found)
    return [target for target in targets if not re.match(r"[a-z]+:", target)]
