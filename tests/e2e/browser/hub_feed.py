"""A small feed of three projects and an account manager for the story of a hub: always the same events on the days up to today, with
the numbers that follow from them.

Eleven computers are at Rosewood and Elm: ten earn 0.5, 1, ... 5 times as much at Rosewood, and Ada's 800 / 30 = 26.7 times. Their
median is the sixth, 3; its 95 % range leaves out (11 - 1.96 x 3.32) / 2 = 2.25, so two, on each side: 1.5 to 4.5.

Ada is at all three. Rosewood shows her id a, Skyline c, and Elm a, c and a again, so she is one person. Bob is at Rosewood and Skyline
with id b; later his account at Skyline shows Ada's id, which Skyline alone says. Fifty more volunteers are at Rosewood alone. Skyline
is silent from day 4 on, and Elm's last edition is held.

Together is an account manager. Its account at Rosewood has 200, which are Bob's, as its own statistics say.
"""

import json
import time

DAY = 86400
LAST = 7  # the day of today; the feed begins on day 0
ADA, BOB, MALLORY, MANAGER = 11, 12, 35, 60
ID = {name: name * 32 for name in "abc"}
HOST_ID = "9" * 32
HELD = "user.gz has 40 % fewer accounts than the edition before"
SILENT = "fetching the statistics has failed since 2026-01-02 03:04 UTC: user.gz (page): the server answered 200 with a web page"  # as a collector says it
ASK = "Ask the project. If the files are right, stop the collector, run `cobblestone hub release 2 --config FILE`, and start it again."
OPEN = "Open the address of the statistics in a browser."
SHARED = 10  # computers of volunteers at Rosewood and Elm
VOLUNTEERS = 50  # with 1 to 50
UNBROKEN = "Supercalifragilisticexpialidocious" * 4  # the name of the last volunteer

# Totals of Ada by edition; one edition a day, from day 0 on.
ROSEWOOD = (1000, 1100, 1250, 1200, 1300, 1300, 1300, 1300)  # by day +100, +150, -50, +100
ELM = (20, 25, 31, 31, 31, 31, 31)  # +5, +6; the edition of today is held
SKYLINE = (500, 500, 500, 700)  # +200 on day 3
TOGETHER = (200,) * (LAST + 1)  # of Bob
ADAS_TOTAL = 1300 + 31 + 700
GERMANY = ADAS_TOTAL
JAPAN = 90 + 10 + TOGETHER[0]  # Bob
SINGAPORE = 50  # volunteer 50
TEAM = 4000 + 600
POINTS_SINCE = LAST + 30  # days
SCALES = (0.2, 0.3, 0.5)  # equal weights, so the median is 0.3


