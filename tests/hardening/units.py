#!/usr/bin/env python3
"""units.py PROGRAM UNITS: the systemd units in the folder UNITS. Their exposure by `systemd-analyze security` is at
most 2.0. systemd knows every setting. A failed service is always restarted. The program works under the units' filters
of system calls, address families and memory protection; in this test a call outside of the filter kills it."""

import ctypes
import functools
import glob
import http.server
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

PROGRAM, UNITS = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
MOST_EXPOSURE = 2.0
PATIENCE = 120  # seconds; a longer run is a hang

KILL_PROCESS, ALLOW = 0x80000000, 0x7FFF0000
ADDRESS_FAMILY_REFUSED = 0x00050000 | 97  # 97: EAFNOSUPPORT, like systemd's filter
FAMILIES = {"AF_UNIX": 1, "AF_INET": 2, "AF_INET6": 10}
LAST_FAMILY = 45
MASKED_EQUAL, EQUAL = 7, 4
PROT_WRITE, PROT_EXEC = 2, 4


class Comparison(ctypes.Structure):
    """struct scmp_arg_cmp"""

    _fields_ = [("arg", ctypes.c_uint), ("op", ctypes.c_int), ("a", ctypes.c_uint64), ("b", ctypes.c_uint64)]


def check(holds, what):
    if not holds:
        sys.exit(f"units.py: {what}")


def analyze(*words):
    return subprocess.run(["systemd-analyze", "--no-pager", *words], capture_output=True, text=True)


def settings_of(unit):
    """Every setting of the unit: name -> list of its values, in order."""
    with open(os.path.join(UNITS, unit)) as file:
        text = file.read().replace("\\\n", " ")
    settings = {}
    for name, value in re.findall(r"^(\w+)=(.*)$", text, re.MULTILINE):
        settings.setdefault(name, []).append(value)
    return settings


def calls_of(name):
    """The system calls of a name in SystemCallFilter: one call, or a @set with its nested sets."""
    if not name.startswith("@"):
        return {name}
    answer = analyze("syscall-filter", name)
    check(answer.returncode == 0, f"no such set of system calls: {name}")
    inner = [line.strip() for line in answer.stdout.splitlines()[1:] if line.strip() and not line.strip().startswith("#")]
    return set().union(*(calls_of(each) for each in inner))


def allowed_calls(settings):
    allowed = set()
    for value in settings["SystemCallFilter"]:
        calls = set().union(*(calls_of(name) for name in value.lstrip("~").split()))
        allowed = allowed - calls if value.startswith("~") else allowed | calls
    return allowed | calls_of("@default")


def filter_of(unit):
    """A function for the child process. It installs the filters of systemd, but a forbidden call kills the process."""
    settings = settings_of(unit)
    check(settings["MemoryDenyWriteExecute"] == ["yes"], f"{unit}: MemoryDenyWriteExecute")
    calls = allowed_calls(settings)
    families = [FAMILIES[name] for name in settings["RestrictAddressFamilies"][0].split()]
    library = ctypes.CDLL("libseccomp.so.2")
    library.seccomp_init.restype = ctypes.c_void_p

    def install():
        def number(call):
            return library.seccomp_syscall_resolve_name(call.encode())

        def rule(context, action, call, *comparisons):
            array = (Comparison * len(comparisons))(*comparisons)
            if library.seccomp_rule_add_array(ctypes.c_void_p(context), action, number(call), len(comparisons), array):
                raise OSError(f"no rule for {call}")

        def load(context):
            if library.seccomp_load(ctypes.c_void_p(context)):
                raise OSError("the kernel accepts no filter of system calls")

        refused = library.seccomp_init(ALLOW)
        rule(refused, KILL_PROCESS, "mmap", Comparison(2, MASKED_EQUAL, PROT_WRITE | PROT_EXEC, PROT_WRITE | PROT_EXEC))
        rule(refused, KILL_PROCESS, "mprotect", Comparison(2, MASKED_EQUAL, PROT_EXEC, PROT_EXEC))
        for family in range(LAST_FAMILY + 1):
            if family not in families:
                rule(refused, ADDRESS_FAMILY_REFUSED, "socket", Comparison(0, EQUAL, family, 0))
        load(refused)
        known = library.seccomp_init(KILL_PROCESS)
        for call in calls:
            if number(call) >= 0:
                rule(known, ALLOW, call)
        load(known)

    return install


