#!/usr/bin/env python3
"""stage.py --tree DIR --source DIR --build DIR --ninja FILE --version V --release R --codename NAME --maintainer WHO: adds to
the installation in DIR the files that only a Debian package has: configuration, copyright, licenses of all code in the program,
changelogs, and a bill of materials of the stripped program. Compresses the manual pages."""

import argparse
import datetime
import glob
import gzip
import json
import os
import subprocess
import sys
import time

parser = argparse.ArgumentParser()
for name in ("tree", "source", "build", "ninja", "version", "release", "codename", "maintainer"):
    parser.add_argument(f"--{name}", required=True)
GIVEN = parser.parse_args()
DOC = os.path.join(GIVEN.tree, "usr/share/doc/cobblestone")


def source(*path):
    return os.path.join(GIVEN.source, *path)


def put(text, *path, mode=0o644):
    target = os.path.join(GIVEN.tree, *path)
    os.makedirs(os.path.dirname(target), mode=0o755, exist_ok=True)
    with open(target, "wb") as file:
        file.write(text)
    os.chmod(target, mode)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def compressed(text):
    return gzip.compress(text, 9, mtime=0)  # without a time: the same sources give the same bytes


def changelog():
    """The changelog for Debian's tools; the changes are in changelog.gz."""
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))
    date = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%a, %d %b %Y %H:%M:%S +0000")
    return (f"cobblestone ({GIVEN.version}-{GIVEN.release}) {GIVEN.codename}; urgency=medium\n\n"
            f"  * Version {GIVEN.version}; changelog.gz has its changes.\n\n"
            f" -- {GIVEN.maintainer}  {date}\n").encode()


def licenses(bill):
    """Name -> license text, for all code in the program."""
    found = {}
    for component in bill["components"]:
        uses = {each["value"] for each in component["properties"] if each["name"] == "cobblestone:use"}
        if "compiled in" in uses:
            path = f"/usr/share/doc/{component['name']}/copyright"
            if not os.path.exists(path):
                sys.exit(f"stage.py: {path} is missing; it has the license of code in the program")
            found[component["name"]] = read(path)
        if "web page" in uses:
            found["web-page"] = read(source("services/gateway/web/dist/LICENSES.txt"))
    return found


put(read(source("config/service.yaml")), "etc/cobblestone/cobblestone.yaml")
put(read(source("config/db_dump.xml")), "etc/cobblestone/db_dump.xml")

bill_path = os.path.join(DOC, "sbom.cdx.json")  # rebuilt, because cpack has stripped the program
subprocess.run([sys.executable, source("deploy/sbom/sbom.py"), "--program", os.path.join(GIVEN.tree, "usr/bin/cobblestone"),
                "--build", GIVEN.build, "--ninja", GIVEN.ninja, "--target", "cobblestone",
                "--web", source("services/gateway/web"), "--version", GIVEN.version, "--out", bill_path], check=True)
for name, text in sorted(licenses(json.loads(read(bill_path))).items()):
    put(compressed(text), "usr/share/cobblestone/licenses", name + ".gz")

put(read(source("deploy/package/debian/copyright")), "usr/share/doc/cobblestone/copyright")
os.remove(os.path.join(DOC, "LICENSE"))  # every Debian has the text in /usr/share/common-licenses/Apache-2.0
put(compressed(read(source("CHANGES.md"))), "usr/share/doc/cobblestone/changelog.gz")
put(compressed(changelog()), "usr/share/doc/cobblestone/changelog.Debian.gz")
put(read(source("deploy/package/debian/lintian-overrides")), "usr/share/lintian/overrides/cobblestone")
for page in glob.glob(os.path.join(GIVEN.tree, "usr/share/man/man1/*.1")):
    put(compressed(read(page)), page + ".gz")
    os.remove(page)
