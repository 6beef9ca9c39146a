#!/usr/bin/python3
"""Running: a volunteer sees the payments for each message of a job that runs for months: the account's provisional part, the job's
high-water mark as a curve and in numbers, and its settlement once the job is decided. The gateway's project is that of
examples/climate, in which --settled was granted and --kept was invalid."""

import page as p


def more(parser):
    parser.add_argument("--project", required=True, help="of the climate")
    parser.add_argument("--settled", required=True, help="a result that was granted")
    parser.add_argument("--kept", required=True, help="a result that was not valid, and kept what it was paid")


def paid(partials):
    return sum(round(float(one["credit"]) * 1e6) for one in partials)


def marks(page):
    """The label of a row in the account's list that is not a grant of a result."""
    return set(page.texts("main tbody th .mark"))


def check_messages(page, result):
    """Each message that moved the mark, in numbers and as a curve; and each that did not, with the reason."""
    partials, unpaid = result["partials"], result.get("unpaid", [])
    card = page.text("main")
    p.check(f"{len(partials)} messages of the running job moved its mark" in card, f"how many messages were paid: {card[:300]}")
    p.wait_for(lambda: page.all("figure.chart canvas"), "the curve of what was paid")
    page.click("details.numbers summary")
    p.wait_for(lambda: page.texts("details.numbers tbody tr"), "the messages as a table")
    shown = page.driver.execute_script(
        "return [...document.querySelectorAll('details.numbers tbody tr')].map(r => r.querySelector('.credit')?.textContent ?? '')"
    )
    p.check_equal([p.digits(text) for text in shown if text], [one["credit"] for one in partials], "what each message paid")
    p.check_equal([at for at, text in enumerate(shown) if not text], [one["behind"] + k for k, one in enumerate(unpaid)], "which paid nothing")
    below = sum("below the high-water mark" in row for row in page.texts("details.numbers tbody tr"))
    p.check_equal(below, sum(one["outcome"] == "set_back" for one in unpaid), "and why")


def story():
    options = p.options_of(__doc__, more)
    gateway = p.Gateway(options.base, options.token)
    project = options.project
    running = next(
        row["id"] for row in gateway.data(f"projects/{project}/top/users?limit=50")["rows"] if str(row["id"]) not in (options.settled, options.kept)
    )
    with p.browser(options.base, width=p.PHONE) as page:
        # In the climate project job N runs on host N of user N.
        account = gateway.data(f"projects/{project}/users/{running}")
        page.open(f"#/p/{project}/user/{running}")
        p.check(float(account["provisional"]) > 0, "this story needs a running job")
        p.check_equal(p.digits(page.text("[data-key=provisional] .value")), account["provisional"], "what is provisional")
        p.check_equal(p.digits(page.text("[data-key=total] .value")), account["total"], "the total, with it")
        p.check_equal(marks(page), {"trickle"}, "what its list calls what was paid")

        result = gateway.data(f"projects/{project}/results/{running}")
        page.open(f"#/p/{project}/result/{running}")
        check_messages(page, result)
        p.check_equal(paid(result["partials"]), round(float(account["total"]) * 1e6), "the sum of the messages equals the account's")
        p.check("The final grant is pending" in page.text("main"), "that the job is not finished")
        p.check(" Cobblestones so far" in page.text("main"), "that more may come")
        p.check(page.driver.execute_script("return document.documentElement.scrollWidth <= window.innerWidth"), "it fits a phone")

        result = gateway.data(f"projects/{project}/results/{options.settled}")
        page.open(f"#/p/{project}/result/{options.settled}")
        check_messages(page, result)
        p.check_equal(p.digits(page.one(".hero-credit").get_attribute("data-credit")), result["grants"][0]["credit"], "the final grant")
        p.check(" Cobblestones so far" not in page.text("main"), "no more payments are announced")
        terms = [p.digits(text) for text in page.texts("[data-step=credit] .term b")]
        p.check_equal(terms[1:], [result["paid_by_trickles"], result["grants"][0]["credit"]], "the payments are subtracted")
        account = gateway.data(f"projects/{project}/users/{options.settled}")
        p.check_equal(account["provisional"], "0.000000", "no provisional credit of a user whose job is granted")
        page.open(f"#/p/{project}/user/{options.settled}")
        p.check(not page.all("[data-key=provisional]"), "no provisional row without provisional credit")

        result = gateway.data(f"projects/{project}/results/{options.kept}")
        page.open(f"#/p/{project}/result/{options.kept}")
        check_messages(page, result)
        p.check("Its credit consists of the payments while it ran" in page.text("main"), "that no grant follows")
        p.check(" Cobblestones so far" not in page.text("main"), "no more payments are announced")
        reason = result["reversals"][0]["reason"]
        p.check(reason in page.text("main"), f"why there is no grant: {reason}")
        page.open(f"#/p/{project}/user/{options.kept}")
        p.check_equal(marks(page), {"trickle", "made final"}, "the labels of the remaining rows")


p.run(story)
