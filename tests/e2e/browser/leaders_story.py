#!/usr/bin/python3
"""Leaders: users, hosts and teams, by total and by recent average, page after page, in the gateway's order and with its totals. Each
list shows one moment, whatever is granted meanwhile."""

import page as p


def shown_rows(page):
    return page.driver.execute_script(
        "return [...document.querySelectorAll('main tbody tr')].map(r => [r.cells[0].textContent, "
        "(r.querySelector('a') || {getAttribute: () => ''}).getAttribute('href'), r.querySelector('.credit').textContent])"
    )


def largest(gateway):
    return max(gateway.projects(), key=lambda one: gateway.data(f"projects/{one}/top/users?limit=1")["count"])


def check_board(page, gateway, project, board, kind, by):
    page.open(f"#/p/{project}/leaders/{board}" + ("?by=rac" if by == "rac" else ""))
    rows = shown_rows(page)
    ranking = page.one(".pages").get_attribute("data-ranking")
    top = gateway.data(f"projects/{project}/top/{board}?by={by}&limit=50&ranking={ranking}")
    p.check_equal(ranking, str(top["ranking"]), "the list that the page shows is kept")
    expected = [[row["rank"], f"#/p/{project}/{kind}/{row['id']}", row["total"]] for row in top["rows"]]
    p.check_equal([[int(p.digits(rank)), address, p.digits(total)] for rank, address, total in rows], expected, f"{board} by {by}")
    key = "rac_now" if by == "rac" else "total"
    order = [float(row[key]) for row in top["rows"]]
    p.check_equal(order, sorted(order, reverse=True), f"the order of {board} by {by}")


def story():
    options = p.options_of(__doc__)
    gateway = p.Gateway(options.base, options.token)
    with p.browser(options.base) as page:
        most = largest(gateway)
        for board, kind in (("users", "user"), ("hosts", "host"), ("teams", "team")):
            for by in ("total", "rac"):
                check_board(page, gateway, most, board, kind, by)

        # Paging, by clicks: no row is on two pages.
        page.open(f"#/p/{most}/leaders/users")
        first = shown_rows(page)
        ranking = page.one(".pages").get_attribute("data-ranking")
        count = gateway.data(f"projects/{most}/top/users?limit=1&ranking={ranking}")["count"]
        p.check(count > 50, "this story needs a second page")
        page.click(".pages a:last-child")
        page.wait_shown(f"#/p/{most}/leaders/users?offset=50&ranking={ranking}")
        p.check(page.text("[data-range]").startswith("51 to "), f"the second page: {page.text('[data-range]')}")
        second = shown_rows(page)
        p.check_equal(int(p.digits(second[0][0])), 51, "its first rank")
        p.check(not {row[1] for row in first} & {row[1] for row in second}, "no account is on both pages")
        p.check(float(p.digits(second[0][2])) <= float(p.digits(first[-1][2])), "the second page continues below the first")
        page.click(".pages a:first-child")
        page.wait_shown(f"#/p/{most}/leaders/users")
        page.open(f"#/p/{most}/leaders/users?offset=10000000")
        p.check("no such page" in page.text(".empty"), "a page after the last")


p.run(story)
