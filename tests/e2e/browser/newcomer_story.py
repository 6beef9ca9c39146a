#!/usr/bin/python3
"""Newcomer: a user's job has just been granted. The user searches the name, finds the account and in it the job, and reads why it got
its credit: the same number everywhere, and the user's name at the posting. The gateway's pipeline must be under traffic."""

import json
import time
import urllib.parse

import page as p

LONGEST_GATHERING = 180  # s


def just_granted(options):
    """A grant from the stream of a user with a name that a search finds. The list of names is rebuilt from time to time, so new
    users are skipped: until a search finds them, more of their jobs would have been granted."""
    gateway = p.Gateway(options.base, options.token)
    end = time.monotonic() + LONGEST_GATHERING
    with gateway.ask("live") as stream:
        wanted = False
        for line in stream:
            if time.monotonic() > end:
                raise p.Failed("a search finds none of the users with a new grant")
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
        p.check(page.text(".headline") != "", "the reason of the credit, in a sentence")
        steps = page.driver.execute_script("return [...document.querySelectorAll('[data-step]')].map(e => e.dataset.step)")
        p.check(steps[0] == "work" and steps[-1] == "postings" and len(steps) >= 3, f"from the work to the account: {steps}")
        p.check(grant["user_name"] in page.text("[data-step=postings]"), f"the account of the posting: {page.text('[data-step=postings]')}")
        p.check(page.driver.execute_script("return document.documentElement.scrollWidth <= window.innerWidth"), "it fits a phone")


p.run(story)
