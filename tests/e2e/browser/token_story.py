#!/usr/bin/python3
"""A gateway that requires a token: the page asks for one, keeps it in its tab, shows everything with it, and deletes it on
request. The gateway is one with `anonymous_role: none`; --token has the role read."""

import page as p


def story():
    options = p.options_of(__doc__)
    p.check(options.token, "a token is needed: --token")
    with p.browser(options.base) as page:
        page.open("#/flow")
        p.check_equal(page.one(".trouble").get_attribute("data-trouble"), "401", "what is shown without a token")
        page.click(".trouble button.strong")
        page.one("dialog input").send_keys("not-" + options.token)
        page.driver.execute_script("document.querySelector('.trouble').dataset.old = ''")
        page.click("dialog button.strong")
        p.wait_for(lambda: not page.all("dialog") and page.all(".trouble:not([data-old])"), "that a wrong token is rejected")
        page.click(".trouble button.strong")
        field = page.one("dialog input")
        p.check_equal(field.get_attribute("type"), "password", "the type of the field")
        field.clear()
        field.send_keys(options.token)
        page.click("dialog button.strong")
        p.wait_for(lambda: page.text(".pill") == "Live", "the flow, with the token", lambda: page.text("main"))
        p.check_equal(page.driver.execute_script("return localStorage.length"), 0, "what outlives the tab")
        p.check(options.token not in page.driver.current_url, "the address does not contain the token")

        project = p.Gateway(options.base, options.token).projects()[0]
        page.open(f"#/p/{project}/leaders/users")
        p.check(not page.all(".trouble"), "the leaders, with the token kept")
        page.click(".foot button")
        p.wait_for(lambda: page.all(".trouble"), "that it is forgotten")


p.run(story)
