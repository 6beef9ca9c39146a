#!/usr/bin/env python3
"""sbom.py PROGRAM SBOM BUILD: the software bill of materials has the form of CycloneDX 1.5 and belongs to this
program. It lists every shared library that is loaded with the program, and every header library and npm package in it.
`cmake --install` installs both to the paths in deploy/sbom."""

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile

PROGRAM, SBOM, BUILD = sys.argv[1:]
HEADER_LIBRARIES = {"libcli11-dev", "nlohmann-json3-dev"}  # header-only, so no linked library shows them


def check(holds, what):
    if not holds:
        sys.exit(f"sbom.py: {what}")


def text_of(*words):
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True, env={**os.environ, "LC_ALL": "C"}).stdout


with open(SBOM) as file:
    bill = json.load(file)

# The form: the rules of the CycloneDX 1.5 schema for the fields in use.
check(set(bill) == {"$schema", "bomFormat", "specVersion", "version", "metadata", "components", "dependencies"}, "top-level fields")
check((bill["bomFormat"], bill["specVersion"], bill["version"]) == ("CycloneDX", "1.5", 1), "format and version")
root = bill["metadata"]["component"]
fields = {"type", "name", "version", "purl", "bom-ref", "hashes", "licenses", "properties"}
lengths = {"SHA-256": 64, "SHA-512": 128}
for component in [root, *bill["components"]]:
    check(set(component) <= fields, f"unknown fields: {component}")
    check(component["type"] in ("application", "library") and component["name"] and component["bom-ref"], f"{component}")
    check(re.fullmatch(r"pkg:(deb/debian|npm)/[^@?\s]+@[^@?\s]+(\?\S+)?", component.get("purl", "pkg:npm/a@1")), f"purl: {component}")
    for each in component.get("hashes", ()):
        check(re.fullmatch("[0-9a-f]{%d}" % lengths[each["alg"]], each["content"]), f"hash: {component}")
    for each in component.get("licenses", ()):
        check(set(each) == {"license"} and len({"id", "name"} & set(each["license"])) == 1, f"license: {component}")
    for each in component.get("properties", ()):
        check(set(each) == {"name", "value"} and isinstance(each["value"], str), f"property: {component}")
references = [component["bom-ref"] for component in [root, *bill["components"]]]
check(len(references) == len(set(references)), "a bom-ref is not unique")
for each in bill["dependencies"]:
    check({each["ref"], *each["dependsOn"]} <= set(references), f"a dependency on an unlisted component: {each}")
check(len({each["ref"] for each in bill["dependencies"]}) == len(bill["dependencies"]),
      "a component has two lists of dependencies")

# The content.
with open(PROGRAM, "rb") as file:
    check(root["hashes"] == [{"alg": "SHA-256", "content": hashlib.sha256(file.read()).hexdigest()}],
          "it belongs to another program")


def with_property(name):
    return {each["value"]: component for component in bill["components"] for each in component["properties"] if each["name"] == name}


of_soname = with_property("cobblestone:soname")
depends = {each["ref"]: set(each["dependsOn"]) for each in bill["dependencies"]}
needed = re.findall(r"\(NEEDED\).*\[(.+)\]", text_of("readelf", "-d", PROGRAM))
check(len(needed) > 10, "the program names no libraries")
for soname in needed:
    check(soname in of_soname, f"{soname}, which the program names, is missing")
    check(of_soname[soname]["bom-ref"] in depends[root["bom-ref"]], f"the program does not depend on {soname}")
for soname in re.findall(r"^\s*(\S+) => /", text_of("ldd", PROGRAM), re.MULTILINE):
    check(soname in of_soname, f"{soname}, which is loaded with the program, is missing")
for component in of_soname.values():
    check(component.get("version") and component.get("purl"), f"no version: {component['name']}")
names = {component["name"]: component for component in bill["components"]}
check(HEADER_LIBRARIES <= set(names), f"missing: {HEADER_LIBRARIES - set(names)}")
check(names.get("uplot", {}).get("purl", "").startswith("pkg:npm/uplot@"), "missing: the page's package, uplot")
for name in ("typescript", "esbuild", "libgtest-dev"):
    check(name not in names, f"{name} is used only to build or test")

with tempfile.TemporaryDirectory(prefix="sbom-") as folder:
    text_of("cmake", "--install", BUILD, "--prefix", folder)
    installed = {os.path.relpath(os.path.join(path, name), folder) for path, _, files in os.walk(folder) for name in files}
    check({"bin/cobblestone", "share/doc/cobblestone/sbom.cdx.json"} <= installed, f"installed: {sorted(installed)}")
    check(not [name for name in installed if re.search("test|gtest|gmock", name)], f"installed: {sorted(installed)}")