def run(unit, *words, code=0, folder):
    done = subprocess.run([PROGRAM, *words], preexec_fn=filter_of(unit), cwd=folder, capture_output=True, text=True,
                          timeout=PATIENCE)
    check(done.returncode == code, f"under the filter of {unit} `{' '.join(words)}` ended with {done.returncode}, not {code} "
          f"(-31: a system call that the filter lacks):\n{done.stderr}")
    return done.stdout


def server(unit, folder):
    """Starts `run` with gateway and metrics. Returns the process and the gateway's and metrics' addresses."""
    process = subprocess.Popen([PROGRAM, "run", "--config", "cobblestone.yaml", "--data", "data"],
                               preexec_fn=filter_of(unit), cwd=folder, stderr=subprocess.PIPE, text=True)
    addresses = {}
    for line in process.stderr:
        address = re.search(r"127\.0\.0\.1:\d+", line)
        if address:
            addresses["gateway" if "gateway=" in line else "metrics"] = "http://" + address.group()
        if " running " in line:
            return process, addresses
    sys.exit(f"units.py: `run` ended with {process.wait(PATIENCE)} under the filter of {unit}")


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def stop(process):
    process.send_signal(signal.SIGTERM)
    process.stderr.read()
    check(process.wait(PATIENCE) == 0, f"`run` ended with {process.returncode}, not 0, when it was stopped")


units = sorted(os.path.basename(path) for path in glob.glob(os.path.join(UNITS, "*.service")))
check("cobblestone.service" in units, "no units found")
for unit in units:
    answer = analyze("security", "--offline=true", f"--threshold={int(10 * MOST_EXPOSURE)}", os.path.join(UNITS, unit))
    check(answer.returncode == 0, f"{unit} is exposed by more than {MOST_EXPOSURE}:\n{answer.stdout}{answer.stderr}")
    settings = settings_of(unit)
    check(settings["LimitCORE"] == ["0"], f"{unit}: core dumps are allowed, and would contain tokens and keys")
    check("MemoryMax" in settings and "LimitNOFILE" in settings, f"{unit}: no limit of memory or files")

service = settings_of("cobblestone.service")
check(service["StartLimitIntervalSec"] == ["0"], "a limit of starts leaves the service down after repeated crashes")
for unit in ("cobblestone.service", "cobblestone-hub-collect.service"):
    private = settings_of(unit)
    check(private["UMask"] == ["0077"] and private["StateDirectoryMode"] == ["0700"], f"{unit}: the data directory is not private")

# systemd knows every setting. The copies name the path of this build's program, because `verify` requires an
# existing program.
with tempfile.TemporaryDirectory(prefix="units-") as folder:
    for path in glob.glob(os.path.join(UNITS, "cobblestone*")):
        with open(path) as file, open(os.path.join(folder, os.path.basename(path)), "w") as copy:
            copy.write(file.read().replace("/usr/local/bin/cobblestone", PROGRAM))
    answer = analyze("--man=no", "verify", *sorted(glob.glob(os.path.join(folder, "cobblestone*"))))
    problems = "\n".join(line for line in answer.stderr.splitlines() if "cobblestone" in line)
    check(not problems, f"systemd-analyze verify:\n{problems}")

