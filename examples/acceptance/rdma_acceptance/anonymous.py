# SPDX-License-Identifier: Apache-2.0
"""Names of things hashed, the same name to the same hash within one archive: MACs, GUIDs, serials, UUIDs, host names, public addresses.
The key is drawn for each archive and kept nowhere, so that nobody can try all MACs. An engineer still sees the multicast and the local
bit of a MAC, that a GUID is made of a MAC, private and link-local addresses, and the length of everything."""
from __future__ import annotations

import hashlib
import hmac
import ipaddress
import re
import secrets
from typing import Any

MAC = re.compile(r"(?<![0-9A-Za-z:-])(?:[0-9A-Fa-f]{2}([:-]))(?:[0-9A-Fa-f]{2}\1){4}[0-9A-Fa-f]{2}(?![0-9A-Za-z]|[:-][0-9A-Fa-f]{2})")
NAMED_MAC = re.compile(r"(?<![0-9A-Za-z])(en|wl)x([0-9a-f]{12})(?![0-9A-Za-z])")  # udev's names of netdevs
GUID8 = re.compile(r"(?<![0-9A-Za-z:-])(?:[0-9A-Fa-f]{2}([:-])){7}[0-9A-Fa-f]{2}(?![0-9A-Za-z]|[:-][0-9A-Fa-f]{2})")
GUID4 = re.compile(r"(?<![0-9A-Za-z:.])(?:[0-9a-f]{4}:){3}[0-9a-f]{4}(?![0-9A-Za-z:.])")
GUID_PLAIN = re.compile(r"(guid\W{1,6}(?:0x)?)([0-9a-f]{16})(?![0-9a-f])", re.IGNORECASE)
LINK20 = re.compile(r"(?<![0-9A-Za-z:])(?:[0-9a-f]{2}:){19}[0-9a-f]{2}(?![0-9A-Za-z:])")  # an IPoIB interface's
ADDRESS6 = re.compile(r"(?<![0-9A-Za-z:.])(?:[0-9A-Fa-f]{0,4}:){2,7}(?:(?:\d{1,3}\.){3}\d{1,3}|[0-9A-Fa-f]{1,4})?(?![0-9A-Za-z:])")
ADDRESS4 = re.compile(r"(?<![0-9A-Za-z:.])(?:\d{1,3}\.){3}\d{1,3}(?![0-9A-Za-z]|\.\d)")
UUID = re.compile(r"(?<![0-9A-Za-z-])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![0-9A-Za-z-])", re.IGNORECASE)
SERIAL = re.compile(r"(?:serial[_. ]?number|board\.serial_number|\[SN\] Serial number|\[V\d\] Vendor specific|psid_serial)\W{1,6}([A-Za-z0-9._-]{4,64})", re.IGNORECASE)
SWITCH = re.compile(r"((?:phys_switch_id|switchid)\W{1,6})((?:[0-9a-f]{2}){4,32})(?![0-9a-f])")  # made of a MAC or a GUID
HEX = re.compile(r"(?<![0-9a-f])[0-9a-f]{32,}(?![0-9a-f])")  # recorded bytes; a digest of a container, too


def eui64(mac: bytes) -> bytes:
    return bytes([mac[0] ^ 2]) + mac[1:3] + b"\xff\xfe" + mac[3:]


def mac_of_eui64(value: bytes) -> bytes | None:
    return bytes([value[0] ^ 2]) + value[1:3] + value[5:] if value[3:5] == b"\xff\xfe" else None


