"""The site as it is built: complete, whole, and without anything from elsewhere."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

import pytest
from command import oomlint

from oomlint.findings.own import OWN_RULES
from oomlint.findings.registry import load_rules
from oomlint.project.options import OPTIONS

ROOT = Path(__file__).parent.parent.parent
RULES = {rule.code: rule for rule in (*OWN_RULES, *(entry.rule for entry in load_rules()))}


@dataclass
class Html(HTMLParser):
    """What a page links to, loads, and can be linked to at; and its words."""

    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)
    words: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        if "id" in found:
            self.ids.add(found["id"])
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        elif tag == "link" and "href" in found:
            self.loads.append(found["href"])
        if tag in ("script", "img", "iframe", "source") and "src" in found:
            self.loads.append(found["src"])

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        """All words."""
        return " ".join("".join(self.words).split())


@dataclass(frozen=True)
class Site:
    """What was built."""

    folder: Path
    pages: dict[str, Html]


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "mkdocs",
            "build",
            "--strict",
            "-f",
            str(ROOT / "mkdocs.yml"),
            "-d",
            str(folder),
        ],
        cwd=tmp_path_factory.mktemp("elsewhere"),
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    pages = {}
    for path in folder.rglob("*.html"):
        parsed = Html()
        parsed.feed(path.read_text("utf-8"))
        pages[path.relative_to(folder).as_posix()] = parsed
    return Site(folder, pages)


def test_every_rule_has_a_page_with_what_its_record_says(site: Site):
    assert {name for name in site.pages if re.fullmatch(r"rules/OOM\d{3}/index\.html", name)} == {
        f"rules/{code}/index.html" for code in RULES
    }
    for code, rule in RULES.items():
        text = site.pages[f"rules/{code}/index.html"].text
        assert f"{code} {rule.name}" in text
        assert f"usually {rule.severity}" in text
        assert ("--preview" in text) >= rule.preview
        summary = oomlint("rule", code).stdout.split("\n\n")[2]
        assert re.sub(r"[`*]", "", summary) in text


def test_the_overview_has_every_rule(site: Site):
    linked = {urldefrag(link).url for link in site.pages["rules/index.html"].links}
    assert linked >= {f"{code}/index.html" for code in RULES}


def test_links_and_anchors_resolve(site: Site):
    broken = []
    for name, page in site.pages.items():
        for link in page.links + page.loads:
            if urlsplit(link).scheme or name == "404.html":
                continue
            target, anchor = map(unquote, urldefrag(urljoin(f"/{name}", link)))
            known = site.pages.get(target.lstrip("/"))
            there = (site.folder / target.lstrip("/")).is_file()
            if not there or (anchor and known is not None and anchor not in known.ids):
                broken.append((name, link))
    assert broken == []


def test_nothing_is_fetched_from_elsewhere(site: Site):
    for name, page in site.pages.items():
        assert not [link for link in page.loads if urlsplit(link).netloc or link.startswith("//")], name
    for path in (*site.folder.rglob("*.css"), *site.folder.glob("assets/*.js")):
        assert not re.search(r"(?:url\(|@import\s*)[\"']?(?:https?:)?//", path.read_text("utf-8")), path


def test_no_page_is_an_orphan(site: Site):
    reached = {"index.html"}
    todo = ["index.html"]
    while todo:
        name = todo.pop()
        for link in site.pages[name].links:
            target = urldefrag(urljoin(f"/{name}", link)).url.lstrip("/")
            if target in site.pages and target not in reached:
                reached.add(target)
                todo.append(target)
    assert set(site.pages) - reached == {"404.html"}


def test_the_search_knows_every_page(site: Site):
    index = json.loads((site.folder / "search" / "search_index.json").read_text("utf-8"))
    found = {urldefrag(entry["location"]).url or "index.html" for entry in index["docs"]}
    assert found == set(site.pages) - {"404.html"}
    # From a folder the index is a script, as nothing can be fetched there.
    assert (site.folder / "search" / "search_index.js").read_text("utf-8").startswith("var __index")


@pytest.mark.parametrize("command", ["check", "estimate", "rule", "config", "gpus"])
def test_the_reference_has_every_flag(site: Site, command: str):
    text = site.pages["reference/commands.html"].text
    parts = re.split(r"oomlint ([a-z-]+) ?¶", text)
    section = dict(zip(parts[1::2], parts[2::2]))[command]
    for flag in set(re.findall(r"(?<![\w-])--[a-z][\w-]+", oomlint(command, "--help").stdout)) - {"--help"}:
        assert flag in section, flag


def test_the_reference_has_every_configuration_key(site: Site):
    page = site.pages["reference/configuration.html"]
    assert set(OPTIONS) <= page.ids
    assert '"T4"' in page.text


def test_codes_in_prose_are_links(site: Site):
    links = {urldefrag(link).url for link in site.pages["rules/OOM504/index.html"].links}
    assert "../OOM502/index.html" in links
    assert "rules/OOM305/index.html" in {urldefrag(link).url for link in site.pages["which-cause.html"].links}


def test_the_numbers_are_those_of_the_recorded_rows(site: Site):
    lines = (ROOT / "benchmarks" / "estimate" / "published.jsonl").read_text("utf-8").splitlines()
    judged = [row["judged"] for row in map(json.loads, lines) if "judged" in row]
    right, wrong = judged.count("right"), judged.count("wrong")
    said = f"Of {len(judged)} published runs {right} came out right, {wrong} wrong"
    assert said in site.pages["trust.html"].text
