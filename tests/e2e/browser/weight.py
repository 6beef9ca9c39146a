#!/usr/bin/python3
"""The page's size, decoded and on the wire, and the time from its address to the first chart: medians of several visits, each with
a fresh browser."""

import statistics

import page as p

WATCH = """
new MutationObserver((_, observer) => {
  if (document.querySelector('canvas')) { window.first_chart = performance.now(); observer.disconnect(); }
}).observe(document, {childList: true, subtree: true});
"""


def visit(options):
    with p.browser(options.base) as page:
        page.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})
        page.open("#/flow")
        shown = p.wait_for(lambda: page.driver.execute_script("return window.first_chart"), "the first chart")
        files = page.driver.execute_script(
            "return [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]"
            ".filter(e => !e.name.includes('/api/')).map(e => [e.decodedBodySize, e.encodedBodySize])"
        )
    return shown, sum(size for size, _ in files), sum(size for _, size in files)


def story():
    options = p.options_of(__doc__, lambda parser: parser.add_argument("--visits", type=int, default=7))
    visits = [visit(options) for _ in range(options.visits)]
    shown, raw, sent = (statistics.median(column) for column in zip(*visits))
    print(f"page: {raw / 1000:.1f} kB, {sent / 1000:.1f} kB over the wire (gzip); the first chart after {shown:.0f} ms")


p.run(story)
