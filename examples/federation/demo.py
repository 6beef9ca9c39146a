#!/usr/bin/env python3
"""./dev demo federation: projects and their federation hub on one machine, from nothing, in a few minutes.

  Rosewood, Elm  have versions of their app for CPUs and for GPUs, and send their accounts to the hub themselves
  Cedar          runs the GPU jobs of Rosewood, but has no CPU version: by itself it cannot know what GPU work is worth
  Willow         has both kinds of versions, and only publishes files, as stock BOINC projects do
  Mirage         lies: about the scales of its versions, the credit of its users, and who they are

Four projects are the subject: one with both kinds, one with GPUs only, one with files only, and one that lies. Elm is the fifth,
because a factor counts only if three projects with both kinds support it (docs/rules.md, section 53). The demo ends with a
summary of what it compared; the exit code is 1 if any comparison failed.
"""
import argparse
import functools
import hashlib
import http.server
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import urllib.error
import urllib.request
import webbrowser
from decimal import Decimal

DAY = 86400
PEOPLE = ("Ann", "Ben", "Cem", "Dao", "Eva", "Fay")
COUNTRIES = ("Germany", "Japan", "United States")
TEAMS = ("Blue", "Green")
ROSEWOOD, ELM, CEDAR, WILLOW, MIRAGE = 1, 2, 3, 4, 5
NAMES = {ROSEWOOD: "Rosewood", ELM: "Elm", CEDAR: "Cedar", WILLOW: "Willow", MIRAGE: "Mirage"}
# FLOPs that a GPU version needs for one FLOP of a job's estimate; CPU versions need 1. Their scales are 1 / 2.04 = 0.490, 0.500 and
# 0.513, so the factor of `cuda` is 0.5. BOINC's default for an app without CPU versions is 0.1.
GPU_EFFORT = {ROSEWOOD: 2.04, ELM: 2.0, CEDAR: 2.04, WILLOW: 1.95}
MIXED = (ROSEWOOD, ELM, WILLOW)
LEDGERS = (ROSEWOOD, ELM, CEDAR, WILLOW)  # projects of the demo's own deployment
DIRECT = (ROSEWOOD, ELM, CEDAR)           # of these, those that send their accounts themselves
JOBS_A_DAY = 120  # for GPUs, and as many for CPUs
HOURS_IN_QUEUE = 6  # a computer's first job counts as its work since that was sent, so seconds would make a huge recent average
PATIENCE = 300  # s for a state that must come
SPEC = """<boinc_db_dump_spec>
 <enumeration><table>user</table><filename>user</filename><sort>id</sort><output><compression>gzip</compression></output></enumeration>
 <enumeration><table>host</table><filename>host</filename><sort>id</sort><output><compression>gzip</compression><detail/></output></enumeration>
 <enumeration><table>team</table><filename>team</filename><sort>id</sort><output><compression>gzip</compression></output></enumeration>
</boinc_db_dump_spec>
"""

WILLOWS_STATUS = """<?xml version="1.0" encoding="ISO-8859-1" ?>
<server_status>
<daemon_status>
  <daemon><host>www</host><command>Scheduler</command><status>running</status></daemon>
  <daemon><host>www</host><command>sample_trivial_validator</command><status>running</status></daemon>
</daemon_status>
<database_file_states>
  <results_ready_to_send>500</results_ready_to_send>
  <workunits_waiting_for_validation>0</workunits_waiting_for_validation>
</database_file_states>
</server_status>
"""
SUMMARY_WIDTH = 118  # columns


def step(text):
    print("== " + text, flush=True)


def person_id(number):
    """The cross-project id of the person with that number, from 1 on."""
    return hashlib.md5(f"person {number}".encode()).hexdigest()


# ---- The work of the projects ---------------------------------------------------------------------------------------------


