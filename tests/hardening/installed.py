#!/usr/bin/env python3
"""installed.py BUILD VERSION: `cmake --install` installs each file to the path in deploy/install/README.md; the
installed program prints version, commit and the versions of rules and state; each document that a text of the program names is
installed; the manual page has every verb; bash completes verbs and options."""

import os
import re
import subprocess
import sys
import tempfile

BUILD, VERSION = sys.argv[1:]
FILES = {
    "bin/cobblestone", "share/cobblestone/default.yaml", "share/cobblestone/container.yaml",
    "share/cobblestone/attacks/a10-recycle.yaml",
    "share/doc/cobblestone/examples/kafka.yaml",
    "share/doc/cobblestone/examples/db_dump.xml", "lib/systemd/system/cobblestone.service",
    "lib/systemd/system/cobblestone-audit.timer", "share/cobblestone/monitoring/alerts.yml",
    "share/cobblestone/monitoring/prometheus.yml", "share/cobblestone/monitoring/RUNBOOK.md",
    "share/cobblestone/monitoring/dashboard.json", "share/man/man1/cobblestone.1",
    "share/bash-completion/completions/cobblestone", "share/doc/cobblestone/LICENSE", "share/doc/cobblestone/NOTICE",
    "share/doc/cobblestone/sbom.cdx.json", "share/doc/cobblestone/README.md",
    "share/doc/cobblestone/docs/operations/security.md", "share/doc/cobblestone/docs/guides/command-line.md",
    "share/doc/cobblestone/docs/rules.md", "share/doc/cobblestone/docs/glossary.md", "share/doc/cobblestone/docs/http-api.md",
    "share/doc/cobblestone/deploy/monitoring/README.md", "share/doc/cobblestone/schemas/README.md",
    "share/doc/cobblestone/schemas/events.proto", "share/doc/cobblestone/schemas/internal.proto",
}


def check(holds, what):
    if not holds:
        sys.exit(f"installed.py: {what}")


def output_of(*words):
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout


with tempfile.TemporaryDirectory() as folder:
    output_of("cmake", "--install", BUILD, "--prefix", folder)
    installed = {os.path.relpath(os.path.join(path, name), folder)
                 for path, _, files in os.walk(folder) for name in files}
    check(FILES <= installed, f"missing: {sorted(FILES - installed)}")
    program = os.path.join(folder, "bin/cobblestone")
    with open(program, "rb") as file:
        named = {name.decode() for name in re.findall(rb"docs/[a-z0-9_/-]+\.md", file.read())}
    check("docs/lab.md" in named, f"documents that the program names: {named}")
    absent = {name for name in named if "share/doc/cobblestone/" + name not in installed}
    check(not absent, f"the program names documents that are not installed: {sorted(absent)}")
    with open(os.path.join(folder, "lib/systemd/system/cobblestone.service")) as file:
        check(f"\nExecStart={program} run " in file.read(), "the unit has another path of the program")

    lines = output_of(program, "--version").splitlines()
    check(lines[0] == f"cobblestone {VERSION}", f"version: {lines}")
    check(re.fullmatch(r"commit ([0-9a-f]{12,}\+?|unknown)", lines[1]), f"commit: {lines}")
    check([re.fullmatch(r"(rules|state) version \d+", line) is not None for line in lines[2:]] == [True, True], f"{lines}")

    with open(os.path.join(folder, "share/man/man1/cobblestone.1")) as file:
        page = file.read()
    verbs = re.findall(r"^  ([a-z-]+) ", output_of(program, "--help").split("Subcommands:\n")[1].split("\n\n")[0], re.M)
    check(len(verbs) > 20, f"verbs: {verbs}")
    for verb in verbs:
        check(f".SS {verb}\n".replace("-", "\\-") in page, f"no verb {verb} in the manual page")

    def completed(*words):
        script = (f"PATH={folder}/bin:$PATH; source {folder}/share/bash-completion/completions/cobblestone; COMP_WORDS=(cobblestone "
                  + " ".join(f"'{word}'" for word in words) + f"); COMP_CWORD={len(words)}; _cobblestone; echo \"${{COMPREPLY[*]}}\"")
        return output_of("bash", "-c", script).split()

    check(completed("ing") == ["ingest"], f"completion of ing: {completed('ing')}")
    check(completed("refused", "res") == ["resubmit"], f"completion of refused res: {completed('refused', 'res')}")
    check("--config" in completed("audit", "--c"), f"completion of audit --c: {completed('audit', '--c')}")
