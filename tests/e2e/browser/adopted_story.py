#!/usr/bin/python3
"""Adopted: accounts that were adopted from another system. The opening balance of a user or host is one row of its list, without a
result to explain; its recent average has a curve from then on; protected data is explained in words, with a link to the
token dialog. In the gateway's project --user has --result on --host since the adoption, and --shy hides its hosts."""

import datetime

import page as p


def more(parser):
    parser.add_argument("--project", required=True, help="that was adopted")
    parser.add_argument("--user", required=True, help="who was granted something since")
    parser.add_argument("--host", required=True, help="of that user, with the result")
    parser.add_argument("--result", required=True, help="that was granted")
    parser.add_argument("--shy", required=True, help="a user who shows no hosts")


def micro(credit):
    return round(float(credit) * 1e6)


def curve_label(page):
    p.wait_for(lambda: page.all(".chart canvas"), "the curve", lambda: page.text("main"))
    return page.one(".chart [role=img]").get_attribute("aria-label")


def check_own_list(page, gateway, project, kind, number):
    """The rows sum to the account's total, and only grants since the adoption link to a result."""
    account = gateway.data(f"projects/{project}/{kind}s/{number}")
    grants = gateway.data(f"projects/{project}/{kind}s/{number}/grants")
    opening = grants[-1]
    p.check_equal(opening["credit"], account["opening"], f"what {kind} {number} had from before")
    p.check(abs(sum(micro(row["credit"]) for row in grants) - micro(account["total"])) <= 1, f"the rows of {kind} {number} are its total: {grants}")
    page.open(f"#/p/{project}/{kind}/{number}")
    rows = page.driver.execute_script(
        "return [...document.querySelector('main .card time').closest('tbody').rows].map(r => [r.cells[0].textContent, r.cells[1].textContent, "
        "[...r.querySelectorAll('a[href*=\"/result/\"]')].length])"
    )
    expected = [[str(row.get("result", "Opening balance")), row["credit"], 2 if "result" in row else 0] for row in grants]
    p.check_equal([[name, p.digits(credit), links] for name, credit, links in rows], expected, f"the list of {kind} {number}")
    for nothing in ("undefined", "App 0", "Host 0"):
        p.check(nothing not in page.text("main"), f"{nothing!r} at {kind} {number}: {page.text('main')}")
    begun = datetime.datetime.fromtimestamp(opening["time"], datetime.timezone.utc)
    p.check(f"From {begun:%Y-%m-%d} on" in curve_label(page), f"the curve of {kind} {number} begins with its opening: {curve_label(page)}")


def story():
    options = p.options_of(__doc__, more)
    gateway = p.Gateway(options.base, options.token)
    project = options.project
    with p.browser(options.base) as page:
        check_own_list(page, gateway, project, "user", options.user)
        check_own_list(page, gateway, project, "host", options.host)

        # Versions have the same names as in the comparison.
        page.open(f"#/p/{project}/scales")
        version = page.driver.execute_script("return document.querySelector('[data-app] tbody th').firstChild.textContent")
        for address in (f"host/{options.host}", f"result/{options.result}"):
            page.open(f"#/p/{project}/{address}")
            p.check(f"version {version}, id " in page.text("main"), f"{version} at {address}: {page.text('main')}")

        # A user with a protected list and no later grants: the average decreases from its opening.
        page.open(f"#/p/{project}/user/{options.shy}")
        p.check("From " in curve_label(page), f"the curve of a user without grants: {curve_label(page)}")
        p.check("not shown to everybody" in page.text("main"), f"that the list is not shown: {page.text('main')}")
        p.check("Authorization" not in page.text("main"), f"the message is in words: {page.text('main')}")
        page.click(".empty button")
        page.one("dialog input").send_keys(options.token)
        page.click("dialog button.strong")
        p.wait_for(lambda: any("Opening balance" in row for row in page.texts("main tbody tr")), "the list, with a token", lambda: page.text("main"))


p.run(story)
