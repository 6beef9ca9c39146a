#!/usr/bin/python3
"""A federation hub: projects with their condition and what is held, a person over all projects with the reasons, lists, teams,
countries and factors. The numbers are those of hub_feed.py."""

import contextlib

import hub_feed as feed
import page as p

# Keeps each address that is shown, with its heading.
KEEP_PLACES = """
window.places = [];
const root = document.documentElement;
new MutationObserver(() => window.places.push([root.dataset.shown, document.querySelector('h1').textContent]))
  .observe(root, { attributes: true, attributeFilter: ['data-shown'] });
"""


def tile(page, key):
    return p.digits(page.text(f".tile[data-key={key}] .value"))


def money(number):
    return f"{number}.000000"


def wait_for_index(gateway):
    """The hub's lists follow its accounts after a moment."""

    def first():
        with contextlib.suppress(OSError):  # 503 until there is an index
            people = gateway.answer("federation/people?limit=1")
            # Projects are compared only if the index has their editions of the last two days.
            compared = len(gateway.data("federation/projects/1").get("shared_hosts", []))
            return (people["count"], [row["total"] for row in people["data"]], compared)
        return None

    p.wait_for(lambda: first() == (feed.VOLUNTEERS + 2, [money(feed.ADAS_TOTAL)], 1), "the index of people", lambda: first())


def check_projects(page, date):
    page.open("#/hub")
    p.check_equal(page.texts(".hub-cards h2"), ["Rosewood", "Elm", "Skyline", "Together"], "the projects")
    figure = lambda project, key: p.digits(page.text(f"[data-project='{project}'] [data-key={key}] dd"))
    # 1300 of Ada, 90 of Bob, 200 of the manager, and 1 + 2 + ... + 50.
    p.check_equal(figure(1, "total"), money(1300 + 90 + 200 + 1275), "the credit of Rosewood")
    p.check_equal(figure(1, "users"), str(feed.VOLUNTEERS + 3), "the users of Rosewood")
    p.check_equal(figure(1, "hosts"), str(feed.SHARED + 1), "the hosts of Rosewood")
    p.check_equal(figure(3, "total"), money(710), "the credit of Skyline, which is silent")
    p.check_equal(page.texts(".hub-cards .condition"), ["Fine", "No work", "Unreachable", "Fine"], "the conditions")
    p.check("No jobs are ready to send." in page.text("[data-project='2']"), "the reason of the condition")
    p.check(f"Unknown since {date(3)}" in page.text("[data-project='3'] [data-unknown]"), "since when Skyline is not known")
    p.check(not page.all("[data-project='1'] [data-unknown]"), "Rosewood is known")
    p.check_equal(tile(page, "total"), money(1300 + 90 + 200 + 1275 + 31 + 710), "the credit of all projects has that of the manager once")
    p.check_equal(tile(page, "projects"), "3", "the manager is no project")

    page.click("[data-project='2'] h2 a")
    page.wait_shown("#/hub/project/2")
    rows = page.texts("section.card table")
    p.check(any(f"{len(feed.ELM) + 1}held" in row.replace(" ", "") and feed.HELD in row for row in rows), f"the held edition is in the history: {rows}")
    p.check_equal(tile(page, "total"), money(31), "the credit of Elm")
    page.open("#/hub/project/3")
    facts = page.text("main dl.facts")
    p.check(f"2 since {date(feed.POINTS_SINCE)}, 1 before" in facts, f"since when two points are one Cobblestone: {facts}")
    page.open("#/hub/project/1")
    page.driver.execute_script("document.querySelectorAll('details').forEach(d => { d.open = true })")
    p.wait_for(lambda: any(date(3) in row and "−50" in row and "correction" in row for row in page.texts(".numbers tr")), "the day on which a total fell")


