# SPDX-License-Identifier: Apache-2.0
"""Tells mkdocs which pages the site has: README.md, and each page and file that links lead to from there.

They keep their places in the tree, so that a link from docs/ to ansible/README.md is right in the source and on the site. A page of
docs/ that no link leads to is a warning, and a warning fails the build.
"""
import logging
import posixpath
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/lint"))
sys.dont_write_bytecode = True
import docs  # noqa: E402

LOG = logging.getLogger("mkdocs.hooks.pages")


def reached():
    """Paths below ROOT, in the order in which a reader of docs/index.md meets them."""
    names = ["docs/index.md", "README.md"]
    for name in names:  # grows
        if name.endswith(".md"):
            for target, _ in docs.LINK.findall((ROOT / name).read_text(encoding="utf-8")):
                path = posixpath.normpath(posixpath.join(posixpath.dirname(name), target)) if target else name
                if path not in names and (ROOT / path).is_file():
                    names.append(path)
    return names


def navigation(names):
    """The pages by their folders: README.md and those of docs/ itself first, all outside of docs/ last."""
    folders = {"docs": ["README.md", "docs/index.md"]}
    for name in names[2:]:
        if name.endswith(".md"):
            folders.setdefault(posixpath.dirname(name) if name.startswith("docs/") else "project", []).append(name)
    top, project = folders.pop("docs"), folders.pop("project")
    return [*top, *({folder.partition("/")[2]: pages} for folder, pages in folders.items()), {"project": project}]


def on_config(config):
    config["nav"] = navigation(reached())
    config["mdx_configs"]["toc"] = {"slugify": lambda title, _: docs.anchor(title)}
    config["theme"].static_templates.clear()  # sitemap.xml needs an address
    return config


def on_files(files, config):
    from mkdocs.structure.files import File, Files
    names = reached()
    for page in sorted(ROOT.glob("docs/**/*.md")):
        if page.relative_to(ROOT).as_posix() not in names:
            LOG.warning("no page has a link to %s", page.relative_to(ROOT))
    style = [file for file in files if file.src_path == "style.css"]
    return Files(style + [File(name, str(ROOT), config["site_dir"], config["use_directory_urls"]) for name in names])
