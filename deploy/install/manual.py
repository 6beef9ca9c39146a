#!/usr/bin/env python3
"""manual.py PROGRAM OUT: writes the manual page cobblestone.1 from the help texts of the program, one section for each verb."""

import re
import subprocess
import sys

program, out = sys.argv[1:]


def said(*words):
    return subprocess.run([program, *words], check=True, stdout=subprocess.PIPE, text=True).stdout


def escaped(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\n".join("\\&" + line if line[:1] in (".", "'") else line for line in text.split("\n"))


def verbs_of(help_text):
    listed = re.search(r"^Subcommands:\n((?:  .*\n)+)", help_text, re.M)
    return re.findall(r"^  (\S+)", listed.group(1), re.M) if listed else []


def literal(text):
    return f".nf\n{escaped(text.strip())}\n.fi\n"


main = said("--help")
version = said("--version").split()[1]
page = [f'.TH COBBLESTONE 1 "" "Cobblestone {version}"\n.SH NAME\ncobblestone \\- credit for volunteer computing projects\n'
        ".SH SYNOPSIS\n.B cobblestone\n.I VERB\n[options]\n.SH DESCRIPTION\n", literal(main), ".SH VERBS\n"]
for verb in verbs_of(main):
    text = said(verb, "--help")
    page.append(f".SS {escaped(verb)}\n" + literal(text))
    for part in verbs_of(text):
        page.append(f".SS {escaped(verb + ' ' + part)}\n" + literal(said(verb, part, "--help")))
page.append(".SH SEE ALSO\nThe documents in the folder share/doc/cobblestone of the installation (Debian package: "
            "/usr/share/doc/cobblestone):\nREADME.md, docs/operations, docs/guides. The texts above name documents relative to this folder.\n")
with open(out, "w") as file:
    file.write("".join(page))
