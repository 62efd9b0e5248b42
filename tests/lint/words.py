#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails on words in comments and documents that are private or translated, on sentences that begin with "what" or "who", and on
documents of which more than one sentence in fifty has more than 25 words.

usage: words.py ROOT

One line for each: file, line, the words. Text in quotes, `code` and commands is not looked at. docs/dev/style.md has the reasons.
"""
import re
import sys
from pathlib import Path

# The folders whose comments are in the style of CONTRIBUTING.md. The list grows until it is the tree.
FOLDERS = ("hook", "netns", "runtime-config/engines", "runtime-config/oci", "runtime-config/rdma-runtime", "tests/fakes")

# Documents for people, with a longer list: docs/dev/style.md. The page of style shows what it forbids.
DOCUMENTS = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "docs/**/*.md", "*/README.md", "hook/STATE.md", "tests/lab/README.md")
EXCEPT = ("docs/dev/style.md",)

WORDS = ("alone", "anew", "ours", "whoever", "mend(?:s|ed|ing)?", "be it", "for ever", "for want of", "no more",
         "(?:is|are|was|were) (?:told|said)", "(?:by|for|from|of|than|to|with) who")
# A question is no headless sentence.
HEADLESS = r"(?:\A|\n\s*\n|\n\s*- |[.!?]\)?\s)\s*(?P<head>who|whose|what|whatever)\b(?![^.:;]*\?)"
# In documents rdma-hook has a name.
MORE = ("we", "us", "our", "whatever", "RDMA netns mode", "(?:is|are) the administrator's", "none of its business")


def pattern(words):
    return re.compile(r"\b(?P<word>" + "|".join(words).replace(" ", r"\s+") + rf")\b|{HEADLESS}", re.IGNORECASE)


WRONG, WRONG_IN_DOCUMENTS = pattern(WORDS), pattern(WORDS + MORE)
# Strings and characters may hold "//".
TOKEN = re.compile(r'R"([^(\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|//[^\n]*|/\*.*?\*/', re.DOTALL)
QUOTED = re.compile(r'`[^`]*`|"[^"]*"')


def comments(text):
    """(number of its first line, text) of each comment; lines that have nothing else are one with those above."""
    blocks, last = [], -1
    for found in TOKEN.finditer(text):
        if not found.group().startswith(("//", "/*")) or "SPDX-" in found.group():
            continue
        line = text.count("\n", 0, found.start()) + 1
        own_line = not text[text.rfind("\n", 0, found.start()) + 1:found.start()].strip()
        content = found.group()[2:].removesuffix("*/")
        if own_line and line == last + 1:
            blocks[-1][1] += "\n" + content
        else:
            blocks.append([line, content])
        last = line + content.count("\n") if own_line else -1
    return blocks


def find(name, line, text, wrong):
    """What is wrong with a text that begins at this line."""
    text = QUOTED.sub(lambda quoted: re.sub(r"[^\n]", "_", quoted.group()), text)
    for found in wrong.finditer(text):
        group = "word" if found.group("word") else "head"
        words = " ".join(found.group(group).split())
        why = f'"{words}"' if group == "word" else f'a sentence begins with "{words}"'
        yield f"{name}:{line + text.count(chr(10), 0, found.start(group))}: {why}"


def prose(page):
    """A page without its commands and without what links lead to; lines stay where they are."""
    page = re.sub(r"^```.*?^```", lambda block: "\n" * block.group().count("\n"), page, flags=re.MULTILINE | re.DOTALL)
    page = re.sub(r"^    .*$", "", page, flags=re.MULTILINE)
    return re.sub(r"\]\([^)]*\)", "]", page)


SENTENCE = re.compile(r"(?<=[.!?])[)\"*_`]*\s+(?=[\"(*_\[]*(?:[A-Z0-9`]|rdma-|rdmactl|crun|runc|mlx5|siw|rxe))")
MOST, SHARE = 25, 0.02  # words of a sentence; of all sentences those that may have more


def sentences(page):
    """Those of paragraphs and lists; `code` is a word."""
    lines = ("" if line.lstrip().startswith(("|", "#")) else re.sub(r"^\s*(?:- |\d+\. )", "\n", line) for line in prose(page).splitlines())
    for block in re.split(r"\n\s*\n", re.sub(r"`[^`]*`", "`code`", "\n".join(lines))):
        yield from (found for found in SENTENCE.split(" ".join(block.split())) if found)


def too_long(root):
    """A line for each long sentence, if there are too many."""
    pages = sorted({path for glob in ("README.md", "docs/**/*.md") for path in root.glob(glob)})
    found = [(path.relative_to(root).as_posix(), sentence) for path in pages for sentence in sentences(path.read_text(encoding="utf-8"))]
    long = [(name, sentence) for name, sentence in found if len(re.findall(r"\S*\w\S*", sentence)) > MOST]
    if len(long) <= SHARE * len(found):
        return []
    return [f"{name}: more than {MOST} words: {' '.join(sentence.split()[:8])} ..." for name, sentence in long]


def check(root):
    problems = []
    paths = [path for folder in FOLDERS for path in sorted((root / folder).rglob("*")) if path.suffix in (".h", ".cc")]
    for path in paths:
        name = path.relative_to(root).as_posix()
        for line, comment in comments(path.read_text(encoding="utf-8")):
            problems += find(name, line, comment, WRONG)
    for path in sorted({path for glob in DOCUMENTS for path in root.glob(glob)}):
        name = path.relative_to(root).as_posix()
        if name not in EXCEPT:
            problems += find(name, 1, prose(path.read_text(encoding="utf-8")), WRONG_IN_DOCUMENTS)
    return problems + too_long(root)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    problems = check(Path(sys.argv[1]))
    print("\n".join(problems) or "words: none that is not wanted")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
