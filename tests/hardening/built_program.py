#!/usr/bin/env python3
"""built_program.py PROGRAM COMPILER: the built program has protection against the exploitation of memory errors:
position independence, a global offset table that is read-only from the start, no executable stack, stack protector,
checked functions of libc, assertions of the standard library, and control-flow and stack-clash protection in every
compile unit."""

import os
import re
import subprocess
import sys

PROGRAM, COMPILER = sys.argv[1:]
# Switches in the DW_AT_producer of every compile unit, which has the compiler's command line.
SWITCHES = ["-fstack-protector-strong", "-fPIE"]
SWITCHES_WHERE_KNOWN = ["-fcf-protection=full", "-fstack-clash-protection"]


def check(holds, what):
    if not holds:
        sys.exit(f"built_program.py: {what}")


def text_of(*words):
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          env={**os.environ, "LC_ALL": "C"}).stdout


def compiler_knows(switch):
    return subprocess.run([COMPILER, switch, "-x", "c++", "-S", "-o", "/dev/null", "/dev/null"],
                          stderr=subprocess.DEVNULL).returncode == 0


def properties_of(path):
    """The properties that the linker states for all code in the file: IBT, SHSTK."""
    return set(re.findall(r"\b(IBT|SHSTK)\b", text_of("readelf", "--notes", "--wide", path)))


dynamic = text_of("readelf", "--dynamic", "--wide", PROGRAM)
segments = text_of("readelf", "--segments", "--wide", PROGRAM)
header = text_of("readelf", "--file-header", PROGRAM)
symbols = set(re.findall(r"\bUND\s+(\w+)", text_of("readelf", "--dyn-syms", "--wide", PROGRAM)))

check(re.search(r"Type:\s+DYN", header) and re.search(r"FLAGS_1.*\bPIE\b", dynamic), "it is not position-independent")
check(re.search(r"FLAGS_1.*\bNOW\b", dynamic) and "GNU_RELRO" in segments, "its global offset table stays writable")
check(re.search(r"GNU_STACK.*\bRW\b", segments), "its stack is executable")
check(not re.search(r"TEXTREL|RPATH|RUNPATH", dynamic), "it has text relocations, or a library search path")
check("__stack_chk_fail" in symbols, "no stack protector")
checked = {name for name in symbols if name.startswith("__") and name.endswith("_chk")}
check("__memcpy_chk" in checked or len(checked) >= 3, f"no checked functions of libc but {sorted(checked)}")
check(any("glibcxx_assert_fail" in name for name in symbols), "no assertions of the standard library")

wanted = SWITCHES + [switch for switch in SWITCHES_WHERE_KNOWN if compiler_knows(switch)]
units = re.findall(r"DW_AT_producer\s*:(.*)", text_of("readelf", "--debug-dump=info", "--dwarf-depth=1", PROGRAM))
check(len(units) > 100, f"only {len(units)} compile units")
for unit in units:
    for switch in wanted:
        check(switch in unit.split(), f"a compile unit without {switch}: {unit}")
# The linker gives the program a property only if every object has it, also the start files of the toolchain.
start = text_of(COMPILER, "-print-file-name=Scrt1.o").strip()
check(properties_of(start) <= properties_of(PROGRAM), "an object without control-flow protection is linked in")
if "-fcf-protection=full" in wanted:
    main = text_of("objdump", "--disassemble=main", "--no-show-raw-insn", PROGRAM)
    check(re.search(r"<main>:\s+\S+:\s+endbr", main), "main does not begin with endbr")
print(f"{len(units)} compile units with {' '.join(wanted)}; {len(checked)} checked functions of libc")
