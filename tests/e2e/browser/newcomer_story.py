#!/usr/bin/python3
"""Newcomer: somebody's job has just been granted. They search their name, find their account and in it the job, and read why it got
its credit: the same number all the way, and their own name where it was posted. The gateway's pipeline must be under traffic."""

import json
import time
import urllib.parse

import page as p

LONGEST_GATHERING = 90  # s


def just_granted(options):
    """A grant that the stream tells of, of somebody who is named and whom a search finds: names are gathered now and then. Whoever is
    new is passed over, not waited for: until they are found, others of their jobs would have been granted."""
    gateway = p.Gateway(options.base, options.token)
    end = time.monotonic() + LONGEST_GATHERING
    with gateway.ask("live") as stream:
        wanted = False
        for line in stream:
            if time.monotonic() > end:
                raise p.Failed("of those who were granted something a search finds nobody")
            if wanted and line.startswith(b"data:"):
                grant = json.loads(line[5:])
                if grant.get("user_name") and is_found(gateway, grant):
                    return grant
            wanted = line.strip() == b"event: grant"
    raise p.Failed("the stream ended without a grant")


def is_found(gateway, grant):
    found = gateway.data(f"projects/{grant['project']}/search?" + urllib.parse.urlencode({"q": grant["user_name"], "kind": "user"}))
    return any(one["id"] == grant["user"] for one in found)


def story():
    options = p.options_of(__doc__)
    with p.browser(options.base, width=p.PHONE) as page:
        grant = just_granted(options)
        project, user, result = grant["project"], grant["user"], grant["result"]
        page.open(f"#/p/{project}/search")
        field = page.one("#search-big")
        field.send_keys(grant["user_name"].upper())
        field.submit()
        page.wait_shown(f"#/p/{project}/search?" + urllib.parse.urlencode({"q": grant["user_name"].upper()}))
        page.click(f"main a[href='#/p/{project}/user/{user}']")
        page.wait_shown(f"#/p/{project}/user/{user}")
        p.check_equal(page.text("h1"), grant["user_name"], "whose account it is")
        why = f"main a[href='#/p/{project}/result/{result}']"
        row = page.driver.execute_script("return document.querySelector(arguments[0]).closest('tr').textContent", why)
        p.check(p.digits(grant["credit"]) in p.digits(row), f"the credit in the list: {row} beside {grant['credit']}")
        page.click(why)
        page.wait_shown(f"#/p/{project}/result/{result}")
        p.check_equal(page.one(".hero-credit").get_attribute("data-credit"), grant["credit"], "its credit")
        p.check(page.text(".headline") != "", "what it got its credit for, in a sentence")
        steps = page.driver.execute_script("return [...document.querySelectorAll('[data-step]')].map(e => e.dataset.step)")
        p.check(steps[0] == "work" and steps[-1] == "postings" and len(steps) >= 3, f"from the work to the account: {steps}")
        p.check(grant["user_name"] in page.text("[data-step=postings]"), f"to whom it went: {page.text('[data-step=postings]')}")
        p.check(page.driver.execute_script("return document.documentElement.scrollWidth <= window.innerWidth"), "it fits a phone")


p.run(story)
