#!/usr/bin/env python3
"""Passes the output of ctest on, and repeats before ctest's own summary why each test failed: the first failed assertion
of the test, or the last lines of its output. `./dev test` uses it, so that the reasons are at the end of a long output."""

import re
import sys

MOST_LINES = 12  # per test
MOST_TESTS = 10
MOST_CHARACTERS = 400  # per line

RESULT = re.compile(r"^ *\d+/\d+ Test +#\d+: (\S.*?) \.*(\*\*\*(.*))?$")
START = re.compile(r"^ +Start +\d+: ")
SUMMARY = re.compile(r"^\d+% tests passed")
ASSERTION = re.compile(r": Failure$|^not ok ")  # of GoogleTest and of Node


def reason(output):
    first = next((i for i, line in enumerate(output) if ASSERTION.search(line)), None)
    lines = output[-MOST_LINES:] if first is None else output[first : first + MOST_LINES]
    return [line[:MOST_CHARACTERS] + (" ..." if len(line) > MOST_CHARACTERS else "") for line in lines]


def main():
    failed = []  # name and how it ended, with the lines of its output
    inside = False
    for line in sys.stdin:
        text = line.rstrip("\n")
        result = RESULT.match(text)
        if result or START.match(text) or SUMMARY.match(text):
            inside = False
        if result and result.group(2):
            failed.append((f"{result.group(1)}: {result.group(3).strip()}", []))
            inside = True
        elif inside and text.strip():
            failed[-1][1].append(text)
        if SUMMARY.match(text) and failed:
            print("Why tests failed:\n")
            for name, output in failed[:MOST_TESTS]:
                print(name, *reason(output), sep="\n    ", end="\n\n")
            if len(failed) > MOST_TESTS:
                print(f"and {len(failed) - MOST_TESTS} more; their output is above\n")
        print(text, flush=True)


if __name__ == "__main__":
    sys.stdin.reconfigure(errors="replace")
    sys.stdout.reconfigure(errors="replace")
    main()
