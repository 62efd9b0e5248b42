#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails on a site whose links lead nowhere, or that loads anything from elsewhere.

usage: website.py FOLDER    the site, as mkdocs made it (mkdocs.yml)

Each relative link must have its file below FOLDER, and its #section an element of that name.
"""
import posixpath
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

LOADED = {"script": "src", "img": "src", "iframe": "src", "link": "href"}


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.names, self.links, self.loads = set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.names.add(attributes.get("id"))
        if tag == "a" and "href" in attributes:
            self.links.append(attributes["href"])
        if attributes.get(LOADED.get(tag)):
            self.loads.append(attributes[LOADED[tag]])


def check(root):
    files = {path.relative_to(root).as_posix(): path for path in root.rglob("*") if path.is_file()}
    pages = {name: Page(path.read_text(encoding="utf-8")) for name, path in files.items() if name.endswith(".html")}
    if "index.html" not in pages:
        yield "index.html is not there"
    for name, page in pages.items():
        for target in page.loads:
            if "//" in target:
                yield f"{name}: loads {target} from elsewhere"
        for target in page.links + page.loads:
            path, section = urldefrag(unquote(target))
            if ":" in path or "//" in path:
                continue
            path = posixpath.normpath(posixpath.join(posixpath.dirname(name), path)) if path else name
            if path not in files:
                yield f"{name}: a link to {target}, which is not there"
            elif section and section not in getattr(pages.get(path), "names", ()):
                yield f"{name}: a link to {target}, which has no such section"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    root = Path(sys.argv[1])
    if not root.is_dir():
        print("skipped: the site is not made: mkdocs is not installed")
        sys.exit(77)
    problems = list(check(root))
    print("\n".join(problems) or "website: each link leads somewhere")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