def check_manager(page):
    """An account manager: its account at a project is nobody's, and its members have what its own statistics say."""
    page.open("#/hub/project/1")
    p.check_equal(page.text("[data-shared]"), "1 account belongs to an account manager, and is in no person's sum.", "the note at the project")
    page.open("#/hub/project/4")
    p.check_equal(
        page.text("[data-manager]"),
        "An account manager: its members' credit was earned at the other projects, so its total is in no sum over projects.",
        "the note at the manager",
    )
    p.check_equal(tile(page, "total"), money(200), "the credit of its members")
    page.open(f"#/hub/project/1/user/{feed.MANAGER}")
    p.check("in no person's sum" in page.text("[data-shared]"), "the note at the account")
    p.check_equal(tile(page, "total"), money(200), "the credit of the account")
    p.check("over all projects" not in page.text(".lead"), f"the account is part of nobody: {page.text('.lead')}")


def check_shared_hosts(page):
    """What the same computers earn at another project: the median, and the range in which it lies."""
    for project, other, expected in ((1, "Elm", [11, 3, 1.5, 4.5]), (2, "Rosewood", [11, 0.333, 0.222, 0.667])):
        page.open(f"#/hub/project/{project}")
        cards = [card for card in page.all("section.card") if card.text.startswith("The same hosts elsewhere")]
        p.check_equal(len(cards), 1, f"the comparison of project {project}")
        rows = [[cell.text for cell in row.find_elements("css selector", "th, td")] for row in cards[0].find_elements("css selector", "tbody tr")]
        p.check_equal([row[0] for row in rows], [other], f"the projects with the same hosts as project {project}")
        numbers = [float(number) for number in " to ".join(rows[0][1:]).split(" to ")]  # 3 or 3.00, by the last bit of an average
        p.check_equal(numbers, expected, f"what the hosts of project {project} earn elsewhere: {rows[0]}")
        p.check("not what the same work is worth" in cards[0].text, "what the comparison does not say")
    page.open("#/hub/project/3")
    p.check(not [card for card in page.all("section.card") if card.text.startswith("The same hosts")], "a project that is silent is not compared")


def check_reasons(page):
    """Why a fetch failed and why an edition is held, on the list and on the project's own view, to be read on any screen."""
    failed = feed.SILENT[0].upper() + feed.SILENT[1:] + "."
    held = f"Edition {len(feed.ELM) + 1} is held: {feed.HELD}. The numbers before it stay."
    places = (
        ("#/hub", "[data-project='3'] .condition-reason", failed), ("#/hub", "[data-project='2'] [data-held]", held),
        ("#/hub/project/3", ".condition-reason", failed), ("#/hub/project/2", ".hub-note[data-held]", held),
        ("#/hub/project/2", "section.card table .detail", feed.HELD),
        ("#/hub/project/2", "[data-next-step] p", feed.ASK), ("#/hub/project/3", "[data-next-step] p", feed.OPEN),
    )  # fmt: skip
    for width in (p.WIDE, p.PHONE):
        page.resize(width)
        for address, selector, reason in places:
            page.open(address)
            element = page.one(selector)
            where = f"{selector} of {address} at {width}"
            p.check_equal(" ".join(element.text.split()), reason, where)  # what is visible of its text
            box = page.driver.execute_script("const e = arguments[0], b = e.getBoundingClientRect(); return [b.left, b.right, e.scrollWidth, e.clientWidth]", element)
            p.check(element.is_displayed() and 0 <= box[0] and box[1] <= width and (box[3] == 0 or box[2] <= box[3]), f"{where}: a part is outside or cut: {box}")
    page.resize(p.WIDE)


