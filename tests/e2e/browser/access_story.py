#!/usr/bin/python3
"""Every view, on a wide screen and on a phone, light and dark: axe finds nothing, nothing is wider than the screen, the browser
reports no error (a violated policy, a failed script), and the keyboard reaches the important elements."""

import page as p


def granted_results(gateway, project):
    """A single result, and one with other replicas, whose page has more elements."""
    found = {}
    for user in gateway.data(f"projects/{project}/top/users?limit=50")["rows"]:
        for grant in gateway.data(f"projects/{project}/users/{user['id']}/grants?limit=10"):
            for one_grant in gateway.data(f"projects/{project}/results/{grant['result']}")["grants"]:
                found.setdefault(bool(one_grant["other_claims"]), grant["result"])
            if len(found) == 2:
                return found.values()
    raise p.Failed(f"no results of both kinds: {found}")


def views_of(gateway):
    project = next(one for one in gateway.projects() if gateway.data(f"projects/{one}/top/users?limit=1")["rows"])
    user = gateway.data(f"projects/{project}/top/users?limit=1")["rows"][0]["id"]
    host = gateway.data(f"projects/{project}/top/hosts?limit=1")["rows"][0]["id"]
    teams = gateway.data(f"projects/{project}/top/teams?limit=1")["rows"]
    refused = gateway.data("refused?limit=1")["refused"]
    return (
        ["#/flow", f"#/p/{project}/search?q=", f"#/p/{project}/search?q={user}", f"#/p/{project}/user/{user}", f"#/p/{project}/host/{host}"]
        + [f"#/p/{project}/team/{team['id']}" for team in teams]
        + [f"#/p/{project}/result/{result}" for result in granted_results(gateway, project)]
        + [f"#/p/{project}/scales", f"#/p/{project}/leaders/users", f"#/p/{project}/leaders/hosts?by=rac", "#/refused"]
        + [f"#/refused/{one['number']}" for one in refused]
        + [f"#/p/{project}/user/999999999"]
    )


def more(parser):
    parser.add_argument("--axe", required=True, help="axe.min.js of the npm package axe-core")
    parser.add_argument("--views", nargs="+", help="these, in place of one of each kind")


def open_all(page):
    """Also opens folded elements."""
    page.driver.execute_script("document.querySelectorAll('details').forEach(d => { d.open = true })")


def story():
    options = p.options_of(__doc__, more)
    with open(options.axe, encoding="utf-8") as file:
        axe = file.read()
    gateway = p.Gateway(options.base, options.token)
    views = options.views or views_of(gateway)
    problems = []
    with p.browser(options.base) as page:
        page.driver.set_script_timeout(180)
        for width in (p.WIDE, p.PHONE):
            for dark in (False, True):
                page.resize(width)
                page.colours(dark)
                for view in views:
                    page.open(view)
                    where = f"{view} at {width}, {'dark' if dark else 'light'}"
                    theme = page.driver.execute_script("return document.documentElement.dataset.theme")
                    p.check_equal(theme, "dark" if dark else "light", f"the colours of {where}")
                    if view == "#/flow":
                        p.wait_for(lambda: page.text("[data-value=lag]") != "–", "the flow")
                    open_all(page)
                    found = page.violations(axe)
                    if found:  # a violation in an element that was redrawn meanwhile does not come twice
                        rules = {one.split(" at ")[0] for one in page.violations(axe)}
                        found = [one for one in found if one.split(" at ")[0] in rules]
                    problems += [f"{where}: {one}" for one in found]
                    wide = page.driver.execute_script("return document.documentElement.scrollWidth")
                    if wide > width:
                        problems.append(f"{where}: it is {wide} wide")
                    small = page.driver.execute_script(
                        "return [...document.querySelectorAll('button, .nav a, select, input')].filter(e => e.getClientRects().length "
                        "&& e.getBoundingClientRect().height < 24).map(e => e.outerHTML.slice(0, 80))"
                    )
                    problems += [f"{where}: too small to hit: {one}" for one in small]
                    # Such views show missing or protected data, so these statuses are expected.
                    complaints = [one for one in page.complaints() if "404" not in one and "401" not in one]
                    problems += [f"{where}: the browser reports {one}" for one in complaints]

        # The switch overrides the system's setting and is remembered.
        page.resize(p.WIDE)
        page.colours(False)
        page.open("#/refused")
        page.click("button.theme")
        p.check_equal(page.driver.execute_script("return document.documentElement.dataset.theme"), "dark", "the colours after the switch")
        page.open("#/refused")
        p.check_equal(page.driver.execute_script("return document.documentElement.dataset.theme"), "dark", "the colours after a reload")

        # By keyboard only: skips the header and reaches the content.
        page.driver.execute_script("document.body.focus()")
        page.one("body").send_keys("\ue004")
        p.check_equal(page.driver.execute_script("return document.activeElement.className"), "skip", "what the first tab reaches")
        page.driver.switch_to.active_element.send_keys("\ue007")
        p.check_equal(page.driver.execute_script("return document.activeElement.id"), "main", "where it leads")
    p.check(not problems, f"{len(problems)} problems:\n  " + "\n  ".join(problems[:40]))


p.run(story)
