#!/usr/bin/env python3
"""A climate project's year: 20 jobs of 777,600 timesteps, each of which sends 72 progress messages.

    project.py FOLDER    writes before.jsonl (the project, and its jobs sent), messages.xml (the trickle messages, as
                         BOINC's scheduler stores them), after.jsonl (the outcomes of the jobs), all.jsonl (all of it as
                         events, for `replay`), and by_time.jsonl, by_day.jsonl (the app under other rules)
"""
import json
import os
import sys

START, DAY, MESSAGES, STEPS = 1700006400, 86400, 72, 10800
APP = {"app": 1, "name": "hadcm3", "policy": "assigned", "delay_bound": 400 * DAY}
RULES = {
    "all": {"kind": "steps", "measure": "steps", "phases": [{"last_step": MESSAGES * STEPS, "credit_per_step": 0.2}]},
    "by_time": {"kind": "elapsed", "measure": "cpu_time"},
    "by_day": {"kind": "day", "credit_per_day": 450},
}


def app(rule):
    return {"app": APP | {"trickles": [{"variety": "orig"} | RULES[rule]]}}


def job(n):
    """Job n: days between its messages, their number, and the outcome of the job."""
    days = 5 if n == 1 else 3.5 + 0.2 * n
    return days, min(MESSAGES, int(365 / days)) if n != 7 else 30, "error" if n == 7 else "invalid" if n == 11 else "valid"


def name(n):
    return f"hadcm3n_a{n:03}_1980_40_{n:09}_0"


def main(folder):
    os.makedirs(folder, exist_ok=True)
    before, trickles, after = [(START, app("all"))], [], []
    before.append((START, {"app_version": {"app_version": 1, "app": 1, "version_num": 608, "platform": 1}}))
    for n in range(1, 21):
        before.append((START, {"user": {"user": n, "name": f"volunteer{n}", "team": 1 + n % 3}}))
        before.append((START, {"host": {"host": n, "user": n, "whetstone": 2.5e9, "cpus": 1}}))
        facts = {"result": n, "host": n, "workunit": n, "app": 1, "app_version": 1, "peak_flops": 2.5e9, "sent_time": START}
        size = {"fpops_est": 7e16, "fpops_bound": 7e17}
        before.append((START, {"dispatch": facts | size | {"result_name": name(n)}}))
        days, sent, end = job(n)
        for k in range(1, sent + 1):
            # For a month the network of host 1 was down; then its six messages arrived at once.
            came = START + (36 * days if n == 1 and 31 <= k <= 36 else k * days) * DAY
            trickles.append((came, k * days * DAY + START, n, n, k, k * 0.96 * days))
            if n == 1 and k == 20:  # the computer was switched off: the model continues from its last checkpoint
                trickles.append((came + DAY, came + DAY, n, n, 19, 19.2 * days))
        if n == 1:  # the computer of another user reports that the job is done
            trickles.append((START + 10 * DAY, START + 10 * DAY, 2, n, MESSAGES, 1))
        over = START + sent * days * DAY + DAY
        outcome = "OUTCOME_CLIENT_ERROR" if end == "error" else "OUTCOME_SUCCESS"
        after.append((over, {"completion": facts | {"outcome": outcome, "elapsed_time": sent * days * 0.96 * DAY,
                                                    "received_time": over}}))
        if end != "error":
            state = "VALIDATE_STATE_" + end.upper()
            after.append((over, {"validation": {k: facts[k] for k in ("result", "host", "workunit", "app")} | size | {
                "state": state, "pass": 1, "claims": int(end == "valid"), "assigned_credit": round(sent / MESSAGES * 160000)}}))
    trickles.sort()
    events = []
    with open(f"{folder}/messages.xml", "w") as out:
        for row, (came, written, host, n, k, cpu_days) in enumerate(trickles, 1):
            cpu = round(cpu_days * DAY)
            print(f'<msg_from_host id="{row}" create_time="{came:.0f}" hostid="{host}" variety="orig">\n'
                  f"<result_name>{name(n)}</result_name>\n<time>{written:.0f}</time>\n<wu>{name(n)[:-2]}</wu>\n"
                  f"<result>{name(n)}</result>\n<ph>1</ph>\n<ts>{k * STEPS}</ts>\n<cp>{cpu}</cp>\n<vr>6.08</vr>\n"
                  f"<data>{287.2 + k / 100:.2f}</data>\n</msg_from_host>", file=out)
            events.append((round(came), {"trickle": {"result_name": name(n), "host": host, "variety": "orig", "phase": 1,
                                                     "sequence": round(written), "steps": k * STEPS, "cpu_time": cpu}}))
    files = {"before": before, "after": sorted(after, key=lambda one: one[0]), "all": sorted(before + events + after, key=lambda one: one[0])}
    for other in ("by_time", "by_day"):
        files[other] = [(START, app(other))]
    for file, lines in files.items():
        with open(f"{folder}/{file}.jsonl", "w") as out:
            for number, (time, body) in enumerate(lines, 1):
                print(json.dumps({"id": number, "project": 1, "time": time} | body), file=out)


main(sys.argv[1])
