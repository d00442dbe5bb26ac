# SPDX-License-Identifier: LGPL-2.1-or-later
"""The status page in a real browser: wide and narrow, light and dark, hostile names, no script."""

import logging
import socket
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from monitor_snapshots import HOSTILE, broken, plan, scheduler, snapshot, uneven, unsettled
from playwright.sync_api import Browser, Page, sync_playwright

from mds_partitioner.monitor.app import active_app, standby_app
from mds_partitioner.monitor.endpoint import Endpoint
from mds_partitioner.monitor.options import Address
from mds_partitioner.monitor.state import Snapshot

WIDE, NARROW = {"width": 1280, "height": 900}, {"width": 390, "height": 800}
LOG = logging.getLogger("test")


class Served:
    """The endpoint with whatever snapshot is put in."""

    def __init__(self) -> None:
        self.newest = snapshot()
        self.endpoint = Endpoint(active_app(lambda: self.newest, lambda: 5.0, lambda: 0.0), LOG)
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = int(probe.getsockname()[1])
        self.endpoint.apply(Address("127.0.0.1", port))
        self.url = f"http://127.0.0.1:{port}/"


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    one = Served()
    yield one
    one.endpoint.shutdown()


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Browser]:
    with (
        sync_playwright() as play,
        play.chromium.launch(executable_path=chromium, args=["--no-sandbox"]) as browser,
    ):
        yield browser


@pytest.fixture
def show(browser: Browser, served: Served) -> Iterator[Callable[..., Page]]:
    """Opens the page with a snapshot; what goes wrong in the browser fails the test."""
    problems: list[str] = []
    contexts = []

    def opened(of: Snapshot, viewport: dict[str, int] = WIDE, scheme: str = "light") -> Page:
        served.newest = of
        context = browser.new_context(viewport=viewport, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: problems.append(message.text))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on(
            "request",
            lambda request: None if request.url.startswith(served.url) else problems.append(request.url),
        )
        page.goto(served.url)
        return page

    yield opened
    for context in contexts:
        context.close()
    unwanted = [p for p in problems if "favicon" not in p and "404" not in p]
    assert not unwanted


def scheduled(names: tuple[str, ...]) -> Snapshot:
    """With a scheduler at work; its directories have such names, as have the subvolumes."""
    return snapshot(replace(uneven(names), scheduler=scheduler(names)))