def check_person(page, date):
    page.open("#/hub")
    page.one("#search").send_keys(feed.ID["c"])
    page.driver.execute_script(KEEP_PLACES)
    page.click(".head .search button")
    p.wait_for(lambda: page.shown().startswith("#/hub/person/"), "the person of an id")
    p.check_equal(page.driver.execute_script("return window.places"), [[page.shown(), "Ada Lovelace"]], "the search forwards and is not shown at her address")
    p.check_equal(tile(page, "total"), money(feed.ADAS_TOTAL), "the sum of her accounts")
    p.check_equal(tile(page, "accounts"), "3", "her accounts")
    p.check("Rank 1 of" in page.text(".tile[data-key=total] .note"), f"her rank: {page.text('.tile[data-key=total]')}")
    p.check_equal(page.texts(".hub-account h3"), ["Rosewood", "Elm", "Skyline"], "the projects of her accounts")
    elm = page.text(".hub-account[data-project='2']")
    marks = page.texts(".hub-account[data-project='2'] .ids .mark")
    p.check_equal(marks, ["counts", "own or confirmed", "counts", "changes to and fro"], "why the ids of the swing count")
    p.check("as happens if the computers of one person know different ids" in elm, f"the reason of the swing is in words: {elm}")
    p.check("own or confirmed" in page.text(".hub-account[data-project='1']"), "the reason of her own id")
    possible = [text for text in page.texts("section.card") if text.startswith("Possibly the same person")]
    p.check(possible and f"User {feed.MALLORY} of Skyline" in possible[0] and "not confirmed" in possible[0], f"who may be her: {possible}")

    # By day: Rosewood +100, +150, -50, +100; Elm +5, +6; Skyline +200.
    p.check_equal(page.texts(".legend li")[:3], ["Rosewood 300.00", "Skyline 200.00", "Elm 11.00"], "the layers of her history")
    page.driver.execute_script("document.querySelectorAll('details').forEach(d => { d.open = true })")
    days = p.wait_for(lambda: [[cell.text for cell in row.find_elements("css selector", "th, td")] for row in page.all(".numbers tbody tr")], "her days as a table")
    seen = sorted((day, project, p.digits(credit)) for day, project, credit in days)
    expected = sorted(
        [(date(day), "Rosewood", money(credit)) for day, credit in enumerate((100, 150, -50, 100), 1)]
        + [(date(1), "Elm", money(5)), (date(2), "Elm", money(6)), (date(3), "Skyline", money(200))]
    )
    p.check_equal(seen, expected, "her days")
    corrections = [text for text in page.texts("section.card") if text.startswith("Corrections")]
    p.check(corrections and "Rosewood" in corrections[0] and date(3) in corrections[0] and "−50.000000" in corrections[0], f"the correction: {corrections}")

    page.click(".hub-account[data-project='1'] p a")
    page.wait_shown(f"#/hub/project/1/user/{feed.ADA}")
    p.check_equal(tile(page, "total"), money(1300), "her account at Rosewood")
    p.check("2,031.000000" in page.text(".lead"), f"her sum beside it: {page.text('.lead')}")


def check_lists(page):
    page.open("#/hub/leaders/people")
    p.check_equal(len(page.all("main tbody tr")), 50, "people on the first page")
    p.check_equal(page.texts("main tbody tr:first-child .credit"), ["2,031.000000"], "the first is Ada")
    page.click(".pages a:last-child")
    page.wait_shown("#/hub/leaders/people?offset=50")
    # 52 people: Ada, Bob and 50 volunteers.
    p.check_equal(page.text("[data-range]"), "51 to 52 of 52", "the second page")
    p.check_equal(page.texts("main tbody tr .credit"), ["2.000000", "1.000000"], "the last two volunteers")
    page.open("#/hub/leaders/people?country=Japan")
    p.check_equal([page.texts("main tbody th"), page.texts("main tbody .credit")], [["Bob"], ["300.000000"]], "people of Japan")
    page.open("#/hub/search?q=VOLUNTEER%200")
    p.check_equal(sorted(page.texts("main tbody th")), [f"volunteer 0{n}" for n in range(1, 10)], "people whose names begin so")
    page.open("#/hub/leaders/hosts?project=2")
    p.check_equal(page.texts("main tbody .credit"), ["30.000000"] + ["10.000000"] * feed.SHARED, "the hosts of Elm")
    page.open(f"#/hub/host/{feed.HOST_ID}")
    p.check_equal(tile(page, "total"), money(830), "one computer at two projects")

    page.open("#/hub/leaders/teams")
    p.check_equal(page.texts("main tbody tr:first-child .credit"), [f"{feed.TEAM:,}.000000"], "a team over two projects")
    page.click("main tbody th a")
    p.wait_for(lambda: page.shown().startswith("#/hub/team/"), "the team")
    p.check_equal(tile(page, "total"), money(feed.TEAM), "its total")
    p.check_equal(sorted(page.texts("main tbody .credit")), ["4,000.000000", "600.000000"], "its projects")


