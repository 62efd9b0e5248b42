# SPDX-License-Identifier: Apache-2.0
"""Reads JSON of strangers: bounded, every member by its type, and an error that names file and member."""
from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

MAX_BYTES = 32 << 20  # of one file
MAX_TEXT = 4096  # characters of one string
MAX_ITEMS = 200_000  # of one list
LARGEST = 1e18  # of one number


class BadDocument(Exception):
    """A file that is not what it should be; the text says where."""


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a member stands there twice")
    return members


def _no_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number of JSON")


def load(path: Path) -> "Node":
    """The document of a file."""
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise BadDocument(f"{path}: {error.strerror}") from error
    if len(data) > MAX_BYTES:
        raise BadDocument(f"{path}: larger than {MAX_BYTES >> 20} MiB")
    return parse(data.decode("utf-8", errors="replace"), str(path))


def parse(text: str, name: str) -> "Node":
    try:
        return Node(json.loads(text, object_pairs_hook=_no_duplicates, parse_constant=_no_constant), name)
    except (ValueError, RecursionError) as error:
        raise BadDocument(f"{name}: no JSON: {error}") from error


class Node:
    """A value and where it stands."""

    def __init__(self, value: Any, where: str) -> None:
        self.value = value
        self.where = where

    def fail(self, wanted: str) -> NoReturn:
        raise BadDocument(f"{self.where}: {wanted}")

    def __getitem__(self, name: str) -> "Node":
        members = self.members()
        if name not in members:
            self.fail(f"has no {name}")
        return Node(members[name], f"{self.where}: {name}")

    def get(self, name: str) -> "Node | None":
        """The member, if it is there and not null."""
        value = self.members().get(name)
        return None if value is None else Node(value, f"{self.where}: {name}")

    def members(self) -> dict[str, Any]:
        if not isinstance(self.value, dict):
            self.fail("is no object")
        return self.value

    def items(self, most: int = MAX_ITEMS) -> Iterator["Node"]:
        if not isinstance(self.value, list):
            self.fail("is no list")
        if len(self.value) > most:
            self.fail(f"has {len(self.value)} entries, more than {most}")
        for index, value in enumerate(self.value):
            yield Node(value, f"{self.where}[{index}]")

    def text(self, most: int = MAX_TEXT) -> str:
        if not isinstance(self.value, str):
            self.fail("is no text")
        if len(self.value) > most:
            self.fail(f"is longer than {most} characters")
        # Lone surrogates and control characters have no place in a page.
        return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in self.value)

    def word(self, allowed: tuple[str, ...]) -> str:
        if self.value not in allowed:
            self.fail(f"is none of {', '.join(allowed)}")
        return str(self.value)

    def number(self) -> float:
        if isinstance(self.value, bool) or not isinstance(self.value, (int, float)):
            self.fail("is no number")
        if not 0 <= self.value <= LARGEST or not math.isfinite(self.value):
            self.fail(f"is not from 0 to {LARGEST:g}")
        return float(self.value)

    def count(self) -> int:
        value = self.number()
        if value != int(value):
            self.fail("is no whole number")
        return int(value)

    def optional_number(self, name: str) -> float | None:
        node = self.get(name)
        return None if node is None else node.number()

    def optional_text(self, name: str, default: str = "") -> str:
        node = self.get(name)
        return default if node is None else node.text()

    def optional_count(self, name: str, default: int) -> int:
        node = self.get(name)
        return default if node is None else node.count()

    def texts(self, most: int = 1000) -> tuple[str, ...]:
        return tuple(node.text() for node in self.items(most))

    def pairs(self, most: int = 200) -> tuple[tuple[str, str], ...]:
        """An object of plain values, as text."""
        members = self.members()
        if len(members) > most:
            self.fail(f"has {len(members)} members, more than {most}")
        return tuple((Node(name, self.where).text(200), Node(_plain(value), f"{self.where}: {name}").text())
                     for name, value in members.items())


def _plain(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, separators=(", ", ": "), sort_keys=True)
