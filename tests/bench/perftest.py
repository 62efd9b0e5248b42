# SPDX-License-Identifier: Apache-2.0
"""perftest's programs: what they are called with to work as a point of rdma-perf does, and what they print.

25.01 is known, and what it has in common with older versions; anything else is refused. Its JSON is not read: it rounds as the text
does, and older versions have none."""
import math

MIB = 1 << 20
MARGIN = 1  # seconds of a run by time, before and behind what counts: rdma-perf has a warm-up, and sends on until the end is marked
# Options that not every version has. `help` of both sides says whether it can have them.
OPTIONAL = ("--write_with_imm", "--disable_pcie_relaxed")
BANDWIDTH = "#bytes #iterations BW peak[MiB/sec] BW average[MiB/sec] MsgRate[Mpps]"
LATENCY = "#bytes #iterations t_min[usec] t_max[usec] t_typical[usec]"


class Unknown(Exception):
    """It printed what is not known here."""


class Disturbed(Exception):
    """This run has no result, and another one may."""


def program_of(verb, mode):
    return f"ib_{verb}_{mode}"


def settings_of(point):
    """The options for the settings of a point of a report."""
    bandwidth = point["mode"] == "bw"
    words = ["-m", point["mtu_bytes"], *(["-e"] if point["poll"] == "event" else [])]
    if bandwidth and point["time_ms"]:
        # -D is all of a run. Without -f perftest counts half of it where that is 4 s or more, and else all, with the beginning.
        words += ["-D", point["time_ms"] // 1000 + 2 * MARGIN, "-f", MARGIN]
    if bandwidth:
        # Without -Q perftest asks for a completion of every 100th message, without -l it posts one by one.
        words += ["-t", point["depth"], "-Q", point["signal"]]
        if point["batch"] > 1:
            words += ["-l", point["batch"]]
        if point["verb"] == "send":
            words += ["-r", max(2 * point["depth"], 512)]  # receives_of() of perf/engine/ring.cc
    words += ["-o", point["reads"]] if point["verb"] == "read" else ["-I", point["inline_bytes"]]
    return [str(word) for word in words]


def options_of(point, known):
    """Of OPTIONAL, those that make it work as the point did, if it knows them. What it does not know it does not do either."""
    wanted = set()  # both stay on the adapter's NUMA node, and post by ibv_wr_* where the provider has these
    if "strict" in (point["ordering"], point["server_ordering"]):
        wanted.add("--disable_pcie_relaxed")
    if point["verb"] == "write" and point["mode"] == "lat":
        wanted.add("--write_with_imm")  # rdma-perf's receiver learns by an immediate that data came
    return [option for option in OPTIONAL if option in wanted and option in known]


def number(word):
    try:
        value = float(word)
    except ValueError:
        raise Unknown(f"{word!r:.40} where a number belongs") from None
    if not math.isfinite(value):
        # Its times are cycles over a frequency that it measures, and on a busy machine finds to be 0.
        raise Disturbed(f"it printed {word!r}: it could not tell how fast this machine's clock runs")
    if not 0 < value < 1e15:
        raise Unknown(f"a result of {word!r:.40}")
    return value


def bandwidth_of(row, size):
    """Bytes per second by the column whose last digit is worth less: the average has two decimals, too few for small messages; the
    rate has six, too few for large ones."""
    by_average, by_rate = number(row[3]) * MIB, number(row[4]) * 1e6 * size
    slack_average, slack_rate = 0.005 * MIB, 0.5 * size
    if abs(by_average - by_rate) > slack_average + slack_rate + 0.001 * by_average:
        raise Unknown(f"{row[3]} MiB/s and {row[4]} Mpps of {size} B, which contradict each other")
    return by_average if slack_average < slack_rate else by_rate


def result_of(text, mode, size):
    """What its client printed: bytes per second, or the median in nanoseconds."""
    head = BANDWIDTH if mode == "bw" else LATENCY
    lines = [line.split() for line in text.splitlines()]
    tables = [i for i, words in enumerate(lines) if words[:1] == ["#bytes"]]
    if len(tables) != 1:
        raise Unknown(f"{len(tables)} tables of results")
    # In older versions MB means MiB as well.
    words = " ".join(lines[tables[0]]).replace("[MB/sec]", "[MiB/sec]").split()
    if words[: len(head.split())] != head.split():
        raise Unknown(f"columns that are not known: {' '.join(words):.200}")
    row = lines[tables[0] + 1] if tables[0] + 1 < len(lines) else []
    if len(row) < 5 or row[0] != str(size):
        raise Unknown(f"no result for {size} bytes: {' '.join(row):.200}")
    return bandwidth_of(row, size) if mode == "bw" else number(row[4]) * 1000


def last_line(*texts):
    """The last line with something on it, of the first text that has one."""
    lines = [line.strip() for text in texts for line in reversed(text.splitlines()) if line.strip()]
    return lines[0][:200] if lines else "nothing"
