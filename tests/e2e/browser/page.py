"""Shared by all browser stories: the page, the gateway's own answers for comparison, and checks with readable messages.

A story is a program: it gets the address of a running gateway, checks the content of the page, and exits with 0 if all checks hold.
No check relies on the clock alone: wait_for repeats its condition until it holds, or reports what is missing.
"""

import argparse
import contextlib
import http.client
import json
import os
import re
import shutil
import sys
import tempfile
import time
import urllib.request

from selenium import webdriver
from selenium.common.exceptions import (
    ElementClickInterceptedException,
    ElementNotInteractableException,
    StaleElementReferenceException,
    WebDriverException,
)
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By

PATIENCE = 30  # s for anything to show
WIDE = 1280  # CSS pixels
PHONE = 360

AXE_TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]

CHROMIUM_ARGUMENTS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage"
).split()


# Keeps the gateway's newest answer to each request of the page.
KEEP_ANSWERS = """
window.answers = {};
const ask = window.fetch.bind(window);
window.fetch = async (address, ...more) => {
  const response = await ask(address, ...more);
  if (response.ok && !String(address).endsWith('/live')) window.answers[address] = await response.clone().text();
  return response;
};
"""


class Failed(Exception):
    """A check that does not hold."""


class Gateway:
    """Sends the same requests as the page, for comparison."""

    def __init__(self, base, token=""):
        self.base = base.rstrip("/") + "/"
        self.token = token

    def ask(self, path):
        request = urllib.request.Request(self.base + "api/v1/" + path)
        if self.token:
            request.add_header("Authorization", "Bearer " + self.token)
        return urllib.request.urlopen(request, timeout=20)

    def answer(self, path):
        with self.ask(path) as response:
            return json.load(response)

    def data(self, path):
        return self.answer(path)["data"]

    def projects(self):
        return [one["project"] for one in self.data("projects")]


class Page:
    """The page in a separate browser with a given width, light or dark."""

    def __init__(self, base, width=WIDE, dark=False):
        self.base = base.rstrip("/") + "/"
        self.profile = tempfile.mkdtemp(prefix="cobblestone-browser-")
        options = Options()
        options.binary_location = os.environ.get("COBBLESTONE_CHROMIUM", "/usr/bin/chromium")
        for argument in CHROMIUM_ARGUMENTS + ["--user-data-dir=" + self.profile]:
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        driver = os.environ.get("COBBLESTONE_CHROMEDRIVER", "/usr/bin/chromedriver")
        self.driver = webdriver.Chrome(service=Service(driver), options=options)
        self.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": KEEP_ANSWERS})
        self.width = width
        self.resize(width)
        self.colours(dark)

    def close(self):
        self.driver.quit()
        shutil.rmtree(self.profile, ignore_errors=True)

    def resize(self, width):
        self.width = width
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": 900 if width > 500 else 740, "deviceScaleFactor": 1, "mobile": width < 500},
        )

    def colours(self, dark):
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})

    def offline(self, off):
        self.driver.execute_cdp_cmd("Network.enable", {})
        self.driver.execute_cdp_cmd(
            "Network.emulateNetworkConditions",
            {"offline": off, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1},
        )

    def open(self, address):
        """Reloads the page at '#/...' and waits until the view is shown."""
        self.driver.get("about:blank")
        self.driver.get(self.base + address)
        self.wait_shown(address)

    def wait_shown(self, address):
        wait_for(lambda: self.shown() == (address or "#/"), f"the view at {address}", lambda: f"{self.shown()!r} is shown: {self.text('body')[:300]}")

    def shown(self):
        return self.driver.execute_script("return document.documentElement.dataset.shown || ''")

    def answer(self, path):
        """The gateway's answer that the page shows."""
        text = self.driver.execute_script("return window.answers[arguments[0]] ?? null", "api/v1/" + path)
        asked = lambda: self.driver.execute_script("return Object.keys(window.answers)")
        check(text is not None, f"the page did not ask for {path}" + (f", only for {asked()}" if text is None else ""))
        return json.loads(text)["data"]

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector):
        found = wait_for(lambda: self.all(selector), f"an element {selector}")
        return found[0]

    def text(self, selector):
        """All text of the first matching element, visible or not; '' if there is none."""
        script = "const e = document.querySelector(arguments[0]); return e ? e.textContent : ''"
        return " ".join(self.driver.execute_script(script, selector).split())

    def texts(self, selector):
        script = "return [...document.querySelectorAll(arguments[0])].map(e => e.textContent)"
        return [" ".join(text.split()) for text in self.driver.execute_script(script, selector)]

    def click(self, selector):
        reasons = []

        def try_click():
            try:
                element = self.one(selector)
                self.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
                element.click()
                return True
            except WebDriverException as error:
                if not has_moved(error):
                    raise
                reasons.append(error.msg)
                return False

        wait_for(try_click, f"{selector} to click", lambda: reasons[-1])

    def violations(self, axe):
        """What axe finds wrong; `axe`: the text of axe.min.js."""
        self.driver.execute_script(axe)
        return self.driver.execute_async_script(
            "const done = arguments[1]; axe.run(document, {runOnly: {type: 'tag', values: arguments[0]}, resultTypes: ['violations']})"
            ".then(r => done(r.violations.map(v => v.id + ': ' + v.help + ' at ' + v.nodes.slice(0, 3).map(n => n.target + ' ' "
            "+ (n.any[0] || n.all[0] || n.none[0] || {message: ''}).message).join('; '))), e => done(['axe failed: ' + e]))",
            AXE_TAGS,
        )

    def complaints(self):
        """Errors and warnings of the browser's console: a violated policy, a failed script."""
        return [one["message"] for one in self.driver.get_log("browser") if one["level"] in ("SEVERE", "WARNING")]