class Anonymous:
    def __init__(self, hosts: list[str], key: bytes = b"") -> None:
        self._key = key or secrets.token_bytes(32)
        self._words: dict[str, str] = {}
        self._bytes: dict[bytes, bytes] = {}  # as they stand in recorded messages
        for host in hosts:
            first = host.split(".")[0]
            if len(first) > 1 and not first.isdigit() and first != "localhost":
                self._words[host] = self._words[first] = "host-" + self._hash("host", first.encode(), 4).hex()

    def _hash(self, kind: str, value: bytes, size: int) -> bytes:
        return hmac.new(self._key, kind.encode() + b"\0" + value, hashlib.sha256).digest()[:size]

    # ---- one value
    def mac(self, value: bytes) -> bytes:
        if value in (bytes(6), b"\xff" * 6) or value[0] & 1:
            return value  # none, or a group
        new = self._hash("mac", value, 6)
        new = bytes([new[0] & ~3 | value[0] & 3]) + new[1:]
        self._bytes[value] = new
        return new

    def guid(self, value: bytes) -> bytes:
        if value in (bytes(8), b"\xff" * 8):
            return value
        mac = mac_of_eui64(value)
        new = eui64(self.mac(mac)) if mac else self._hash("guid", value, 8)
        self._bytes[value], self._bytes[value[::-1]] = new, new[::-1]  # nldev has them as numbers
        return new

    def address(self, text: str) -> str:
        try:
            found = ipaddress.ip_address("" if GUID8.fullmatch(text) else text)
        except ValueError:
            return text
        if found.version == 4:
            return str(self.four(found)) if found.is_global else text
        if found.ipv4_mapped:
            four = self.four(found.ipv4_mapped) if found.ipv4_mapped.is_global else found.ipv4_mapped
            new = ipaddress.IPv6Address(b"\0" * 10 + b"\xff\xff" + four.packed)
        elif found.is_loopback or found.is_unspecified or found.is_multicast:
            return text
        else:
            prefix = found.packed[:8] if not found.is_global else b"\x20\x01\x0d\xb8" + self._hash("net", found.packed[:8], 4)
            small = not any(found.packed[8:14])  # ::1 and its like say nothing of a machine
            new = ipaddress.IPv6Address(prefix + (found.packed[8:] if small else self.guid(found.packed[8:])))
        if new == found:
            return text
        return new.exploded if len(text) == 39 else str(new)

    def four(self, found: ipaddress.IPv4Address) -> ipaddress.IPv4Address:
        """Into 198.18.0.0/15, which is for benchmarks."""
        new = self._hash("four", found.packed, 3)
        return ipaddress.IPv4Address(bytes([198, 18 | new[0] & 1, new[1], new[2]]))

    def serial(self, text: str) -> str:
        return self._hash("serial", text.encode(), 32).hex()[:len(text)].upper().ljust(len(text), "0")

    # ---- whole texts
    def learn(self, text: str) -> None:
        """Collects the names of a text, before any text is changed: elsewhere a serial has no form by which it could be found."""
        for found in SERIAL.findall(text):
            if re.search(r"\d", found):
                self._words.setdefault(found, self.serial(found))
        for pattern in (LINK20, GUID8, MAC, NAMED_MAC, GUID4, GUID_PLAIN):
            pattern.sub(self._named, text)
        SWITCH.sub(self._switch, text)
        ADDRESS6.sub(lambda match: self.address(match[0]), text)

    def _named(self, match: re.Match[str]) -> str:
        """A MAC, a GUID or an IPoIB address in its own spelling."""
        if match.re is NAMED_MAC:
            return f"{match[1]}x{self.mac(bytes.fromhex(match[2])).hex()}"
        if match.re is GUID_PLAIN:
            return match[1] + self.guid(bytes.fromhex(match[2])).hex()
        text = match[0]
        value = bytes.fromhex(re.sub("[:-]", "", text))
        new = self.mac(value) if len(value) == 6 else self.guid(value) if len(value) == 8 else value[:12] + self.guid(value[12:])
        step = 4 if match.re is GUID4 else 2
        digits, sign = new.hex(), "-" if "-" in text else ":"
        digits = digits.upper() if text != text.lower() else digits
        return sign.join(digits[i:i + step] for i in range(0, len(digits), step))

    def _switch(self, match: re.Match[str]) -> str:
        value = bytes.fromhex(match[2])
        new = self.guid(value) if len(value) == 8 else self._hash("switch", value, len(value))
        self._bytes[value] = new
        return match[1] + new.hex()

    def text(self, text: str) -> str:
        for word in sorted(self._words, key=len, reverse=True):
            text = re.sub(rf"(?<![0-9A-Za-z_]){re.escape(word)}(?![0-9A-Za-z_])", self._words[word], text)
        text = HEX.sub(self._recorded, SWITCH.sub(self._switch, text))
        text = UUID.sub(lambda match: self._hash("uuid", match[0].lower().encode(), 16).hex(), text)
        for pattern in (LINK20, GUID8, MAC, NAMED_MAC, GUID4, GUID_PLAIN):
            text = pattern.sub(self._named, text)
        text = ADDRESS6.sub(lambda match: self.address(match[0]), text)
        return ADDRESS4.sub(lambda match: self.address(match[0]), text)

    def _recorded(self, match: re.Match[str]) -> str:
        """Bytes of a message: every MAC, GUID and word that is known, by bytes and as text."""
        data = bytes.fromhex(match[0]) if len(match[0]) % 2 == 0 else b""
        if not data:
            return match[0]
        known = dict(self._bytes)
        for old, new in self._bytes.items():
            if len(old) == 6:
                known[old.hex().encode()] = new.hex().encode()
        for old_text, new_text in self._words.items():
            known[old_text.encode()] = new_text.encode()[:len(old_text)].ljust(len(old_text), b"0")
        if not known:
            return match[0]
        pattern = re.compile(b"|".join(re.escape(each) for each in sorted(known, key=len, reverse=True)))
        return pattern.sub(lambda found: known[found[0]], data).hex()

    def everything(self, value: Any) -> Any:
        """Of a JSON value all texts."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.everything(each) for each in value]
        if isinstance(value, dict):
            return {key: self.everything(each) for key, each in value.items()}
        return value
