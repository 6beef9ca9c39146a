#!/usr/bin/env python3
"""deb.py BUILD SOURCE VERSION: the Debian package that cpack makes from the build has the fields, files, modes,
configuration files and maintainer scripts that an installation relies on, and a second run of cpack makes the same
bytes. Nothing is installed; bare-system does that."""

import glob
import gzip
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile

BUILD, SOURCE, VERSION = sys.argv[1:]
CONFFILES = ["/etc/cobblestone/cobblestone.yaml", "/etc/cobblestone/db_dump.xml"]
DOCUMENTS = [f"docs/{part}/{name}" for part in ("operations", "guides") for name in os.listdir(os.path.join(SOURCE, "docs", part))]
UNITS = sorted(name for name in os.listdir(os.path.join(SOURCE, "deploy/systemd")) if name.endswith((".service", ".timer")))
FILES = [
    "usr/bin/cobblestone", "usr/share/cobblestone/default.yaml", "usr/share/cobblestone/monitoring/alerts.yml",
    "usr/share/man/man1/cobblestone.1.gz", "usr/share/bash-completion/completions/cobblestone",
    "usr/share/doc/cobblestone/copyright", "usr/share/doc/cobblestone/NOTICE", "usr/share/doc/cobblestone/changelog.gz",
    "usr/share/doc/cobblestone/changelog.Debian.gz", "usr/share/doc/cobblestone/sbom.cdx.json",
    "usr/share/cobblestone/licenses/libcli11-dev.gz", "usr/share/cobblestone/licenses/nlohmann-json3-dev.gz",
    "usr/share/cobblestone/licenses/web-page.gz",
    "usr/share/cobblestone/monitoring/prometheus.yml", "usr/share/cobblestone/monitoring/RUNBOOK.md",
    *[f"usr/share/doc/cobblestone/{document}" for document in DOCUMENTS],
    *[name[1:] for name in CONFFILES], *[f"usr/lib/systemd/system/{unit}" for unit in UNITS],
]


def check(holds, what):
    if not holds:
        sys.exit(f"deb.py: {what}")


def output_of(*words, **how):
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True, **how).stdout


def read(*path):
    with open(os.path.join(*path), "rb") as file:
        content = file.read()
    return (gzip.decompress(content) if path[-1].endswith(".gz") else content).decode()


def packaged(folder):
    output_of("cpack", "--config", os.path.join(BUILD, "CPackConfig.cmake"), "-B", folder,
              env={**os.environ, "SOURCE_DATE_EPOCH": "1790000000"})
    (package,) = glob.glob(os.path.join(folder, "*.deb"))
    return package


with tempfile.TemporaryDirectory(prefix="package-") as folder:
    package = packaged(os.path.join(folder, "first"))
    with open(package, "rb") as first, open(packaged(os.path.join(folder, "second")), "rb") as second:
        check(first.read() == second.read(), "a second package of the same build has other bytes")

    # Fields. The Debian release is a part of the version.
    fields = dict(re.findall(r"^(\S+): (.*)$", output_of("dpkg-deb", "--field", package), re.M))
    release = re.search(r"^VERSION_ID=\"(\d+)\"", read("/etc/os-release"), re.M)
    wanted = f"{VERSION}-1~deb{release[1]}"
    check((fields["Package"], fields["Version"], fields["Section"]) == ("cobblestone", wanted, "science"), f"fields: {fields}")
    check(os.path.basename(package) == f"cobblestone_{wanted}_{fields['Architecture']}.deb", f"name: {package}")
    check(re.fullmatch(r".+ <\S+@\S+>", fields["Maintainer"]), f"maintainer: {fields['Maintainer']}")
    depends = {each.split()[0] for each in fields["Depends"].split(",")}
    check("adduser" in depends, f"postinst needs adduser, the package depends on {depends}")
    for library in ("libc6", "librdkafka1", "librocksdb", "libssl3", "libyaml-cpp"):
        check(any(each.startswith(library) for each in depends), f"no dependency on {library}: {depends}")

    # Files and modes: others may write no file, and root owns all files.
    tree = os.path.join(folder, "tree")
    output_of("dpkg-deb", "--raw-extract", package, tree)
    entries = [line.split(None, 5) for line in output_of("dpkg-deb", "--contents", package).splitlines()]
    kinds = {name: (mode, owner) for mode, owner, _, _, _, name in entries}
    check(set(FILES) <= {name.removeprefix("./") for name in kinds}, f"missing: {sorted(set(FILES) - {n[2:] for n in kinds})}")
    for name, (mode, owner) in kinds.items():
        expected = "drwxr-xr-x" if name.endswith("/") else "-rwxr-xr-x" if name.startswith("./usr/bin/") else "-rw-r--r--"
        check((mode, owner) == (expected, "root/root"), f"{name} has mode {mode} and owner {owner}")
    check(read(tree, "DEBIAN/conffiles").split() == CONFFILES, "conffiles")
    check("MIT License" in read(tree, "usr/share/cobblestone/licenses/web-page.gz"), "license of the web page's script")

    # The program is stripped, and the bill of materials has the checksum of the stripped program.
    program = os.path.join(tree, "usr/bin/cobblestone")
    check(".debug_info" not in output_of("readelf", "--sections", "--wide", program), "the program is not stripped")
    with open(program, "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    bill = json.loads(read(tree, "usr/share/doc/cobblestone/sbom.cdx.json"))["metadata"]["component"]
    check(bill["hashes"][0]["content"] == digest and bill["version"] == VERSION,
          "the bill of materials belongs to another program")
    check(read(tree, "usr/share/doc/cobblestone/changelog.gz") == read(SOURCE, "CHANGES.md"), "the changes")
    check(read(tree, "usr/share/doc/cobblestone/changelog.Debian.gz").startswith(f"cobblestone ({wanted}) "), "the changelog")

    # Units have the program's path in the package, and systemd accepts them in the package's tree.
    units = {unit: read(tree, "usr/lib/systemd/system", unit) for unit in UNITS}
    for unit, text in units.items():
        check(re.findall(r"^ExecStart=(\S+)", text, re.M) == ["/usr/bin/cobblestone"] * unit.endswith(".service"), f"{unit}: {text}")
    output_of("systemd-analyze", f"--root={tree}", "--man=no", "--recursive-errors=no", "verify",
              *[f"/usr/lib/systemd/system/{unit}" for unit in UNITS], stderr=subprocess.STDOUT)

    # The packaged configuration and the container's configuration name only existing options. The program reads no
    # token here.
    for config in (os.path.join(tree, "etc/cobblestone/cobblestone.yaml"), os.path.join(tree, "usr/share/cobblestone/container.yaml")):
        check("is valid" in output_of(program, "config", config), config)

    # Maintainer scripts have the syntax of Debian's shell, and the modes that dpkg needs.
    for script in ("postinst", "prerm", "postrm"):
        path = os.path.join(tree, "DEBIAN", script)
        check(os.access(path, os.X_OK) and "\nset -e\n" in read(path),
              f"{script} continues after a failure, or is not executable")
        output_of("sh", "-n", path)
    for unit, text in units.items():
        # A template stands for its instances, which a quoted pattern selects.
        named = re.escape(unit.replace("@.", "@*."))
        check(re.search(rf"[ ']{named}\b", read(tree, "DEBIAN/prerm")), f"prerm does not stop {unit}")
        enabled = "[Install]" in text
        check(not enabled or re.search(rf"[ /]{named}\b", read(tree, "DEBIAN/postrm")), f"postrm leaves {unit} enabled")
print(f"{os.path.basename(package)}: {len(kinds)} files and folders")
