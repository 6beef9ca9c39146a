#!/usr/bin/python3
"""Scales: each app's means and X, each version's scale, and their history, as in the gateway's answer to the page."""

import datetime
import re

import page as p


def close(text, value):
    """Whether the values agree in the four digits that are shown."""
    if not value:
        return text == "–"
    return abs(float(p.digits(text)) / value - 1) < 1e-3


def since(history, known):
    """The history from the first epoch for which `known` holds."""
    return history[next((i for i, one in enumerate(history) if known(one)), len(history)) :]


def charts_of(history):
    """The start labels of the charts of one app's history; each chart has its own start, and needs two points."""
    measured = since(history, lambda one: one["cpu_mean"] or one["gpu_mean"])
    for title, field in (("X", "min_avg_pfc"), ("CPU mean", "cpu_mean"), ("GPU mean", "gpu_mean")):
        points = since(measured, lambda one: one[field])
        if len(points) > 1:
            begun = datetime.datetime.fromtimestamp(points[0]["time"], datetime.timezone.utc)
            yield f"{title}. From {begun:%Y-%m-%d %H:%M} UTC on"


def check_scales(page, project):
    page.open(f"#/p/{project}/scales")
    history = page.answer(f"projects/{project}/scales/history?pick=evenly&limit=500")
    scales = page.answer(f"projects/{project}/scales")
    p.check(re.search(rf"\b{scales['epoch']}\b", page.text(".lead").replace(",", "")), f"epoch {scales['epoch']}: {page.text('.lead')}")
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
        of_app = [{**one, "time": then["time"]} for then in history for one in then["apps"] if one["app"] == app["app"]]
        expected = list(charts_of(of_app))
        labels = [chart.get_attribute("aria-label") for chart in page.all(section + ".multiples [role=img]")]
        p.check_equal([label.split(" on;")[0] + " on" for label in labels], expected, f"the charts of app {app['app']}'s history")
        p.check_equal(len(page.all(section + ".multiples canvas")), len(expected), f"what is drawn of app {app['app']}'s history")


def story():
    options = p.options_of(__doc__)
    with p.browser(options.base) as page:
        for project in p.Gateway(options.base, options.token).projects():
            check_scales(page, project)


p.run(story)
