# SPDX-License-Identifier: Apache-2.0
"""Imports the programs of tests/bench, whose files have no ending."""
from __future__ import annotations

import importlib.machinery
import importlib.util
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def load(name: str):
    loader = importlib.machinery.SourceFileLoader(name, str(ROOT / "tests/bench" / name))
    spec = importlib.util.spec_from_loader(name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module
