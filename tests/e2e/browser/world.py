#!/usr/bin/python3
"""The real program with its gateway and page, under traffic, with the browser stories one after the other, all of them
or the given ones. The exit code is 0 if all of them pass."""

import argparse
import contextlib
import hashlib
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

import hub_feed

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.normpath(os.path.join(HERE, "../../.."))
HISTORY = os.path.join(SOURCE, "tests/golden/data/s10_mixed_large.in.jsonl.gz")
FORMER = os.path.join(SOURCE, "tests/golden/export/entities.json")  # has names of hundreds of letters without a space
STORIES = ("flow", "newcomer", "accounts", "why", "scales", "leaders", "refused", "access", "token", "own", "running", "adopted", "watch", "hub")

TOKEN = "read-all-of-the-world-0123456789"  # of temporary gateways, which are deleted with their directory
OPERATE = "operate-on-the-world-0123456789"
VOLUNTEER = "one-of-the-world-0123456789"
VOLUNTEERS_USER = 7  # a user of the traffic's project, with credit
HISTORY_PROJECT = 1
WATCHED_PROJECT, RISING_HOST, RISING_APP, MOVED_APP = 1, 7, 1, 2
TRAFFIC_PROJECT = 2
CLIMATE_PROJECT = 1
SETTLED, KEPT, RUNNING = 1, 11, 2  # results of the climate project: granted, invalid, and undecided
ADOPTED_PROJECT = 1
BUSY, SHY = 5, 3  # adopted users: one with later grants, and one who hides the hosts
BUSY_HOST = 11
BUSY_RESULT = 70001
UNBROKEN = "Supercalifragilisticexpialidocious" * 4
LONG_VIEWS = ["#/flow", "#/refused", "#/refused/0"] + [f"#/p/{ADOPTED_PROJECT}/{view}" for view in (
    f"user/{BUSY}", f"user/{SHY}", f"host/{BUSY_HOST}", "team/4", f"result/{BUSY_RESULT}", "scales", "leaders/users", "leaders/hosts", "leaders/teams",
    "search?q=LLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLL")]  # fmt: skip
HUB_VIEWS = ["#/", "#/hub/project/2", "#/hub/project/4", f"#/hub/person/{hub_feed.ID['a']}", f"#/hub/project/1/user/{hub_feed.ADA}", f"#/hub/project/1/user/{100 + hub_feed.VOLUNTEERS}", "#/hub/leaders/people", "#/hub/leaders/users?project=1",
    "#/hub/leaders/teams?by=rac", f"#/hub/host/{hub_feed.HOST_ID}", f"#/hub/team/{hashlib.md5(b'planet three').hexdigest()}", "#/hub/countries", "#/hub/factors",
    "#/hub/search?q=vol", "#/hub/person/1-2-3", "#/refused"]  # fmt: skip
FIRST_EVENTS = 8000  # first batch of the traffic: members and some results
EVENTS_A_STEP = 200
STEP = 0.5  # s; the traffic lasts for some minutes, and only the first story needs it
PATIENCE = 180  # s for the program to start, to come to rest, or to end, beside other tests

CONFIG = """\
role: {role}
data_directory: {directory}/data
projects:
  - {{id: 1, name: Rosewood}}
  - {{id: 2, name: Skyline}}
gateway:
  listen: 127.0.0.1:0
  anonymous_role: {anonymous}
  accounts_visible: {accounts}
  leaders: {leaders}
  rate_limit: 10000
  rate_burst: 10000
"""


