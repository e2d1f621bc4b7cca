"""A hook of mkdocs: the pages are the files of this repository, each at its own path."""

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
    linked = set()
    for page in (path for path in shown if path.suffix == ".md"):
        for target in links((root / page).read_text(encoding="utf-8")):
            path = (root / page.parent / target).resolve()
            if path.is_file():
                linked.add(path.relative_to(root.resolve()))
    every = sorted(shown | linked)
    found = [File.generated(config, path.as_posix(), abs_src_path=str(root / path)) for path in every]
    of_theme = [file for file in files if file.src_dir != config.docs_dir]
    return Files([*found, *of_theme])


def on_page_markdown(markdown: str, *, page: object, config: MkDocsConfig, files: Files) -> str:
    """A folder's page is its README, and marks for the tests of code blocks are not shown."""
    root, here = Path(config.config_file_path).parent, Path(page.file.src_uri).parent  # type: ignore[attr-defined]

    def whole(match: re.Match[str]) -> str:
        target = match[1]
        is_folder = not target.startswith(("http", "#")) and (root / here / target / "README.md").is_file()
        return f"]({target.rstrip('/')}/README.md)" if is_folder else match[0]

    return re.sub(r"\]\(([^)\s]+)\)", whole, markdown).replace("```python no-run\n", "```python\n")


def links(text: str) -> list[str]:
    """Targets of links and pictures, without anchors."""
    found = re.findall(r"\]\(([^)\s#]+)[^)]*\)|(?:src|srcset|href)=\"([^\"#]+)\"", text)
    targets = (target or source for target, source in found)
    return [target for target in targets if not re.match(r"[a-z]+:", target)]
