#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of packaging/release, sbom.py and oci.py there, and of the scripts that install and remove: on small files, below a folder."""
import contextlib
import gzip
import importlib.machinery
import importlib.util
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
import unittest.mock
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "packaging"))
import oci  # noqa: E402
import sbom  # noqa: E402

spec = importlib.util.spec_from_loader("release", importlib.machinery.SourceFileLoader("release", str(ROOT / "packaging/release")))
release = importlib.util.module_from_spec(spec)
spec.loader.exec_module(release)

CHANGELOG = "# Changelog\n\n## [Unreleased]\n\n### Added\n- a\n\n## [1.0.0] - 2026-01-02\n\n### Fixed\n- b\n"
DROPIN = "etc/containers/containers.conf.d/50-rdma-hook.conf"
# Of an installation, and of one that did not end.
TARBALL_IS_HERE = any(os.path.exists(f"/usr/share/rdma-hook/{name}.sha256") for name in ("installed", "installing"))


def program(path, text):
    """A program of this text in place of a real one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)


class Changelog(unittest.TestCase):
    def test_sections(self):
        self.assertEqual(release.section(CHANGELOG, "1.0.0"), ("2026-01-02", "### Fixed\n- b"))
        self.assertEqual(release.section(CHANGELOG, "Unreleased"), (None, "### Added\n- a"))
        self.assertEqual(release.section(CHANGELOG, "1.0"), (None, ""))
        self.assertEqual(release.section(CHANGELOG, "1x0.0"), (None, ""))

    def test_prepare_moves_all_and_leaves_an_empty_section(self):
        after = release.prepared(CHANGELOG, "1.1.0", "2026-03-04")
        self.assertEqual(release.section(after, "1.1.0"), ("2026-03-04", "### Added\n- a"))
        self.assertEqual(release.section(after, "Unreleased"), (None, ""))
        self.assertEqual(release.section(after, "1.0.0"), ("2026-01-02", "### Fixed\n- b"))
        with self.assertRaisesRegex(release.Wrong, "nothing stands"):
            release.prepared(after, "1.2.0", "2026-03-04")
        with self.assertRaisesRegex(release.Wrong, "v1.0.0 is a tag"):
            release.prepared(CHANGELOG, "1.0.0", "2026-03-04", tagged=True)

    def test_prepare_adds_to_a_section_that_was_not_tagged(self):
        came = "# Changelog\n\n## [Unreleased]\n\n### Fixed\n- c\n\n### Added\n- d\n\n## [1.1.0] - 2026-03-04\n\nText.\n\n### Added\n- a\n"
        after = release.prepared(came + "\n## [1.0.0] - 2026-01-02\n\n### Fixed\n- b\n", "1.1.0", "2026-03-09")
        self.assertEqual(after, "# Changelog\n\n## [Unreleased]\n\n## [1.1.0] - 2026-03-09\n\nText.\n\n### Added\n- a\n- d\n\n### Fixed\n- c\n"
                                "\n## [1.0.0] - 2026-01-02\n\n### Fixed\n- b\n")
        self.assertEqual(release.prepared(after, "1.1.0", "2026-03-09"), after)
        self.assertEqual(release.prepared("# Changelog\n\n## [Unreleased]\n\n### Added\n- a\n", "1.0.0", "2026-03-09"),
                         "# Changelog\n\n## [Unreleased]\n\n## [1.0.0] - 2026-03-09\n\n### Added\n- a\n")

    def test_version_and_time(self):
        self.assertEqual(release.version("x\nproject(rdma-hook VERSION 1.2.3 LANGUAGES C)\n"), "1.2.3")
        with self.assertRaises(release.Wrong):
            release.version("project(rdma-hook VERSION 1.2)\n")
        self.assertEqual(release.epoch("2026-01-02"), 1767312000)

    def test_the_projects_own_changelog_has_something_to_release(self):
        number, text = release.version(release.read("CMakeLists.txt")), release.read("CHANGELOG.md")
        self.assertTrue(release.section(text, number)[1] or release.section(text, "Unreleased")[1])


def notices():
    """The libraries of packaging/debian/copyright: name -> (licence, the packages with their code)."""
    text = (ROOT / "packaging/debian/copyright").read_text(encoding="utf-8")
    return {name: (licence, packages.split(" and ")) for name, licence, packages in re.findall(r"^ ([\w-]+) \((.+)\), in ([\w -]+):", text, re.MULTILINE)}


def licences(package):
    """The licences of a package's programs."""
    return {"Apache-2.0"} | {licence for licence, packages in notices().values() if package in packages}


class Licences(unittest.TestCase):
    def test_notices_are_of_all_that_is_linked(self):
        both, hook = ["rdma-hook", "rdma-perf"], ["rdma-hook"]
        self.assertEqual(notices(), {name: (sbom.LICENCES[name], packages) for name, packages in {
            "cli11": both, "fmtlib": both, "gcc": both, "glibc": hook, "libmd": both, "libnl3": hook, "nlohmann-json3": both, "tomlplusplus": hook}.items()})

    def test_what_is_linked_in_without_a_notice_stops_a_release(self):
        sbom.ask_for_notices({"gcc-12", "gcc-12-cross", "cross-toolchain-base", "libmd"})
        with self.assertRaisesRegex(sbom.Unknown, "does not name other, which is linked in"):
            sbom.ask_for_notices({"glibc", "other-1"})

    def test_texts_that_ask_for_it_are_there(self):
        text = " ".join((ROOT / "packaging/debian/copyright").read_text(encoding="utf-8").split())
        for words in ("The above copyright notice and this permission notice shall be included in all copies",
                      "Neither the name of the University nor the names of its contributors", "The name of the author may not be used",
                      "Neither the name of the copyright holder nor the names of contributors"):
            self.assertEqual(text.count(words), 1, words)
        self.assertEqual(text.count("2. Redistributions in binary form must reproduce the above copyright notice"), 3)
        self.assertEqual(text.count("OUT OF THE USE OF THIS SOFTWARE"), 3)

    def test_rpm_has_the_licences_of_each_package(self):
        text = re.search(r"^set\(CPACK_RPM_PACKAGE_LICENSE \[=\[(.*)\]=\]\)$", (ROOT / "packaging/cpack.cmake.in").read_text(encoding="utf-8"), re.MULTILINE)[1]
        for package in ("rdma-hook", "rdma-perf", "rdma-perf-report"):
            tag = re.sub(r'%\["%\{name\}" == "(.*?)" \? "(.*?)" : "(.*?)"\]', lambda found: found[2] if found[1] == package else found[3], text)
            self.assertEqual(set(tag.split(" AND ")), licences(package), package)


