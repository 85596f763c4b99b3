"""A headless Chromium, driven by the devtools protocol over a pair of pipes, which needs no driver."""

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import time
from itertools import count

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--remote-debugging-pipe", "about:blank"]


class Browser:
    """One browser; `page` opens a page in it."""

    def __init__(self, profile):
        read_there, self._write = os.pipe()
        self._read, write_there = os.pipe()

        # Chromium uses descriptors 3 and 4; from higher numbers the shell can move them there in any order.
        there = [fcntl.fcntl(fd, fcntl.F_DUPFD, 20) for fd in (read_there, write_there)]
        self._process = subprocess.Popen(
            [
                "bash",
                "-c",
                f'exec "$@" 3<&{there[0]} 4>&{there[1]}',
                "-",
                CHROMIUM,
                f"--user-data-dir={profile}",
                *FLAGS,
            ],
            pass_fds=there,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for fd in (read_there, write_there, *there):
            os.close(fd)
        self._numbers = count(1)
        self._buffer = b""
        self.events = []

    def close(self):
        try:
            self.call("Browser.close")
        finally:
            self._process.wait(20)
            os.close(self._read)
            os.close(self._write)

    def call(self, method, session=None, **params):
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next(time.monotonic() + 60)
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return answer["result"]
            self.events.append(answer)

    def drain(self, seconds):
        """Collect events for some time."""
        deadline = time.monotonic() + seconds
        while (message := self._next(deadline, must=False)) is not None:
            self.events.append(message)

    def _next(self, deadline, *, must=True):
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], max(0, deadline - time.monotonic()))
            if not ready:
                assert not must, "the browser does not answer"
                return None
            self._buffer += os.read(self._read, 1 << 20)
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)


class Page:
    """An open page, with its requests and complaints."""

    READY = "document.documentElement?.dataset.ready == 'yes'"

    def __init__(self, browser, url, *, width=1280, height=900, dark=False, ready=READY):
        self.browser = browser
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        browser.events.clear()
        began = time.monotonic()
        self.call("Page.navigate", url=url)
        while not self.run(ready):
            assert time.monotonic() < began + 60, self.complaints
            browser.drain(0.02)

    def call(self, method, **params):
        return self.browser.call(method, session=self._session, **params)

    def run(self, expression):
        """The value of a JavaScript expression."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def press(self, key, *, shift=False):
        options = {"key": key, "modifiers": 8 if shift else 0}
        text = {"text": key} if len(key) == 1 else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", **options, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", **options)

    def picture(self):
        return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])

    @property
    def complaints(self):
        """Console messages and exceptions."""
        return [
            event
            for event in self.browser.events
            if event.get("method") in {"Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"}
        ]

    @property
    def requests(self):
        """All requests besides the page itself and its embedded data."""
        urls = [
            event["params"]["request"]["url"]
            for event in self.browser.events
            if event.get("method") == "Network.requestWillBeSent"
        ]
        return [url for url in urls[1:] if not url.startswith("data:")]

    def close(self):
        self.call("Page.close")
