#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The software bills of materials of a build and of rdma-perf's image, as SPDX 2.3 in JSON; and Debian's Static-Built-Using.

usage: packaging/sbom.py BUILD FILES    the source packages of all archives that are linked into the programs in FILES/usr/bin

It is made of what the build itself knows: ninja has each header that a compiler read and each archive that a linker got, a program's
dynamic section has its libraries. The package manager says whose files they are. Nothing is listed by hand but licences.
"""
import datetime
import hashlib
import json
import re
import subprocess
import sys
import uuid
from pathlib import Path

import oci

# Of Debian's source packages, without the number of a version; of another one NOASSERTION, and its copyright file is what counts.
LICENCES = {"glibc": "LGPL-2.1-or-later", "libnl3": "LGPL-2.1-only", "libmd": "BSD-3-Clause", "nlohmann-json3": "MIT", "fmtlib": "MIT",
            "cli11": "BSD-3-Clause", "tomlplusplus": "MIT", "rdma-core": "GPL-2.0-only OR Linux-OpenIB", "libseccomp": "LGPL-2.1-only", "gcc": "GPL-3.0-or-later WITH GCC-exception-3.1", "linux": "GPL-2.0-only WITH Linux-syscall-note"}
# The archives that gcc adds by itself to a program, by the option for it.
RUNTIME = {"-static-libstdc++": {"libstdc++.a"}, "-static-libgcc": {"libgcc.a", "libgcc_eh.a"},
           **dict.fromkeys(("-static", "-static-pie"), {"libstdc++.a", "libm.a", "libgcc.a", "libgcc_eh.a", "libc.a"})}


class Unknown(Exception):
    """A file of the build that no package has."""


def output(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Unknown(f"{' '.join(str(word) for word in command[:3])} ... : {done.stderr.strip()[:300]}")
    return done.stdout


# ---- what the build read --------------------------------------------------------------------------------------------------------
def headers(deps, build):
    """The files outside of the project that compilers read, of ninja's list of dependencies."""
    names = {Path(build, line.strip()).resolve() for line in deps.splitlines() if line.startswith("    ")}
    project = Path(build).resolve().parents[1]
    return sorted(name for name in names if not name.is_relative_to(project))


def archives(link):
    """The archives of a link command: those that it names, and the names of those that gcc adds."""
    words = link.split()
    return sorted({word for word in words if word.startswith("/") and word.endswith(".a")}), set().union(*(RUNTIME.get(word, ()) for word in words))


def needed(program):
    """The names of the libraries that a program loads."""
    return re.findall(r"\(NEEDED\)\s+Shared library: \[([^\]]+)\]", output("readelf", "--dynamic", "--wide", program))


def compiler_of(build):
    """The compiler of a build, which may be one for another architecture."""
    for known in sorted(Path(build, "CMakeFiles").glob("*/CMakeCXXCompiler.cmake")):
        if found := re.search(r'^set\(CMAKE_CXX_COMPILER "(.+)"\)$', known.read_text(encoding="utf-8"), re.MULTILINE):
            return found[1]
    raise Unknown(f"{build}: CMake knows no compiler")


def found_by_compiler(compiler, name):
    path = Path(output(compiler, f"-print-file-name={name}").strip())
    if not path.is_absolute():
        raise Unknown(f"the compiler does not find {name}")
    return path.resolve()


# ---- the package of a file ----------------------------------------------------------------------------------------------------------------
def owners(paths):
    """The Debian package of each path. /usr/lib may be known as /lib, from before the two became one."""
    known = {}
    wanted = sorted({str(path) for path in paths})
    for first in range(0, len(wanted), 500):
        part = wanted[first:first + 500]
        asked = part + [path.removeprefix("/usr") for path in part if path.startswith("/usr/lib")]
        done = subprocess.run(["dpkg-query", "--search", *asked], capture_output=True, text=True, check=False)
        for line in done.stdout.splitlines():
            names, _, path = line.rpartition(": ")
            known[path] = names.split(", ")[0].split(":")[0]
    result = {path: known.get(path) or known.get(path.removeprefix("/usr")) for path in wanted}
    lost = [path for path, package in result.items() if not package]
    if lost:
        raise Unknown(f"no package has {lost[0]}" + (f" and {len(lost) - 1} more files" if len(lost) > 1 else ""))
    return result


def described(packages):
    """(version, architecture, source, source's version) of each package."""
    form = "${Package}\\t${Version}\\t${Architecture}\\t${source:Package}\\t${source:Version}\\n"
    return {line[0]: line[1:] for line in (text.split("\t") for text in output("dpkg-query", "--show", "-f", form, *packages).splitlines())}


def distribution():
    for path in ("/etc/os-release", "/usr/lib/os-release"):
        if Path(path).exists() and (found := re.search(r'^ID="?([\w.-]+)"?$', Path(path).read_text(encoding="utf-8"), re.MULTILINE)):
            return found[1]
    return "unknown"