class Work:
    """Writes the events of the projects into files, day by day."""

    def __init__(self, folder, first_day):
        self.folder, self.first_day, self.days, self.event, self.result = folder, first_day, 0, 0, 0

    def write(self, name, events):
        path = os.path.join(self.folder, name + ".jsonl")
        with open(path, "w", encoding="utf-8") as file:
            for project, when, body in events:
                self.event += 1
                file.write(json.dumps({"id": str(self.event), "project": project, "time": when, **body}) + "\n")
        return path

    def catalogue(self):
        when = self.first_day
        for project in LEDGERS:
            yield project, when, {"app": {"app": "1", "name": "fold", "policy": "creditnew", "target_nresults": 1,
                                          "delay_bound": DAY}}
            version = {"app": "1", "version_num": 100, "platform": "1"}
            if project in MIXED:
                yield project, when, {"app_version": {"app_version": "1", "resource": "RESOURCE_CPU", **version}}
            yield project, when, {"app_version": {"app_version": "2", "resource": "RESOURCE_NVIDIA", "plan_class": "cuda",
                                                  **version}}
            for number, name in enumerate(TEAMS, 1):
                yield project, when, {"team": {"team": str(number), "name": name, "create_time": when - 100 * DAY}}
            for number, name in enumerate(PEOPLE, 1):
                yield project, when, {"user": {"user": str(number), "team": str(1 + number % 2), "name": name,
                                               "cross_project_id": person_id(number), "country": COUNTRIES[number % 3],
                                               "create_time": when - (100 - number) * DAY}}
                # A computer with a GPU, and one without.
                for host in (number, 100 + number):
                    yield project, when, {"host": {"host": str(host), "user": str(number), "cpus": 4,
                                                   "gpus": 1 if host < 100 else 0, "whetstone": 1e9, "dhrystone": 2e9,
                                                   "create_time": when - 50 * DAY}}

    def jobs(self):
        """One day. All projects have the same jobs on the same computers."""
        self.days += 1
        begin = self.first_day + self.days * DAY
        for n in range(JOBS_A_DAY):
            when = begin + n * DAY / (JOBS_A_DAY + 20)
            size = 0.9 + 0.05 * (n % 5)
            number = 1 + n % len(PEOPLE)
            speed = 6 / 7 if number % 2 == 0 else 8 / 7  # the work that the computer needs for the same job
            for project in LEDGERS:
                yield from self.job(project, when, number, 2, GPU_EFFORT[project] * size * speed)
                if project in MIXED:
                    yield from self.job(project, when, 100 + number, 1, size * speed)

    def job(self, project, when, host, version, effort):
        estimate = 8.64e12  # FLOPs
        peak = 1e9 if version == 1 else 1e12
        elapsed = effort * estimate / peak
        self.result += 1
        names = {"result": str(self.result), "host": str(host), "workunit": str(self.result), "app": "1"}
        yield project, when, {"completion": {
            **names, "app_version": str(version), "outcome": "OUTCOME_SUCCESS", "elapsed_time": elapsed,
            "cpu_time": elapsed, "peak_flops": peak, "sent_time": when - elapsed - HOURS_IN_QUEUE * 3600, "received_time": when,
            "delay_bound": DAY}}
        yield project, when, {"validation": {
            **names, "fpops_est": estimate, "fpops_bound": 100 * estimate, "state": "VALIDATE_STATE_VALID", "pass": 1,
            "claims": 1, "canonical_result": str(self.result)}}


# ---- Programs -------------------------------------------------------------------------------------------------------------


