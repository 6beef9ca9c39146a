#!/usr/bin/python3
"""Why: a newcomer finds a user and understands the last job's credit. The credit, the claims and the accounts equal the
gateway's answers; the exact figures show every digit."""

import page as p


def first_with_grants(gateway):
    for project in gateway.projects():
        for row in gateway.data(f"projects/{project}/top/users?limit=50")["rows"]:
            if row.get("id") and gateway.data(f"projects/{project}/users/{row['id']}/grants?limit=1"):
                return project, row["id"]
    raise p.Failed("no project has a user with grants")


def story():
    options = p.options_of(__doc__)
    gateway = p.Gateway(options.base, options.token)
    project, user = first_with_grants(gateway)
    with p.browser(options.base) as page:
        page.open(f"#/p/{project}/user/{user}")
        # Takes the result from the page, because more may be granted meanwhile.
        result = page.text("main th a[href*='/result/']")
        page.click(f"main td a[href='#/p/{project}/result/{result}']")
        page.wait_shown(f"#/p/{project}/result/{result}")

        explanation = gateway.data(f"projects/{project}/results/{result}")
        grant = explanation["grants"][0]
        claim = grant["claim"]
        p.check_equal(p.digits(page.one(".hero-credit").get_attribute("data-credit")), grant["credit"], "the credit")
        p.check_equal(p.digits(page.text(".hero-credit .credit")), grant["credit"], "the credit as it is shown")
        steps = [step.get_attribute("data-step") for step in page.all(".step")]
        p.check(steps[-3:] == ["replicas", "credit", "postings"], f"the steps: {steps}")
        p.check(all(len(text) > 40 for text in page.texts(".step-body")), "each step has a sentence")

        version = next((one for one in gateway.data(f"projects/{project}/catalogue")["versions"] if one["app_version"] == claim["app_version"]), None)
        if version:
            name = f"version {version['version_num'] // 100}.{version['version_num'] % 100:02}"
            p.check(name in page.text(".hero") and f"id {claim['app_version']}" in page.text(".hero"), f"{name}: {page.text('.hero')}")

        # The other replicas' claims.
        shown = page.driver.execute_script("return [...document.querySelectorAll('[data-step=replicas] tbody th')].map(e => e.firstChild.textContent)")
        expected = [str(claim["result"])] + [str(other["result"]) for other in grant["other_claims"]]
        p.check_equal(shown, expected, "the claims of the workunit")
        hosts = [claim["host"]] + [other["host"] for other in grant["other_claims"]]
        p.check_equal(page.texts("[data-step=replicas] tbody th a[href*='/host/']"), [f"Host {host}" for host in hosts], "their hosts")
        page.resize(p.PHONE)
        cut = "const e = document.querySelector('[data-step=replicas] .scroll'); return e.scrollWidth - e.clientWidth"
        p.check_equal(page.driver.execute_script(cut), 0, "what a phone cuts off of them")
        page.resize(p.WIDE)

        # The accounts that got it.
        accounts = [link.get_attribute("href").split("#")[1] for link in page.all(".postings a")]
        p.check_equal(accounts, [f"/p/{project}/{one['account']}/{one['id']}" for one in grant["postings"]], "the accounts")
        p.check_equal([p.digits(text) for text in page.texts(".postings .credit")], [grant["credit"]] * len(accounts), "what each got")

        # Every digit, on demand.
        page.click(".hero button[aria-pressed=false]")
        page.one(".hero button[aria-pressed=true]")
        terms = page.texts("[data-step=credit] .term b")
        p.check_equal(terms[0], str(grant["credit_before_rounding"]), "the credit before rounding")
        p.check_equal(p.digits(terms[1]), grant["credit"], "the credit after rounding")
        claimed = page.driver.execute_script("return document.querySelector('[data-step=replicas] tbody tr td.number').textContent")
        p.check_equal(float(p.digits(claimed)), claim["claimed"], "the claim")
        if "work" in steps and claim["policy"] in ("boinc", "creditnew") and claim["mode"] == "normal":
            raw = page.texts("[data-step=work] .term b")[-1]
            p.check(abs(float(p.digits(raw)) / claim["raw_pfc"] - 1) < 1e-9, f"raw PFC {raw} beside {claim['raw_pfc']}")

        # An unknown result.
        page.open(f"#/p/{project}/result/987654321987")
        p.check_equal(page.one(".trouble").get_attribute("data-trouble"), "404", "a result that is not there")


p.run(story)
