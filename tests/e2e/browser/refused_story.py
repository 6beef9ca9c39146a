#!/usr/bin/python3
"""Refused: the gateway's refusals, newest first, by reason, each in full. Resubmitting asks for confirmation, and without the role
names the required token. With --operate TOKEN a refusal is resubmitted to the pipeline."""

import page as p

REASONS = ("Not readable", "Field missing", "Unknown", "Negative", "Not a finite number", "Too late", "Already decided")


def story():
    options = p.options_of(__doc__, lambda parser: parser.add_argument("--operate", default="", help="a token of the role operate"))
    gateway = p.Gateway(options.base, options.token)
    with p.browser(options.base) as page:
        page.open("#/refused")
        numbers = [int(p.digits(text)) for text in page.texts("main tbody td:first-child a")]
        p.check(numbers, "this story needs a gateway with refusals")
        p.check(numbers == sorted(numbers, reverse=True), f"newest first: {numbers[:5]}")
        # Newer refusals may have been added since.
        listed = gateway.data(f"refused?limit=50&before={numbers[0] + 1}")
        p.check_equal(numbers, [one["number"] for one in listed["refused"]], "the refusals")

        # A single reason, kept in the address.
        reason = page.driver.execute_script("return document.querySelector('#reason').options[1].value")
        page.driver.execute_script(
            "const s = document.querySelector('#reason'); s.value = arguments[0]; s.dispatchEvent(new Event('change'))", reason
        )
        page.wait_shown(f"#/refused?reason={reason}")
        names = set(page.driver.execute_script("return [...document.querySelectorAll('main tbody th')].map(t => t.firstChild.textContent)"))
        p.check_equal(len(names), 1, f"names of the reason {reason}: {names}")

        # One refusal in full: an event, if there is one.
        event = next((one for one in listed["refused"] if one.get("event")), listed["refused"][0])
        page.open(f"#/refused/{event['number']}")
        p.check(event["reason"] in page.text("main"), "the name of the reason")
        p.check(page.text("pre") != "", "the original")
        p.check(event.get("redacted", False) or event["topic"] in page.text("main"), "its topic")

        # Asks for confirmation; nothing is sent before.
        page.click("main button:not(.quiet)")
        p.check("Resubmit it" in page.text("dialog h2"), "the question")
        page.click("dialog button.quiet")
        p.wait_for(lambda: not page.all("dialog"), "that the question is gone")
        p.check_equal(page.text("main [role=status]"), "", "what was done")

        page.click("main button:not(.quiet)")
        page.click("dialog button.strong")
        p.wait_for(lambda: page.text("main [role=status]") not in ("", "Sending it …"), "how it went")
        outcome = page.text("main [role=status]")
        if not options.operate:
            p.check("token" in outcome.lower(), f"that a token is needed: {outcome}")
        if options.operate:
            before = gateway.data("refused?limit=1")["all"]
            page.click("main [role=status] button")
            page.one("dialog input").send_keys(options.operate)
            page.click("dialog button.strong")
            p.wait_for(lambda: "resubmitted" in page.text("main [role=status]"), "that it was resubmitted", lambda: page.text("main [role=status]"))
            # It is still wrong, so it is refused again.
            p.wait_for(lambda: gateway.data("refused?limit=1")["all"] > before, "that it is refused again")

        page.open("#/refused/999999999")
        p.check_equal(page.one(".trouble").get_attribute("data-trouble"), "404", "an unknown refusal")


p.run(story)
