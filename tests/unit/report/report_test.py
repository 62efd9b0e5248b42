#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""examples/evaluation/rdma-perf-report and its modules in examples/evaluation/rdma_report, on files as rdma-perf writes them, and on
hostile ones."""
from __future__ import annotations

import copy
import io
import json
import shutil
import sys
import tempfile
import unittest
from contextlib import redirect_stderr
from html.parser import HTMLParser
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(HERE), str(ROOT / "examples/evaluation")]

import samples  # noqa: E402

try:
    import jinja2  # noqa: F401
    import matplotlib  # noqa: F401
except ImportError as missing:
    print(f"skipped: python3-{missing.name} is not installed")
    sys.exit(77)

from rdma_report import answers, command, documents, estimate, findings, published, series, strict  # noqa: E402

VOID = {"meta", "br", "link", "input"}


class Outline(HTMLParser):
    """What a browser would see: tags that close, ids, headings, texts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)
        assert not self.open, self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.ids += [value for name, value in attrs if name == "id" and value]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, tag

    def handle_data(self, data: str) -> None:
        self.text += data


class Case(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def file(self, name: str, value: object) -> Path:
        path = self.folder / name
        path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
        return path

    def page(self, *words: object) -> str:
        html = self.folder / "page.html"
        errors = io.StringIO()
        with redirect_stderr(errors):
            status = command.main([*map(str, words), "--html", str(html)])
        self.assertEqual(status, 0, errors.getvalue())
        return html.read_text(encoding="utf-8")

    def refused(self, *words: object) -> str:
        errors = io.StringIO()
        with redirect_stderr(errors):
            self.assertEqual(command.main([*map(str, words), "--html", str(self.folder / "page.html")]), 2)
        self.assertFalse((self.folder / "page.html").exists())
        return errors.getvalue()


class Estimates(unittest.TestCase):
    def test_median_of_six_has_the_whole_range_as_its_interval(self) -> None:
        of = estimate.of_median([6, 1, 5, 2, 4, 3])
        self.assertEqual((of.value, of.low, of.high, of.certain), (3.5, 1, 6, True))
        self.assertFalse(estimate.of_median([1, 2, 3, 4, 5]).certain)

    def test_critical_values_are_those_of_the_tables(self) -> None:
        self.assertEqual([estimate.signed_rank_critical(n) for n in (6, 7, 8, 10, 15, 20)], [0, 2, 3, 8, 25, 52])
        self.assertEqual([estimate.sign_critical(n) for n in (6, 8, 9, 12, 20)], [0, 0, 1, 2, 5])

    def test_numbers_are_those_of_rdma_perf(self) -> None:
        # tests/unit/perf/statistics_test.cc has the same.
        before, after = (100, 104, 98, 103, 97, 101, 99, 105), (92, 99, 90, 97, 95, 91, 94, 96)
        ratio = estimate.of_ratio(list(zip(before, after)))
        assert ratio
        for found, expected in zip((ratio.value, ratio.low, ratio.high), (0.9333579274682027, 0.9104454355364241, 0.9603801836186431)):
            self.assertAlmostEqual(found, expected, places=12)
        self.assertEqual((estimate.ENOUGH, estimate.sign_critical(1000)), (6, 468))

    def test_differences(self) -> None:
        of = estimate.of_differences([4, 1, 3, 6, 2, 5])
        self.assertEqual((of.value, of.low, of.high, of.certain), (3.5, 1, 6, True))
        of = estimate.of_differences([3, 1])
        self.assertEqual((of.value, of.low, of.high, of.certain), (2, 1, 3, False))

    def test_ratio_of_pairs_ignores_a_common_drift(self) -> None:
        ratio = estimate.of_ratio([(100 * drift, 90 * drift) for drift in (1, 2, 3, 4, 5, 6)])
        assert ratio
        self.assertAlmostEqual(ratio.value, 0.9)
        self.assertAlmostEqual(ratio.high, 0.9)
        self.assertEqual(estimate.verdict(ratio, True), "slower")
        self.assertEqual(estimate.verdict(ratio, False), "faster")

    def test_without_six_pairs_nothing_is_concluded(self) -> None:
        ratio = estimate.of_ratio([(1, 2)] * 5)
        self.assertEqual(estimate.verdict(ratio, True), "not enough data")
        self.assertIsNone(estimate.of_ratio([(0, 1)]))

    def test_equal_is_within_five_percent(self) -> None:
        self.assertEqual(estimate.verdict(estimate.Estimate(1, 0.96, 1.04, 6), True), "equal")
        self.assertEqual(estimate.verdict(estimate.Estimate(1, 0.96, 1.07, 6), True), "not enough data")

    def test_repetitions_that_would_decide(self) -> None:
        def needed(value: float, low: float, high: float, n: int) -> int:
            return estimate.repetitions_needed(estimate.Estimate(value, low, high, n))

        # By an interval within the margin: it must shrink from 10 % to 4.9 % on each side.
        self.assertEqual(needed(1, 1 / 1.1, 1.1, 8), 31)
        # By one without 1: from 20 % to 10 % on each side.
        self.assertEqual(needed(1.1, 1.1 / 1.2, 1.1 * 1.2, 6), 22)
        self.assertEqual(needed(0.9, 0.9, 0.9, 1), 6)  # nothing is known of the scatter
        self.assertEqual(needed(0.9, 0.89, 0.91, 3), 6)
        self.assertEqual(needed(1.03, 0.999, 1.06, 12), 13)  # nearly
        self.assertLess(needed(1.2, 1.0, 1.44, 6), needed(1.1, 1.1 / 1.2, 1.1 * 1.2, 6))


class Answers(Case):
    """The first sentence of a page."""

    def answer(self, runs: list[samples.Json]) -> str:
        _, read = documents.read_evaluation(samples.write(self.folder / f"e{len(list(self.folder.iterdir()))}", runs))
        found = answers.of(series.collect(read))
        self.assertEqual(len(found), 1)
        return found[0]

    def runs(self, ratios: list[float], mode: str = "bw", **more: object) -> list[samples.Json]:
        """One point, whose ratio container/host is this in each repetition."""
        made = []
        for repetition, ratio in enumerate(ratios, 1):
            for name, factor in (("host", 1.0), ("container", ratio)):
                at = samples.point(mode=mode, **(more if name == "container" else {}))
                made.append(samples.envelope("run", name, repetition, samples.report([samples.result(at, 1e6 * factor)])))
        return made

    def test_a_difference_with_its_interval(self) -> None:
        self.assertEqual(self.answer(self.runs([0.88, 0.89, 0.90, 0.91, 0.90, 0.92])),
                         "container against host: bandwidth is 10 % lower (95 % interval: 12 % lower to 8.0 % lower).")
        self.assertIn("latency is 3 times as high (95", self.answer(self.runs([3] * 6, "lat")))

    def test_noise_says_how_many_repetitions_would_do(self) -> None:
        self.assertEqual(self.answer(self.runs([0.99, 1.01, 0.98, 1.02, 1.01, 0.99])),
                         "container against host: bandwidth is the same, not told apart from noise (95 % interval: 2.0 % lower to 2.0 % higher).")
        self.assertRegex(self.answer(self.runs([0.8, 1.2, 0.9, 1.1, 1.25, 0.85])), r"noise \(.*\); about \d\d+ repetitions would do\.$")
        self.assertRegex(self.answer(self.runs([0.5, 2, 0.5, 2, 0.5, 2])), r"more than 1000 repetitions would do\.$")

    def test_too_few(self) -> None:
        self.assertEqual(self.answer(self.runs([0.9])), "container against host: bandwidth is 10 % lower, but 1 repetition cannot tell that "
                                                        "from noise; about 6 repetitions would do.")
        self.assertIn("5 repetitions cannot tell", self.answer(self.runs([0.9] * 5)))

    def test_all_points_count_alike_and_tcp_does_not(self) -> None:
        made = []
        for repetition in range(1, 7):
            for name, factor in (("host", 1.0), ("container", 0.5)):
                results = [samples.result(samples.point(size=64), 1e3), samples.result(samples.point(size=4096), 1e9 * factor),
                           samples.result(samples.point(transport="tcp"), 1e9 / factor**9)]
                made.append(samples.envelope("run", name, repetition, samples.report(results)))
        self.assertIn("bandwidth is 29 % lower (", self.answer(made))  # the root of a half

    def test_sizes_speak_for_the_rest(self) -> None:
        runs = self.runs([0.5] * 6) + [samples.basic(name, repetition) for repetition in range(1, 7) for name in ("host", "container")]
        self.assertRegex(self.answer(runs), "bandwidth is 1[01] % lower .*; latency is 1[01] % higher ")

    def test_unequal_sides_get_no_answer(self) -> None:
        self.assertEqual(self.answer(self.runs([0.9] * 6, mtu_bytes=4096)), "container against host: no answer, because their path MTUs differ.")
        runs = self.runs([0.9] * 6)
        runs[-1]["report"]["results"][0]["verify"]["data_ok"] = False
        self.assertEqual(self.answer(runs), "container against host: no answer, because wrong data arrived.")
        self.assertIn("nothing that both measured", self.answer(self.runs([0.9] * 6, size=64)))

    def test_the_page_begins_with_it(self) -> None:
        text = self.page("--no-figures", "--no-published", samples.write(self.folder / "e", self.runs([0.9] * 6)))
        self.assertLess(text.index("bandwidth is 10 % lower"), text.index("What to know first"))
        path = self.file("a.json", samples.report([samples.result(samples.point(), 1e6)]))
        self.assertIn("No system is compared with another", self.page("--no-figures", "--no-published", path))


class Strict(Case):
    def test_what_is_no_number_is_refused_by_name(self) -> None:
        for bad in ("-1", "NaN", "1e400", '"5"', "true", "null", "[]"):
            text = json.dumps(samples.report([samples.result(samples.point(), 1e6)])).replace('"bandwidth_bytes_per_s": 1000000.0',
                                                                                           f'"bandwidth_bytes_per_s": {bad}')
            said = self.refused(self.file("a.json", text))
            self.assertIn("a.json", said)
            if bad != "NaN":
                self.assertIn("results[0]: bandwidth: bandwidth_bytes_per_s: is no", said.replace("is not from", "is no"), bad)

    def test_other_hostile_files(self) -> None:
        for text, said in (("", "no JSON"), ("[" * 100_000, "no JSON"), ('{"schema": "x", "schema": "y"}', "twice"), ("[]", "is no object"),
                           ('{"schema": "rdma-perf/2"}', "is none of"), ('{"schema": "rdma-perf/1"}', "has no results"), ("\0\xff", "no JSON")):
            self.assertIn(said, self.refused(self.file("a.json", text)))
        document = samples.report([samples.result(samples.point(), 1e6)])
        document["started"] = "x" * 5000
        self.assertIn("longer than 40 characters", self.refused(self.file("a.json", document)))
        self.assertIn("No such file", self.refused(self.folder / "gone.json"))

    def test_a_file_that_is_too_large_is_not_read(self) -> None:
        path = self.folder / "large.json"
        with path.open("wb") as stream:
            stream.truncate(strict.MAX_BYTES + 1)
        self.assertIn("larger than 32 MiB", self.refused(path))

    def test_an_evaluation_without_runs(self) -> None:
        self.assertIn("no run is there yet", self.refused(samples.write(self.folder / "e", [])))

    def test_a_baseline_that_is_not_there(self) -> None:
        path = self.file("a.json", samples.report([samples.result(samples.point(), 1e6)]))
        self.assertIn("only b", self.refused("--baseline", "c", f"b={path}"))


class Findings(Case):
    def findings_of(self, *runs: samples.Json) -> list[findings.Finding]:
        _, read = documents.read_evaluation(samples.write(self.folder / "e", list(runs)))
        return findings.of_measurements(series.collect(read), read)

    def test_unequal_mtu(self) -> None:
        found = self.findings_of(samples.basic("host", 1, mtu=4096), samples.basic("container", 1, mtu=1024))
        self.assertEqual([(each.severity, each.title) for each in found][0], ("wrong", "Unequal MTU"))
        self.assertIn("1024 of container, 4096 of host (27 points)", found[0].text)
        self.assertNotIn("Unequal MTU", [each.title for each in findings.of_measurements(series.collect([]), [])])

    def test_equal_mtu_is_none_and_tcp_has_none(self) -> None:
        found = self.findings_of(samples.transfers("host", 1), samples.transfers("container", 1))
        self.assertEqual([each.title for each in found], ["No 95 % intervals"])

    def test_iwarp_names_an_mtu_that_no_packet_has(self) -> None:
        runs = [samples.transfers("host", 1), samples.transfers("container", 1)]
        for result in runs[1]["report"]["results"]:
            result["point"]["mtu_bytes"] = 4096
        self.assertIn("Unequal MTU", [each.title for each in self.findings_of(*copy.deepcopy(runs))])
        runs[1]["report"]["env"]["client"]["device"]["iwarp"] = True
        shutil.rmtree(self.folder / "e")
        self.assertNotIn("Unequal MTU", [each.title for each in self.findings_of(*runs)])

    def test_flags_wrong_data_and_errors(self) -> None:
        bad = samples.report([samples.result(samples.point(), 1e6, flags=("loss",), data_ok=False)])
        bad["errors"] = [{"code": "timeout", "text": "the peer fell silent", "fix": ""}]
        bad["results"].append(samples.result(samples.point(size=64), 0))
        titles = [each.title for each in self.findings_of(samples.envelope("run", "host", 1, bad))]
        self.assertEqual(titles[:4], ["Wrong data", "A run ended early", "Nothing was transferred", "Flag loss"])

    def test_the_thesis_compared_mtus(self) -> None:
        publication = published.read(published.OURS)
        found = findings.of_publication(publication)
        self.assertEqual([each.title for each in found], ["thesis: unequal MTU, SR-IOV", "thesis: unequal MTU, ASAP2 Direct"])
        self.assertIn("with that taken off, 0.999 to 1.000 are left", found[0].text)
        self.assertAlmostEqual(publication.systems[2].limit_ratio(), 11037.10 / 11686.96, places=5)
        unequal = {value.system.mode for value in publication.values if value.unequal_mtu}
        self.assertEqual(unequal, {"vf", "asap2"})
        for value in publication.values:
            self.assertTrue(value.source and value.figure.endswith(".png"), value)

    def test_published_numbers_of_strangers_are_checked(self) -> None:
        good = json.loads(published.OURS.read_text(encoding="utf-8"))
        for change, said in (({"url": "javascript:alert(1)"}, "https"), ({"systems": {}}, "is no list"), ({"tables": [{"metric": "x"}]}, "is none of")):
            self.assertIn(said, self.refused("--published", self.file("p.json", good | change)))


class Pages(Case):
    def test_an_evaluation(self) -> None:
        text = self.page(samples.evaluation(self.folder / "e", 2))
        outline = Outline(text)
        self.assertEqual(len(outline.ids), len(set(outline.ids)), "ids are unique over all figures")
        links = [attrs["href"] for tag, attrs in outline.tags if tag == "a"]
        self.assertEqual([link for link in links if link and link.startswith("#") and link[1:] not in outline.ids], [])
        used = [attrs.get("href") or attrs.get("xlink:href") or "" for tag, attrs in outline.tags if tag == "use"]
        self.assertTrue(used)
        self.assertEqual([name for name in used if name[1:] not in outline.ids], [])
        for tag, attrs in outline.tags:
            self.assertFalse({"src", "srcset", "onload", "onclick"} & attrs.keys(), (tag, attrs))
            self.assertNotIn(tag, ("script", "link", "img", "iframe", "object"))
        self.assertEqual([link for link in links if link and not link.startswith("#")], ["https://github.com/emersonford/thesis"])
        figures = [attrs for tag, attrs in outline.tags if attrs.get("role") == "img"]
        self.assertGreater(len(figures), 15)
        self.assertTrue(all(len(attrs["aria-label"] or "") > 40 for attrs in figures))
        self.assertIn("Emulation.", outline.text)
        self.assertIn("container/host", outline.text)
        self.assertIn("viewport", text)
        self.assertIn("@media print", text)
        for name in ("basic-p50_ns-read", "cpu-core_s_per_gb-write", "multi_dev-bandwidth_bytes_per_s-send", "transfers-core_s_per_gb",
                     "basic-percent_of_payload_limit-read", "ratio-1-p50_ns", "thesis-latency"):
            self.assertTrue(any(each.startswith(f"{name}-") for each in outline.ids), name)

    def test_the_same_files_make_the_same_page_and_each_figure_is_two_files(self) -> None:
        folder = samples.write(self.folder / "e", [samples.transfers(name, 1) for name in ("host", "container")])
        figures = self.folder / "figures"
        self.assertEqual(self.page("--no-published", folder), self.page("--no-published", "--figures", figures, folder))
        names = {path.stem for path in figures.iterdir()}
        self.assertIn("transfers-core_s_per_gb", names)
        self.assertEqual({path.name for path in figures.iterdir()}, {f"{name}.{kind}" for name in names for kind in ("svg", "png")})
        for name in names:
            self.assertTrue((figures / f"{name}.png").read_bytes().startswith(b"\x89PNG"), name)
            self.assertIn("<svg ", (figures / f"{name}.svg").read_text(encoding="utf-8"), name)

    def test_what_is_foreign_is_text(self) -> None:
        evil = "<script>alert('x')</script>&\"'$\\frac{1}{2}$\u202e\x07"
        run = samples.basic("host", 1, verbs=("read",))
        run["system"]["name"] = evil[:60]
        run["command"] = [evil]
        run["environment"]["client"] = {evil: evil}
        run["report"]["env"]["server"]["host"] = evil
        run["report"]["errors"] = [{"code": evil, "text": evil, "fix": evil}]
        run["report"]["suites"][0]["results"][0]["flags"] = [evil]
        text = self.page("--no-published", samples.write(self.folder / "e", [run], title=evil, emulation=evil))
        outline = Outline(text)
        self.assertNotIn("script", {tag for tag, _ in outline.tags})
        self.assertIn("<script>alert('x')</script>", outline.text)
        self.assertNotIn("\u202e", text)
        self.assertNotIn("\x07", text)

    def test_what_names_files_of_figures_is_one_of_few_words(self) -> None:
        for member in ("verb", "mode", "transport"):
            run = samples.envelope("run", "host", 1, samples.report([samples.result(samples.point() | {member: "../../x"}, 1e6)]))
            folder = self.folder / member
            self.assertIn(f"{member}: is none of", self.refused("--figures", folder / "figures", samples.write(folder / "e", [run])))

    def test_files_of_rdma_perf_by_name_and_baseline(self) -> None:
        paths = []
        for name, value in (("host", 2e6), ("container", 1e6)):
            results = [samples.result(samples.point(), value, rep) for rep in range(1, 7)]
            paths.append(f"{name}={self.file(name, samples.report(results))}")
        outline = Outline(self.page("--no-figures", "--no-published", "--baseline", "host", *paths))
        self.assertIn("container against host", outline.text)
        self.assertIn("0.500 (0.500–0.500) slower", outline.text)
        self.assertIn("container against host: bandwidth is 50 % lower (95 % interval: 50 % lower to 50 % lower).", outline.text)
        self.assertNotIn("svg", {tag for tag, _ in outline.tags})

    def test_the_thesis_alone(self) -> None:
        outline = Outline(self.page())
        self.assertIn("unequal MTU, SR-IOV", outline.text)
        self.assertIn("1024: not like for like", outline.text)
        self.assertIn("data/raw/sriov_basic_tests", outline.text)


if __name__ == "__main__":
    unittest.main()
