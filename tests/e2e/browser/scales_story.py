#!/usr/bin/python3
"""Scales: each app's means and X, each version's scale, and their history, as the gateway answers them."""

import datetime
import re

import page as p


def close(text, value):
    """To the four digits that are shown."""
    if not value:
        return text == "–"
    return abs(float(p.digits(text)) / value - 1) < 1e-3


def of_one_epoch(page, gateway, project):
    """The gateway's scales, with the page showing the same; None where a tick has passed between both."""
    page.open(f"#/p/{project}/scales")
    scales = gateway.data(f"projects/{project}/scales")
    return scales if re.search(rf"\b{scales['epoch']}\b", page.text(".lead").replace(",", "")) else None


def story():
    options = p.options_of(__doc__)
    gateway = p.Gateway(options.base, options.token)
    with p.browser(options.base) as page:
        for project in gateway.projects():
            scales = p.wait_for(lambda: of_one_epoch(page, gateway, project), f"the page and the gateway at one epoch of project {project}")
            p.check(page.all("[data-app]") or not scales["apps"], "the apps")
            for app in scales["apps"][:4]:
                section = f"[data-app='{app['app']}'] "
                for key, field in (("cpu", "cpu_mean"), ("gpu", "gpu_mean"), ("x", "min_avg_pfc")):
                    text = page.text(section + f"[data-key={key}] .value")
                    p.check(close(text, app.get(field)), f"{field} of app {app['app']}: {text} beside {app.get(field)}")
                versions = [one for one in scales["versions"] if one["app"] == app["app"]]
                shown = page.texts(section + ".scroll tbody th")
                p.check_equal(len(shown), len(versions), f"the versions of app {app['app']}")
                scale_cells = page.texts(section + ".scroll tbody td:nth-child(4)")
                for version, text in zip(versions, scale_cells):
                    expected = version.get("scale") or 0
                    p.check(text == "none yet" if not expected else close(text, expected), f"scale of {version['app_version']}: {text}")
                history = gateway.data(f"projects/{project}/scales/history?pick=evenly&limit=500")
                told = [one for one in history if any(a["app"] == app["app"] and (a["cpu_mean"] or a["gpu_mean"]) for a in one["apps"])]
                if len(told) > 1:
                    p.check(page.all(section + ".multiples canvas"), f"the history of app {app['app']} as a chart")
                    begun = datetime.datetime.fromtimestamp(told[0]["time"], datetime.timezone.utc)
                    says = page.one(section + ".multiples [role=img]").get_attribute("aria-label")
                    p.check(f"From {begun:%Y-%m-%d %H:%M} UTC on" in says, f"it begins when a mean is first known, {begun}: {says}")


p.run(story)