def start_of(now):
    """Of the feed, UNIX s: a midnight."""
    return (int(now) // DAY - LAST) * DAY


def date(start, day):
    return time.strftime("%Y-%m-%d", time.gmtime(start + day * DAY))


class Feed:
    def __init__(self, start):
        self.start = start
        self.lines = []

    def add(self, project, at, body):
        self.lines.append(json.dumps({"id": str(len(self.lines) + 1), "project": project, "time": at, **body}))

    def edition(self, project, edition, state, at, **more):
        if state == "COMPLETE":  # as a collector does
            self.add(0, at, {"barrier": {}})
        self.add(project, at, {"feed_edition": {"edition": str(edition), "state": "EDITION_STATE_" + state, "published_time": at, **more}})

    def account(self, project, kind, account, edition, credit, at, **more):
        body = {
            "kind": "ACCOUNT_KIND_" + kind, "account": str(account), "edition": str(edition), "total_micro": str(credit * 1000000),
            "recent": credit / 10, "recent_time": at, "create_time": 1.2e9 + account, **more,
        }  # fmt: skip
        self.add(project, at, {"feed_account": body})

    def user(self, project, account, edition, credit, at, cpid, name, country="", **more):
        self.account(project, "USER", account, edition, credit, at, cross_project_id=cpid, name=name, country=country, **more)

    def versions(self, project, scale):
        version = {
            "app": "1", "app_name": "fold", "app_version": "10", "plan_class": "cuda", "resource": "RESOURCE_NVIDIA", "samples": 1000,
            "scale": scale, "recent_credit": 1000, "recent_time": self.start, "both_kinds": True,
        }  # fmt: skip
        few = {**version, "app_version": "11", "plan_class": "opencl_ati", "resource": "RESOURCE_AMD", "samples": 3}
        self.add(project, self.start, {"feed_versions": {"as_of": self.start, "versions": [version] + ([few] if project == 3 else [])}})


def sums(users, total):
    return {"sums": [{"kind": "ACCOUNT_KIND_USER", "accounts": str(users), "total_micro_low": str(total * 1000000), "changed": "1"}]}


def rosewood(feed, day, ada):
    edition, at = day + 1, feed.start + day * DAY
    feed.edition(1, edition, "BEGUN", at)
    if day == 0 or ada != ROSEWOOD[day - 1]:
        feed.user(1, ADA, edition, ada, at, ID["a"], "Ada Lovelace", "Germany", team="5")
    if day == 0:
        for n in range(1, VOLUNTEERS + 1):
            feed.user(1, 100 + n, edition, n, at, f"{n:032x}", UNBROKEN if n == 50 else f"volunteer {n:02}", "Singapore" if n == 50 else "")
        feed.user(1, MANAGER, edition, TOGETHER[0], at, "", "Together")
        feed.account(1, "TEAM", 5, edition, 4000, at, name="Planet Three")
        feed.account(1, "HOST", 900, edition, 800, at, cross_project_id=HOST_ID, owner=str(ADA))
        for n in range(1, SHARED + 1):
            feed.account(1, "HOST", 900 + n, edition, 5 * n, at, cross_project_id=f"{n:02x}" * 16, owner=str(100 + n))
    bob = 60 if day == 0 else 90
    if day in (0, 1):
        feed.user(1, BOB, edition, bob, at, ID["b"], "Bob", "Japan")
    feed.edition(1, edition, "COMPLETE", at, **sums(VOLUNTEERS + 3, ada + bob + TOGETHER[0] + sum(range(1, VOLUNTEERS + 1))))


def elm(feed, day, ada):
    edition, at = day + 1, feed.start + day * DAY
    feed.edition(2, edition, "BEGUN", at)
    if day < 3:
        feed.user(2, 22, edition, ada, at, ID["c" if day == 1 else "a"], "ada", "Germany", team="7")
    if day == 0:
        feed.account(2, "TEAM", 7, edition, 600, at, name="planet three")
        feed.account(2, "HOST", 901, edition, 30, at, cross_project_id=HOST_ID, owner="22")
        for n in range(1, SHARED + 1):
            feed.account(2, "HOST", 950 + n, edition, 10, at, cross_project_id=f"{n:02x}" * 16, owner="22")
    feed.edition(2, edition, "COMPLETE", at, **sums(1, ada))


def skyline(feed, day, ada):
    edition, at = day + 1, feed.start + day * DAY
    feed.edition(3, edition, "BEGUN", at)
    feed.user(3, 33, edition, ada, at, ID["c"], "Ada L.", "Germany")
    # When he shows Ada's id, she has been one person for a day.
    feed.user(3, MALLORY, edition, 10, at, ID["a" if day == 3 else "b"], "Bob", "Japan")
    feed.edition(3, edition, "COMPLETE", at, **sums(2, ada + 10))


def together(feed, day, bob):
    edition, at = day + 1, feed.start + day * DAY
    feed.edition(4, edition, "BEGUN", at)
    if day == 0:
        feed.user(4, 41, edition, bob, at, ID["b"], "Bob", "Japan")
    feed.edition(4, edition, "COMPLETE", at, **sums(1, bob))


def lines(start):
    feed = Feed(start)
    more = {1: {"shared_accounts": {"users": [str(MANAGER)]}}, 4: {"account_manager": True}}
    # From a day that has not come: until then its points are Cobblestones.
    more[3] = {"points_per_cobblestone": 2, "points_since": str(start // DAY + POINTS_SINCE)}
    for project, name in ((1, "Rosewood"), (2, "Elm"), (3, "Skyline"), (4, "Together")):
        url = f"https://{name.lower()}.example/"
        feed.add(project, start, {"feed_project": {"name": name, "url": url, "mode": "FEED_MODE_FILES", **more.get(project, {})}})
        if project <= len(SCALES):
            feed.versions(project, SCALES[project - 1])
    for project in (1, 4):
        feed.add(project, start, {"feed_health": {"condition": "FEED_CONDITION_FINE"}})
    feed.add(2, start, {"feed_health": {"condition": "FEED_CONDITION_NO_WORK", "reason": "no jobs are ready to send"}})
    for day in range(LAST + 1):
        # Factors are computed with the first tick and then once a day: LAST + 1 times.
        feed.add(0, start + day * DAY + day, {"tick": {"time": start + day * DAY + day}})
        for publish, totals in ((rosewood, ROSEWOOD), (elm, ELM), (skyline, SKYLINE), (together, TOGETHER)):
            if day < len(totals):
                publish(feed, day, totals[day])
    feed.edition(2, len(ELM) + 1, "HELD", start + LAST * DAY, reason=f"{HELD}. What to do: {ASK}")
    feed.add(3, start + LAST * DAY, {"feed_health": {"condition": "FEED_CONDITION_UNREACHABLE", "reason": f"{SILENT}. What to do: {OPEN}"}})
    return feed.lines
