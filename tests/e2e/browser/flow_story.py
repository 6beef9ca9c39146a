#!/usr/bin/python3
"""Flow: while results are ingested, the numbers change, grants appear, and each links to its explanation. The page reports a lost
connection and reconnects by itself. The gateway's pipeline must be under traffic."""

import datetime

import page as p


def number(text):
    return float(p.digits(text) or "nan")


def moment_of(page, gateway):
    """The time of the first grant in the ticker, from the gateway."""
    _, project, _, result = page.one("[data-ticker] li a[href*='/result/']").get_attribute("href").split("#/")[1].split("/")
    granted = gateway.data(f"projects/{project}/results/{result}")["grants"][0]["granted_at"]
    at = datetime.datetime.fromtimestamp(granted, datetime.timezone.utc)
    today = at.date() == datetime.datetime.now(datetime.timezone.utc).date()
    return at.strftime("%H:%M:%S" if today else "%Y-%m-%d %H:%M")


def story():
    options = p.options_of(__doc__)
    gateway = p.Gateway(options.base, options.token)
    projects = gateway.projects()
    with p.browser(options.base) as page:
        page.open("#/flow")
        p.wait_for(lambda: page.text(".pill") == "Live", "the label Live", lambda: page.text(".pill"))
        p.wait_for(lambda: number(page.text("[data-value=results_per_s]")) > 0, "a rate of results above zero")
        p.wait_for(lambda: number(page.text("[data-value=credit_per_s]")) > 0, "a rate of credit above zero")
        seen = set()
        p.wait_for(lambda: seen.add(page.text("[data-value=results_per_s]")) or len(seen) >= 3, "three different rates", lambda: str(seen))
        p.wait_for(lambda: "ms" in page.text("[data-value=commit]"), "the commit latency", lambda: page.text("[data-key=commit]"))
        p.check_equal(page.texts(".stage h3"), ["Claims", "Grants", "Accounts", "Teams", "Coordinator"], "the stages")
        rates = lambda: [number(text) for text in page.texts(".stage-numbers span:first-child b")]
        p.wait_for(lambda: all(rate > 0 for rate in rates()[:3]), "records at every stage of a result", lambda: str(rates()))
        p.wait_for(lambda: len(page.all("canvas")) == 2, "two charts")
        page.one("figure.chart[aria-labelledby]")

        # The figures cover all projects.
        if len(projects) > 1:
            shown = page.driver.execute_script("return document.querySelector('#project').selectedOptions[0].textContent")
            p.check_equal(shown, "All projects", "the project of the figures")
            p.check(not page.all(".as-of"), "no common time, because each project has its own")

        # Grants appear; the pause stops them.
        p.wait_for(lambda: len(page.texts("[data-ticker] li")) >= 3, "three grants in the ticker")
        first = page.text("[data-ticker] li")
        p.wait_for(lambda: page.text("[data-ticker] li") != first, "a new grant in the ticker")
        page.click(".title-row button[aria-pressed]")
        p.check_equal(page.one(".title-row button[aria-pressed]").get_attribute("aria-pressed"), "true", "the pause")
        held = page.texts("[data-ticker] li")
        p.check_equal(page.text("[data-ticker] .ticker-time"), moment_of(page, gateway), "when it was, of another day with its date")
        rate = page.text("[data-value=results_per_s]")
        p.wait_for(lambda: page.text("[data-value=results_per_s]") != rate, "another rate while the ticker pauses")
        p.check_equal(page.texts("[data-ticker] li"), held, "the ticker under pause")

        # The numbers behind the chart.
        page.click("details.numbers summary")
        p.wait_for(lambda: len(page.texts("details.numbers tbody tr")) >= 1, "the table behind the chart")

        # From a grant to its explanation.
        credit = p.digits(page.text("[data-ticker] .ticker-credit"))
        page.click("[data-ticker] li a[href*='/result/']")
        p.wait_for(lambda: page.all(".hero-credit"), "the explanation of a grant from the ticker", lambda: page.text("main"))
        shown = [element.get_attribute("data-credit") for element in page.all(".hero-credit")]
        p.check(credit in shown, f"the ticker had {credit}, the explanation {shown}")

        # A lost connection is restored.
        page.open("#/flow")
        p.wait_for(lambda: page.text(".pill") == "Live", "the label Live")
        page.offline(True)
        p.wait_for(lambda: page.text(".pill") == "Connection lost", "that the connection is lost", lambda: page.text(".pill"))
        p.check("Trying again" in page.text(".banner"), f"the retry is announced: {page.text('.banner')}")
        page.offline(False)
        p.wait_for(lambda: page.text(".pill") == "Live", "that it is live again, by itself", lambda: page.text(".pill"))
        lost = page.text("[data-value=results_per_s]")
        p.wait_for(lambda: page.text("[data-value=results_per_s]") != lost, "numbers that move again")

        # From all projects to one.
        if len(projects) > 1:
            page.click(f"#project option[value='{projects[-1]}']")
            page.wait_shown(f"#/p/{projects[-1]}/search")


p.run(story)
