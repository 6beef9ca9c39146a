#!/usr/bin/env python3
"""field_test.py PROGRAM: tests the harness. A wrong statement of each form fails, a malformed story is recognised,
repetitions are expanded, and every case's folder is listed in CMakeLists.txt."""

import os
import re
import sys
import tempfile

import field

PROGRAM = os.path.abspath(sys.argv[1])
HERE = os.path.dirname(os.path.abspath(__file__))
EVENTS = """{"id": 1, "project": 1, "time": 1700000000, "app": {"app": 1, "policy": "assigned"}}
{"id": 2, "project": 1, "time": 1700000000, "user": {"user": 1, "name": "Ada"}}
{"id": 3, "project": 1, "time": 1700000000, "user": {"user": 0}}
"""
# Statements about `refused list` after these events were ingested.
HOLD = """refused.length = 1
refused.length ~ 1
refused[0].reason = "MISSING_FIELD"
refused[-1].reason = "MISSING_FIELD"
refused[*].event.user = [{}]
stdout has "MISSING_FIELD"
stdout lacks "Ada"
files in stats = []
exit 0
"""
DIFFER = """refused.length = 2
refused.length ~ 1.00001
refused[0].reason = "LATE"
refused[*].reason = []
refused[1].reason = "MISSING_FIELD"
nothing.there = 1
stdout lacks "MISSING_FIELD"
stdout has "Ada"
stderr has "Ada"
files in data = []
exit 1
"""
MALFORMED = """refused
exit
refused is 1
stdout is 1
"""


def outcome(action):
    try:
        action()
    except field.Differs:
        return "differs"
    except field.Malformed:
        return "malformed"
    return "holds"


def check(expected, what, action):
    found = outcome(action)
    if found != expected:
        sys.exit(f"field_test.py: expected {expected}, found {found}: {what}")


def run(story):
    with tempfile.TemporaryDirectory(prefix="field-") as folder:
        case, work = os.path.join(folder, "case"), os.path.join(folder, "work")
        os.mkdir(case), os.mkdir(work)
        with open(os.path.join(case, "events.jsonl"), "w") as file:
            file.write(EVENTS)
        with open(os.path.join(case, "story.txt"), "w") as file:
            file.write(story)
        field.run(PROGRAM, case, work)


# Each form of a statement, about one command.
with tempfile.TemporaryDirectory(prefix="field-") as folder:
    with open(os.path.join(folder, "events.jsonl"), "w") as file:
        file.write(EVENTS)
    field.Command(PROGRAM, ["ingest", "events.jsonl"], folder)
    listed = field.Command(PROGRAM, ["refused", "list"], folder)
    for expected, statements in (("holds", HOLD), ("differs", DIFFER), ("malformed", MALFORMED)):
        for statement in statements.splitlines():
            check(expected, statement, lambda: listed.check(1, statement))

# Whole stories.
for expected, story in (
    ("holds", "What happened.\n> ingest events.jsonl\nexit 1\n> refused list\n# said\nrefused.length = 1\n"),
    ("differs", "> ingest events.jsonl\n> refused list\nrefused.length = 1\n"),  # its exit code 1 is not stated
    ("differs", "> ingest events.jsonl\n"),  # the same for the last command
    ("malformed", "Nothing is run.\n"),
    ("malformed", "> generate --quiet --results 1 more.jsonl\n"),  # no statement
):
    check(expected, story, lambda: run(story))

written = field.expand('# said\n\n{"a": ${line}}\nrepeat 2\n{"id": ${10+n}}\n{"x": "${n*2} ${line}"}\nend\n')
if written != '{"a": 1}\n{"id": 11}\n{"x": "2 3"}\n{"id": 12}\n{"x": "4 5"}\n':
    sys.exit(f"field_test.py: repetitions are expanded wrongly:\n{written}")

with open(os.path.join(HERE, "CMakeLists.txt")) as file:
    listed = re.findall(r"^cobblestone_field_case\((\w+)\)", file.read(), re.MULTILINE)
folders = [name for name in os.listdir(HERE) if os.path.isdir(os.path.join(HERE, name)) and name != "__pycache__"]
if sorted(listed) != sorted(folders):
    sys.exit(f"field_test.py: cases without a line in CMakeLists.txt, or lines without a case: {set(listed) ^ set(folders)}")
