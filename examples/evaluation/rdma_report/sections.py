# SPDX-License-Identifier: Apache-2.0
"""Which section has which figures and tables."""
from __future__ import annotations

from itertools import groupby

from . import figures, page
from .page import Section
from .published import Publication
from .series import Collection, Ratio, ratios

LEADS = {
    "basic": ["Latency up to 64 KiB: half of a round trip for send and write, a whole one for read; bandwidth over all sizes."],
    "cpu": ["Busy processors of both machines while data flows, without their idle load, and what a gigabyte costs; from the same run as the "
            "bandwidth. Both ends on one machine each show the cost of both."],
    "multi_dev": ["One client, two, and so on, each over a device of its own, measured in one window that opens and closes for all."],
    "multi_qp": ["64 KiB messages over several queue pairs of one device."],
    "transfers": ["64 KiB messages by SEND, over TCP and over RDMA on the same path: one transfer, and several at once."],
    "software": ["The two software drivers under the same verbs, both connected by rdma_cm. iWARP has no path MTU and no latency of write."],
}
# What a reader asks of a ratio first.
ASKED = ("p50_ns", "bandwidth_bytes_per_s")


def all_of(collection: Collection, publication: Publication | None, painter: figures.Painter | None) -> list[Section]:
    found = ratios(collection)
    made = _ratio_sections(found, painter)
    for suite in documents_order(collection):
        section = Section(suite, figures.TITLES[suite], LEADS.get(suite, []))
        if painter:
            section.figures = list(figures.of_suite(painter, collection, suite))
        section.tables = page.medians(collection, suite)
        made.append(section)
    if publication:
        section = Section("published", f"Beside the {publication.name}", [
            "Published ratios container/host beside those measured here, where mode, verb and size are the same. Published latencies are means, "
            "those measured here are medians. Rows of unequal MTU are marked: they do not compare host and container."])
        if painter:
            section.figures = list(figures.of_publication(painter, publication, found))
        section.tables = [page.published_table(publication, collection, found)]
        made.append(section)
    return made


def documents_order(collection: Collection) -> list[str]:
    there = collection.suites()
    return [suite for suite in figures.TITLES if suite in there]


def _ratio_sections(found: list[Ratio], painter: figures.Painter | None) -> list[Section]:
    made = []
    for (baseline, system), group in groupby(found, key=lambda each: (each.baseline.name, each.system.name)):
        of_pair = list(group)
        section = Section(f"ratio-{len(made) + 1}", f"{system} against {baseline}", [
            f"{system}/{baseline}: runs that followed each other are pairs, and who came first changed from repetition to repetition. "
            "equal: the whole interval is within 5 % of 1. Where six and more pairs are not enough data, the cell says about how many would do."])
        if painter:
            for name in ASKED:
                of_metric = [each for each in of_pair if each.metric.name == name]
                # Sizes say most, if they were measured; all others are in the table.
                of_metric = [each for each in of_metric if each.point.suite == "basic"] or of_metric
                if of_metric:
                    title = f"{of_metric[0].metric.title}, {system}/{baseline}"
                    section.figures.append(figures.of_ratios(painter, f"ratio-{len(made) + 1}-{name}", title, of_metric))
        section.tables = [page.ratio_table(f"Ratios, {system}/{baseline}", of_pair)]
        made.append(section)
    return made
