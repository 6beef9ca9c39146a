#!/usr/bin/env python3
"""sbom.py --program FILE --build DIR --ninja FILE --target NAME --web DIR --version V --out FILE: writes the software bill of materials of the
built program (README.md) as CycloneDX 1.5. DIR is a build of ninja in which NAME is the program's target."""

import argparse
import base64
import hashlib
import json
import os
import platform
import re
import subprocess
import urllib.parse


def output_of(*words, cwd=None):
    return subprocess.run(words, cwd=cwd, check=True, stdout=subprocess.PIPE, text=True,
                          env={**os.environ, "LC_ALL": "C"}).stdout


def sonames_of(path):
    """The shared libraries that an ELF file names itself."""
    return re.findall(r"\(NEEDED\).*\[(.+)\]", output_of("readelf", "-d", path))


def libraries_of(program):
    """Every shared library that is loaded with the program: soname -> path."""
    return dict(re.findall(r"^\s*(\S+) => (/\S+)", output_of("ldd", program), re.MULTILINE))


def headers_of(build, ninja, target):
    """The headers outside of the build and the source tree that the target's objects include."""
    # -n: the record is only read, because the build that runs this still writes to it.
    inputs = output_of(ninja, "-n", "-t", "inputs", target, cwd=build).splitlines()
    objects = [line.strip() for line in inputs if line.strip().endswith(".o")]
    includes = output_of(ninja, "-n", "-t", "deps", *objects, cwd=build)
    return {line.strip() for line in includes.splitlines() if line.startswith("    /usr/")}


class Packages:
    """The system's package database, for the files asked about. Knows nothing where there is no dpkg."""

    def __init__(self, paths):
        self.names = {}  # path -> package
        forms = {form: path for path in paths for form in self.forms_of(path)}
        for line in self.ask("dpkg-query", "-S", *forms):
            names, _, found = line.rpartition(": ")
            if found in forms and not names.startswith("diversion "):
                self.names[forms[found]] = names.split(", ")[0]
        self.facts = {}  # package -> facts
        wanted = sorted(set(self.names.values()))
        form = "${binary:Package}\t${Package}\t${Version}\t${Architecture}\t${source:Package}\t${source:Version}\n"
        for line in self.ask("dpkg-query", "-W", "-f", form, *wanted) if wanted else ():
            full, *facts = line.split("\t")
            self.facts[full] = self.facts[full.split(":")[0]] = facts

    @staticmethod
    def forms_of(path):
        """A file's name as the database may have it: as given, without links, and from before /lib became /usr/lib."""
        real = os.path.realpath(path)
        return {path, real, path.removeprefix("/usr"), real.removeprefix("/usr")}

    @staticmethod
    def ask(*words):
        try:  # It fails where it does not know all of them, and answers for the others.
            return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout.splitlines()
        except FileNotFoundError:
            return []

    def of(self, path):
        return self.names.get(path)


def licenses_of(package):
    """Names of the licenses in the package's copyright file, where that is machine-readable."""
    try:
        with open(f"/usr/share/doc/{package}/copyright", encoding="utf-8", errors="replace") as file:
            text = file.read()
    except OSError:
        return []
    if not text.startswith("Format:"):
        return []
    return sorted(set(re.findall(r"^License: *(\S[^\n]*?) *$", text, re.MULTILINE)))


def distribution():
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        return None
    return f"{release.get('ID', 'linux')}-{release['VERSION_ID']}" if "VERSION_ID" in release else None


def component_of(name, facts, use, files):
    """A component for a package, or for a library of which no package is known (facts is None)."""
    component = {"type": "library", "name": name}
    properties = [("cobblestone:use", each) for each in sorted(use)] + [("cobblestone:soname", each) for each in sorted(files)]
    if facts:
        package, version, architecture, source, source_version = facts
        query = {"arch": architecture, "distro": distribution()}
        component["name"], component["version"] = package, version
        component["purl"] = (f"pkg:deb/debian/{urllib.parse.quote(package)}@{urllib.parse.quote(version, safe='')}?"
                             + urllib.parse.urlencode({key: value for key, value in query.items() if value}))
        licenses = licenses_of(package)
        if licenses:
            component["licenses"] = [{"license": {"name": each}} for each in licenses]
        properties.append(("cobblestone:source-package", f"{source} {source_version}"))
    component["bom-ref"] = component.get("purl", f"library:{name}")
    component["properties"] = [{"name": key, "value": value} for key, value in properties]
    return component


def web_components(web):
    """The npm packages that the page is made of: those of package-lock.json that are no tools of development."""
    with open(os.path.join(web, "package-lock.json")) as file:
        packages = json.load(file)["packages"]
    for path, facts in sorted(packages.items()):
        if not path or facts.get("dev"):
            continue
        name = path.rpartition("node_modules/")[2]
        algorithm, _, digest = facts["integrity"].partition("-")
        purl = f"pkg:npm/{urllib.parse.quote(name, safe='/')}@{facts['version']}"
        yield {"type": "library", "name": name, "version": facts["version"], "purl": purl, "bom-ref": purl,
               "hashes": [{"alg": algorithm.upper().replace("SHA", "SHA-"), "content": base64.b64decode(digest).hex()}],
               "licenses": [{"license": {"id": facts["license"]}}],
               "properties": [{"name": "cobblestone:use", "value": "web page"}]}


def bill(arguments):
    direct = sonames_of(arguments.program)
    loaded = libraries_of(arguments.program)
    headers = headers_of(arguments.build, arguments.ninja, arguments.target)
    packages = Packages([*loaded.values(), *headers])

    found = {}  # name -> (uses, sonames)
    of_soname = {}
    for soname, path in loaded.items():
        name = of_soname[soname] = packages.of(path) or soname
        uses, sonames = found.setdefault(name, (set(), set()))
        uses.add("linked"), sonames.add(soname)
    for path in headers:
        if packages.of(path):
            found.setdefault(packages.of(path), (set(), set()))[0].add("compiled in")

    components = {name: component_of(name, packages.facts.get(name), *found[name]) for name in found}
    needs = {}  # bom-ref -> bom-refs
    for soname, path in loaded.items():
        needs.setdefault(components[of_soname[soname]]["bom-ref"], set()).update(
            components[of_soname[each]]["bom-ref"] for each in sonames_of(path) if each in of_soname)
    web = list(web_components(arguments.web))
    listed = sorted([*components.values(), *web], key=lambda each: each["bom-ref"])
    with open(arguments.program, "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    root = f"cobblestone@{arguments.version}"
    of_root = {components[of_soname[each]]["bom-ref"] for each in direct if each in of_soname}
    of_root |= {components[name]["bom-ref"] for name, (uses, _) in found.items() if "compiled in" in uses}
    of_root |= {each["bom-ref"] for each in web}
    needs[root] = of_root
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {"type": "application", "bom-ref": root, "name": "cobblestone", "version": arguments.version,
                                   "hashes": [{"alg": "SHA-256", "content": digest}]}},
        "components": listed,
        "dependencies": [{"ref": ref, "dependsOn": sorted(needs[ref] - {ref})} for ref in sorted(needs)],
    }


def main():
    parser = argparse.ArgumentParser()
    for name in ("program", "build", "ninja", "target", "web", "version", "out"):
        parser.add_argument(f"--{name}", required=True)
    arguments = parser.parse_args()
    text = json.dumps(bill(arguments), indent=1) + "\n"
    with open(arguments.out, "w") as file:
        file.write(text)


if __name__ == "__main__":
    main()
