#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The software bill of materials of a build, as SPDX 2.3 in JSON; and Debian's Static-Built-Using.

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


def foreign(name, about, vendor):
    package, (number, architecture, source, source_version) = identifier("Package", name), about
    return {"name": name, "SPDXID": package, "versionInfo": number, "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
            "licenseConcluded": "NOASSERTION", "licenseDeclared": LICENCES.get(re.sub(r"-[0-9]+(-cross)?$", "", source), "NOASSERTION"), "copyrightText": "NOASSERTION",
            "sourceInfo": f"built from the source package {source} {source_version}",
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                              "referenceLocator": f"pkg:deb/{vendor}/{name.replace('+', '%2B')}@{number.replace('+', '%2B')}?arch={architecture}"}]}


def verification_code(files):
    """What names the content of a package's files: SPDX 2.3, clause 7.9."""
    sums = sorted(each["checksumValue"] for file in files for each in file["checksums"] if each["algorithm"] == "SHA1")
    return {"packageVerificationCodeValue": hashlib.sha1("".join(sums).encode()).hexdigest()}


def document(number, when, repository, programs, read, about, vendor):
    """The SPDX document. programs: name -> (bytes, packages linked statically, packages loaded); read: packages whose headers were read."""
    own = identifier("Package", "rdma-hook")
    files = [{"fileName": f"./usr/bin/{name}", "SPDXID": identifier("File", name), "fileTypes": ["BINARY"], "licenseConcluded": "NOASSERTION",
              "copyrightText": "NOASSERTION", "checksums": [{"algorithm": algorithm.upper(), "checksumValue": hashlib.new(algorithm, content).hexdigest()}
                                                            for algorithm in ("sha1", "sha256")]}
             for name, (content, _, _) in sorted(programs.items())]
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", own)] + [(own, "CONTAINS", each["SPDXID"]) for each in files]
    for name, (_, static, dynamic) in sorted(programs.items()):
        relations += [(identifier("File", name), kind, identifier("Package", package)) for kind, packages in
                      (("STATIC_LINK", static), ("DYNAMIC_LINK", dynamic)) for package in sorted(packages)]
    relations += [(identifier("Package", package), "BUILD_DEPENDENCY_OF", own) for package in sorted(read)]
    content = "".join(file["checksums"][1]["checksumValue"] for file in files)
    return {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"rdma-hook-{number}",
        # Of the programs' content, so that equal builds have equal documents.
        "documentNamespace": f"{repository}/spdx/rdma-hook-{number}-{uuid.uuid5(uuid.NAMESPACE_URL, content)}",
        "creationInfo": {"created": datetime.datetime.fromtimestamp(when, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
                         "creators": [f"Tool: rdma-hook-packaging-{number}"]},
        "packages": [{"name": "rdma-hook", "SPDXID": own, "versionInfo": number, "downloadLocation": repository, "filesAnalyzed": True,
                      "packageVerificationCode": verification_code(files), "licenseConcluded": "Apache-2.0", "licenseDeclared": "Apache-2.0", "copyrightText": "2026 the authors of rdma-hook"},
                     *(foreign(name, each, vendor) for name, each in sorted(about.items()))],
        "files": files,
        "relationships": [{"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other} for one, kind, other in relations],
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


def write(path, build, files, number, when):
    """Writes the document of what is in files/usr/bin and was built in the folder build."""
    compiled = headers(output("ninja", "-C", build, "-t", "deps"), build)
    linked = {name: more for name, *more in programs(build, files)}
    owner = owners([*compiled, *(each for _, static, dynamic in linked.values() for each in (*static, *dynamic))])
    of = lambda paths: {owner[str(each)] for each in paths}  # noqa: E731
    repository = json.loads((Path(__file__).parent / "project.json").read_text(encoding="utf-8"))["repository"]
    made = document(number, when, repository, {name: (content, of(static), of(dynamic)) for name, (content, static, dynamic) in linked.items()},
                    of(compiled), described(sorted(set(owner.values()))), distribution())
    wrong = list(check(made))
    if wrong:
        raise Unknown(f"{path.name}: {wrong[0]}")
    path.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")


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
    return (f"{made['spdxVersion']}, {len(made['files'])} programs, {len(made['packages']) - 1} foreign packages; "
            + ", ".join(f"{kinds.count(kind)} {kind}" for kind in ("STATIC_LINK", "DYNAMIC_LINK", "BUILD_DEPENDENCY_OF")))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    try:
        print(built_using(Path(sys.argv[1]), Path(sys.argv[2])))
    except Unknown as error:
        sys.exit(f"packaging/sbom.py: {error}")
