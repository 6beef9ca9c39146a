#!/usr/bin/env python3
"""export_demo.py PROGRAM: compares the statistics files of the demo's data, read by an independent parser (xml.etree),
with the ledger to the micro-credit: the sums with the audit's, and each account with its grants and postings from the
gateway."""

import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
import urllib.request
import xml.etree.ElementTree as ElementTree
from decimal import Decimal

PROJECTS = (1, 2)  # BOINC's history, and the demo's own traffic
MOST_GRANTS = 1000  # maximum in one answer of the gateway
ACCOUNTS_ASKED = 150  # of each kind and project
MILLION = Decimal(1000000)
SPEC = """<boinc_db_dump_spec>
 <enumeration><table>user</table><filename>user</filename><sort>id</sort>
  <output><recs_per_file>500</recs_per_file><compression>gzip</compression></output></enumeration>
 <enumeration><table>host</table><filename>host</filename><sort>total_credit</sort>
  <output><compression>none</compression><detail/></output></enumeration>
 <enumeration><table>team</table><filename>team</filename>
  <output><compression>gzip</compression><detail/></output></enumeration>
</boinc_db_dump_spec>
"""


def run(*words):
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout


def check(is_so, *what):
    if not is_so:
        sys.exit("export_demo.py: " + " ".join(str(part) for part in what))


def micro(text):
    check(re.fullmatch(r"[0-9]+\.[0-9]{6}", text), text, "does not have six digits")
    return int(Decimal(text) * MILLION)


def totals(directory, table):
    """Micro-credits by id, of all files of a table."""
    found = {}
    for name in os.listdir(directory):
        if not re.fullmatch(table + r"(_[0-9]+)?(\.gz)?", name):
            continue
        path = os.path.join(directory, name)
        with (gzip.open if name.endswith(".gz") else open)(path, "rb") as file:
            root = ElementTree.parse(file).getroot()
        check(root.tag == table + "s", path, "is of", root.tag)
        for record in root.findall(table):
            number = int(record.findtext("id"))
            check(number not in found, table, number, "appears twice")
            found[number] = micro(record.findtext("total_credit"))
    return found


def ask_gateway(address, project, kind, number):
    url = f"{address}/api/v1/projects/{project}/{kind}s/{number}/grants?limit={MOST_GRANTS}"
    with urllib.request.urlopen(url, timeout=60) as reply:
        return json.load(reply)["data"]


def compare_accounts(address, project, kind, exported):
    compared = 0
    for number in sorted(exported)[:ACCOUNTS_ASKED]:
        grants = ask_gateway(address, project, kind, number)
        if len(grants) == MOST_GRANTS:
            continue  # there may be more
        in_ledger = sum(micro(grant["credit"]) for grant in grants)
        check(in_ledger == exported[number], kind, number, "of project", project, "has", exported[number],
              "in the file, and", in_ledger, "in the ledger")
        compared += 1
    check(compared > 0, "no", kind, "of project", project, "could be compared")
    return compared


def main():
    program = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        os.environ["TMPDIR"] = place
        run(program, "demo", "--no-page", "--keep", "--results", "2000")
        [data] = [name for name in os.listdir(place) if name.startswith("cobblestone-demo")]
        with open("db_dump.xml", "w", encoding="ascii") as file:
            file.write(SPEC)
        exported = {}
        for project in PROJECTS:
            out = f"stats{project}"
            run(program, "export", "--data", data, "--project", str(project), "--spec", "db_dump.xml", "--out", out)
            for name in os.listdir(out):
                if name.endswith((".xml", "badge_user.gz", "badge_team.gz")):
                    with (gzip.open if name.endswith(".gz") else open)(os.path.join(out, name), "rb") as file:
                        ElementTree.parse(file)
            exported[project] = {kind: totals(out, kind) for kind in ("user", "host", "team")}

        audit = json.loads(run(program, "audit", "--data", data, "--json"))
        check(audit["problem_count"] == 0, audit)
        for kind, ledger in (("user", "granted_micro"), ("host", "granted_micro"), ("team", "posted_micro")):
            all_of_kind = sum(sum(exported[project][kind].values()) for project in PROJECTS)
            check(all_of_kind == int(audit[ledger]) > 0, kind + "s have", all_of_kind, "in the files, and",
                  audit[ledger], "in the ledger")
            print(f"{sum(len(exported[p][kind]) for p in PROJECTS)} {kind}s: {all_of_kind} micro-credits in the "
                  "files and in the ledger")

        with open("gateway.yaml", "w", encoding="ascii") as file:
            file.write(f"data_directory: {data}\n"
                       "gateway: {listen: 127.0.0.1:0, rate_limit: 1000000, rate_burst: 1000000}\n")
        with subprocess.Popen([program, "gateway", "--config", "gateway.yaml"], stderr=subprocess.PIPE,
                              text=True) as gateway:
            try:
                address = None
                while address is None:
                    line = gateway.stderr.readline()
                    check(line, "the gateway has ended")
                    address = (re.findall(r"gateway=(http://\S+)", line) or [None])[0]
                for project in PROJECTS:
                    for kind, of_kind in exported[project].items():
                        print(f"{compare_accounts(address, project, kind, of_kind)} {kind}s of project {project} "
                              "one by one")
            finally:
                gateway.terminate()


if __name__ == "__main__":
    main()
