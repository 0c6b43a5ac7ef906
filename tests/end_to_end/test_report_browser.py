"""The HTML report as its reader meets it: opened from a file in headless Chromium.

Chromium is driven over its own debugging protocol through two pipes (file descriptors 3 and 4), so
nothing needs to be installed for it and no port is opened. Set NANWISE_SCREENSHOTS to a folder to
keep the pictures.
"""

import base64
import json
import os
import runpy
import select
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from nanwise.report import write

CHROMIUM = Path("/usr/bin/chromium")
FAKE = {
    name: made
    for file in ("fake_facts.py", "fake_recommend.py")
    for name, made in runpy.run_path(
        str(Path(__file__).parents[1] / "unit" / "report" / file)
    ).items()
}
FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
]

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        not CHROMIUM.exists(), reason="needs Debian's chromium: apt-get install chromium"
    ),
]


class Browser:
    """A small client of the Chrome DevTools protocol; messages end with a zero byte."""

    def __init__(self, profile):
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()
        # The shell puts the pipes where Chromium looks for them: it reads from 3 and writes to 4.
        command = f'exec "$0" "$@" 3<&{to_browser} 4>&{from_browser}'
        self.process = subprocess.Popen(
            ["/bin/bash", "-c", command, CHROMIUM, *FLAGS, f"--user-data-dir={profile}"],
            pass_fds=(to_browser, from_browser),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._buffer, self._last, self.session, self.events = b"", 0, None, []

    def close(self):
        self.call("Browser.close", own=False)
        self.process.wait(timeout=20)
        os.close(self._out)
        os.close(self._in)

    def call(self, method, own=True, **params):
        self._last += 1
        message = {"id": self._last, "method": method, "params": params}
        if own and self.session:
            message["sessionId"] = self.session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while (answer := self._read()).get("id") != self._last:
            self.events.append(answer)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def _read(self, seconds=60):
        while b"\0" not in self._buffer:
            if not select.select([self._in], [], [], seconds)[0]:
                raise TimeoutError("Chromium does not answer")
            part = os.read(self._in, 1 << 20)
            if not part:
                raise RuntimeError("Chromium ended")
            self._buffer += part
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)


