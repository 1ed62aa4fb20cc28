"""Drives a headless Chromium over its DevTools protocol, through a pair of pipes: no library and no port.

The program is the one in STEAD_TEST_CHROMIUM, or the first of Debian's names on PATH (`apt install chromium-headless-shell`).
"""

import base64
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


def program():
    """The path of the browser, or None."""
    named = os.environ.get("STEAD_TEST_CHROMIUM")
    return named or next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """A browser with one page. What the page logs as an error, and exceptions that nobody caught, are in `errors`."""

    TIMEOUT = 60

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="stead-browser-")
        to_read, self.write_end = os.pipe()
        self.read_end, to_write = os.pipe()
        # Above 4, so that neither is lost when the other takes its number.
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (to_read, to_write)]
        for end in (to_read, to_write):
            os.close(end)

        def numbered():
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)

        arguments = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                     "--hide-scrollbars", "--remote-debugging-pipe", f"--user-data-dir={self.folder}", "about:blank"]
        self.process = subprocess.Popen(
            [program(), *arguments], preexec_fn=numbered, close_fds=False, start_new_session=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for end in ends:
            os.close(end)
        self.last, self.session, self.rest, self.errors, self.answers = 0, None, b"", [], {}
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def send(self, method, **params):
        """The result of a command."""
        self.last += 1
        message = {"id": self.last, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write_end, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + self.TIMEOUT
        while self.last not in self.answers:
            self.receive(end)
        answer = self.answers.pop(self.last)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def receive(self, end):
        """Takes in what the browser says next."""
        ready, _, _ = select.select([self.read_end], [], [], max(0, end - time.monotonic()))
        piece = os.read(self.read_end, 1 << 20) if ready else b""
        if not piece:
            raise RuntimeError("the browser ended" if ready else "the browser does not answer")
        *messages, self.rest = (self.rest + piece).split(b"\0")
        for message in map(json.loads, messages):
            params = message.get("params", {})
            if "id" in message:
                self.answers[message["id"]] = message
            elif message["method"] == "Runtime.exceptionThrown":
                details = params["exceptionDetails"]
                self.errors.append(details.get("exception", {}).get("description", details["text"]))
            elif message["method"] == "Log.entryAdded" and params["entry"]["level"] == "error":
                self.errors.append(f"{params['entry']['text']} {params['entry'].get('url', '')}")

    def open(self, url):
        """Opens a page, and forgets the errors of the one before."""
        self.send("Page.navigate", url="about:blank")
        self.errors.clear()
        self.send("Page.navigate", url=url)

    def run(self, script):
        """The value of an expression, or of the promise that it is."""
        result = self.send("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"].get("exception", {}).get("description", script))
        return result["result"].get("value")

    def wait(self, script, seconds=30):
        """Waits until an expression is true, and gives its value."""
        end = time.monotonic() + seconds
        failed = None
        while time.monotonic() < end:
            try:
                value = self.run(script)
                if value:
                    return value
                failed = None
            except RuntimeError as error:  # a page that is being read has no body at first
                failed = error
            time.sleep(0.05)
        raise RuntimeError(f"never true: {script}; {failed}; errors {self.errors}; page: {self.text()[:2000]}")

    def text(self):
        """What stands on the page."""
        return self.run("document.body.innerText")

    def key(self, key, code=None, modifiers=0):
        """Presses a key; modifiers are 1 for Alt, 2 for Control, 8 for Shift."""
        numbers = {"Tab": 9, "Enter": 13, "Escape": 27}
        text = {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            self.send("Input.dispatchKeyEvent", type=kind, key=key, code=code or key, modifiers=modifiers,
                      windowsVirtualKeyCode=numbers.get(key, 0), **text)

    def size(self, width, height):
        """The size of the window, in pixels."""
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def theme(self, name):
        """What the system would say: `light` or `dark`."""
        self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def picture(self, path):
        """Writes the whole page as PNG."""
        data = self.send("Page.captureScreenshot", captureBeyondViewport=True)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def close(self):
        """Ends it with all its processes."""
        for end in (self.write_end, self.read_end):
            os.close(end)
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait(timeout=30)
        shutil.rmtree(self.folder, ignore_errors=True)
