#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""examples/acceptance/rdma_acceptance: the page, the archive, and its anonymity."""
from __future__ import annotations

import io
import json
import socket
import sys
import tarfile
import tempfile
import unittest
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "examples/acceptance"))

from rdma_acceptance import report  # noqa: E402
from rdma_acceptance.anonymous import Anonymous, eui64  # noqa: E402
from rdma_acceptance.engine import Engine  # noqa: E402
from rdma_acceptance.host import Facts, Pf, virtual  # noqa: E402
from rdma_acceptance.run import Check, Run  # noqa: E402
from rdma_acceptance.tools import Failed, Tools  # noqa: E402
from rdma_acceptance.undo import Undo  # noqa: E402


class Anonymised(unittest.TestCase):
    MAC = "52:54:00:9f:00:01"

    def setUp(self) -> None:
        self.names = Anonymous(["gpu7.example.org"], b"a key of the test")

    def hidden(self, text: str) -> str:
        self.names.learn(text)
        new = self.names.text(text)
        self.assertNotEqual(new, text)
        return new

    def test_one_name_has_one_hash_in_each_spelling(self) -> None:
        text = f"{self.MAC} enx5254009f0001 fe80::5054:ff:fe9f:1 5054:00ff:fe9f:0001 fe80:0000:0000:0000:5054:00ff:fe9f:0001 guid: 0x525400fffe9f0001"
        mac, name, short_address, guid, gid, plain_guid = self.hidden(text).replace("guid: ", "").split()
        raw = bytes.fromhex(mac.replace(":", ""))
        self.assertEqual(raw[0] & 3, 0x52 & 3)
        self.assertEqual(name, f"enx{raw.hex()}")
        words = eui64(raw).hex(":", 2)
        self.assertEqual((guid, gid), (words, f"fe80:0000:0000:0000:{words}"))
        self.assertEqual(socket.inet_pton(socket.AF_INET6, short_address), b"\xfe\x80" + bytes(6) + eui64(raw))
        self.assertEqual(len(plain_guid), 18)

    def test_hosts_serials_and_public_addresses(self) -> None:
        new = self.hidden('gpu7 gpu7.example.org gpu77 8.8.8.8 ::ffff:8.8.4.4 2a00:1450:4001:82a::200e "board.serial_number":"MT2046X0123" SN MT2046X0123')
        for secret in ("8.8.8.8", "8.8.4.4", "2a00", "MT2046X0123"):
            self.assertNotIn(secret, new)
        self.assertIn("gpu77", new, "another word")
        self.assertEqual(new.split()[0], new.split()[1], "with and without its domain")

    def test_what_tells_nothing_stays(self) -> None:
        text = "ff:ff:ff:ff:ff:ff 00:00:00:00:00:00 10.77.0.1 192.168.7.2 127.0.0.1 ::1 fe80::1 0000:3b:00.0 12:34:56 0000:00ff 1.2.3 7.3.4-1 pf0vf0"
        self.names.learn(text)
        self.assertEqual(self.names.text(text), text)

    def test_recorded_bytes_too(self) -> None:
        mac = bytes.fromhex("5254009f0001")
        guid = eui64(mac)
        message = (bytes(12) + mac + guid[::-1] + b"enx5254009f0001\0" + b"MT2046X0123\0").hex()
        self.names.learn(f"{self.MAC} {guid.hex(':', 2)} serial_number: MT2046X0123")
        new = bytes.fromhex(self.names.text(f"link = {message}").split()[-1])
        self.assertEqual(len(new), len(message) // 2)
        for secret in (mac, guid, guid[::-1], b"5254009f0001", b"MT2046X0123"):
            self.assertNotIn(secret, new)

    def test_ids_of_switches_which_are_made_of_macs(self) -> None:
        for value in ("525400ffff9f0001", "3036d408" * 8):
            text = f'"phys_switch_id":"{value}" net/x/phys_switch_id = {value}\nlink = {"00" * 16}{value}'
            new = self.hidden(text).split()
            self.assertNotIn(value, "".join(new))
            self.assertEqual(new[-1][32:], new[3])
            self.assertIn(f'"{new[3]}"', new[0])

    def test_two_archives_do_not_tell_of_one_host(self) -> None:
        self.assertNotEqual(Anonymous([]).text(self.MAC), Anonymous([]).text(self.MAC))


class Reports(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def whole(self, anonymous: bool) -> tuple[str, dict[str, Any], str]:
        undo = Undo(self.folder / "run")
        self.addCleanup(undo.close)
        run = Run(Facts(numbers={"vf": {"start_ms": 412, "bandwidth_bytes_per_s": 12.25e9, "latency_ns": 1840}}), Pf("eth1", "eth1"), None, Tools(), undo,
                  Engine("podman", ["i"], Tools(), undo), anonymous)
        with redirect_stdout(io.StringIO()):
            def fails(_run: Run) -> str:
                raise Failed("52:54:00:9f:00:01 | box says no")
            run.one(Check("V1", "a start", "vf", fails, 5))
        run.evidence["sysfs.txt"] = "net/eth1/address = 52:54:00:9f:00:01\n"
        path = report.pack(self.folder, run, report.document(run, "box", "2026-11-25T00:00:00Z", "complete"), "box",
                           Anonymous(["box"]) if anonymous else None)
        self.assertEqual(path.stat().st_mode & 0o777, 0o600)
        with tarfile.open(path) as archive:
            texts = {member.name.partition("/")[2]: archive.extractfile(member).read().decode() for member in archive}  # type: ignore[union-attr]
        self.assertEqual(set(texts), {"report.json", "report.md", "raw/sysfs.txt"})
        return path.name, json.loads(texts["report.json"]), "".join(texts.values())

    def test_a_page_and_its_document(self) -> None:
        name, document, texts = self.whole(False)
        self.assertTrue(name.startswith("rdma-hook-acceptance-box-20"))
        self.assertEqual(document["checks"][0]["status"], "FAIL")
        for each in ("| vf | 412 ms | - | - | 98.0 Gbit/s, 1.8 us | - |", "**1 checks: 0 ok, 1 failed, 0 skipped.**", "\\| box says no"):
            self.assertIn(each, texts)

    def test_numbers_of_a_guest_are_said_to_be_a_guests(self) -> None:
        of = {"numbers": {}, "platform": {}}
        self.assertNotIn("machine", "".join(report.numbers_table(of)))
        of = {"numbers": {"vf": {"start_ms": 1}}, "platform": {"virtual": "emulated"}}
        self.assertIn("**This machine is emulated** (QEMU without KVM): its throughput", report.numbers_table(of)[0])
        of["platform"] = {"virtual": "virtual"}
        self.assertIn("This machine is virtual", report.numbers_table(of)[0])

    def test_what_kind_of_machine_it_is(self) -> None:
        guest, host = "flags\t\t: fpu hypervisor lahf_lm\n", "flags\t\t: fpu lahf_lm\nbugs\t: hypervisor\n"
        self.assertEqual(virtual(host, "QEMU", ""), "")
        self.assertEqual(virtual(guest, "QEMU", "tsc hpet acpi_pm"), "emulated")
        self.assertEqual(virtual(guest, "QEMU", "kvm-clock tsc"), "virtual")
        self.assertEqual(virtual(guest, "VMware, Inc.", "tsc"), "virtual")

    def test_an_anonymous_one(self) -> None:
        name, document, texts = self.whole(True)
        for secret in ("52:54:00:9f:00:01", "box"):
            self.assertNotIn(secret, name + texts)
        self.assertTrue(document["anonymous"])


if __name__ == "__main__":
    unittest.main()