def has_moved(error):
    """Whether the view was redrawn between finding an element and using it."""
    return isinstance(error, (StaleElementReferenceException, ElementClickInterceptedException, ElementNotInteractableException)) or any(
        words in (error.msg or "") for words in ("does not belong to the document", "No node with given id", "Could not find node")
    )


def wait_for(what, words, otherwise=lambda: "", patience=PATIENCE):
    end = time.monotonic() + patience
    while True:
        value = what()
        if value:
            return value
        if time.monotonic() > end:
            raise Failed(f"{words} did not come within {patience} s. {otherwise()}")
        time.sleep(0.05)


def check(holds, words):
    if not holds:
        raise Failed(words)


def check_equal(seen, expected, words):
    check(seen == expected, f"{words}: the page shows {seen!r}, the gateway answers {expected!r}")


def digits(text):
    """Converts credit from the page's notation to the gateway's."""
    return re.sub(r"[^0-9.\-]", "", text.replace("−", "-"))


def options_of(description, more=None):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("base", help="address of a running gateway, as http://127.0.0.1:8080/")
    parser.add_argument("--token", default="", help="that the questions beside the page are asked with")
    if more:
        more(parser)
    return parser.parse_args()


@contextlib.contextmanager
def browser(base, **how):
    page = Page(base, **how)
    try:
        yield page
    except Exception:
        with contextlib.suppress(WebDriverException):
            print("the page shows", page.shown(), page.text("main")[:1000], file=sys.stderr)
            print("the browser's console:", *page.complaints(), sep="\n  ", file=sys.stderr)
        raise
    finally:
        page.close()


def run(story):
    """Runs the function and prints its outcome in one line."""
    name = os.path.basename(sys.argv[0])
    try:
        story()
    except (Failed, OSError, http.client.HTTPException, WebDriverException) as failure:
        print(f"{name}: {failure}", file=sys.stderr)
        sys.exit(1)
    print(f"{name}: all is as it should be")