class Program:
    """A running `cobblestone run`, asked over HTTP like by anybody."""

    def __init__(self, program, config, listen="127.0.0.1:0"):
        self.config = config
        self.log = config[:-len(".yaml")] + ".log"
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen([program, "run", "--config", config, "--listen", listen], stdout=log, stderr=log,
                                            start_new_session=True)
        self.program, self.url = program, None
        until = time.monotonic() + PATIENCE
        while self.url is None:
            with open(self.log, encoding="utf-8") as log:
                if found := re.search(r"gateway=(http://\S+)", log.read()):
                    self.url = found.group(1)
            if self.process.poll() is not None or time.monotonic() > until:
                with open(self.log, encoding="utf-8") as log:
                    raise SystemExit("the program did not start; its output:\n" + log.read())
            time.sleep(0.05)

    def ask(self, path):
        """None: 404, or not known yet."""
        try:
            with urllib.request.urlopen(self.url + "/api/v1" + path, timeout=60) as answer:
                found = json.load(answer)
                return found.get("data", found) if isinstance(found, dict) else found
        except urllib.error.HTTPError as error:
            if error.code in (404, 503):
                return None
            if error.code == 429:
                time.sleep(float(error.headers.get("Retry-After", 1)))
                return self.ask(path)
            raise

    def wait(self, path, wanted, why):
        until = time.monotonic() + PATIENCE
        while True:
            answer = self.ask(path)
            if answer is not None and wanted(answer):
                return answer
            if time.monotonic() > until:
                raise SystemExit(f"{why} did not come: {json.dumps(answer)[:2000]}")
            time.sleep(0.1)

    def run(self, *words):
        """Another verb of the program with the same configuration; its log."""
        done = subprocess.run([self.program, *words, "--config", self.config], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"cobblestone {' '.join(words)} failed:\n{done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()


class QuietFiles(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def serve_files(directory):
    """The web server of Willow and Mirage; its address."""
    os.makedirs(directory)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(QuietFiles, directory=directory))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/"


# ---- What Willow and Mirage publish ---------------------------------------------------------------------------------------


def version_row(number, plan_class, samples, scale, credit, when):
    return (f"    <app_version>\n        <id>{number}</id>\n        <create_time>{int(when) - 90 * DAY}</create_time>\n"
            f"        <platform>x86_64-pc-linux-gnu</platform>\n        <app_name>fold</app_name>\n"
            f"        <version_num>100</version_num>\n        <plan_class>{plan_class}</plan_class>\n        <pfc_n>{samples}</pfc_n>\n"
            f"        <pfc_avg>1.0E+13</pfc_avg>\n        <pfc_scale>{scale}</pfc_scale>\n"
            f"        <expavg_credit>{credit}</expavg_credit>\n        <expavg_time>{when}</expavg_time>\n    </app_version>\n")


def write_file(path, text, when=None):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(text)
    if when is not None:  # its Last-Modified, which has whole seconds
        os.utime(path + ".new", (when, when))
    os.replace(path + ".new", path)


def write_versions(directory, rows):
    write_file(f"{directory}/app_versions.php",
               '<?xml version="1.0" encoding="ISO-8859-1" ?>\n<app_versions>\n' + "".join(rows) + "</app_versions>\n")


def publish_willow(projects, folder, directory):
    """The export of Willow's accounts, and its condition and versions in the form of BOINC's web pages."""
    os.makedirs(directory, exist_ok=True)
    write_file(f"{directory}/server_status.php", WILLOWS_STATUS)
    spec = os.path.join(folder, "db_dump.xml")
    write_file(spec, SPEC)
    projects.run("export", "--project", str(WILLOW), "--spec", spec, "--out", f"{directory}/stats", "--delete-old")
    report = projects.ask(f"/projects/{WILLOW}/app_versions")
    write_versions(directory, [version_row(one["app_version"], one["plan_class"], one["samples"], one["scale"] or 0,
                                           one["recent_credit"], report["as_of"]) for one in report["app_versions"]])


def users_file(users):
    return ('<?xml version="1.0" encoding="utf-8"?>\n<users>\n' +
            "".join(f"<user>\n <id>{number}</id>\n <name>{name}</name>\n <create_time>1500000000</create_time>\n"
                    f" <total_credit>{total}</total_credit>\n <expavg_credit>{total}</expavg_credit>\n"
                    f" <expavg_time>{when}</expavg_time>\n <cpid>{cpid}</cpid>\n <country>None</country>\n</user>\n"
                    for number, name, total, when, cpid in users) + "</users>\n")


class Liar:
    """Mirage: each call publishes the next day of lies."""

    def __init__(self, directory, now):
        self.directory, self.when, self.accepted = directory, int(now) - 5 * 3600, None
        # A GPU FLOP of Mirage is worth 2,000 times what it is worth elsewhere, and it claims more credit than all of BOINC.
        write_versions(directory, [version_row(1, "", 1000000, 1, 1e15, now),
                                   version_row(2, "cuda", 1000000, 1000, 1e15, now)])

    def publish(self, users, announced=None):
        self.when += 3600
        total = announced or sum(Decimal(total) for _, _, total, _ in users)
        write_file(f"{self.directory}/stats/user.xml",
                   users_file([(number, name, total, self.when, cpid) for number, name, total, cpid in users]), self.when)
        write_file(f"{self.directory}/stats/tables.xml",
                   f"<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<tables>\n    <update_time>{self.when}</update_time>\n"
                   f"    <nusers_total>{len(users)}</nusers_total>\n    <total_credit>{total}</total_credit>\n</tables>\n")
        return total

    def claim_people(self):
        """Two accounts with the ids of Ann and of Ben, who have no account here, and 570 billion Cobblestones each."""
        self.accepted = self.publish([(1, "Mirage 1", "570000000000.000000", person_id(1)),
                                      (2, "Mirage 2", "570000000000.000000", person_id(2))])

    def swap_people(self):
        """Both ids on both accounts, as if Ann and Ben were one person."""
        self.accepted = self.publish([(1, "Mirage 1", "570000000000.000000", person_id(2)),
                                      (2, "Mirage 2", "570000000000.000000", person_id(1))])

    def earn_too_much(self):
        """A trillion Cobblestones in an hour."""
        self.publish([(1, "Mirage 1", "1570000000000.000000", person_id(2)),
                      (2, "Mirage 2", "1570000000000.000000", person_id(1))])

    def use_impossible_numbers(self):
        self.publish([(10**24, "Mirage 3", "9" * 30 + ".000000", "0" * 32)], Decimal("1140000000000.000000"))


# ---- Comparisons ----------------------------------------------------------------------------------------------------------


def micro(text):
    return int(Decimal(text) * 1000000)


def accounts_of(ask):
    """Micro-credits of all accounts of a project that have credit, by kind and number."""
    found = {}
    for kind, numbers in (("users", range(1, len(PEOPLE) + 1)), ("teams", range(1, len(TEAMS) + 1)),
                          ("hosts", [*range(1, len(PEOPLE) + 1), *range(101, 101 + len(PEOPLE))])):
        for number in numbers:
            account = ask(kind, number)
            if account is not None and micro(account["total"]) != 0:
                found[kind, number] = micro(account["total"])
    return found


def sum_of(accounts, kind):
    return sum(total for (of_kind, _), total in accounts.items() if of_kind == kind)


def gpu_credit(ledger):
    return sum(total for (kind, number), total in ledger.items() if kind == "hosts" and number < 100)


class Checks:
    """The lines of the summary, and whether all were right."""

    def __init__(self):
        self.lines, self.failed = [], 0
        self.all = 0

    def add(self, topic, right, text):
        self.all += 1
        self.failed += not right
        self.lines.append(f"  {topic:12}{'' if right else 'WRONG: '}{text}")

    def show(self):
        for line in self.lines:
            print(textwrap.fill(line, SUMMARY_WIDTH, subsequent_indent=" " * 16, break_on_hyphens=False))
        print(f"\n  {'result':12}" + (f"{self.failed} of {self.all} comparisons are WRONG" if self.failed else f"all {self.all} comparisons hold"))


def judge(facts):
    """`facts`: what the demo observed, by name. Each line of the summary compares some of them."""
    checks = Checks()
    before, after = facts["factor_before"], facts["factors_after"][-1]
    checks.add("factor", abs(before - 0.5) < 0.005, f"of cuda before the liar: {before:.4f}, from {facts['supporters_before']} projects"
               " with CPU and GPU versions (their GPUs need twice the FLOPs of the estimate)")
    worst = max(abs(one / before - 1) for one in facts["factors_after"])
    checks.add("", worst <= 0.1 and facts["supporters_after"] == facts["supporters_before"] + 1,
               f"after {len(facts['factors_after'])} days with the liar among {facts['supporters_after']} projects: {after:.4f}; at no"
               f" time more than {100 * worst:.1f} % away (limit: 10 %), though it claims a scale of 1000")
    checks.add("credit", abs(facts["ratio_default"] - 0.204) < 0.02, f"Cedar (GPUs only) for the GPU jobs of Rosewood, by BOINC's default: "
               f"{100 * facts['ratio_default']:.1f} % of Rosewood's credit")
    checks.add("", abs(facts["ratio_factor"] - 1) <= 0.05,
               f"by the hub's factor: {100 * facts['ratio_factor']:.1f} % (limit: 5 % apart)")
    for project in LEDGERS:
        ledger, hub = facts["ledgers"][project], facts["hub"][project]
        users = sum_of(ledger, "users")
        different = [key for key in ledger.keys() | hub.keys() if ledger.get(key) != hub.get(key)]
        how = "direct feed, to the micro-credit" if project in DIRECT else "files, to the last digit"
        right = not different and users == facts["hub_sums"][project] and users > 0
        checks.add("sums" if project == LEDGERS[0] else "", right,
                   f"{NAMES[project]:9}{users / 1e6:18,.6f} in the ledger, {facts['hub_sums'][project] / 1e6:,.6f} at the hub;"
                   f" {len(ledger)} accounts, {len(different)} different ({how})")
    checks.add("", facts["liar_file"] == facts["hub_sums"][MIRAGE],
               f"{NAMES[MIRAGE]:9}{facts['liar_file'] / 1e6:18,.6f} in its last accepted file, {facts['hub_sums'][MIRAGE] / 1e6:,.6f} at the hub")
    checks.add("people", facts["people_before"] == facts["people_after"],
               f"{len(facts['people_before'])} people with accounts at {len(LEDGERS)} projects; the liar joined none of them to another,"
               " and changed no account of theirs")
    checks.add("", facts["person_sums"] == facts["ledger_sums_of_people"],
               "the credit of each over the honest projects is the sum of their ledgers, to the micro-credit")
    for what, reason in facts["held"]:
        checks.add("held" if what == facts["held"][0][0] else "", reason != "", f"{what}: {reason or 'it was not held'}")
    return checks


# ---- The story ------------------------------------------------------------------------------------------------------------


class Federation:
    def __init__(self, options, folder):
        self.options, self.folder, self.facts, self.programs = options, folder, {}, []
        self.now = time.time()
        self.work = Work(folder, (int(self.now) // DAY - 20) * DAY)
        self.hub_ticks = 0

    # -- set-up

    def start(self):
        files = os.path.join(self.folder, "web")
        self.web = serve_files(files)
        self.willow, self.liar_files = f"{files}/willow", f"{files}/mirage"
        token = hashlib.sha256(os.urandom(32)).hexdigest()
        self.write_secret("hub-tokens", f"ingest {','.join(str(project) for project in DIRECT)} feeds demo:{token}\n")
        self.write_secret("push-token", token + "\n")
        self.hub_config = self.write("hub.yaml", self.hub_settings(False))
        self.hub = self.program(self.hub_config)
        self.projects = self.program(self.write("projects.yaml", self.project_settings()))

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def write_secret(self, name, text):
        with open(os.open(os.path.join(self.folder, name), os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="ascii") as file:
            file.write(text)

    def hub_settings(self, with_liar):
        entries = "".join(f"  - {{id: {project}, name: {NAMES[project]}}}\n" for project in DIRECT)
        for project in (WILLOW, MIRAGE)[:2 if with_liar else 1]:
            url = f"{self.web}{NAMES[project].lower()}/"
            entries += f"  - {{id: {project}, name: {NAMES[project]}, url: \"{url}\", statistics: \"{url}stats/\"}}\n"
        return (f"role: hub\ndata_directory: {self.folder}/hub-data\ngateway:\n  tokens_file: {self.folder}/hub-tokens\n"
                f"  rate_limit: 1000\n  rate_burst: 1000\nprojects:\n{entries}")

    def project_settings(self):
        entries = "".join(f"  - {{id: {project}, name: {NAMES[project]}"
                          + (f", hub_project: {project}" if project in DIRECT else "") + "}\n" for project in LEDGERS)
        return (f"data_directory: {self.folder}/project-data\ngateway: {{rate_limit: 1000, rate_burst: 1000}}\n"
                f"hub:\n  url: {self.hub.url}\n  interval: 1 s\n  push_token_file: {self.folder}/push-token\n"
                f"  push_interval: 1 s\nprojects:\n{entries}")

    def program(self, config, listen="127.0.0.1:0"):
        self.programs.append(Program(self.options.program, config, listen))
        return self.programs[-1]

    def stop(self):
        for one in self.programs:
            if one.process.poll() is None:
                one.stop()

    # -- events

    def a_day_of_jobs(self):
        name = f"day-{self.work.days + 1}"
        path = self.work.write(name, self.work.jobs())
        before = self.ledgers()
        self.projects.run("ingest", path, "--source", name)
        after = self.settled_ledgers()
        return {project: gpu_credit(after[project]) - gpu_credit(before[project]) for project in LEDGERS}

    def factor_at(self, when):
        """Moves the hub's time; the factor of cuda, and how many projects support it."""
        self.hub_ticks += 1
        name = f"tick-{self.hub_ticks}"
        path = self.write(name + ".jsonl",
                          json.dumps({"id": str(self.hub_ticks), "project": 0, "time": when, "tick": {"time": when}}) + "\n")
        self.hub.run("ingest", path, "--source", name)
        # Every tick is a day later, so every tick computes the factors.
        answer = self.hub.wait("/federation/factors", lambda found: found["as_of"] == when and
                               any(one["plan_class"] == "cuda" for one in found["factors"]), "a factor of cuda")
        one = next(one for one in answer["factors"] if one["plan_class"] == "cuda")
        return one["factor"], len(one["contributions"])

    # -- accounts

    def ledgers(self):
        return {project: accounts_of(lambda kind, number, project=project: self.projects.ask(f"/projects/{project}/{kind}/{number}"))
                for project in LEDGERS}

    def settled_ledgers(self):
        """Once all jobs of all days are granted, and posted to users, hosts and teams."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            if all(self.granted(project) == self.work.days * JOBS_A_DAY * (2 if project in MIXED else 1) for project in LEDGERS):
                ledgers = self.ledgers()
                if all(len({sum_of(ledgers[project], kind) for kind in ("users", "hosts", "teams")}) == 1 for project in LEDGERS):
                    return ledgers
            time.sleep(0.1)
        raise SystemExit("the projects did not grant all jobs")

    def granted(self, project):
        users = [self.projects.ask(f"/projects/{project}/users/{number}") for number in range(1, len(PEOPLE) + 1)]
        return sum(app["grants"] for user in users if user is not None for app in user["apps"])

    def at_hub(self, project):
        return accounts_of(lambda kind, number: self.hub.ask(f"/federation/projects/{project}/{kind}/{number}"))

    def people(self):
        """By person: identity and the honest accounts that belong to it, with their credit."""
        found = {}
        for number in range(1, len(PEOPLE) + 1):
            answer = self.hub.wait(f"/federation/person?cpid={person_id(number)}",
                                   lambda one: sum(a["project"] in LEDGERS for a in one["accounts"]) == len(LEDGERS),
                                   f"the accounts of {PEOPLE[number - 1]}")
            found[PEOPLE[number - 1]] = sorted((one["project"], one["id"], one["total"]) for one in answer["accounts"]
                                               if one["project"] in LEDGERS)
        return found

    def wait_for_hub(self):
        """Until the hub has what the ledgers have; the last comparison reports what is missing."""
        ledgers = self.ledgers()
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            if all(self.at_hub(project) == ledgers[project] for project in LEDGERS):
                return
            time.sleep(0.5)

    def collect(self):
        return self.hub.run("hub", "collect", "--once", "--private-addresses")

    def hold(self, what, lie):
        """A lie that must be held: its reason, as the hub shows it."""
        before = self.hub.ask(f"/federation/projects/{MIRAGE}")
        lie()
        self.collect()
        project = self.hub.wait(f"/federation/projects/{MIRAGE}", lambda found: len(found["editions"]) > len(before["editions"]),
                                "an edition of Mirage")
        newest = project["editions"][0]
        held = project["complete_edition"] == before["complete_edition"] and newest["state"] == "held"
        self.facts.setdefault("held", []).append((what, newest.get("reason", "") if held else ""))

    # -- chapters

    def before_the_liar(self):
        step("two days of jobs at Rosewood, Elm, Cedar and Willow: versions and hosts get their scales")
        self.projects.run("ingest", self.work.write("catalogue", self.work.catalogue()), "--source", "catalogue")
        self.a_day_of_jobs()
        self.a_day_of_jobs()
        step("a day of jobs by BOINC's default for apps without CPU versions")
        earned = self.a_day_of_jobs()
        self.facts["ratio_default"] = earned[CEDAR] / earned[ROSEWOOD]
        self.report_to_hub()
        step("the hub computes the factor of cuda; Cedar applies it")
        self.facts["factor_before"], self.facts["supporters_before"] = self.factor_at(self.now - 11 * DAY)
        self.projects.wait(f"/projects/{CEDAR}/scales", lambda found: found.get("factors"), "the factor at Cedar")
        self.a_day_of_jobs()  # its first tick begins the epoch of the new factor
        earned = self.a_day_of_jobs()
        self.facts["ratio_factor"] = earned[CEDAR] / earned[ROSEWOOD]
        self.report_to_hub()
        self.facts["people_before"] = self.people()

    def report_to_hub(self):
        step("the accounts reach the hub: Rosewood, Elm and Cedar send them, Willow exports files that the hub collects")
        publish_willow(self.projects, self.folder, self.willow)
        self.collect()
        self.wait_for_hub()

    def the_liar(self):
        step("Mirage joins, and lies about its scales, its credit and its people")
        self.write("hub.yaml", self.hub_settings(True))
        liar = Liar(self.liar_files, self.now)
        liar.claim_people()
        self.collect()
        liar.swap_people()
        self.collect()
        self.hub.wait(f"/federation/projects/{MIRAGE}", lambda found: len(found["editions"]) == 2 and
                      all(one["state"] == "complete" for one in found["editions"]), "both editions of Mirage")
        self.facts["liar_file"] = micro(liar.accepted)
        factors = []
        for day in range(10, -1, -1):
            factor, self.facts["supporters_after"] = self.factor_at(self.now - day * DAY)
            factors.append(factor)
        self.facts["factors_after"] = factors
        self.hold("users who earn more than any machine could", liar.earn_too_much)
        self.hold("numbers that no database has", liar.use_impossible_numbers)

    def compare(self):
        step("compare the hub with the ledger of each project")
        facts = self.facts
        facts["ledgers"] = self.ledgers()
        facts["hub"] = {project: self.at_hub(project) for project in LEDGERS}
        facts["hub_sums"] = {}
        for project in NAMES:
            editions = self.hub.ask(f"/federation/projects/{project}")["editions"]
            complete = next(one for one in editions if one["state"] == "complete")
            facts["hub_sums"][project] = next(micro(one["total"]) for one in complete["sums"] if one["kind"] == "user")
        facts["people_after"] = self.people()
        facts["person_sums"] = {name: sum(micro(total) for _, _, total in accounts)
                                for name, accounts in facts["people_after"].items()}
        facts["ledger_sums_of_people"] = {name: sum(facts["ledgers"][project]["users", number] for project in LEDGERS)
                                          for number, name in enumerate(PEOPLE, 1)}
        return judge(facts)

    def show_page(self):
        print(f"\n  page        {self.hub.url}\n\n  Ctrl-C stops the demo.", flush=True)
        if not self.options.no_browser:
            webbrowser.open(self.hub.url)
        try:
            signal.pause()
        except KeyboardInterrupt:
            print()


def options():
    parser = argparse.ArgumentParser(prog="./dev demo federation", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help=argparse.SUPPRESS)
    parser.add_argument("--page", action="store_true",
                        help="after the summary, serve the hub's page until Ctrl-C (default at a terminal)")
    parser.add_argument("--no-page", action="store_true", help="exit after the summary")
    parser.add_argument("--no-browser", action="store_true", help="print the address of the page, and open no browser")
    parser.add_argument("--keep", action="store_true", help="keep the data directories")
    return parser.parse_args()


def somebody_looks():
    return sys.stdout.isatty() and sys.stdin.isatty() and "CI" not in os.environ


def main():
    wanted = options()
    wanted.program = os.path.abspath(wanted.program)
    folder = tempfile.mkdtemp(prefix="cobblestone-federation-")
    story = Federation(wanted, folder)
    try:
        step(f"run: a deployment of projects and a hub, in a temporary directory ({folder})")
        story.start()
        story.before_the_liar()
        story.the_liar()
        checks = story.compare()
        print("\n---- summary ---------------------------------------------------------------------\n")
        checks.show()
        print("\n  next        docs/operations/federation-hub.md, docs/design/federation.md" +
              (f"\n              the data directories are in {folder}" if wanted.keep else ""), flush=True)
        if wanted.page or (somebody_looks() and not wanted.no_page):
            story.show_page()
        return 1 if checks.failed else 0
    finally:
        story.stop()
        if not wanted.keep:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