# ---- the document ---------------------------------------------------------------------------------------------------------------
def identifier(kind, name):
    return f"SPDXRef-{kind}-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)


def origin(source):
    """A source package without the number of a version; of Debian's cross compiler, the one whose code it has."""
    return {"cross-toolchain-base": "glibc"}.get(source) or re.sub(r"-[0-9]+(-cross)?$", "", source)


def ask_for_notices(sources):
    """Each source package whose code is linked in needs its notice."""
    named = re.findall(r"^ ([\w-]+) \(", (Path(__file__).parent / "debian/copyright").read_text(encoding="utf-8"), re.MULTILINE)
    for source in sorted(map(origin, sources)):
        if source not in named:
            raise Unknown(f"packaging/debian/copyright does not name {source}, which is linked in")


def foreign(name, about, vendor):
    package, (number, architecture, source, source_version) = identifier("Package", name), about
    return {"name": name, "SPDXID": package, "versionInfo": number, "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
            "licenseConcluded": "NOASSERTION", "licenseDeclared": LICENCES.get(origin(source), "NOASSERTION"), "copyrightText": "NOASSERTION",
            "sourceInfo": f"built from the source package {source} {source_version}",
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                              "referenceLocator": f"pkg:deb/{vendor}/{name.replace('+', '%2B')}@{number.replace('+', '%2B')}?arch={architecture}"}]}


def verification_code(files):
    """What names the content of a package's files: SPDX 2.3, clause 7.9."""
    sums = sorted(each["checksumValue"] for file in files for each in file["checksums"] if each["algorithm"] == "SHA1")
    return {"packageVerificationCodeValue": hashlib.sha1("".join(sums).encode()).hexdigest()}


