#!/usr/bin/python3
"""Own: accounts are visible only to their users, and there are no leader boards. A stranger sees the flow and the scales, but no account
and no link to one; a volunteer with a token sees one account, its jobs and their explanations; the project's token sees everything but
lists. The gateway is one with `accounts_visible: own` and `leaders: false`."""

import page as p


def more(parser):
    parser.add_argument("--volunteer", required=True, help="a token of the role volunteer")
    parser.add_argument("--project", required=True, help="of the volunteer")
    parser.add_argument("--user", required=True, help="the volunteer")


def places(page):
    return page.texts(".nav a")


def trouble(page):
    return page.one(".trouble").get_attribute("data-trouble")


def enter(page, token):
    page.click(".trouble button.strong")
    field = page.one("dialog input")
    field.clear()
    field.send_keys(token)
    page.click("dialog button.strong")
    p.wait_for(lambda: not page.all("dialog"), "that the dialog is gone")


def story():
    options = p.options_of(__doc__, more)
    project, user = options.project, options.user
    gateway = p.Gateway(options.base, options.token)
    mine = gateway.data(f"projects/{project}/users/{user}")
    p.check(mine["grants"] > 0, "this story needs a volunteer with credit")
    my_result = gateway.data(f"projects/{project}/users/{user}/grants?limit=1")[0]["result"]
    # Search results are ordered by number, not by credit: takes the first user with credit.
    found = gateway.data(f"projects/{project}/search?kind=user&limit=100&q=user")
    other = next(row["id"] for row in found if str(row["id"]) != user and row["grants"] > 0)
    their_result = gateway.data(f"projects/{project}/users/{other}/grants?limit=1")[0]["result"]
    closed = [f"user/{user}", f"user/{other}", f"result/{their_result}", "leaders/users", "search?q=user"]

    with p.browser(options.base) as page:
        page.open("#/flow")
        p.check_equal(places(page), ["Flow", "Scales"], "the views for a stranger")
        p.check(not page.all("#search"), "no search field for a stranger")
        for address in closed:
            page.open(f"#/p/{project}/{address}")
            p.check(trouble(page) in ("401", "403"), f"{address} of a stranger: {page.text('main')}")
            p.check(mine["total"] not in p.digits(page.text("main")), f"a number at {address}")

        page.open(f"#/p/{project}/user/{user}")
        enter(page, options.volunteer)
        p.wait_for(lambda: page.all("[data-key=total]"), "my account", lambda: page.text("main"))
        p.check_equal(p.digits(page.text("[data-key=total] .value")), mine["total"], "my total")
        p.check_equal(places(page), ["Flow", "My account", "Scales"], "the views for a volunteer")
        page.click(f"main a[href='#/p/{project}/result/{my_result}']")
        p.wait_for(lambda: page.all(".hero-credit"), "the explanation of my job's credit", lambda: page.text("main"))
        page.click(".nav a:nth-child(2)")
        page.wait_shown(f"#/p/{project}/user/{user}")
        for address in closed[1:]:
            page.open(f"#/p/{project}/{address}")
            p.check_equal(trouble(page), "403", f"{address} of another volunteer")

        page.open(f"#/p/{project}/user/{other}")
        enter(page, options.token)
        p.wait_for(lambda: page.all("[data-key=total]"), "any account, for the project", lambda: page.text("main"))
        p.check_equal(places(page), ["Flow", "Accounts", "Scales", "Refused"], "the views for the project")
        page.open(f"#/p/{project}/leaders/users")
        p.check_equal(trouble(page), "403", "a leader board, which is turned off for every role")
        p.check("turned off" in page.text(".trouble"), f"the reason why there is no list: {page.text('.trouble')}")


p.run(story)