class Page:
    """One tab with one report."""

    def __init__(self, browser, path, width, dark=False):
        self.browser = browser
        browser.events.clear()
        target = browser.call("Target.createTarget", own=False, url="about:blank")["targetId"]
        attached = browser.call("Target.attachToTarget", own=False, targetId=target, flatten=True)
        browser.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            browser.call(f"{domain}.enable")
        browser.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=900, deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip
        theme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        browser.call("Emulation.setEmulatedMedia", features=[theme])
        browser.call("Page.navigate", url=path.resolve().as_uri())
        self._wait("document.readyState === 'complete' && location.protocol === 'file:'")

    def _wait(self, condition):
        end = time.monotonic() + 30
        while not self.run(condition):
            if time.monotonic() > end:
                raise TimeoutError(condition)
            time.sleep(0.05)

    def run(self, code):
        result = self.browser.call("Runtime.evaluate", expression=code, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"])
        return result["result"].get("value")

    def click(self, selector):
        """A real mouse click in the middle of the element."""
        find = f"document.querySelector({json.dumps(selector)})"
        x, y = self.run(
            f"(e => {{ e.scrollIntoView({{block: 'center', behavior: 'instant'}});"
            "const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; "
            f"}})({find})"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.browser.call(
                "Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1
            )

    def press(self, key):
        code = {"Enter": 13, " ": 32}[key]
        text = "\r" if key == "Enter" else key
        for kind in ("keyDown", "keyUp"):
            self.browser.call(
                "Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, text=text
            )

    def complaints(self):
        """Everything the browser would show in red: errors, exceptions, refused resources."""
        self.run("1")  # events that are under way arrive before this answer
        return [
            e["params"]
            for e in self.browser.events
            if e.get("method") in ("Runtime.exceptionThrown", "Network.loadingFailed")
            or (e.get("method") == "Log.entryAdded" and e["params"]["entry"]["level"] == "error")
            or (e.get("method") == "Runtime.consoleAPICalled" and e["params"]["type"] == "error")
        ]

    def requests(self):
        sent = [e for e in self.browser.events if e.get("method") == "Network.requestWillBeSent"]
        return [e["params"]["request"]["url"] for e in sent]

    def screenshot(self):
        png = self.browser.call("Page.captureScreenshot", captureBeyondViewport=True)["data"]
        return base64.b64decode(png)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    profile = tmp_path_factory.mktemp("profile")
    browser = Browser(profile)
    yield browser
    browser.close()
    shutil.rmtree(profile, ignore_errors=True)


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    evil = FAKE["compare_facts"]()
    name = "<script>document.title='owned'</script><img src=x onerror=alert(1)>"
    evil["title"] = evil["data"]["column_facts"][0]["name"] = name
    evil["data"]["pattern"]["columns"] = [name, *evil["data"]["pattern"]["columns"][1:]]
    evil["leaderboard"][0]["method"] = evil["failures"][0]["error"] = name
    evil["stress"][name] = evil["stress"].pop("zero")
    kinds = ("compare", "stress", "reproduce", "recommend")
    facts = {kind: FAKE[f"{kind}_facts"]() for kind in kinds}
    return {
        k: write(v, folder, ["html"], name=k)["html"] for k, v in {**facts, "evil": evil}.items()
    }


KINDS = ["compare", "stress", "reproduce", "recommend", "evil"]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("kind", KINDS)
def test_report_opens_cleanly(browser, reports, kind, width, dark):
    page = Page(browser, reports[kind], width, dark)
    assert page.complaints() == []
    assert page.requests() == [reports[kind].resolve().as_uri()]
    assert page.run("document.documentElement.scrollWidth") <= width
    boxes = page.run(
        "[...document.querySelectorAll('figure svg')].filter(e => e.checkVisibility())"
        ".map(e => [e.getBoundingClientRect().width, e.getBoundingClientRect().height])"
    )
    assert (
        len(boxes)
        >= {
            "compare": 8,
            "stress": 3,
            "reproduce": 1,
            "recommend": 5,
            "evil": 8,
        }[kind]
    )
    assert all(w > 200 and h > 60 for w, h in boxes)
    picture = page.screenshot()
    assert picture.startswith(b"\x89PNG")
    if "NANWISE_SCREENSHOTS" in os.environ:
        folder = Path(os.environ["NANWISE_SCREENSHOTS"])
        folder.mkdir(exist_ok=True)
        (folder / f"{kind}-{width}-{'dark' if dark else 'light'}.png").write_bytes(picture)


def test_every_text_of_a_picture_stays_inside_it(browser, reports):
    for width in (390, 1280):
        page = Page(browser, reports["compare"], width)
        outside = page.run(
            "[...document.querySelectorAll('figure svg')].filter(e => e.checkVisibility())"
            ".flatMap(s => { const b = s.getBoundingClientRect();"
            "return [...s.querySelectorAll('text')]"
            ".filter(t => { const r = t.getBoundingClientRect(); return r.left < b.left - 1 ||"
            " r.right > b.right + 1 || r.bottom > b.bottom + 2; }).map(t => t.textContent); })"
        )
        assert outside == []


def column(page, index):
    rows = "[...document.querySelectorAll('#board tbody tr')]"
    return page.run(f"{rows}.map(r => r.cells[{index}].dataset.value)")


def test_the_leaderboard_sorts_by_click_and_by_key(browser, reports):
    page = Page(browser, reports["compare"], 1280)
    assert column(page, 0) == [*map(str, range(1, 11)), ""]
    page.click("#board th:nth-child(5) button")
    fit = [float(v) for v in column(page, 4)[:-1]]
    assert fit == sorted(fit)
    assert column(page, 4)[-1] == ""  # the method that failed has no time and stays last
    assert page.run("document.querySelector('#board th:nth-child(5)').ariaSort") == "ascending"
    page.press("Enter")  # the button has the focus after the click
    assert [float(v) for v in column(page, 4)[:-1]] == sorted(fit, reverse=True)
    assert column(page, 4)[-1] == ""
    assert page.run("document.querySelectorAll('#board th[aria-sort]').length") == 1
    page.click("#board th:nth-child(2) button")
    assert column(page, 1) == sorted(column(page, 1))
    assert page.complaints() == []


def test_the_theme_follows_the_system_and_the_button_and_is_remembered(browser, reports):
    ground = "getComputedStyle(document.body).backgroundColor"
    colours = [Page(browser, reports["stress"], 900, dark).run(ground) for dark in (False, True)]
    assert colours[0] != colours[1]
    page = Page(browser, reports["stress"], 900)
    page.click("button.theme")
    assert page.run(ground) == colours[1]
    again = Page(browser, reports["stress"], 900)
    assert again.run(ground) == colours[1]
    again.click("button.theme")
    assert again.run(ground) == colours[0]


def test_text_has_contrast_in_both_themes(browser, reports):
    contrast = """(() => {
      const probe = document.createElement('canvas').getContext('2d');
      const light = (c) => { probe.fillStyle = c; probe.fillRect(0, 0, 1, 1);
        const p = [...probe.getImageData(0, 0, 1, 1).data].slice(0, 3).map(v => v / 255)
          .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
        return 0.2126 * p[0] + 0.7152 * p[1] + 0.0722 * p[2]; };
      const style = getComputedStyle(document.documentElement);
      const get = (name) => light(style.getPropertyValue(name).trim());
      const ratio = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
      return ['--ink', '--quiet', '--accent', '--good', '--bad', '--warn'].map(
        name => Math.min(...['--page', '--card', '--raised'].map(g => ratio(get(name), get(g)))));
    })()"""
    for dark in (False, True):
        ratios = Page(browser, reports["compare"], 900, dark).run(contrast)
        assert min(ratios) >= 4.5, ratios


def test_hostile_names_stay_text(browser, reports):
    page = Page(browser, reports["evil"], 1280)
    assert page.run("document.querySelectorAll('script').length") == 1
    assert page.run("document.querySelectorAll('img').length") == 0
    assert page.run("document.querySelector('h1').textContent").startswith("<script>")
    assert page.run("document.title").startswith("<script>")


def test_print_opens_what_is_folded(browser, reports):
    page = Page(browser, reports["compare"], 1280)
    assert page.run("document.querySelectorAll('details:not([open])').length") > 0
    pdf = base64.b64decode(browser.call("Page.printToPDF")["data"])
    assert pdf.startswith(b"%PDF")
    assert page.run("document.querySelectorAll('details:not([open])').length") == 0