def document(name, terms, number, when, files, relations, about):
    """The SPDX document of the package `name`. terms: (licence, copyright); files: ./path -> content; relations: (one, kind, other), where one
    and other are paths of files or names of packages."""
    repository = json.loads((Path(__file__).parent / "project.json").read_text(encoding="utf-8"))["repository"]
    vendor, own = distribution(), identifier("Package", name)
    element = lambda known: identifier("File", known[2:]) if known.startswith("./") else identifier("Package", known)  # noqa: E731
    listed = [{"fileName": path, "SPDXID": element(path), "fileTypes": ["BINARY" if content.startswith(b"\x7fELF") else "TEXT"],
               "licenseConcluded": "NOASSERTION", "copyrightText": "NOASSERTION",
               "checksums": [{"algorithm": algorithm.upper(), "checksumValue": hashlib.new(algorithm, content).hexdigest()}
                             for algorithm in ("sha1", "sha256")]}
              for path, content in sorted(files.items())]
    related = [("SPDXRef-DOCUMENT", "DESCRIBES", own)] + [(own, "CONTAINS", each["SPDXID"]) for each in listed]
    related += [(element(one), kind, element(other)) for one, kind, other in sorted(relations)]
    content = "".join(file["checksums"][1]["checksumValue"] for file in listed)
    return {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"{name}-{number}",
        # Of the files' content, so that equal builds have equal documents.
        "documentNamespace": f"{repository}/spdx/{name}-{number}-{uuid.uuid5(uuid.NAMESPACE_URL, content)}",
        "creationInfo": {"created": datetime.datetime.fromtimestamp(when, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
                         "creators": [f"Tool: rdma-hook-packaging-{number}"]},
        "packages": [{"name": name, "SPDXID": own, "versionInfo": number, "downloadLocation": repository, "filesAnalyzed": True,
                      "packageVerificationCode": verification_code(listed), "licenseConcluded": terms[0], "licenseDeclared": terms[0],
                      "copyrightText": terms[1]},
                     *(foreign(package, each, vendor) for package, each in sorted(about.items()))],
        "files": listed,
        "relationships": [{"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other} for one, kind, other in related],
    }


def programs(build, files):
    """(name, content, archives, libraries) of each program in files/usr/bin, which was built in the folder build."""
    compiler, found = compiler_of(build), False
    for program in sorted((files / "usr/bin").iterdir()):
        content = program.read_bytes()
        if not content.startswith(b"\x7fELF"):
            continue
        commands = [line for line in output("ninja", "-C", build, "-t", "commands", program.name).splitlines() if f" -o {program.name} " in f"{line} "
                    or f"/{program.name} " in f"{line} "]
        if not commands:
            raise Unknown(f"ninja has no command that links {program.name}")
        static, added = archives(commands[-1])
        static = [Path(each).resolve() for each in static] + [found_by_compiler(compiler, each) for each in sorted(added)]
        yield program.name, content, static, [found_by_compiler(compiler, each) for each in needed(program)]
        found = True
    if not found:
        raise Unknown(f"{files}/usr/bin has no program")


def built_using(build, files):
    """The value of Static-Built-Using; empty if all is linked dynamically."""
    static = {each for _, _, archived, _ in programs(build, files) for each in archived}
    about = described(sorted(set(owners(static).values()))) if static else {}
    return ", ".join(sorted({f"{source} (= {number})" for _, _, source, number in about.values()}))


def links(build, files):
    """(program, STATIC_LINK or DYNAMIC_LINK, library) of each program in files/usr/bin."""
    return [(f"./usr/bin/{name}", kind, library) for name, _, static, dynamic in programs(build, files)
            for kind, libraries in (("STATIC_LINK", static), ("DYNAMIC_LINK", dynamic)) for library in libraries]


def save(path, made):
    for each in check(made):
        raise Unknown(f"{path.name}: {each}")
    path.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")


def write(path, build, files, number, when):
    """Writes the document of what is in files/usr/bin and was built in the folder build."""
    compiled, linked = headers(output("ninja", "-C", build, "-t", "deps"), build), links(build, files)
    owner = owners([*compiled, *(library for _, _, library in linked)])
    relations = {(program, kind, owner[str(library)]) for program, kind, library in linked}
    relations |= {(owner[str(header)], "BUILD_DEPENDENCY_OF", "rdma-hook") for header in compiled}
    about = described(sorted(set(owner.values())))
    ask_for_notices({about[package][2] for _, kind, package in relations if kind == "STATIC_LINK"})
    save(path, document("rdma-hook", ("Apache-2.0", "2026 the authors of rdma-hook"), number, when,
                        {program: (files / program).read_bytes() for program, _, _ in linked}, relations, about))


def write_image(path, folder, build, files, number, when):
    """Writes the document of the image that packaging/image/make left in a folder: its rdma-perf is that of write(), the rest is Debian's."""
    root = folder / "root"
    held = {f"./{file.relative_to(root)}": file.read_bytes() for file in root.rglob("*") if file.is_file() and not file.is_symlink()}
    copied = [name for name in held if name != "./usr/bin/rdma-perf" and not name.startswith("./usr/share/doc/rdma-perf/")]
    linked = [each for each in links(build, files) if each[0] in held]
    # `make` leaves each file where this machine has it.
    owner = owners([*(name[1:] for name in copied), *(library for _, _, library in linked)])
    relations = {(name, "EXPANDED_FROM_ARCHIVE", owner[name[1:]]) for name in copied}
    for package in sorted({package for _, _, package in relations}):
        if f"./usr/share/doc/{package}/copyright" not in held:
            raise Unknown(f"the image has files of {package}, and not its /usr/share/doc/{package}/copyright")
    relations |= {(program, kind, owner[str(library)]) for program, kind, library in linked}
    licence = oci.settings((folder / "Containerfile").read_text(encoding="utf-8"))["Labels"][f"{oci.LABEL}licenses"]
    save(path, document("rdma-perf", (licence, "NOASSERTION"), number, when, held, relations, described(sorted(set(owner.values())))))


def check(made):
    """What of the document is not as SPDX 2.3 has it, as far as this file could get it wrong."""
    elements = [made["SPDXID"], *(each["SPDXID"] for each in made["packages"] + made["files"])]
    for each in elements:
        if not re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", each):
            yield f"{each} is no identifier"
        if elements.count(each) > 1:
            yield f"{each} is there twice"
    for relation in made["relationships"]:
        for end in ("spdxElementId", "relatedSpdxElement"):
            if relation[end] not in elements:
                yield f"{relation[end]} is named and not there"
    related = {relation[end] for relation in made["relationships"] for end in ("spdxElementId", "relatedSpdxElement")}
    yield from (f"{each} is related to nothing" for each in elements if each not in related)
    for package in made["packages"]:
        held = [relation["relatedSpdxElement"] for relation in made["relationships"]
                if relation["relationshipType"] == "CONTAINS" and relation["spdxElementId"] == package["SPDXID"]]
        files = [file for file in made["files"] if file["SPDXID"] in held]
        if package["filesAnalyzed"] != bool(files) or package.get("packageVerificationCode") != (verification_code(files) if files else None):
            yield f"{package['SPDXID']} has not the verification code of its files"


def summary(path):
    made = json.loads(path.read_text(encoding="utf-8"))
    for each in check(made):
        raise Unknown(f"{path.name}: {each}")
    kinds = [relation["relationshipType"] for relation in made["relationships"]]
    return (f"{made['spdxVersion']}, {len(made['files'])} files, {len(made['packages']) - 1} foreign packages; "
            + ", ".join(f"{kinds.count(kind)} {kind}" for kind in sorted(set(kinds) - {"DESCRIBES", "CONTAINS"})))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    try:
        print(built_using(Path(sys.argv[1]), Path(sys.argv[2])))
    except Unknown as error:
        sys.exit(f"packaging/sbom.py: {error}")