def luminance(colour: str) -> float:
    """Relative luminance of an rgb(...) colour (WCAG 2)."""
    parts = [int(float(x)) / 255 for x in colour.split("(")[1].rstrip(")").split(",")[:3]]
    r, g, b = (x / 12.92 if x <= 0.03928 else ((x + 0.055) / 1.055) ** 2.4 for x in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(page: Page, selector: str, background: str) -> float:
    read = "([s, p]) => getComputedStyle(document.querySelector(s))[p]"
    pair = [
        luminance(page.evaluate(read, [selector, "color"])),
        luminance(page.evaluate(read, [background, "backgroundColor"])),
    ]
    return (max(pair) + 0.05) / (min(pair) + 0.05)


def test_it_shows_ranks_factor_subvolumes_and_plan(show: Callable[..., Page]) -> None:
    page = show(snapshot())
    section = page.locator("section").first
    assert section.locator("h2").inner_text() == "cephfs"
    text = section.inner_text()
    for part in (
        "uneven for 12 epochs",
        "0.830",
        "act above 0.075",
        "640/s",
        "recommended: 3",
        "mds.a",
        "612",
    ):
        assert part in text
    assert "163 to 3, 150 to 2, 120 to 1" in text
    assert "heavy-1" in text and "42% of its steps have ended" in text
    assert section.locator("svg.bar").count() == 4
    assert section.locator(".chart polyline").count() == 1
    assert "file system 'silent' does not answer" in page.locator("section").nth(1).inner_text()


def test_it_shows_what_the_scheduler_does_and_what_is_hot(show: Callable[..., Page]) -> None:
    text = show(scheduled(("/volumes/_nogroup/heavy-1",))).locator("section").first.inner_text()
    for part in ("Scheduler", "rank 0 has too much", "9 moves of 1,200 inodes", "sudden", "30%"):
        assert part in text
    assert "heavy-1 is looked at as parts" in text


def test_what_is_not_known_is_called_unknown(show: Callable[..., Page]) -> None:
    text = show(unsettled()).locator("section").first.inner_text()
    for part in ("uneven, urgency unknown", "≤ 0.860", "no rank was seen saturated", "recommended: unknown"):
        assert part in text
    assert "no need to act" not in text


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [WIDE, NARROW], ids=["wide", "narrow"])
def test_nothing_overflows_and_everything_can_be_read(
    show: Callable[..., Page], viewport: dict[str, int], scheme: str
) -> None:
    page = show(scheduled(HOSTILE), viewport, scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
    dark = luminance(page.evaluate("getComputedStyle(document.body).backgroundColor")) < 0.2
    assert dark == (scheme == "dark")
    for selector in ("h2", "dd", "dt", ".legend", ".badge.bad", "th", "td"):
        assert contrast(page, selector, "section") >= 4.5, selector
    assert page.locator(".chart svg").first.bounding_box()["height"] > 100


def test_hostile_names_are_text(show: Callable[..., Page]) -> None:
    page = show(scheduled(HOSTILE))
    assert page.title() == "mds_partitioner"
    assert page.locator("script, img, iframe, object").count() == 0
    cells = page.locator("table").last.locator("td.name").all_inner_texts()
    assert len(cells) == len(HOSTILE)
    assert HOSTILE[0] in cells[0] and HOSTILE[1] in cells[1]


def test_nothing_from_outside_is_loaded_if_something_hostile_got_in(browser: Browser, served: Served) -> None:
    page = browser.new_page()
    page.goto(served.url)
    refused = page.evaluate(
        """() => new Promise(done => {
            document.addEventListener('securitypolicyviolation', e => done(e.effectiveDirective));
            const s = document.createElement('img'); s.src = 'data:image/gif;base64,R0lGODlhAQABAAAAACw=';
            document.body.append(s); setTimeout(() => done('none'), 20000); })"""
    )
    page.close()
    assert refused == "img-src"


def test_it_reloads_itself(show: Callable[..., Page], served: Served) -> None:
    page = show(snapshot())
    served.newest = snapshot(replace(uneven(), plan=plan("done", 1.0)))
    page.get_by_text("100% of its steps have ended").wait_for(timeout=120_000)


def test_without_an_engine_or_an_epoch_it_says_so(show: Callable[..., Page]) -> None:
    page = show(broken())
    assert "no answer within 60 s" in page.locator("main").inner_text()
    assert "not judged" in page.locator("section h2 + .badge").first.inner_text()
    assert "no epoch has ended yet" in show(Snapshot()).locator("header").inner_text()


def test_a_standby_points_to_the_active_manager(browser: Browser) -> None:
    endpoint = Endpoint(standby_app(lambda: "http://192.0.2.1:9927/"), LOG)
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = int(probe.getsockname()[1])
    endpoint.apply(Address("127.0.0.1", port))
    page = browser.new_page()
    page.goto(f"http://127.0.0.1:{port}/")
    assert page.locator("a").get_attribute("href") == "http://192.0.2.1:9927/"
    page.close()
    endpoint.shutdown()


def test_it_is_light_however_many_subvolumes_it_names(show: Callable[..., Page]) -> None:
    page = show(snapshot(uneven(tuple(f"subvolume-{i}" for i in range(1000)))))
    assert page.locator("td.name").count() == 1000
    assert page.locator("*").count() < 20 * 1000  # elements: what the browser's time goes with
    assert len(page.content()) < 1000 * 1000