class SourcePackage(unittest.TestCase):
    def test_build_depends_are_the_part_build(self):
        listed = "# a\n[lab]\nc\n[build]\n# b\ng++  gcc-c++\n\nlibd-dev   d-devel\n?e\nfile\n[test]\nf\n"
        self.assertEqual(release.build_depends(listed), "libd-dev, file")

    def test_debian_has_no_value_left_open(self):
        with tempfile.TemporaryDirectory() as folder:
            tree = Path(folder)
            for name in ("packaging/project.json", "cmake/Packages.cmake", ".ci/packages"):
                (tree / name).parent.mkdir(exist_ok=True)
                shutil.copy(ROOT / name, tree / name)
            shutil.copytree(ROOT / "packaging/debian", tree / "packaging/debian")
            release.debian(tree, "1.2.3", 1000000000)
            texts = {str(path.relative_to(tree / "debian")): path.read_text(encoding="utf-8") for path in (tree / "debian").rglob("*") if path.is_file()}
            self.assertTrue(os.access(tree / "debian/rules", os.X_OK))
        self.assertEqual([name for name, text in texts.items() if name.endswith(".in") or "@RDMA" in text], [])
        self.assertRegex(texts["changelog"], r"(?s)^rdma-hook \(1\.2\.3-1\) .* <.*>  Sun, 09 Sep 2001 01:46:40 \+0000\n$")
        self.assertIn(", libnl-3-dev, ", texts["control"])
        for script in ("preinst", "postinst", "prerm", "postrm"):
            self.assertTrue(texts[f"rdma-hook.{script}"].endswith("\n#DEBHELPER#\n"), script)


class Installation(unittest.TestCase):
    """Before an installation: rdma-hook.preinst."""

    def test_a_podman_that_cannot_read_the_drop_in_is_refused(self):
        for version, words, status in (("4.3.1", ["install"], 1), ("3.4.4", ["upgrade", "0.1.0-1"], 1), ("4.7", ["install"], 1),
                                       ("4.7.2-dev", ["install", "0.1.0-1"], 1), ("3", ["install"], 1), ("v4.3.1", ["install"], 1),
                                       ("4.8.0", ["install"], 0), ("v4.8.0", ["install"], 0), ("5.4.2", ["upgrade", "0.1.0-1"], 0),
                                       ("10.0.0", ["install"], 0), ("30", ["install"], 0), ("4.3.1", ["abort-upgrade", "0.1.0-1"], 0)):
            with tempfile.TemporaryDirectory() as folder:
                program(Path(folder, "podman"), f"echo podman version {version}")
                done = subprocess.run([ROOT / "packaging/debian/rdma-hook.preinst", *words], capture_output=True, text=True, check=False,
                                      env=os.environ | {"PATH": f"{folder}:{os.environ['PATH']}"})
            said = f"rdma-hook: podman version {version} is too old: install 4.8 or later\n" if status else ""
            self.assertEqual((done.returncode, done.stdout + done.stderr), (status, said), words)


