#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""tests/data/import: fixtures of good archives, and refusals of hostile ones: archives are strangers'."""
from __future__ import annotations

import gzip
import io
import json
import lzma
import os
import subprocess
import sys
import tarfile
import tempfile
import unittest
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[3]
PROGRAM = ROOT / "tests/data/import"
loader = SourceFileLoader("data_import", str(PROGRAM))
spec = spec_from_loader("data_import", loader)
assert spec
data_import = module_from_spec(spec)
loader.exec_module(data_import)

MAC = "52:54:00:9f:00:01"
SYSFS = f"""bus/pci/devices/0000:01:00.0 -> ../../../devices/pci0000:00/0000:01:00.0
devices/pci0000:00/0000:01:00.0/vendor = 0x8086
devices/pci0000:00/0000:01:00.0/net/
devices/pci0000:00/0000:01:00.0/net/enx5254009f0001/address = {MAC}
class/net/enx5254009f0001 -> ../../devices/pci0000:00/0000:01:00.0/net/enx5254009f0001
bus/pci/drivers/igb/bind =
"""
NETLINK = f"rtnetlink/enp1s0 = {'00' * 16}5254009f0001{'00' * 10}\n"
REPORT = {"schema": "rdma-acceptance/1", "anonymous": False, "host": "gpu7", "platform": {"adapter": "82576 of gpu7", "kernel": "7.3.4"}}


def member(name: str, data: bytes | str = b"", **more: Any) -> tuple[tarfile.TarInfo, bytes]:
    content = data.encode() if isinstance(data, str) else data
    info = tarfile.TarInfo(name)
    info.size = len(content)
    for key, value in more.items():
        setattr(info, key, value)
    return info, content


def good(**files: str) -> list[tuple[tarfile.TarInfo, bytes]]:
    texts = {"report.json": json.dumps(REPORT), "report.md": "# a page", "raw/sysfs.txt": SYSFS, "raw/netlink.txt": NETLINK} | files
    return [member(f"top/{name}", text) for name, text in texts.items()]


def packed(members: list[tuple[tarfile.TarInfo, bytes]], form: str = "xz") -> bytes:
    output = io.BytesIO()
    with tarfile.open(fileobj=output, mode=f"w:{form}") as archive:
        for info, content in members:
            archive.addfile(info, io.BytesIO(content))
    return output.getvalue()


class Imports(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def read(self, data: bytes) -> dict[str, str]:
        path = self.folder / "archive"
        path.write_bytes(data)
        return dict(data_import.fixtures(data_import.read_archive(path)))

    def refuses(self, said: str, data: bytes) -> None:
        with self.assertRaisesRegex(data_import.Refused, said):
            self.read(data)


class Good(Imports):
    def test_both_compressions(self) -> None:
        for form in ("xz", "gz"):
            made = self.read(packed(good(), form))
            self.assertEqual(set(made), {"sysfs", "netlink"})
            for text in made.values():
                self.assertTrue(text.startswith("# imported: 82576 of host-"), text[:80])
                self.assertNotIn("gpu7", text)

    def test_it_is_anonymous_in_any_case(self) -> None:
        made = self.read(packed(good()))
        for secret in (MAC, "5254009f0001"):
            self.assertNotIn(secret, made["sysfs"] + made["netlink"])
        self.assertEqual(len(made["netlink"].splitlines()[1]), len(NETLINK) - 1)

    def test_one_that_is_anonymous_stays_as_it_is(self) -> None:
        made = self.read(packed(good(**{"report.json": json.dumps(REPORT | {"anonymous": True})})))
        self.assertEqual(made["sysfs"].partition("\n")[2], SYSFS)

    def test_by_one_command(self) -> None:
        (self.folder / "a.tar.xz").write_bytes(packed(good()))
        words = [sys.executable, "-B", str(PROGRAM), "--to", str(self.folder), "--name", "lab-x", str(self.folder / "a.tar.xz")]
        self.assertEqual(subprocess.run(words, capture_output=True, check=False).returncode, 0)
        self.assertTrue((self.folder / "sysfs/lab-x").exists() and (self.folder / "netlink/lab-x").exists())
        again = subprocess.run(words, capture_output=True, text=True, check=False)
        self.assertEqual((again.returncode, "--replace" in again.stderr), (1, True))
        self.assertEqual(subprocess.run([*words, "--replace"], capture_output=True, check=False).returncode, 0)

    def test_stages_are_fixtures_of_their_own(self) -> None:
        made = self.read(packed(good(**{"raw/sysfs-vfs.txt": SYSFS, "raw/netlink-switchdev.txt": NETLINK, "raw/sysfs-other.txt": "/"})))
        self.assertEqual(set(made), {"sysfs", "netlink", "sysfs-vfs", "netlink-switchdev"})
        self.refuses("no path of sysfs", packed(good(**{"raw/sysfs-vfs.txt": "../x = 1"})))

    def test_names_of_fixtures_lead_nowhere(self) -> None:
        (self.folder / "a").write_bytes(packed(good()))
        for name in ("../x", "", ".x", "a/b", "A", "x" * 80):
            status = data_import.main(["--to", str(self.folder), "--name", name, str(self.folder / "a")])
            self.assertEqual(status, 1, name)
        (self.folder / "sysfs").mkdir()
        os.symlink("/etc/passwd", self.folder / "sysfs/link")
        self.assertEqual(data_import.main(["--to", str(self.folder), "--name", "link", "--replace", str(self.folder / "a")]), 1)


class HostileArchives(Imports):
    def test_what_is_no_archive(self) -> None:
        self.refuses("no tar.xz", b"")
        self.refuses("no tar.xz", b"PK\x03\x04")
        self.refuses("damaged", packed(good())[:-200])
        self.refuses("damaged", gzip.compress(b"x" * 5000))
        self.refuses("no report.json", packed([member("top/raw/sysfs.txt", SYSFS)]))

    def test_paths_that_leave(self) -> None:
        for name in ("/etc/passwd", "../x", "top/../../x", "top/./x", "top//x", "top/.ssh", "top/a b", "top/\u202e", "-x/y", "top/" + "a/" * 8 + "b"):
            self.refuses("no name of accept's", packed([*good(), member(name, "x")]))
        self.refuses("more than one folder", packed([*good(), member("other/x", "x")]))
        self.refuses("more than one folder", packed([member("x", "x")]))

    def test_what_is_no_plain_file(self) -> None:
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE, tarfile.BLKTYPE):
            self.refuses("no plain file", packed([member("top/report.json", type=kind, linkname="/etc/passwd")]))

    def test_sizes_are_bounded(self) -> None:
        self.refuses("has 8388609 bytes", packed([member("top/raw/big", bytes((8 << 20) + 1))]))
        self.refuses("more than 2000 files", packed([member(f"top/raw/f{i}") for i in range(2001)]))
        bomb = [member(f"top/raw/f{i}", bytes(8 << 20)) for i in range(17)]
        self.refuses("more than 134217728 bytes", packed(bomb, "gz"))

    def test_a_file_twice(self) -> None:
        self.refuses("there twice", packed([*good(), member("top/raw/sysfs.txt", SYSFS)]))

    def test_text_that_is_none(self) -> None:
        self.refuses("damaged", packed(good()[:1] + [member("top/raw/sysfs.txt", b"\xff\xfe")]))
        self.refuses("report.json is none", packed(good(**{"report.json": "["})))
        self.refuses("report.json is none", packed(good(**{"report.json": "[" * 200000})))
        self.refuses("not of schema", packed(good(**{"report.json": "[]"})))
        self.refuses("neither sysfs nor netlink", packed(good(**{"raw/sysfs.txt": "", "raw/netlink.txt": ""})))

    def test_a_size_that_lies(self) -> None:
        raw = bytearray(lzma.decompress(packed(good())))
        raw[124:136] = b"77777777777\0"
        self.refuses("damaged|bytes", lzma.compress(bytes(raw)))