class World:
    def __init__(self, program, anonymous="read", accounts="public", leaders="true", role="project"):
        self.program = program
        self.directory = tempfile.mkdtemp(prefix="cobblestone-world-")
        self.base = None  # once the program has logged it
        self.config = os.path.join(self.directory, "config.yaml")
        with open(self.config, "w", encoding="utf-8") as file:
            file.write(CONFIG.format(directory=self.directory, anonymous=anonymous, accounts=accounts, leaders=leaders, role=role))
        self.log = os.path.join(self.directory, "run.log")
        tokens = f"read {TOKEN}; operate {OPERATE}; volunteer {TRAFFIC_PROJECT}/{VOLUNTEERS_USER} {VOLUNTEER}"
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [program, "run", "--config", self.config], stderr=log, env={**os.environ, "COBBLESTONE_TOKENS": tokens}
            )
        self.enough = threading.Event()
        self.traffic = None

    def log_text(self):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return log.read()

    def wait(self):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if self.process.poll() is not None:
                sys.exit(f"world.py: the program ended with {self.process.returncode}; it output:\n{self.log_text()}")
            address = re.search(r"\bgateway=(http://[^\s/]+)", self.log_text())
            self.base = address[1] + "/" if address else None
            with contextlib.suppress(OSError, http.client.HTTPException):
                if self.base and self.ask("health", 5)["status"] in ("ok", "degraded"):
                    return
            time.sleep(0.1)
        sys.exit(f"world.py: the gateway did not answer within {PATIENCE} s; the program output:\n{self.log_text()}")

    def ask(self, path, seconds):
        request = urllib.request.Request(self.base + "api/v1/" + path, headers={"Authorization": "Bearer " + TOKEN})
        with urllib.request.urlopen(request, timeout=seconds) as response:
            return json.load(response)

    def settle(self):
        """Waits until everything ingested is processed and in the state from which the gateway answers."""
        end = time.monotonic() + PATIENCE
        tasks = None
        while time.monotonic() < end:
            with contextlib.suppress(OSError, http.client.HTTPException):
                tasks = self.ask("tasks", 20)["data"]
                if tasks["lag"] == 0 and all(task["commits"] == task["state_written"] for task in tasks["tasks"]):
                    return
            time.sleep(0.1)
        sys.exit(f"world.py: the pipeline did not come to rest within {PATIENCE} s: {tasks}")

    def run(self, *arguments, wrong=(0,)):
        done = subprocess.run([self.program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode not in wrong:
            sys.exit(f"world.py: {' '.join(arguments)} ended with {done.returncode}:\n{done.stdout[-2000:]}")

    def take(self, file, source, *more):
        # 1: some lines were refused, as intended.
        project = ["--project", str(HISTORY_PROJECT)]
        self.run("ingest", file, "--source", source, "--config", self.config, "--json", *project, *more, wrong=(0, 1))

    def fill(self, results):
        events = os.path.join(self.directory, "traffic.jsonl")
        self.run(
            "generate", events, "--quiet", "--project", str(TRAFFIC_PROJECT), "--results", str(results), "--hosts", "400",
            "--late", "0.02", "--cheats", "0.005", "--bad-lines", "0.002", "--span", "2000000",
        )  # fmt: skip
        return open(events, encoding="utf-8")

    def step(self, lines, number):
        part = os.path.join(self.directory, "part.jsonl")
        with open(part, "w", encoding="utf-8") as file:
            file.writelines(lines)
        self.take(part, f"traffic-{number}")

    def climate(self):
        """A year of jobs that run for months; two of them are decided."""
        subprocess.run([sys.executable, os.path.join(SOURCE, "examples/climate/project.py"), self.directory], check=True)
        here = lambda name: os.path.join(self.directory, name)
        self.take(here("before.jsonl"), "before")
        self.take(here("messages.xml"), "messages", "--format", "trickle-xml")
        with open(here("after.jsonl"), encoding="utf-8") as file, open(here("decided.jsonl"), "w", encoding="utf-8") as decided:
            for line in file:
                event = json.loads(line)
                if event.get("completion", event.get("validation", {})).get("result") in (SETTLED, KEPT):
                    decided.write(line)
        self.take(here("decided.jsonl"), "decided")

    def adopted(self):
        """An adopted project in which everything has a long name, with a first granted result."""
        self.run("adopt", FORMER, "--project", str(ADOPTED_PROJECT), "--config", self.config)
        now = time.time()
        job = {"result": str(BUSY_RESULT), "host": str(BUSY_HOST), "workunit": "9", "app": "50"}
        bodies = (
            {"projectName": {"name": UNBROKEN}},
            {"app": {"app": "50", "name": UNBROKEN, "policy": "creditnew", "delayBound": 604800}},
            {"app": {"app": "51", "name": "no policy", "policy": UNBROKEN}},
            {"appVersion": {"appVersion": "20", "app": "50", "versionNum": 103, "platform": "1", "planClass": UNBROKEN}},
            {"completion": {**job, "appVersion": "20", "outcome": "OUTCOME_SUCCESS", "elapsedTime": 3600, "peakFlops": 4e9, "sentTime": now - 9000, "receivedTime": now - 3600}},
            {"validation": {**job, "fpopsEst": 1e13, "fpopsBound": 1e14, "state": "VALIDATE_STATE_VALID", "claims": 1, "pass": 1}},
        )  # fmt: skip
        events = os.path.join(self.directory, "since.jsonl")
        with open(events, "w", encoding="utf-8") as file:
            for number, body in enumerate(bodies, 1000001):
                file.write(json.dumps({"id": str(number), "project": ADOPTED_PROJECT, "time": now - 3600, **body}) + "\n")
        self.take(events, "since")

    def watched(self):
        """A host whose reports keep rising under policy robust, and an app whose X moves on the last day."""
        now = 1.7e9
        events = [
            {"app": {"app": str(RISING_APP), "name": "fold", "policy": "robust"}},
            {"app": {"app": str(MOVED_APP), "name": "dock", "policy": "creditnew", "minAvgPfc": 1, "constants": {"versionAverageSamples": 1}}},
            *({"appVersion": {"appVersion": str(one), "app": str(MOVED_APP), "versionNum": 100, "platform": str(one)}} for one in (2, 3)),
            {"appVersion": {"appVersion": "1", "app": str(RISING_APP), "versionNum": 100, "platform": "1"}},
            {"user": {"user": "7", "name": "Ann"}},
            {"host": {"host": str(RISING_HOST), "user": "7"}},
        ]
        events = [{"time": now, **body} for body in events]

        def job(number, app, version, elapsed):
            names = {"result": str(number), "workunit": str(number), "host": str(RISING_HOST), "app": str(app)}
            times = {"elapsedTime": elapsed, "peakFlops": 1e9, "sentTime": now - 10000, "receivedTime": now}
            events.append({"time": now, "completion": {**names, "appVersion": str(version), "outcome": "OUTCOME_SUCCESS", **times}})
            facts = {"fpopsEst": 1e12, "fpopsBound": 1e15, "state": "VALIDATE_STATE_VALID", "claims": 1, "pass": 1}
            events.append({"time": now, "validation": {**names, **facts}})

        for number in range(70):
            now += 10000
            job(1 + number, RISING_APP, 1, 1000 * 1.02**number)
        self.send(events, 0)
        self.settle()  # ticks are applied when everything before them is
        first = len(events)
        for number in range(6):
            job(100 + number, MOVED_APP, 2 + number % 2, 1250)
        events.append({"time": now + 60, "tick": {"time": now + 60}})
        self.send(events, first)

    def send(self, events, first):
        """Events of the watched project from this one on."""
        path = os.path.join(self.directory, f"watched-{first}.jsonl")
        with open(path, "w", encoding="utf-8") as file:
            lines = (json.dumps({"id": str(at + 1), "project": WATCHED_PROJECT, **event}) + "\n" for at, event in enumerate(events))
            file.writelines(line for at, line in enumerate(lines) if at >= first)
        self.run("ingest", path, "--source", f"watched-{first}", "--config", self.config)

    def hub(self, start):
        events = os.path.join(self.directory, "feed.jsonl")
        with open(events, "w", encoding="utf-8") as file:
            file.writelines(line + "\n" for line in hub_feed.lines(start))
        self.run("ingest", events, "--source", "feed", "--config", self.config)

    def flow(self, events):
        def forever():
            number = 0
            while not self.enough.wait(STEP):
                lines = [line for line in (events.readline() for _ in range(EVENTS_A_STEP)) if line]
                if not lines:
                    print("world.py: the traffic is at its end", file=sys.stderr)
                    return
                number += 1
                try:
                    self.step(lines, number)
                except SystemExit as failed:  # which would end this thread in silence
                    print(f"world.py: the traffic ended: {failed}", file=sys.stderr)
                    return

        self.step([events.readline() for _ in range(FIRST_EVENTS)], 0)
        self.traffic = threading.Thread(target=forever, daemon=True)
        self.traffic.start()

    def end(self):
        self.enough.set()
        if self.traffic:
            self.traffic.join()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = f"SIGKILL, {PATIENCE} s after SIGTERM; {self.process.wait()}"
        output = self.log_text()
        shutil.rmtree(self.directory, ignore_errors=True)
        if code != 0:
            sys.exit(f"world.py: the program ended with {code}; it output:\n{output}")


@contextlib.contextmanager
def world(program, **how):
    one = World(program, **how)
    try:
        one.wait()
        yield one
    finally:
        one.end()


def run_story(story, here, *more):
    """What is wrong, or nothing."""
    begin = time.monotonic()
    command = [sys.executable, os.path.join(HERE, story + "_story.py"), here.base, *more]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    print(done.stdout, end="", flush=True)
    if done.returncode == 0:
        return []
    print(f"world.py: {story} failed after {time.monotonic() - begin:.0f} s; the newest lines of the program:", file=sys.stderr)
    print(*here.log_text().splitlines()[-30:], sep="\n", file=sys.stderr)
    return ["".join(done.stdout.splitlines()[-1:]) or f"{story}_story.py ended with {done.returncode}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", help="cobblestone")
    parser.add_argument("--axe", required=True, help="axe.min.js of the npm package axe-core")
    parser.add_argument("stories", nargs="*", default=STORIES, metavar="STORY", help=", ".join(STORIES))
    parser.add_argument("--pictures", help="directory for pictures of what operators watch")
    options = parser.parse_intermixed_args()
    pictures = ["--pictures", options.pictures] if options.pictures else []
    more = {
        "refused": ["--operate", OPERATE],
        "access": ["--axe", options.axe],
        "token": ["--token", TOKEN],
        "own": ["--token", TOKEN, "--volunteer", VOLUNTEER, "--user", str(VOLUNTEERS_USER), "--project", str(TRAFFIC_PROJECT)],
        "running": ["--project", str(CLIMATE_PROJECT), "--settled", str(SETTLED), "--kept", str(KEPT)],
        "adopted": ["--token", TOKEN, "--project", str(ADOPTED_PROJECT), "--user", str(BUSY), "--host", str(BUSY_HOST), "--result", str(BUSY_RESULT),
                    "--shy", str(SHY)],
        "watch": ["--token", TOKEN, "--axe", options.axe, "--project", str(WATCHED_PROJECT), "--host", str(RISING_HOST), "--moved", str(MOVED_APP)],
    }  # fmt: skip
    closed = {"token": {"anonymous": "none"}, "own": {"accounts": "own", "leaders": "false"}}
    wrong = []
    own_world = {*closed, "running", "adopted", "watch", "hub"}
    open_stories = [story for story in options.stories if story not in own_world]
    if open_stories:
        with world(options.program) as here:
            here.take(HISTORY, "history")
            here.settle()
            here.flow(here.fill(60000))
            for story in open_stories:
                wrong += run_story(story, here, *more.get(story, []))
    if "running" in options.stories:
        with world(options.program) as here:
            here.climate()
            here.settle()
            wrong += run_story("running", here, *more["running"])
            views = [f"#/p/{CLIMATE_PROJECT}/result/{result}" for result in (RUNNING, SETTLED, KEPT)]
            wrong += run_story("access", here, *more["access"], "--views", *views)
    if "adopted" in options.stories:
        with world(options.program) as here:
            here.adopted()
            here.settle()
            wrong += run_story("adopted", here, *more["adopted"])
            # With names wider than a phone.
            wrong += run_story("access", here, *more["access"], "--views", *LONG_VIEWS)
    if "watch" in options.stories:
        with world(options.program) as here:
            here.watched()
            here.settle()
            wrong += run_story("watch", here, *more["watch"], *pictures)
    if "hub" in options.stories:
        with world(options.program, role="hub") as here:
            start = hub_feed.start_of(time.time())
            here.hub(start)
            here.settle()
            wrong += run_story("hub", here, "--start", str(start))
            wrong += run_story("access", here, *more["access"], "--views", *HUB_VIEWS)
    for story, how in closed.items():
        if story not in options.stories:
            continue
        with world(options.program, **how) as here:
            with here.fill(2000) as events:
                here.step(events, 0)
            here.settle()
            wrong += run_story(story, here, *more[story])
    if wrong:
        sys.exit("world.py: some stories failed:\n" + "\n".join(wrong))


main()