class Removal(unittest.TestCase):
    """Before a removal: rdma-hook.prerm, over files below a root. A rdmactl that it must not ask knows a container of this machine."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root, self.programs = Path(folder.name, "my root"), Path(folder.name, "programs")
        program(self.programs / "rdmactl", "echo '{\"containers\": [{}], \"dirty\": []}'\necho >>\"$0.calls\"")

    def removed(self, files):
        """The status of a removal with these files, and its words."""
        shutil.rmtree(self.root, ignore_errors=True)
        for name, text in files.items():
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_text(text, encoding="utf-8")
        done = subprocess.run(["sh", ROOT / "packaging/debian/rdma-hook.prerm", "remove"], capture_output=True, text=True, check=False,
                              env=os.environ | {"DPKG_ROOT": str(self.root), "PATH": f"{self.programs}:{os.environ['PATH']}"})
        self.assertFalse((self.programs / "rdmactl.calls").exists())
        return done.returncode, done.stdout + done.stderr

    def test_an_engine_whose_default_runtime_is_rdmas_keeps_the_package(self):
        docker = '{"runtimes": {"mine": {"path": "/usr/bin/rdma-runtime"}}, "default-runtime": "%s"}'
        for file, text in (("docker/daemon.json", docker % "mine"), ("containerd/config.toml", '[a]\n  default_runtime_name = "rdma"\n'),
                           ("containerd/config.toml", "      default_runtime_name = 'rdma'\n"),
                           ("containerd/conf.d/a.toml", "plugins.'a.b'.containerd.default_runtime_name='rdma-crun'\n"),
                           ("containerd/config.toml", '"default_runtime_name" = "rdma"\n'),
                           ("containerd/config.toml", "  'default_runtime_name' = 'rdma'\n"),
                           ("containerd/config.toml", "default_runtime_name = '''rdma'''\n"),
                           ("containerd/config.toml", 'default_runtime_name = """rdma"""\n'),
                           ("containerd/config.toml", "plugins.'a#b'.\"c#d\".'default_runtime_name' = 'rdma'\n"),
                           ("containerd/config.toml", "containerd = {a = 1,default_runtime_name = 'rdma'}\n"),
                           ("crio/crio.conf", "default_runtime = 'rdma'\n"), ("crio/crio.conf.d/a.conf", 'default_runtime="rdma"\n')):
            status, said = self.removed({f"etc/{file}": text})
            self.assertEqual(status, 1, text)
            self.assertTrue(said.startswith(f"{self.root}/etc/{file}\nrdma-hook: there rdma-runtime is the default runtime"), said)
        for file, text in (("docker/daemon.json", docker % "runc"), ("containerd/config.toml", "# default_runtime_name = 'rdma'\n"),
                           ("containerd/config.toml", "#'default_runtime_name' = 'rdma'\n"),
                           ("containerd/config.toml", "a = 'b' # it's \"default_runtime_name\" = 'rdma'\n"),
                           ("containerd/config.toml", "'no_default_runtime_name' = 'rdma'\n"),
                           ("containerd/config.toml", "default_runtime_name = 'rdmax'\n"), ("crio/crio.conf", "default_runtime = 'crun' # 'rdma'\n"),
                           ("crio/crio.conf", "no_default_runtime = 'rdma'\n")):
            self.assertEqual(self.removed({f"etc/{file}": text})[0], 0, text)

    def test_a_container_under_the_runtime_keeps_the_package(self):
        for folder in ("run/containerd", "run/docker/containerd/daemon"):
            file = f"{folder}/io.containerd.runtime.v2.task/moby/one/runtime"
            status, said = self.removed({file: "/usr/bin/rdma-runtime"})
            self.assertEqual((status, said.splitlines()[0]), (1, "one"))
            self.assertEqual(self.removed({file: "/usr/bin/runc"}), (0, ""))


class CommandLine(unittest.TestCase):
    def test_each_architecture_is_built(self):
        for arch, wanted in ((None, [None]), ("arm64", ["arm64"]), ("all", [None, "arm64"])):
            with tempfile.TemporaryDirectory() as out, unittest.mock.patch.object(release, "build", return_value=[]) as build:
                release.build_each(Path(out), "1", 1, arch)
                self.assertEqual([each.args[3] for each in build.mock_calls], wanted)
                Path(out, "a").touch()
                with self.assertRaisesRegex(release.Wrong, "is not empty"):
                    release.build_each(Path(out), "1", 1, arch)

    def test_options_belong_to_a_command(self):
        self.assertEqual(release.parse(["build", "out", "--arch", "arm64"]).arch, "arm64")
        self.assertEqual(release.parse(["build", "out", "--arch", "all"]).arch, "all")
        self.assertIsNone(release.parse(["build", "out"]).arch)
        self.assertEqual(release.parse(["tarball", "out", "--of", "/built"]).of, Path("/built"))
        for words in (["build", "out", "--arch", "s390x"], ["dry-run", "out", "--arch", "arm64"], ["check", "--arch", "arm64"],
                      ["tarball", "out"], ["build", "out", "--of", "/built"]):
            with self.assertRaises(SystemExit) as end, contextlib.redirect_stderr(io.StringIO()):
                release.parse(words)
            self.assertEqual(end.exception.code, 64)


class Artefacts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, name, text, mode=0o644, when=1):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(mode)
        os.utime(path, (when, when))

    def tarball(self, part, files, when=1):
        """A tarball of these files, unpacked; the folder with its scripts."""
        for name, text in files.items():
            self.write(f"{part}/stage/{name}", text, 0o755 if "/bin/" in name else 0o644, when)
        out = self.folder / f"{part}-out"
        out.mkdir()
        release.tarball(self.folder / part / "stage", "rdma-hook-1", out, 1000000000)
        subprocess.run(["tar", "-xf", out / "rdma-hook-1.tar.xz", "-C", out], check=True)
        return out / "rdma-hook-1"

    def test_equal_files_make_equal_bytes(self):
        made = [self.tarball(part, {"usr/bin/a": "a", DROPIN: "b"}, when).with_name("rdma-hook-1.tar.xz").read_bytes()
                for part, when in (("one", 5), ("two", 7))]
        self.assertEqual(made[0], made[1])
        self.assertNotEqual(made[0], self.tarball("three", {"usr/bin/a": "c", DROPIN: "b"}).with_name("rdma-hook-1.tar.xz").read_bytes())

    def test_the_tarball_has_zshs_functions_where_other_distributions_look(self):
        def run(*words, **more):
            if words[:2] == ("cmake", "--install"):
                self.write(f"{more['env']['DESTDIR']}/usr/share/zsh/{folder}/_rdmactl", "a")
                return ""
            return subprocess.run(words, check=True, **more).stdout

        for folder in ("vendor-completions", "site-functions"):
            with unittest.mock.patch.object(release, "run", run):
                _, files = release.packed(self.folder / folder, self.folder, "1.2.3", 1000000000, "x86_64")
            self.assertEqual([str(path.relative_to(files)) for path in files.rglob("*") if path.is_file()], ["usr/share/zsh/site-functions/_rdmactl"])

    def script(self, *words, status=0, root="root", **more):
        done = subprocess.run(["sh", *words, "--root", self.folder / root], capture_output=True, text=True, check=False, **more)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def installed(self, root="root"):
        root = self.folder / root
        return {str(path.relative_to(root)): "link" if path.is_symlink() else path.read_text(encoding="utf-8")
                for path in root.rglob("*") if path.is_symlink() or path.is_file()}

    @unittest.skipIf(os.geteuid() != 0, "it needs root")
    def test_install_upgrade_and_removal(self):
        self.write("root/usr/bin/other", "x")
        before = self.installed()
        first = self.tarball("one", {"usr/bin/rdma-hook": "1", "usr/share/doc/rdma-hook/gone.md": "1", "usr/lib/systemd/system/a@.service": "1",
                                     DROPIN: "1"})
        for name in ("debian/copyright", "LGPL-2.1"):
            self.assertEqual((first / Path(name).name).read_text(encoding="utf-8"), (ROOT / "packaging" / name).read_text(encoding="utf-8"))
        self.script(first / "install")
        for name, text in {"usr/bin/other": "x", "usr/bin/rdma-hook": "1", "usr/share/doc/rdma-hook/gone.md": "1", DROPIN: "1"}.items():
            self.assertEqual(self.installed()[name], text)
        self.assertTrue(os.access(self.folder / "root/usr/bin/rdma-hook", os.X_OK))

        second = self.tarball("two", {"usr/bin/rdma-hook": "2", "usr/lib/systemd/system/a@.service": "1", DROPIN: "2"})
        self.write(f"root/{DROPIN}", "mine")
        self.assertIn("stays", self.script(second / "install"))
        after = self.installed()
        self.assertEqual((after["usr/bin/rdma-hook"], after[DROPIN], after[f"{DROPIN}.new"]), ("2", "mine", "2"))
        self.assertNotIn("usr/share/doc/rdma-hook/gone.md", after)

        self.assertIn("stays", self.script(self.folder / "root/usr/share/rdma-hook/uninstall"))
        self.assertEqual(self.installed(), before | {DROPIN: "mine"})
        self.assertFalse((self.folder / "root/usr/share/doc/rdma-hook").exists())
        self.assertIn("nothing was installed", self.script(second / "uninstall", status=1))

    @unittest.skipIf(os.geteuid() != 0, "it needs root")
    def test_removal_takes_what_programs_wrote_and_what_was_enabled(self):
        wants = "etc/systemd/system/{}.target.wants/{}"
        self.write("root/etc/rdma-hook/config.json", "{}")
        for name in (wants.format("multi-user", "other.service"), "run/cdi/other.json", "var/lib/prometheus/node-exporter/other.prom"):
            self.write(f"root/{name}", "theirs")
        before = self.installed()
        self.script(self.tarball("one", {"usr/bin/rdma-hook": "1", "usr/share/rdma-hook/schema/a.json": "1"}) / "install")
        for name in ("run/cdi/rdma-hook.json", "run/cdi/rdma-hook-pool.json", "run/rdma-hook/locks/a", "run/rdma-hook/journals/a/b",
                     "var/lib/prometheus/node-exporter/rdma-hook.prom", "etc/rdma-hook/rdma-runtime.d/rdma-crun"):
            self.write(f"root/{name}", "ours")
        (self.folder / "root/run/rdma-hook/journals/a/b").unlink()
        for target, units in (("multi-user", ("vf@enp1s0.service", "asap2@enp1s0.service", "cdi.path", "cdi.service", "recover.service")),
                              ("timers", ("gc.timer", "stats.timer"))):
            for unit in units:
                link = self.folder / "root" / wants.format(target, f"rdma-hook-{unit}")
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to("/usr/lib/systemd/system/gone")
        self.assertEqual(len(self.installed()), len(before) + 18)
        self.script(self.folder / "root/usr/share/rdma-hook/uninstall")
        self.assertEqual(self.installed(), before)
        for folder in ("run/rdma-hook", "usr/share/rdma-hook", "etc/rdma-hook/rdma-runtime.d"):
            self.assertFalse((self.folder / "root" / folder).exists(), folder)

    @unittest.skipIf(os.geteuid() != 0, "it needs root")
    def test_the_unpacking_umask_is_not_the_installations(self):
        for name, add, take in (("strict", 0, 0o077), ("loose", 0o022, 0)):
            unpacked = self.tarball(name, {"usr/bin/rdma-hook": "1", "usr/share/doc/rdma-hook/a.md": "1", DROPIN: "1"})
            for path in unpacked.rglob("*"):
                path.chmod(path.stat().st_mode & ~take | add)
            (unpacked / "files/usr/bin/rdma-link").symlink_to("rdma-hook")
            self.script(unpacked / "install")
            root = self.folder / "root"
            programs = ("rdma-hook", "rdma-link", "uninstall", "before-removal", "after-removal")
            for path in root.rglob("*"):
                self.assertEqual(oct(path.stat().st_mode & 0o7777), oct(0o755 if path.is_dir() or path.name in programs else 0o644), path)
            self.assertEqual(os.readlink(root / "usr/bin/rdma-link"), "rdma-hook")
            shutil.rmtree(root)

    def killed(self, install, call):
        """Whether this call of mv, with which the installation is killed, was reached."""
        program(self.folder / "bin/mv", f'echo >>"$0.calls"\n[ "$(wc -l <"$0.calls")" != {call} ] || {{ kill -9 $PPID; exit; }}\n'
                                        f'exec {shutil.which("mv")} "$@"')
        (self.folder / "bin/mv.calls").unlink(missing_ok=True)
        env = os.environ | {"PATH": f"{self.folder}/bin:{os.environ['PATH']}", "TMPDIR": str(self.folder)}
        return subprocess.run(["sh", install, "--root", self.folder / "root"], env=env, check=False).returncode != 0

    @unittest.skipIf(os.geteuid() != 0, "it needs root")
    def test_an_interrupted_installation_takes_no_file_of_somebody_else(self):
        first = self.tarball("one", {"usr/bin/rdma-hook": "1", "usr/bin/rdma-old": "1"}) / "install"
        second = self.tarball("two", {"usr/bin/rdma-hook": "2"}) / "install"
        old, journal = self.folder / "root/usr/bin/rdma-old", self.folder / "root/usr/share/rdma-hook/installing.sha256"
        uninstall, theirs = journal.with_name("uninstall"), {"usr/bin/rdma-old": "theirs"}
        self.assertTrue(self.killed(first, 5))  # before the first program
        self.write("root/usr/bin/rdma-old", "theirs")
        self.assertIn(f"{old} is there already", self.script(first, status=1))
        self.assertEqual(self.script(uninstall), f"uninstall: {old} was changed here, and stays\n")
        self.assertEqual(self.installed(), theirs)

        old.unlink()
        self.script(first)
        self.assertTrue(self.killed(second, 6))  # before the list of the installation; its journal would go after that
        left = journal.read_text(encoding="utf-8")
        self.script(second)
        self.assertFalse(old.exists())
        for script, said in ((second, f"install: {old} was changed here and stays; this version does without it\n"),
                             (uninstall, f"uninstall: {old} was changed here, and stays\n")):
            self.write("root/usr/share/rdma-hook/installing.sha256", left)
            self.write("root/usr/bin/rdma-old", "theirs")
            self.assertEqual(self.script(script), said)
        self.assertEqual(self.installed(), theirs)

    @unittest.skipIf(os.geteuid() != 0, "it needs root")
    def test_an_interrupted_installation_is_completed_or_taken_off(self):
        first = self.tarball("one", {"usr/bin/rdma-hook": "1", "usr/share/rdma-hook/gone": "1", DROPIN: "1"})
        second = self.tarball("two", {"usr/bin/rdma-hook": "2", "usr/share/rdma-hook/new": "2", DROPIN: "2"})
        share = "usr/share/rdma-hook/"

        def again(name, of):
            shutil.rmtree(self.folder / name, ignore_errors=True)
            shutil.copytree(self.folder / of, self.folder / name, symlinks=True)

        (self.folder / "before").mkdir()
        for earlier in (False, True):
            if earlier:
                self.script(first / "install", root="before")
            again("root", of="before")
            self.script(second / "install")
            whole, call, reached = self.installed(), 0, True
            while reached:
                call += 1
                again("root", of="before")
                reached = self.killed(second / "install", call)
                again("other", of="root")
                self.script(second / "install")
                self.assertEqual(self.installed(), whole, call)
                if list((self.folder / "other" / share).glob("*.sha256")):
                    self.script(self.folder / "other" / share / "uninstall", root="other")
                    self.assertEqual(self.installed("other"), {}, call)
                else:  # nothing was installed yet
                    self.assertEqual([name for name in self.installed("other") if not name.startswith(share)], [], call)
            self.assertEqual(call, 9)  # three scripts, three files, two lists of sums; and once to the end

    @unittest.skipIf(os.geteuid() != 0, "it needs root")
    def test_an_interrupted_removal_is_no_whole_installation(self):
        install = self.tarball("one", {"usr/bin/rdma-hook": "1", DROPIN: "1"}) / "install"
        share = self.folder / "root/usr/share/rdma-hook"
        self.script(install)
        whole = self.installed()
        for again in (install, share / "uninstall"):
            step = (share / "after-removal").read_text(encoding="utf-8")
            program(share / "after-removal", f"{step}\nif [ $1 = purge ]; then kill -9 $PPID; fi")
            self.script(share / "uninstall", status=-9, env=os.environ | {"TMPDIR": str(self.folder)})
            # Without installed.sha256 the next installation is a first one, which enables units.
            self.assertEqual(set(self.installed()), set(whole) - {"usr/bin/rdma-hook", DROPIN, "usr/share/rdma-hook/installed.sha256"} |
                             {"usr/share/rdma-hook/installing.sha256"})
            (share / "after-removal").write_text(step, encoding="utf-8")
            self.script(again)
            self.assertEqual(self.installed(), whole if again == install else {})

    @unittest.skipIf(os.geteuid() != 0, "it needs root")
    def test_a_drop_in_that_is_there_is_as_a_changed_one(self):
        install = self.tarball("one", {"usr/bin/rdma-hook": "1", DROPIN: "1"}) / "install"
        root, uninstall = self.folder / "root", self.folder / "root/usr/share/rdma-hook/uninstall"
        self.write(f"root/{DROPIN}", "mine")
        for _ in range(2):  # an uninstall leaves it, too
            self.assertIn(f"{DROPIN} was changed here and stays; the new one is {root}/{DROPIN}.new\n", self.script(install))
            self.assertEqual([self.installed()[each] for each in (DROPIN, f"{DROPIN}.new")], ["mine", "1"])
            self.assertIn("was changed here, and stays", self.script(uninstall))
            self.assertEqual(self.installed(), {DROPIN: "mine"})
        (root / DROPIN).unlink()
        (root / DROPIN).symlink_to("/nowhere")
        self.assertIn("stays", self.script(install))
        self.assertIn("stays", self.script(uninstall))
        self.assertEqual(self.installed(), {DROPIN: "link"})
        (root / DROPIN).unlink()
        self.write(f"root/{DROPIN}", "1")  # as a package leaves it that was not purged
        self.assertEqual(self.script(install), "")
        self.assertEqual(self.script(uninstall), "")
        self.assertEqual(self.installed(), {})

    @unittest.skipIf(os.geteuid() != 0, "it needs root")
    def test_a_file_beside_a_drop_in_goes_if_an_installation_wrote_it(self):
        installs = [self.tarball(text, {"usr/bin/rdma-hook": "1", DROPIN: text}) / "install" for text in "123"]
        dropin, new = f"{self.folder}/root/{DROPIN}", f"{DROPIN}.new"
        self.script(installs[0])
        self.write(f"root/{DROPIN}", "mine")
        self.assertIn(f"the new one is {dropin}.new\n", self.script(installs[1]))
        self.write(f"root/{DROPIN}", "2")
        self.assertEqual(self.script(installs[2]), "")
        self.assertEqual({name: text for name, text in self.installed().items() if name.startswith("etc/")}, {DROPIN: "3"})

        self.write(f"root/{DROPIN}", "mine")
        self.write(f"root/{new}", "mine, too")
        self.assertEqual(self.script(installs[0]), f"install: {dropin} was changed here and stays; the new one is {installs[0].parent}/files/{DROPIN}\n")
        self.script(self.folder / "root/usr/share/rdma-hook/uninstall")
        self.assertEqual(self.installed(), {DROPIN: "mine", new: "mine, too"})
        (self.folder / "root" / new).unlink()
        (self.folder / "root" / new).mkdir()
        self.assertIn(f"the new one is {installs[0].parent}/files/", self.script(installs[0]))
        self.script(self.folder / "root/usr/share/rdma-hook/uninstall")
        self.assertEqual(list((self.folder / "root" / new).iterdir()), [])

    @unittest.skipIf(os.geteuid() != 0, "it needs root")
    def test_a_drop_in_that_was_deleted_stays_so_until_a_removal(self):
        first, second = (self.tarball(text, {"usr/bin/rdma-hook": "1", DROPIN: text}) / "install" for text in "12")
        dropin = self.folder / "root" / DROPIN
        self.script(first)
        dropin.unlink()
        for _ in range(2):
            self.assertEqual(self.script(second), f"install: {dropin} was deleted here and stays so; the new one is {second.parent}/files/{DROPIN}\n")
            self.assertFalse(dropin.exists())
        self.assertEqual(self.script(self.folder / "root/usr/share/rdma-hook/uninstall"), "")
        self.assertEqual(self.script(second), "")
        self.assertEqual(dropin.read_text(encoding="utf-8"), "2")

    @unittest.skipIf(os.geteuid() != 0, "it needs root")
    def test_a_drop_in_that_a_later_version_does_not_have(self):
        other = "etc/containers/containers.conf.d/60-rdma-hook.conf"
        first = self.tarball("one", {"usr/bin/rdma-hook": "1", DROPIN: "1", other: "1"})
        second = self.tarball("two", {"usr/bin/rdma-hook": "2"})
        self.script(first / "install")
        self.write(f"root/{other}", "mine")
        self.script(first / "install")
        self.assertEqual(self.script(second / "install"), f"install: {self.folder}/root/{other} was changed here and stays; this version does without it\n")
        self.assertEqual({name for name in self.installed() if name.startswith("etc/")}, {other})
        self.script(self.folder / "root/usr/share/rdma-hook/uninstall")
        self.assertEqual(self.installed(), {other: "mine"})

    @unittest.skipIf(os.geteuid() != 0, "it needs root")
    def test_names_with_spaces_and_quotes(self):
        install = self.tarball("one", {"usr/bin/rdma-hook": "1", "usr/share/doc/rdma-hook/it's a.md": "1", DROPIN: "1"}) / "install"
        (self.folder / "my root").mkdir()
        self.assertEqual(self.script(install, root="my root"), "")
        self.assertEqual(self.installed("my root")["usr/share/doc/rdma-hook/it's a.md"], "1")
        self.write(f"my root/{DROPIN}", "mine")
        dropin = self.folder / "my root" / DROPIN
        self.assertEqual(self.script(install, root="my root"), f"install: {dropin} was changed here and stays; the new one is {dropin}.new\n")
        self.script(self.folder / "my root/usr/share/rdma-hook/uninstall", root="my root")
        self.assertEqual(self.installed("my root"), {DROPIN: "mine"})

    def refused_here(self, script, *words, dpkg="exit 1", rpm="exit 1"):
        """The words of a script that refuses to act on this machine, whose package managers these are."""
        program(self.folder / "bin/dpkg-query", dpkg)
        program(self.folder / "bin/rpm", rpm)
        done = subprocess.run(["sh", ROOT / "packaging/tarball" / script, *words], capture_output=True, text=True, check=False,
                              env=os.environ | {"PATH": f"{self.folder}/bin:{os.environ['PATH']}"})
        self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (1, "", 1), done.stderr)
        return done.stderr

    @unittest.skipIf(os.geteuid() != 0, "it needs root")
    @unittest.skipIf(TARBALL_IS_HERE, "a tarball is installed here, and would be taken off")
    def test_a_packages_files_are_neither_replaced_nor_taken_off(self):
        for dpkg, rpm in (("echo installed", "exit 1"), ("echo not-installed; echo unpacked", "exit 1"), ("echo config-files", "exit 1"),
                          ('[ "$6" != rdma-perf-report ] || echo installed', "exit 1"), ("exit 1", '[ "$2" = rdma-hook ]'),
                          ("exit 1", '[ "$2" = rdma-perf ]'), ("exit 1", '[ "$2" = rdma-perf-report ]')):
            for script in ("install", "uninstall"):
                self.assertIn("or was not purged: ", self.refused_here(script, dpkg=dpkg, rpm=rpm))
        self.assertIn("nothing was installed", self.refused_here("uninstall", dpkg="echo not-installed; echo not-installed"))

    @unittest.skipIf(os.geteuid() != 0, "it needs root")
    @unittest.skipIf(TARBALL_IS_HERE, "a tarball is installed here, and would be taken off")
    def test_the_root_is_this_machines_or_a_folder(self):
        for script in ("install", "uninstall"):
            for root in ("/", "//", "/usr/.."):
                self.assertIn("or was not purged: ", self.refused_here(script, "--root", root, dpkg="echo installed"))
            for root in ("", "/nowhere/root"):
                self.assertEqual(self.refused_here(script, "--root", root), f"{script}: --root: there is no folder '{root}'\n")

    @unittest.skipIf(os.geteuid() != 0, "it needs root")
    def test_a_link_to_a_folder_is_replaced(self):
        install, link = self.tarball("one", {"usr/bin/rdma-hook": "1"}) / "install", self.folder / "root/usr/bin/rdma-hook"
        self.script(install)
        whole = self.installed()
        link.unlink()
        (self.folder / "other").mkdir()
        link.symlink_to(self.folder / "other")
        self.script(install)
        self.assertEqual((self.installed(), self.installed("other")), (whole, {}))

    @unittest.skipIf(os.geteuid() != 0, "it needs root")
    def test_a_journal_outlives_the_removal(self):
        self.script(self.tarball("one", {"usr/bin/rdma-hook": "1"}) / "install")
        self.write("root/run/rdma-hook/journals/a", "1")
        self.script(self.folder / "root/usr/share/rdma-hook/uninstall")
        self.assertEqual(self.installed(), {"run/rdma-hook/journals/a": "1"})

    @unittest.skipIf(os.geteuid() != 0, "it needs root")
    def test_a_file_of_somebody_else_is_not_overwritten(self):
        self.write("root/usr/bin/rdma-hook", "theirs")
        self.assertIn("is there already", self.script(self.tarball("one", {"usr/bin/rdma-hook": "1"}) / "install", status=1))
        self.assertEqual(self.installed(), {"usr/bin/rdma-hook": "theirs"})


class Image(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def archive(self, name, umask=0o022, machine="x86_64"):
        """The archive of a folder as packaging/image/make leaves one, in a file."""
        folder = self.folder / name
        before = os.umask(umask)
        self.addCleanup(os.umask, before)
        (folder / "root/usr/bin").mkdir(parents=True)
        (folder / "root/usr/bin/rdma-perf").write_text("program", encoding="utf-8")
        (folder / "root/usr/bin/rdma-perf").chmod(0o777 & ~umask)
        (folder / "root/bin").symlink_to("usr/bin")
        os.umask(before)
        text = (ROOT / "packaging/image/Containerfile").read_text(encoding="utf-8")
        (folder / "Containerfile").write_text(f'{text}LABEL org.opencontainers.image.version="1.2.3"\n', encoding="utf-8")
        path = self.folder / f"{name}.oci.tar"
        path.write_bytes(oci.archive(folder, machine, 1000000000))
        return path

    def test_the_archive_is_whole_and_the_same_from_the_same_files(self):
        one = self.archive("one")
        self.assertEqual(oci.summary(one), "rdma-perf, 1.2.3, amd64; 2 files")
        self.assertEqual(one.read_bytes(), self.archive("other", umask=0o077).read_bytes())
        self.assertEqual(oci.summary(self.archive("arm", machine="aarch64")), "rdma-perf, 1.2.3, arm64; 2 files")

    def test_what_engines_read(self):
        with tarfile.open(self.archive("one")) as opened:
            parts = {member.name: opened.extractfile(member).read() for member in opened}
        docker, = json.loads(parts["manifest.json"])
        entry, = json.loads(parts["index.json"])["manifests"]
        self.assertEqual(docker["RepoTags"], [entry["annotations"]["org.opencontainers.image.ref.name"]])
        config = json.loads(parts[docker["Config"]])
        self.assertEqual(config["config"]["Entrypoint"], ["/usr/bin/rdma-perf"])
        self.assertEqual(config["created"], "2001-09-09T01:46:40Z")
        with tarfile.open(fileobj=io.BytesIO(gzip.decompress(parts[docker["Layers"][0]]))) as layer:
            self.assertEqual([(each.name, oct(each.mode), each.uid, each.mtime, each.linkname) for each in layer if not each.isdir()],
                             [("bin", "0o755", 0, 1000000000, "usr/bin"), ("usr/bin/rdma-perf", "0o755", 0, 1000000000, "")])

    @unittest.skipUnless(list(Path("/etc/libibverbs.d").glob("*.driver")), "no provider of libibverbs is installed")
    def test_a_licence_that_is_missing_is_named(self):
        # librdmacm1 and librdmacm1t64 are never both there: as the stand-in for dpkg has it, one of them has lost its licence.
        library = self.folder / "libibverbs.so.1"
        for path in (library, self.folder / "librdmacm.so.1", self.folder / "libibverbs/liba-rdmav34.so"):
            path.parent.mkdir(exist_ok=True)
            path.touch()
        for name, text in (("ldd", f"echo 'x => {library} (0)'"), ("dpkg-query", "printf installed"), ("rdma-perf", "echo rdma-perf 1.2.3")):
            (self.folder / name).write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
            (self.folder / name).chmod(0o755)
        made = subprocess.run([ROOT / "packaging/image/make", self.folder / "made", self.folder / "rdma-perf"], capture_output=True, text=True,
                              check=False, env=os.environ | {"PATH": f"{self.folder}:{os.environ['PATH']}"})
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertRegex(made.stderr, r"warning: /usr/share/doc/librdmacm1(t64)?/copyright is missing")
        for name in ("debian/copyright", "LGPL-2.1"):
            self.assertEqual((self.folder / "made/root/usr/share/doc/rdma-perf" / Path(name).name).read_text(encoding="utf-8"),
                             (ROOT / "packaging" / name).read_text(encoding="utf-8"))

    def test_its_licences_are_those_of_its_program_and_its_libraries(self):
        labels = oci.settings((ROOT / "packaging/image/Containerfile").read_text(encoding="utf-8"))["Labels"]
        held = licences("rdma-perf") | {sbom.LICENCES[name] for name in ("glibc", "libnl3", "rdma-core")}
        self.assertEqual({each.strip("()") for each in labels["org.opencontainers.image.licenses"].split(" AND ")}, held)

    def test_a_changed_part_is_found(self):
        path = self.archive("one")
        content = path.read_bytes()
        for word, other in ((b"/usr/bin/rdma-perf", b"/usr/bin/other-perf"), (b'"1.2.3"', b'"1.2.4"'), (b"sha256:", b"sha512:")):
            path.write_bytes(content.replace(word, other))
            with self.assertRaises(oci.Broken):
                oci.summary(path)


class Bill(unittest.TestCase):
    ABOUT = {"libc6-dev": ("2-1", "amd64", "glibc", "2"), "libstdc++-12-dev": ("12", "amd64", "gcc-12", "12"), "libibverbs1": ("50", "amd64", "rdma-core", "50")}

    def made(self):
        return sbom.document("rdma-hook", ("Apache-2.0", "us"), "1.0.0", 1000000000,
                             {"./usr/bin/rdma-hook": b"\x7fELF1", "./usr/bin/rdma-perf": b"\x7fELF2"},
                             {("./usr/bin/rdma-hook", "STATIC_LINK", "libc6-dev"), ("./usr/bin/rdma-hook", "STATIC_LINK", "libstdc++-12-dev"),
                              ("./usr/bin/rdma-perf", "DYNAMIC_LINK", "libibverbs1"), ("libc6-dev", "BUILD_DEPENDENCY_OF", "rdma-hook")}, self.ABOUT)

    def test_the_document_is_whole(self):
        made = self.made()
        self.assertEqual(list(sbom.check(made)), [])
        self.assertEqual(made["creationInfo"]["created"], "2001-09-09T01:46:40Z")
        relations = {(each["spdxElementId"], each["relationshipType"], each["relatedSpdxElement"]) for each in made["relationships"]}
        self.assertIn(("SPDXRef-File-usr-bin-rdma-hook", "STATIC_LINK", "SPDXRef-Package-libstdc---12-dev"), relations)
        self.assertIn(("SPDXRef-File-usr-bin-rdma-perf", "DYNAMIC_LINK", "SPDXRef-Package-libibverbs1"), relations)
        self.assertIn(("SPDXRef-Package-libc6-dev", "BUILD_DEPENDENCY_OF", "SPDXRef-Package-rdma-hook"), relations)
        licences = {each["name"]: each["licenseDeclared"] for each in made["packages"]}
        self.assertEqual(licences["libstdc++-12-dev"], "GPL-3.0-or-later WITH GCC-exception-3.1")
        self.assertEqual(made, self.made())

    def test_the_packages_files_are_analyzed(self):
        made = self.made()
        # printf '\177ELF1' | sha1sum and so on; the sorted sums without an end of line | sha1sum
        code = {"packageVerificationCodeValue": "e434a58a58d307750210018554c578b801b45c1c"}
        self.assertEqual(made["packages"][0]["packageVerificationCode"], code)
        self.assertEqual(sbom.verification_code(made["files"][::-1]), code)
        self.assertEqual({each["filesAnalyzed"] for each in made["packages"][1:]}, {False})
        for name, value in (("filesAnalyzed", False), ("packageVerificationCode", {"packageVerificationCodeValue": "0" * 40})):
            self.assertEqual(list(sbom.check(made | {"packages": [made["packages"][0] | {name: value}, *made["packages"][1:]]})),
                             ["SPDXRef-Package-rdma-hook has not the verification code of its files"])

    def test_a_hole_is_found(self):
        made = self.made()
        made["packages"].pop()
        self.assertIn("is named and not there", "\n".join(sbom.check(made)))

    def test_the_compiler_is_that_of_the_build(self):
        with tempfile.TemporaryDirectory() as folder:
            known = Path(folder, "CMakeFiles/3.25.1/CMakeCXXCompiler.cmake")
            known.parent.mkdir(parents=True)
            known.write_text('set(CMAKE_CXX_COMPILER "/usr/bin/aarch64-linux-gnu-g++")\nset(CMAKE_CXX_COMPILER_ARG1 "")\n', encoding="utf-8")
            self.assertEqual(sbom.compiler_of(folder), "/usr/bin/aarch64-linux-gnu-g++")
            known.write_text('set(CMAKE_CXX_COMPILER_AR "/usr/bin/ar")\n', encoding="utf-8")
            with self.assertRaisesRegex(sbom.Unknown, "knows no compiler"):
                sbom.compiler_of(folder)

    def image(self, *lacking):
        """The document of an image, whose folder does not have the files `lacking`; the text of summary(), too."""
        library = "/usr/lib/libibverbs.so.1"
        owner = {library: "libibverbs1", "/usr/share/doc/libibverbs1/copyright": "libibverbs1", "/usr/lib/gcc/libgcc.a": "libgcc-12-dev"}
        about = self.ABOUT | {"libgcc-12-dev": ("12", "amd64", "gcc-12", "12")}
        with contextlib.ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            for name in {library, "/usr/bin/rdma-perf", "/usr/share/doc/libibverbs1/copyright", "/usr/share/doc/rdma-perf/copyright"} - set(lacking):
                path = folder / f"root{name}"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(b"\x7fELF" if "/doc/" not in name else name.encode())
            (folder / "root/lib").symlink_to("usr/lib")
            shutil.copy(ROOT / "packaging/image/Containerfile", folder)
            linked = [("rdma-hook", b"", [Path("/usr/lib/other.a")], []), ("rdma-perf", b"", [Path("/usr/lib/gcc/libgcc.a")], [Path(library)])]
            for name, does in (("programs", lambda *_: linked), ("owners", lambda paths: {str(path): owner[str(path)] for path in paths}),
                               ("described", lambda names: {name: about[name] for name in names})):
                stack.enter_context(unittest.mock.patch.object(sbom, name, does))
            sbom.write_image(folder / "image.spdx.json", folder, "build", Path("files"), "1.0.0", 1000000000)
            return json.loads((folder / "image.spdx.json").read_text(encoding="utf-8")), sbom.summary(folder / "image.spdx.json")

    def test_the_image_has_a_document(self):
        made, summary = self.image()
        self.assertEqual(summary, "SPDX-2.3, 4 files, 2 foreign packages; 1 DYNAMIC_LINK, 2 EXPANDED_FROM_ARCHIVE, 1 STATIC_LINK")
        self.assertEqual([each["fileName"] for each in made["files"]],
                         ["./usr/bin/rdma-perf", "./usr/lib/libibverbs.so.1", "./usr/share/doc/libibverbs1/copyright", "./usr/share/doc/rdma-perf/copyright"])
        relations = {(each["spdxElementId"], each["relationshipType"], each["relatedSpdxElement"]) for each in made["relationships"]}
        self.assertIn(("SPDXRef-File-usr-lib-libibverbs.so.1", "EXPANDED_FROM_ARCHIVE", "SPDXRef-Package-libibverbs1"), relations)
        self.assertIn(("SPDXRef-File-usr-bin-rdma-perf", "STATIC_LINK", "SPDXRef-Package-libgcc-12-dev"), relations)
        self.assertIn("Linux-OpenIB", made["packages"][0]["licenseDeclared"])

    def test_an_image_without_a_licence_has_none(self):
        with self.assertRaisesRegex(sbom.Unknown, "has files of libibverbs1, and not its /usr/share/doc/libibverbs1/copyright"):
            self.image("/usr/share/doc/libibverbs1/copyright")

    def test_what_ninja_says(self):
        deps = "a.o: #deps 3, deps mtime 1 (VALID)\n    ../../hook/a.h\n    /usr/include/a.h\n    cmake_pch.hxx\n\n"
        self.assertEqual(sbom.headers(deps, "/nowhere/build/dist"), [Path("/usr/include/a.h")])
        self.assertEqual(sbom.archives(": && /usr/bin/c++ -static-pie a.o -o rdma-hook libx.a /usr/lib/libnl-3.a && :"),
                         (["/usr/lib/libnl-3.a"], {"libstdc++.a", "libm.a", "libgcc.a", "libgcc_eh.a", "libc.a"}))
        self.assertEqual(sbom.archives("/usr/bin/c++ -pie -static-libstdc++ -static-libgcc a.o -o rdma-perf /usr/lib/libmd.a"),
                         (["/usr/lib/libmd.a"], {"libstdc++.a", "libgcc.a", "libgcc_eh.a"}))
        self.assertEqual(sbom.archives("/usr/bin/c++ a.o -o rdma-perf"), ([], set()))


if __name__ == "__main__":
    unittest.main(verbosity=0)
