#!/usr/bin/env python3
"""field.py PROGRAM CASE: runs the story of one case on the built program and checks every outcome that it states.
README.md describes the form of a case. Exit code 1: an outcome differs; 2: the case itself is malformed."""

import json
import math
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

VERBS_WITHOUT_DATA = {"generate", "replay"}
COMMAND_LIMIT = 120  # seconds; a command that takes longer hangs
TOLERANCE = 1e-9  # relative, for "~"


class Malformed(Exception):
    """The case is malformed: line and reason."""


class Differs(Exception):
    """The program's answer differs: line, stated value, found value."""


def expand(text):
    """Expands the text of a .in file: lines between "repeat N" and "end" are written for n = 1 to N, and ${EXPRESSION}
    is replaced by its value, in which n and line (the number of the written line) are known. Empty lines and comments
    (#) are dropped."""
    out, block, count = [], None, 0

    def write(line, n):
        known = {"n": n, "line": len(out) + 1}
        out.append(re.sub(r"\$\{([^}]*)\}", lambda found: str(eval(found.group(1), {}, known)), line))

    for line in text.splitlines():
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if words[:1] == ["repeat"] and len(words) == 2 and block is None:
            block, count = [], int(words[1])
        elif words == ["end"] and block is not None:
            for n in range(1, count + 1):
                for each in block:
                    write(each, n)
            block = None
        elif block is not None:
            block.append(line)
        else:
            write(line, 0)
    if block is not None:
        raise Malformed("a repeat without an end")
    return "".join(line + "\n" for line in out)


def value_at(answer, path):
    """The value at the path: a.b, a[0], a[-1], a[*].b (a list of each), a.length (of a list)."""
    steps = re.findall(r"\[(\*|-?\d+)\]|([^.\[\]]+)", path)
    for position, (index, key) in enumerate(steps):
        if index == "*":
            rest = re.sub(r"^.*?\[\*\]\.?", "", path, count=1)
            return [value_at(each, rest) if rest else each for each in answer]
        if index:
            answer = answer[int(index)]
        elif key == "length" and isinstance(answer, list):
            answer = len(answer)
        else:
            answer = answer[key]
    return answer


def differs(line, stated, found):
    raise Differs(f"line {line}: stated {stated}\n  found {found}")


class Command:
    """One line of the story that starts with '>', with the program's answer."""

    def __init__(self, program, words, folder):
        arguments = [program, *words]
        if words[0] not in VERBS_WITHOUT_DATA and "--data" not in words and "--config" not in words:
            arguments += ["--data", "data"]
        done = subprocess.run(arguments, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              errors="replace", timeout=COMMAND_LIMIT)
        self.code, self.folder = done.returncode, folder
        self.texts = {"stdout": done.stdout, "stderr": done.stderr}
        self.again = [*arguments, "--json"] if "--json" not in arguments else None
        self.answer = None

    def json(self):
        """The answer as JSON. Questions change nothing, so the command is repeated with --json."""
        if self.answer is None:
            text = self.texts["stdout"]
            if self.again:
                text = subprocess.run(self.again, cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True,
                                      text=True, timeout=COMMAND_LIMIT).stdout
            self.answer = json.loads(text.splitlines()[-1])
        return self.answer

    def check(self, number, line):
        """Checks one statement about this command. Returns the exit code that it states, if it states one."""
        words = line.split(None, 2)
        if words[0] == "exit" and len(words) == 2:
            if self.code != int(words[1]):
                differs(number, line, f"exit {self.code}\n{self.texts['stderr']}")
            return int(words[1])
        if len(words) < 3:
            raise Malformed(f"line {number}: unknown statement: {line}")
        subject, relation, rest = words
        if subject in self.texts and relation in ("has", "lacks"):
            text = self.texts[subject]
            if (json.loads(rest) in text) != (relation == "has"):
                differs(number, line, text)
        elif subject == "files" and relation in ("in",):
            name, _, names = rest.partition(" = ")
            path = os.path.join(self.folder, name)
            found = sorted(os.listdir(path)) if os.path.isdir(path) else []
            if found != json.loads(names or "null"):
                differs(number, line, found)
        elif relation in ("=", "~"):
            try:
                found = value_at(self.json(), subject)
            except (KeyError, IndexError, TypeError, json.JSONDecodeError) as error:
                differs(number, line, f"no such value: {error!r} in {self.texts['stdout']}{self.texts['stderr']}")
            stated = json.loads(rest)
            if relation == "=" and found != stated:
                differs(number, line, json.dumps(found))
            if relation == "~" and not math.isclose(float(found), stated, rel_tol=TOLERANCE):
                differs(number, line, json.dumps(found))
        else:
            raise Malformed(f"line {number}: unknown statement: {line}")
        return None


def run(program, case, folder):
    """Runs the case's story in the folder. Returns the numbers of its commands and statements."""
    for name in os.listdir(case):
        source = os.path.join(case, name)
        if name.endswith(".in"):
            with open(source) as file, open(os.path.join(folder, name[:-3]), "w") as to:
                to.write(expand(file.read()))
        elif name != "story.txt":
            shutil.copy(source, folder)

    command, line_of_command, code_stated = None, 0, True
    commands = statements = 0

    def leave_command():
        if command and not code_stated and command.code != 0:
            differs(line_of_command, "exit 0 (no other is stated)", f"exit {command.code}\n{command.texts['stderr']}")

    with open(os.path.join(case, "story.txt")) as file:
        for number, line in enumerate(file.read().splitlines(), 1):
            if line.startswith(">"):
                leave_command()
                command, line_of_command, code_stated = Command(program, shlex.split(line[1:]), folder), number, False
                commands += 1
            elif command and line.strip() and not line.startswith("#"):
                code_stated |= command.check(number, line.strip()) is not None
                statements += 1
    leave_command()
    if not commands or not statements:
        raise Malformed("a story has at least one command ('> ...') and one statement about it")
    return commands, statements


def main():
    program, case = os.path.abspath(sys.argv[1]), sys.argv[2]
    with tempfile.TemporaryDirectory(prefix="field-") as folder:
        try:
            commands, statements = run(program, case, folder)
        except Differs as error:
            print(f"{case}/story.txt: {error}", file=sys.stderr)
            return 1
        except Malformed as error:
            print(f"{case}/story.txt: {error}", file=sys.stderr)
            return 2
    print(f"{case}: {commands} commands, {statements} statements hold")
    return 0


if __name__ == "__main__":
    sys.exit(main())
