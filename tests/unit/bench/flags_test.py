#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""tests/bench/flags: what perftest's help lists, and what the page for its users has. tests/lab/scenarios/perf-perftest.sh asks the real
programs."""
from __future__ import annotations

import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.dont_write_bytecode = True
from program import load  # noqa: E402

flags = load("flags")

# Each form of line that perftest 25.01 has, and those that are no option.
HELP = """Usage:
  ib_send_bw            start a server and wait for connection
  ib_send_bw <host>     connect to server at <host>

Options:
  -a, --all  Run sizes from 2 till 2^23
      --log_active_dci_streams=<log_num_active_dci_stream_channels> (default log_num_dci_stream_channels)
\t  --aes_xts Runs traffic with AES_XTS feature (encryption)
  -F, --CPU-freq  Do not show a warning even if cpufreq_ondemand module is loaded, and cpu-freq is not on max.
  -g, --mcg  Send messages to multicast group with 1 QP attached to it.
         When there is no multicast gid specified, a default IPv6 typed gid will be used.
  -h, --help  Show this help screen.
  -l, --post_list=<list size>
 Post list of send WQEs of <list size> size (instead of single post)
  -N, --noPeak Cancel peak-bw calculation (default with peak up to iters=20000)
  -q, --qp=<num of qp's>  Num of qp's(default 1)
  -Q, --cq-mod  Generate Cqe only after <--cq-mod> completion
      --mmap=file  Use an mmap'd file as the buffer for testing P2P transfers.
      --use-srq  Use a Shared Receive Queue. --rx-depth controls max-wr size of the SRQ
 Latency measurement is Average calculation

 Rate Limiter:
      --rate_units=<units> [Mgp] Set the units for rate limit to MiBps (M), Gbps (g) or pps (p). default is Gbps (g).
        Note (1): pps not supported with HW limit.

"""
OPTIONS = set("-a --all --log_active_dci_streams --aes_xts -F --CPU-freq -g --mcg -h --help -l --post_list -N --noPeak -q --qp -Q --cq-mod --mmap --use-srq "
              "--rate_units".split())
PAGE = f"""# A page
| `-z` | of another table |
## Every option

| perftest | rdma-perf | |
|---|---|---|
| {', '.join(f'`{option}`' for option in sorted(OPTIONS - {'-Q'}))} | `--size`, `-Q` | `-Q` |
| `-Q` | `--signal` | |

## Next
| `-y` | |
"""


class Flags(unittest.TestCase):
    def test_help(self) -> None:
        self.assertEqual(flags.options_of(HELP), OPTIONS)
        self.assertEqual(flags.options_of("ib_send_bw: command not found\n--help is no line of an option\n"), set())
        self.assertEqual(flags.options_of("  -h  short only\n"), {"-h"})

    def test_page(self) -> None:
        self.assertEqual(flags.known_to(PAGE), OPTIONS)
        self.assertEqual(flags.known_to("# A page\n| `-a` | |\n"), set())

    def test_check(self) -> None:
        self.assertEqual(list(flags.check(PAGE, lambda program: HELP)), [])
        # What stands elsewhere in the row, or in another section, does not count.
        page = PAGE.replace("| `-Q` | `--signal`", "| `-q` | `--signal`")
        self.assertEqual(list(flags.check(page, lambda program: HELP)), [f"{program}: the page lacks -Q" for program in flags.PROGRAMS])
        new = HELP + "      --new_one=<a>  Does more\n"
        self.assertEqual(list(flags.check(PAGE, lambda program: new if program == "ib_read_lat" else HELP)), ["ib_read_lat: the page lacks --new_one"])
        self.assertEqual(len(list(flags.check(PAGE, lambda program: "Segmentation fault\n"))), 8)

    def test_programs(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder, "page.md")
            page.write_text(PAGE, encoding="utf-8")
            with mock.patch.dict("os.environ", {"PATH": folder}):
                with mock.patch("builtins.print") as said:
                    self.assertEqual(flags.main([str(page)]), 1)  # no program is there
                self.assertEqual(said.call_args.args[0].count("lists no options"), 8)
                for program in flags.PROGRAMS:
                    Path(folder, program).write_text(f"#!/bin/sh\n/bin/cat <<'END'\n{HELP}END\nexit 1\n", encoding="utf-8")
                    Path(folder, program).chmod(0o755)
                with mock.patch("builtins.print") as said:
                    self.assertEqual(flags.main([str(page)]), 0)
                self.assertEqual(said.call_args.args[0], "flags: page.md has each option of 8 programs")
        with mock.patch("builtins.print"):
            self.assertEqual(flags.main(["--page"]), 2)

    def test_the_page_has_this_help(self) -> None:
        self.assertLessEqual(OPTIONS, flags.known_to(flags.PAGE.read_text(encoding="utf-8")))


if __name__ == "__main__":
    unittest.main()