with tempfile.TemporaryDirectory(prefix="units-") as folder:
    os.umask(0o077)
    with open(os.path.join(folder, "cobblestone.yaml"), "w") as file:
        file.write("gateway:\n  listen: 127.0.0.1:0\nmetrics:\n  listen: 127.0.0.1:0\n")
    with open(os.path.join(folder, "kafka.yaml"), "w") as file:
        file.write("backend: kafka\nkafka:\n  bootstrap: 127.0.0.1:1\n")
    spec = os.path.join(os.path.dirname(os.path.dirname(UNITS)), "config", "db_dump.xml")
    data = ("--data", "data")
    subprocess.run([PROGRAM, "generate", "--quiet", "--results", "2000", "--hosts", "40", "events.jsonl"], cwd=folder,
                   check=True)

    # The first start makes the data directory, the second recovers it.
    for _ in range(2):
        process, addresses = server("cobblestone.service", folder)
        run("cobblestone.service", "ingest", "events.jsonl", *data, folder=folder)
        for address in (addresses["gateway"] + "/api/v1/health", addresses["gateway"] + "/", addresses["metrics"] + "/metrics"):
            with urllib.request.urlopen(address, timeout=PATIENCE) as answer:
                check(answer.status == 200, f"{address}: {answer.status}")
        run("cobblestone-audit.service", "audit", *data, folder=folder)
        run("cobblestone-backup.service", "backup", *data, "--to", "backups", folder=folder)
        run("cobblestone-export.service", "export", *data, "--spec", spec, "--out", "stats", "--delete-old", folder=folder)
        stop(process)
    # The verbs also work without the service. `tasks` reports that no broker answers.
    run("cobblestone-audit.service", "audit", *data, folder=folder)
    run("cobblestone-export.service", "export", *data, "--spec", spec, "--out", "stats", "--delete-old", folder=folder)
    run("cobblestone.service", "tasks", "--config", "kafka.yaml", code=4, folder=folder)

# A hub fetches the files of a project from a web server, and writes a snapshot.
with tempfile.TemporaryDirectory(prefix="units-") as folder:
    subprocess.run([PROGRAM, "generate", "--federation", "--scale", "0.0001", "--days", "1", "--to", "feeds"], cwd=folder,
                   check=True, stdout=subprocess.DEVNULL)
    subprocess.run([PROGRAM, "hub", "new-key", "hub-key.pem"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    handler = functools.partial(QuietHandler, directory=os.path.join(folder, "feeds", "day-0"))
    web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=web.serve_forever, daemon=True).start()
    site = f"http://localhost:{web.server_port}/project-1/"
    with open(os.path.join(folder, "cobblestone.yaml"), "w") as file:
        file.write(f"""role: hub
ticks: wall
gateway: {{listen: "127.0.0.1:0"}}
metrics: {{listen: "127.0.0.1:0"}}
projects:
  - {{id: 1, name: Fold, url: "{site}", statistics: "{site}"}}
snapshots:
  {{directory: snapshots, key_file: hub-key.pem, hub: "https://hub.example/", consent: all, combined: stats}}
""")
    place = ("--config", "cobblestone.yaml", "--data", "data")
    process, addresses = server("cobblestone.service", folder)
    run("cobblestone-hub-collect.service", "hub", "collect", "--once", "--private-addresses", *place, folder=folder)
    # The state on disk follows the log, and the tick that gives the hub its time is in front of the edition.
    project, until = {}, time.monotonic() + PATIENCE
    while not project.get("complete_edition") and time.monotonic() < until:
        time.sleep(0.1)
        try:
            with urllib.request.urlopen(addresses["gateway"] + "/api/v1/federation/projects", timeout=PATIENCE) as answer:
                (project,) = json.load(answer)["data"] or [{}]
        except urllib.error.HTTPError as error:
            check(error.code == 503, f"the hub answers {error}")  # it builds its first index
    check(project.get("complete_edition"), f"the hub has no edition: {project}")
    run("cobblestone-hub-snapshot.service", "hub", "snapshot", *place, folder=folder)
    for made in ("snapshots/*/manifest*", "stats/tables.xml"):
        check(glob.glob(os.path.join(folder, made)), f"the snapshot has not written {made}")
    stop(process)
    web.shutdown()
