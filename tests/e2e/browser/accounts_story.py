#!/usr/bin/python3
"""Accounts: a search finds users, hosts and teams by name and by number; each account shows the gateway's own totals, to the last
digit, its history, its hosts or members, and its grants."""

import urllib.parse

import page as p


def check_account(page, gateway, project, kind, number):
    path = f"projects/{project}/{kind}s/{number}"
    answer = gateway.data(path)
    page.open(f"#/p/{project}/{kind}/{number}")
    name = answer.get("name") or f"{kind.capitalize()} {number}"
    p.check_equal(page.text("h1"), name, "the name")
    p.check_equal(p.digits(page.text("[data-key=total] .value")), gateway.data(path)["total"], f"the total of {kind} {number}")
    p.check_equal(int(p.digits(page.text("[data-key=grants] .value"))), answer["grants"], "its number of grants")
    p.wait_for(lambda: len(page.all(".chart canvas")) >= 2, "the curve and the bars")

    page.click("details.numbers summary")
    p.wait_for(lambda: page.texts("details.numbers tbody tr"), "the days as a table")
    rows = page.driver.execute_script(
        "return [...document.querySelectorAll('details.numbers tbody tr')].map(r => [...r.cells].map(c => c.textContent))"
    )
    days = [(p.digits(cells[1]), int(p.digits(cells[2]))) for cells in rows]
    p.check_equal(days, [(day["total"], day["grants"]) for day in reversed(answer["days"])], "its days")

    links = page.driver.execute_script("return [...document.querySelectorAll('main th a[href*=\"/result/\"]')].map(a => a.textContent)")
    p.check_equal(links, [str(grant["result"]) for grant in gateway.data(path + "/grants?limit=20") if "result" in grant], "its recent grants")
    return answer


def found_alike(page, gateway, project, part):
    """Accounts that page and gateway find, in the same order; [] if the list of names was rebuilt in between."""
    found = gateway.data(f"projects/{project}/search?" + urllib.parse.urlencode({"q": part, "limit": 50}))
    page.open(f"#/p/{project}/search?" + urllib.parse.urlencode({"q": part}))
    shown = page.driver.execute_script("return [...document.querySelectorAll('main th a')].map(a => a.getAttribute('href'))")
    return shown if shown == [f"#/p/{project}/{one['kind']}/{one['id']}" for one in found] else []


def story():
    options = p.options_of(__doc__)
    gateway = p.Gateway(options.base, options.token)
    with p.browser(options.base) as page:
        for project in gateway.projects():
            if gateway.data(f"projects/{project}/top/users?limit=1")["rows"]:
                break
        user = gateway.data(f"projects/{project}/top/users?limit=5")["rows"][-1]
        number = user["id"]

        # By number, from the search field of every view.
        page.open(f"#/p/{project}/leaders/users")
        field = page.one("#search")
        field.send_keys(str(number))
        field.submit()
        page.wait_shown(f"#/p/{project}/search?q={number}")
        page.click(f"main a[href='#/p/{project}/user/{number}']")
        page.wait_shown(f"#/p/{project}/user/{number}")
        p.check(page.driver.execute_script("return document.activeElement === document.querySelector('h1')"), "the heading has the focus")

        answer = check_account(page, gateway, project, "user", number)
        if answer.get("hosts_shown", True):
            shown = page.driver.execute_script("return [...document.querySelectorAll('main th a[href*=\"/host/\"]')].map(a => a.getAttribute('href'))")
            hosts = [f"#/p/{project}/host/{host['id']}" for host in answer["hosts"]]
            p.check_equal(shown, hosts, "the user's hosts")
        host = gateway.data(f"projects/{project}/top/hosts?limit=1")["rows"][0]["id"]
        check_account(page, gateway, project, "host", host)
        teams = gateway.data(f"projects/{project}/top/teams?limit=1")["rows"]
        if teams:
            team = check_account(page, gateway, project, "team", teams[0]["id"])
            p.check(team["top_members"][0].get("hidden") or page.all(f"main a[href='#/p/{project}/user/{team['top_members'][0]['id']}']"), "its first member")

        # By a part of a name in the other case, if any account has a name.
        named = next(
            ((one, row) for one in gateway.projects() for row in gateway.data(f"projects/{one}/top/users?limit=20")["rows"] if row.get("name")),
            None,
        )
        if named:
            project, row = named
            part = row["name"][: max(3, len(row["name"]) - 1)].upper()
            shown = p.wait_for(lambda: found_alike(page, gateway, project, part), f"the page and the gateway finding the same for {part}")
            p.check(f"#/p/{project}/user/{row['id']}" in shown or len(shown) == 50, f"{row['name']} is found")

        # Nothing found, or an unknown account: a message with a link to continue.
        page.open(f"#/p/{project}/search?q=nobody-is-called-this")
        p.check("No user, host or team" in page.text(".empty"), f"that nothing was found: {page.text('main')}")
        page.open(f"#/p/{project}/user/999999999")
        p.check_equal(page.one(".trouble").get_attribute("data-trouble"), "404", "an account that is not there")
        p.check(page.all(".trouble a[href*='/search']"), "a link to continue from an unknown account")
        page.open("#/p/1/no-such-view")
        p.check("Nothing here" in page.text("h1"), "an unknown address")


p.run(story)
