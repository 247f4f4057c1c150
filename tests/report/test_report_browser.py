"""The page in headless Chromium, driven through its debugging pipe: no console errors, slider, wipe, themes."""

import contextlib
import json
import os
import select
import shutil
import subprocess
import sys
import time

import numpy as np
import pytest
from test_report import completion, decode, film
from test_trust import chosen

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--remote-debugging-pipe",
    "about:blank",
)
# Started in between, to put the two pipes where the browser looks for them.
WIRE = """
import fcntl, os, sys
there, here = (fcntl.fcntl(int(fd), fcntl.F_DUPFD, 10) for fd in sys.argv[1:3])
os.dup2(there, 3)
os.dup2(here, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
SECONDS = 90  # a slow machine's time for one answer


class Browser:
    """One tab; messages are JSON ended by a zero byte, over file descriptors 3 and 4 of the browser."""

    def __init__(self, profile):
        there, self.out = os.pipe()
        self.back, here = os.pipe()
        command = [sys.executable, "-c", WIRE, str(there), str(here), CHROMIUM, f"--user-data-dir={profile}", *FLAGS]
        self.process = subprocess.Popen(
            command, pass_fds=(there, here), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(there)
        os.close(here)
        self.buffer, self.count, self.events, self.session = b"", 0, [], None
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.send(f"{domain}.enable")

    def send(self, method, **params):
        self.count += 1
        message = {"id": self.count, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        answer = self._until(lambda m: m.get("id") == self.count)
        assert "error" not in answer, answer
        return answer["result"]

    def _until(self, wanted):
        end = time.monotonic() + SECONDS
        while True:
            while b"\0" in self.buffer:
                head, self.buffer = self.buffer.split(b"\0", 1)
                message = json.loads(head)
                if "method" in message:
                    self.events.append(message)
                if wanted(message):
                    return message
            assert select.select([self.back], [], [], max(0, end - time.monotonic()))[0], "the browser does not answer"
            piece = os.read(self.back, 1 << 20)
            assert piece, "the browser has ended"
            self.buffer += piece

    def open(self, path, part="", width=1100, height=900, scheme="light"):
        media = [{"name": "prefers-color-scheme", "value": scheme}]
        self.send("Emulation.setEmulatedMedia", features=media)
        self.send(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        self.send("Page.navigate", url="about:blank")
        self.run("new Promise((done) => setTimeout(done, 20))")
        self.events.clear()
        self.send("Page.navigate", url=path.as_uri() + part)
        self._until(lambda m: m.get("method") == "Page.loadEventFired")

    def complaints(self):
        """What a console would show in red or yellow."""
        self.run("1")
        bad = [e for e in self.events if e["method"] in ("Runtime.exceptionThrown", "Log.entryAdded")]
        said = [e for e in self.events if e["method"] == "Runtime.consoleAPICalled"]
        return bad + [e for e in said if e["params"]["type"] in ("error", "warning", "assert")]

    def run(self, script):
        answer = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def key(self, name):
        for kind in ("rawKeyDown", "keyUp"):
            self.send("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=KEYS[name])

    def mouse(self, kind, x, y):
        pressed = 0 if kind == "mouseReleased" else 1
        self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=pressed, clickCount=1)

    def close(self):
        with contextlib.suppress(OSError, AssertionError):
            self.session = None
            self.send("Browser.close")
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.out)
        os.close(self.back)


KEYS = {"ArrowLeft": 37, "ArrowRight": 39, "Home": 36, "End": 35, "Tab": 9}


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    browser = Browser(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    truth, known = film((6, 60, 110))
    path = tmp_path_factory.mktemp("page") / "pictures.html"
    result = completion(np.where(known, truth, truth * 0.98), known, (1, 2))
    result.report(path, truth=truth, axes=("frame", "height", "width"), title="A clip", command="qrank fill clip.avi")
    return path


@pytest.fixture(scope="module")
def maps(tmp_path_factory):
    x, known = film((7, 9, 12))
    path = tmp_path_factory.mktemp("page") / "maps.html"
    completion(300 * x, known).report(path, axes=("station", "day", "hour"))
    return path, known


@pytest.fixture(scope="module")
def lost(tmp_path_factory):
    """A clip of which frame 4 is lost, and three rows of frame 1, with standard errors."""
    x, known = film((6, 60, 110))
    blind = np.zeros(x.shape, bool)
    blind[4] = blind[1, 20:40] = True
    path = tmp_path_factory.mktemp("page") / "lost.html"
    chosen(x, known & ~blind, undetermined=blind).report(path, axes=("frame", "height", "width"))
    return path


@pytest.fixture(scope="module")
def doubted(tmp_path_factory):
    """A heat map with standard errors."""
    x, known = film((7, 9, 12))
    path = tmp_path_factory.mktemp("page") / "doubted.html"
    chosen(300 * x, known, error=np.where(known, 0, 20.0)).report(path, axes=("station", "day", "hour"))
    return path, known


def source(layer):
    return f"document.querySelector('.wipe img[data-layer={layer}]').src"


NOW = "Number(document.getElementById('handle').getAttribute('aria-valuenow'))"


def test_page_loads_without_complaint_and_pictures_decode(browser, pictures):
    browser.open(pictures)
    decoded = browser.run("Promise.all([...document.images].map((i) => i.decode().then(() => i.naturalWidth)))")
    assert decoded == [110] * 6
    assert browser.complaints() == []


def test_a_complaint_would_be_seen(browser, tmp_path):
    page = tmp_path / "bad.html"
    page.write_text("<!doctype html><script>console.error('seen'); nothing.here</script>")
    browser.open(page)
    assert len(browser.complaints()) == 2


def test_slider_moves_the_picture(browser, pictures):
    browser.open(pictures)
    before, after = browser.run(source("before")), browser.run(source("after"))
    label = "document.getElementById('label').textContent"
    worst = int(np.argmin(film((6, 60, 110))[1].sum(axis=(1, 2))))
    assert browser.run(label) == f"frame {worst}"
    browser.run("document.getElementById('slice').focus()")
    browser.key("ArrowRight")
    assert browser.run(label) == f"frame {worst + 1}"
    assert browser.run(source("before")) != before
    assert browser.run(source("after")) != after
    assert browser.run("new Set([...document.querySelectorAll('img[data-layer=after]')].map((i) => i.src)).size") == 1
    browser.run("document.getElementById('previous').click()")
    assert browser.run(source("after")) == after
    assert browser.complaints() == []


def test_wipe_follows_mouse_and_keys(browser, pictures):
    browser.open(pictures)
    left, top, width, height = browser.run(
        "(b => [b.left, b.top, b.width, b.height])(document.getElementById('wipe').getBoundingClientRect())"
    )
    middle = top + height / 2
    browser.mouse("mousePressed", left + width / 2, middle)
    browser.mouse("mouseMoved", left + width * 0.25, middle)
    assert browser.run(NOW) == 25
    browser.mouse("mouseReleased", left + width * 0.25, middle)
    browser.send("Input.dispatchMouseEvent", type="mouseMoved", x=left + width * 0.9, y=middle)
    assert browser.run(NOW) == 25
    clip = "getComputedStyle(document.querySelector('.wipe .over')).clipPath"
    seen = browser.run(clip)
    browser.key("ArrowRight")
    assert browser.run(NOW) == 27
    assert browser.run(clip) != seen
    browser.key("ArrowLeft")
    browser.key("ArrowLeft")
    assert browser.run(NOW) == 23
    browser.key("Home")
    browser.key("ArrowLeft")
    assert browser.run(NOW) == 0
    browser.key("End")
    assert browser.run(NOW) == 100
    assert browser.complaints() == []


def test_fibre_shows_its_known_points(browser, maps):
    path, known = maps
    browser.open(path)
    points = "document.querySelectorAll('#fibre .point').length"
    assert browser.run("document.getElementById('along').selectedOptions[0].text") == "hour"
    assert browser.run(points) == known[3, 4].sum()
    line = "document.querySelector('#fibre .line').getAttribute('d')"
    drawn = browser.run(line)
    browser.run("document.querySelectorAll('#places input')[0].focus()")
    browser.key("ArrowRight")
    assert browser.run(points) == known[4, 4].sum()
    assert browser.run(line) != drawn
    browser.run("(a => { a.value = 0; a.dispatchEvent(new Event('change')) })(document.getElementById('along'))")
    assert browser.run(points) == known[:, 4, 6].sum()
    assert browser.complaints() == []


def amber(browser, rows):
    """The share of amber pixels of the picture after completion in the row, in bands from top to bottom."""
    box = browser.run(
        "(b => ({x: b.left, y: b.top + scrollY, width: b.width, height: b.height, scale: 1}))"
        "(document.querySelector('.row img[data-layer=after]').getBoundingClientRect())"
    )
    shot = browser.send("Page.captureScreenshot", format="png", clip=box, captureBeyondViewport=True)["data"]
    red, green, blue = decode("," + shot)[..., :3].astype(int).transpose(2, 0, 1)
    striped = (red - blue > 120) & (green - blue > 40)
    return [striped[round(top * len(striped)) : round(bottom * len(striped))].mean() for top, bottom in rows]


def test_guesses_are_striped_and_nothing_else(browser, lost):
    browser.open(lost)
    bands = [[0.02, 0.28], [0.38, 0.62], [0.72, 0.98]]
    assert browser.run("document.getElementById('label').textContent") == "frame 4"
    assert min(amber(browser, bands)) > 0.05
    browser.run("document.getElementById('show-marks').click()")
    assert max(amber(browser, bands)) == 0
    browser.run("document.getElementById('show-marks').click()")
    to = "(s => { s.value = %d; s.dispatchEvent(new Event('input')) })(document.getElementById('slice'))"
    browser.run(to % 1)
    above, inside, below = amber(browser, bands)
    assert (above, below) == (0, 0)
    assert inside > 0.05
    browser.run(to % 0)
    assert max(amber(browser, bands)) == 0
    assert browser.complaints() == []


def test_standard_errors_stand_beside_the_pictures(browser, lost):
    browser.open(lost)
    widths = "[...document.querySelectorAll('.row img')].map((i) => [i.dataset.layer, i.naturalWidth])"
    assert browser.run(widths) == [["before", 110], ["after", 110], ["sure", 110]]
    of = "document.querySelector('.row img[data-layer=sure]').src"
    first = browser.run(of)
    browser.run("document.getElementById('next').click()")
    assert browser.run(of) != first
    assert browser.complaints() == []


@pytest.fixture(scope="module")
def long_clip(tmp_path_factory):
    """A clip of 90 frames, of which pictures of 40 are shown; the standard error grows with the frame."""
    x, known = film((90, 20, 30))
    known[30, :15] = False
    path = tmp_path_factory.mktemp("page") / "long.html"
    error = np.where(known, 0, np.arange(1.0, 91)[:, None, None])
    chosen(x, known, error=error).report(path, axes=("frame", "height", "width"))
    return path


LABEL = "document.getElementById('label').textContent"
TOLD = "document.getElementById('told').textContent"
HERE = "Number(document.getElementById('here').getAttribute('x'))"


def test_a_click_on_the_strip_goes_to_that_slice(browser, long_clip):
    browser.open(long_clip)
    assert (browser.run(LABEL), browser.run(TOLD), browser.run(HERE)) == ("frame 30", "standard error 31", 30)
    left, top, width, height = browser.run(
        "(b => [b.left, b.top, b.width, b.height])(document.getElementById('strip').getBoundingClientRect())"
    )
    assert height >= 40  # as a finger needs it
    before = browser.run(source("after"))
    for frame in (0, 61, 89):
        at = left + width * (frame + 0.5) / 90, top + height / 2
        browser.mouse("mousePressed", *at)
        browser.mouse("mouseReleased", *at)
        shown = int(browser.run(LABEL).split()[1])
        assert abs(shown - frame) <= 1  # the nearest of those that have pictures
        assert browser.run(HERE) == shown
        assert browser.run(TOLD) == f"standard error {shown + 1}"
        assert browser.run(source("after")) != before
    assert browser.complaints() == []


def test_bars_of_the_strip_are_drawn_where_their_slices_are(browser, long_clip):
    browser.open(long_clip)
    box = browser.run(
        "(b => ({x: b.left, y: b.top + scrollY, width: b.width, height: b.height, scale: 1}))"
        "(document.getElementById('strip').getBoundingClientRect())"
    )
    shot = browser.send("Page.captureScreenshot", format="png", clip=box, captureBeyondViewport=True)["data"]
    pixels = decode("," + shot)[..., :3].astype(int)
    blue = pixels[..., 2] - pixels[..., 0] > 60
    heights = [blue[:, round((i + 0.5) / 90 * blue.shape[1])].mean() for i in (10, 50, 80)]
    assert heights == pytest.approx([11 / 90, 51 / 90, 81 / 90], abs=0.06)


def test_a_clip_is_played_until_it_is_stopped(browser, long_clip, maps):
    browser.open(long_clip)
    wait = "new Promise((done) => setTimeout(done, 600))"
    browser.run("document.getElementById('play').click()")
    assert browser.run("document.getElementById('play').getAttribute('aria-label')") == "Stop"
    browser.run(wait)
    moved = browser.run(LABEL)
    assert moved != "frame 30"
    browser.run("document.getElementById('play').click()")
    stood = browser.run(LABEL)
    browser.run(wait)
    assert browser.run(LABEL) == stood
    browser.run("document.getElementById('play').click(); document.getElementById('next').click()")  # a hand stops it
    stood = browser.run(LABEL)
    browser.run(wait)
    assert browser.run(LABEL) == stood
    assert browser.complaints() == []
    browser.open(maps[0])
    assert not browser.run("document.querySelectorAll('#play').length")  # stations are no clip
    assert browser.complaints() == []


def test_status_is_amber_where_entries_are_guesses(browser, lost, pictures):
    dot = "getComputedStyle(document.querySelector('.status'), '::before').backgroundColor"
    browser.open(lost)
    red, green, blue = (int(part) for part in browser.run(dot).strip("rgb()").split(","))
    assert red > green > blue
    assert red - blue > 120
    browser.open(pictures)
    red, green, blue = (int(part) for part in browser.run(dot).strip("rgb()").split(","))
    assert green > red


def test_fibre_has_a_band_of_standard_errors(browser, doubted, maps):
    path, known = doubted
    browser.open(path)
    browser.run("(a => { a.value = 2; a.dispatchEvent(new Event('change')) })(document.getElementById('along'))")
    band = browser.run("document.querySelector('#fibre .band').getAttribute('d')")
    corners = [tuple(map(float, pair.split())) for pair in band.strip("MZ").split("L")]
    above, below = corners[:12], corners[:11:-1]
    wide = [low[1] - high[1] for high, low in zip(above, below, strict=True)]
    assert all((w > 1) == (not sure) for w, sure in zip(wide, known[3, 4], strict=True))
    assert np.ptp([w for w in wide if w > 1]) < 0.3  # all are 20
    browser.open(maps[0])
    assert not browser.run("document.querySelectorAll('#fibre .band').length")
    assert browser.complaints() == []


CONTRAST = """
(() => {
  const numbers = (text) => text.match(/[\\d.]+/g).map(Number);
  const linear = (v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const light = (text) => {
    const [r, g, b] = numbers(text).map((v) => linear(v / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const c = getComputedStyle(e).backgroundColor;
      if ((numbers(c)[3] ?? 1) > 0.99) return c;
    }
    return "rgb(255, 255, 255)";
  };
  const ratio = (a, b) => {
    const [l, h] = [light(a), light(b)].sort((p, q) => p - q);
    return (h + 0.05) / (l + 0.05);
  };
  const texts = [], lines = [];
  for (const e of document.querySelectorAll("body *")) {
    const style = getComputedStyle(e);
    if (e.closest(".wipe") || !e.getClientRects().length) continue;
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (own && !["STYLE", "SCRIPT", "OPTION", "style"].includes(e.tagName))
      texts.push([ratio(e.closest("svg") ? style.fill : style.color, behind(e)), e.textContent.trim().slice(0, 40)]);
    if (/--series/.test(e.getAttribute("style") ?? "") && style.stroke.startsWith("rgb"))
      lines.push([ratio(style.stroke, behind(e)), e.getAttribute("style")]);
  }
  const ground = getComputedStyle(document.body).backgroundColor;
  return { texts, lines, ground, dark: light(ground) < 0.2 };
})()
"""


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("said", ["by the system", "by the address"])
@pytest.mark.parametrize("kind", ["pictures", "maps", "lost"])
def test_both_themes_have_readable_contrast(browser, pictures, maps, lost, theme, said, kind):
    page = {"pictures": pictures, "maps": maps[0], "lost": lost}[kind]
    other = "light" if theme == "dark" else "dark"
    by_system = said == "by the system"
    browser.open(page, "" if by_system else f"#{theme}", scheme=theme if by_system else other)
    found = browser.run(CONTRAST)
    assert found["dark"] == (theme == "dark")
    assert len(found["texts"]) > 80
    assert len(found["lines"]) >= 5
    assert min(found["texts"])[0] >= 4.5, min(found["texts"])
    assert min(found["lines"])[0] >= 3, min(found["lines"])


def test_button_switches_the_theme(browser, pictures):
    browser.open(pictures)
    ground = "getComputedStyle(document.body).backgroundColor"
    light = browser.run(ground)
    click = "document.getElementById('theme').click(); new Promise((done) => setTimeout(done, 100))"
    browser.run(click)
    assert browser.run(ground) != light
    browser.run(click)
    assert browser.run(ground) == light


def test_print_is_light(browser, pictures):
    browser.open(pictures, "#dark")
    browser.send("Emulation.setEmulatedMedia", media="print")
    ink = browser.run("getComputedStyle(document.querySelector('h1')).color")
    browser.send("Emulation.setEmulatedMedia", media="")
    assert ink == "rgb(27, 28, 32)"


@pytest.mark.parametrize("kind", ["pictures", "maps", "lost"])
def test_page_fits_a_phone(browser, pictures, maps, lost, kind):
    browser.open({"pictures": pictures, "maps": maps[0], "lost": lost}[kind], width=360, height=740)
    assert browser.run("document.documentElement.scrollWidth") <= 360
    heights = "[...document.querySelectorAll('svg text')].map((t) => t.getBoundingClientRect().height).filter(Boolean)"
    assert browser.run(f"Math.min(...{heights})") >= 8
    assert browser.run("document.getElementById('handle').clientWidth") >= 40
