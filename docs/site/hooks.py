"""MkDocs' hooks: pages that are made from the code while the site is built, so that they cannot go stale."""

from __future__ import annotations

import sys
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import numbers_of  # noqa: E402
import reference  # noqa: E402
import repository  # noqa: E402
import rule_pages  # noqa: E402


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """The rules' pages go into the navigation by family."""
    for section in config.nav or []:
        if "Rules" in section:
            section["Rules"] += rule_pages.navigation()
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are no files."""
    pages = rule_pages.pages() | reference.pages() | repository.pages()
    for name, text in pages.items():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Codes become links; numbers come from the benchmarks' own rows."""
    if page.file.src_uri.startswith(("rules/OOM", "tour", "comparison")) or "\n```console\n" in markdown:
        page.meta["hide"] = ["toc"]  # code, pictures and wide tables need the room
    markdown = repository.titled(numbers_of.filled(markdown))
    return rule_pages.linked(markdown, page.file.src_uri)