class HostileContents(Imports):
    def test_trees_that_leave_their_root(self) -> None:
        for line in ("../x = 1", "/etc/passwd = 1", "a/../b = 1", "a/./b = 1", "a//b = 1", "a -> /etc/passwd", "a -> ../x", "a/b -> ../../x", "a -> b/../../x",
                     "a/b -> ", "a/b ->", "a -> x y", "a/b\\c = 1", "../a/", "a b = 1", "a", "a =1", "a = \x1b[2J", "a = \u00e9", "b = " + "x" * 700,
                     "/".join("a" * 30) + " = 1"):
            self.refuses("sysfs|points", packed(good(**{"raw/sysfs.txt": line + "\n"})))

    def test_what_is_below_a_link_or_a_file(self) -> None:
        for text in ("a -> b\na/c = 1\n", "a = 1\na/c = 1\n", "a/c = 1\na -> b\n", "a -> b\na/\n", "a = 1\na = 2\n"):
            self.refuses("and something else|there twice", packed(good(**{"raw/sysfs.txt": text})))

    def test_a_link_within(self) -> None:
        self.assertIn("sysfs", self.read(packed(good(**{"raw/sysfs.txt": "a/b/c -> ../../d\na/e -> ../d\nd/x = 1\n"}))))

    def test_too_much_of_it(self) -> None:
        self.refuses("more than 20000 lines", packed(good(**{"raw/sysfs.txt": "".join(f"a{i} = 1\n" for i in range(20001))})))

    def test_answers_that_are_none(self) -> None:
        for line in ("devlink/ports = 00", "devlink/ports = zz" + "00" * 16, "devlink = " + "00" * 16, "../x/y = " + "00" * 16, "devlink/a/.. = " + "00" * 16,
                     "devlink/ports", "devlink/ports = " + "0" * 33):
            self.refuses("answer of netlink", packed(good(**{"raw/netlink.txt": line + "\n"})))
        self.refuses("more than 200", packed(good(**{"raw/netlink.txt": NETLINK * 201})))

    def test_a_heading_is_one_line(self) -> None:
        report = REPORT | {"anonymous": True, "platform": {"adapter": "a\nbus/pci/devices/x = 1", "kernel": ["x"]}}
        heading = self.read(packed(good(**{"report.json": json.dumps(report)})))["sysfs"].splitlines()[0]
        self.assertTrue(heading.startswith("# imported: abus/pci"), heading)


if __name__ == "__main__":
    unittest.main()