def check_countries(page):
    page.open("#/hub/countries")
    p.check_equal(page.texts("main tbody th"), ["Germany", "Japan", "Singapore"], "the countries")
    expected = [f"{credit:,}.000000" for credit in (feed.GERMANY, feed.JAPAN, feed.SINGAPORE)]
    p.check_equal(page.texts("main tbody .credit"), expected, "their credit")
    shade = lambda country: page.one(f".world [data-country='{country}']").get_attribute("data-shade")
    # 2031 / 300 is five sixths of an order of magnitude: one shade of 0.75 behind; 2031 / 50 two.
    p.check_equal([shade(one) for one in ("Germany", "Japan", "Singapore", "France")], ["5", "4", "3", "0"], "the shades of the map")
    p.check(len(page.all(".world path")) > 150, "the map has the countries of the world")
    page.driver.execute_script("document.querySelector(\".world [data-country='Japan']\").dispatchEvent(new MouseEvent('click'))")
    page.wait_shown("#/hub/leaders/people?country=Japan")


def check_factors(page):
    page.open("#/hub/factors")
    cuda = page.text(".factor[data-class=cuda]")
    p.check("0.3000" in page.text(".factor[data-class=cuda] .factor-value"), f"the factor of cuda: {cuda}")
    cells = page.texts(".factor[data-class=cuda] tbody tr > *")
    expected = [cell for name, value in zip(("Rosewood", "Elm", "Skyline"), feed.SCALES) for cell in (name, f"{value:.4f}", "33.3 %", "500.0", "1")]
    p.check_equal(cells, expected, "its projects, with value, weight, recent credit (halved after a week) and number of versions")
    # Whoever of the three lies, the median is a value of the two others, and without one of them the default of 0.1 applies.
    p.check_equal(
        page.text(".factor[data-class=cuda] [data-reach]"),
        "No single project could have moved it below 0.1000 or above 0.5000, whatever it reported. If one of the 3 fell silent, the factor would return to the default in steps.",
        "what one project could have done",
    )
    p.check(not page.all(".factor[data-class=opencl_ati] [data-reach]"), "a default has no bounds")
    left = page.text(".factor[data-class=opencl_ati] .left-out")
    p.check("Skyline" in left and "the version has too few samples" in left, f"what was left out, and why: {left}")
    p.check_equal(tile(page, "sequence"), str(feed.LAST + 1), "one computation each day of hub time")
    page.click(".pages a:first-child")
    page.wait_shown(f"#/hub/factors/{feed.LAST}")
    p.check_equal(tile(page, "sequence"), str(feed.LAST), "the computation before")


def story():
    options = p.options_of(__doc__, lambda parser: parser.add_argument("--start", type=int, required=True, help="of the feed, UNIX s"))
    date = lambda day: feed.date(options.start, day)
    wait_for_index(p.Gateway(options.base, options.token))
    with p.browser(options.base) as page:
        page.open("#/")
        p.check_equal(page.text("h1"), "Projects", "a hub begins with its projects")
        p.check_equal(page.texts(".nav a"), ["Projects", "Leaders", "Countries", "Factors", "Refused"], "the views of a hub")
        check_projects(page, date)
        check_reasons(page)
        check_manager(page)
        check_shared_hosts(page)
        check_person(page, date)
        for check in (check_lists, check_countries, check_factors):
            check(page)
        p.check_equal(page.complaints(), [], "what the browser reports")


p.run(story)
