#!/usr/bin/python3
"""Watch: beside the flow an operator sees the hosts whose reports keep rising and the apps whose X has moved, with links to the host,
to the claim with the alarm and to the scales; a stranger sees no such list. In --project the reports of --host keep rising, and X of
the app --moved has moved. --axe: axe.min.js; --pictures: a directory for pictures of the list."""

import os

import page as p


def more(parser):
    parser.add_argument("--project", required=True)
    parser.add_argument("--host", required=True)
    parser.add_argument("--moved", required=True)
    parser.add_argument("--axe", required=True)
    parser.add_argument("--pictures")


def enter(page, token):
    page.click(".foot button")
    page.one("dialog input").send_keys(token)
    page.click("dialog button.strong")
    p.wait_for(lambda: page.all("[data-watch] table"), "the list, with the token", lambda: page.text("main"))


def check_list(page, watch, options):
    hosts, levels = watch["hosts"], watch["levels"]
    p.check_equal([str(one["host"]) for one in hosts], [options.host], "the hosts whose reports keep rising")
    p.check_equal([str(one["app"]) for one in levels], [options.moved], "the apps whose X has moved")
    rows = page.texts("[data-watch] tbody tr")
    p.check_equal(len(rows), len(hosts) + len(levels), "the number of rows")
    p.check(f"Host {options.host}" in rows[0] and hosts[0]["app_name"] in rows[0] and "Rising reports" in rows[0], f"who, in which app, and why: {rows[0]}")
    by = round((levels[0]["x"] / levels[0]["x_before"] - 1) * 100)
    p.check(levels[0]["app_name"] in rows[1] and f"+{by} %" in rows[1], f"by how much X has moved: {rows[1]}")
    p.check(page.driver.execute_script("return document.documentElement.scrollWidth <= window.innerWidth"), f"it fits {page.width} pixels")
    page.driver.execute_script("document.querySelector('[data-watch]').scrollIntoView({block: 'center'})")
    if options.pictures:
        page.driver.save_screenshot(os.path.join(options.pictures, f"watch-{page.width}.png"))
    with open(options.axe, encoding="utf-8") as axe:
        p.check_equal(page.violations(axe.read()), [], "what axe finds")


def story():
    options = p.options_of(__doc__, more)
    gateway = p.Gateway(options.base, options.token)
    with p.browser(options.base) as page:
        page.driver.set_script_timeout(180)
        page.open("#/flow")
        p.wait_for(lambda: page.text(".pill") == "Live", "the flow")
        p.check(not page.all("[data-watch]"), "a stranger sees no hosts to watch")
        enter(page, options.token)
        check_list(page, gateway.data("watch"), options)
        page.click("[data-watch] tbody th a")
        page.wait_shown(f"#/p/{options.project}/host/{options.host}")
        page.open("#/flow")
        page.click("[data-watch] td:last-child a")
        page.wait_shown(f"#/p/{options.project}/result/{gateway.data('watch')['hosts'][0]['result']}")
        p.check("Rising reports" in page.text("main"), "the claim shows the alarm")
        p.check_equal(page.complaints(), [], "the browser's console")
    with p.browser(options.base, width=p.PHONE) as page:
        page.driver.set_script_timeout(180)
        page.open("#/flow")
        enter(page, options.token)
        check_list(page, gateway.data("watch"), options)


p.run(story)
