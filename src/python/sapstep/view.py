# SPDX-License-Identifier: BSD-3-Clause
"""Pictures, films and live views of recordings: ``sapstep view -o run.mp4``, ``sapstep view --live run.h5``.

A browser without a window draws the page of a recording frame by frame, and ffmpeg makes a film of the frames.
This file uses the standard library alone: the program contains it, so that films need no package of Python.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import http.server
import json
import os
import pathlib
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FRAMES_PER_SECOND = {".gif": 20}  # 30 of other films


class Refused(Exception):
    """A tool is missing or failed."""


class Page:
    """A page in a browser without a window, driven by Chrome's protocol over two pipes."""

    def __init__(self, page: str, width: int, height: int, bare: str = "1") -> None:
        browser = next((found for found in map(shutil.which, BROWSERS) if found), None)
        if browser is None:
            raise Refused("a picture or a film needs chromium or google-chrome; a page (.html) needs neither")
        self._folder = tempfile.mkdtemp(prefix="sapstep-view-")
        # The browser reads commands from descriptor 3 and answers on descriptor 4.
        command = ["sh", "-c", 'exec "$@" 3<&0 4>&1 </dev/null >/dev/null 2>&1', "sh", browser, "--headless=new",
                   "--remote-debugging-pipe", f"--user-data-dir={self._folder}", "--no-first-run",
                   "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--hide-scrollbars",
                   f"--window-size={width},{height}"]
        command += ["--no-sandbox"] if os.geteuid() == 0 else []  # chromium refuses its sandbox to root
        # In a group with its own children, which write to the folder until they are ended too.
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        self._rest, self._id, self._session = b"", 0, ""
        try:
            target = next(t for t in self._call("Target.getTargets")["targetInfos"] if t["type"] == "page")
            self._session = self._call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
            self._call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                       mobile=False)
            self._call("Page.navigate", url=f"{pathlib.Path(page).resolve().as_uri()}#bare={bare}&paused=1")
            self._wait()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()  # ends the browser, which removes what it wrote
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(5)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._process.stdout.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _answers(self) -> Iterator[Dict[str, Any]]:
        assert self._process.stdout is not None
        pipe = self._process.stdout.fileno()
        while True:
            while b"\0" not in self._rest:
                ready = select.select([pipe], [], [], 120)[0]
                part = os.read(pipe, 1 << 20) if ready else b""
                if not part:
                    raise Refused("the browser ended" if ready else "the browser does not answer")
                self._rest += part
            text, _, self._rest = self._rest.partition(b"\0")
            yield json.loads(text)

    def _call(self, method: str, **parameters: Any) -> Any:
        assert self._process.stdin is not None
        self._id += 1
        message: Dict[str, Any] = {"id": self._id, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        try:
            self._process.stdin.write(json.dumps(message).encode() + b"\0")
            self._process.stdin.flush()
        except OSError:
            raise Refused("the browser cannot be started") from None
        answer = next(a for a in self._answers() if a.get("id") == self._id)
        if "error" in answer:
            raise Refused(f"the browser refuses {method}: {answer['error'].get('message')}")
        return answer["result"]

    def evaluate(self, script: str) -> Any:
        """Returns the value of a JavaScript expression, or of its promise."""
        done = self._call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in done:
            error = done["exceptionDetails"].get("exception", {})
            raise Refused(f"the page has an error: {error.get('description', 'unknown')}")
        return done["result"].get("value")

    def _wait(self) -> None:
        parts = "((f) => f.length > 0 ? f.map((w) => w.document) : [document])(Array.from(window))"
        for _ in range(1200):
            states = self.evaluate(f"{parts}.map((d) => d && d.documentElement && d.documentElement.dataset.state || '')")
            if "failed" in states:
                raise Refused(self.evaluate(f"{parts}.map((d) => d.getElementById('wait').textContent).join(' ')"))
            if states and all(state == "ready" for state in states):
                break
            time.sleep(0.05)
        else:
            raise Refused("the browser does not show the page within a minute")
        bars = self.evaluate(f"{parts}.map((d) => d.getElementById('scrub')).map((s) => [Number(s.min), Number(s.max)])")
        self.begin, self.end = min(b[0] for b in bars), max(b[1] for b in bars)

    def draw(self, t: float) -> bytes:
        """Returns a PNG of the time t [s]."""
        self.evaluate("""(async (t) => {
            const frames = Array.from(window);
            const windows = frames.length > 0 ? frames : [window];
            const shows = (bar) => Math.abs(Number(bar.value) - Math.min(Math.max(t, bar.min), bar.max)) < 1e-4;
            for (let k = 0, good = 0; k < 100 && good < (frames.length > 0 ? 2 : 1); ++k) {  // messages may be late
                windows.forEach((w) => w.postMessage({sapstep: {t}}, '*'));
                await new Promise((r) => setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(r)), 0));
                good = windows.every((w) => shows(w.document.getElementById('scrub'))) ? good + 1 : 0;
            }
        })(%r)""" % t)
        return base64.b64decode(self._call("Page.captureScreenshot", format="png", optimizeForSpeed=True)["data"])


def _ffmpeg() -> str:
    found = shutil.which("ffmpeg")
    if found is None:
        try:
            import imageio_ffmpeg  # type: ignore[import-not-found, unused-ignore]

            return str(imageio_ffmpeg.get_ffmpeg_exe())
        except (ImportError, RuntimeError):
            raise Refused("a film needs ffmpeg (apt install ffmpeg, or pip install imageio-ffmpeg); a page (.html) "
                          "plays the recording without it, and a picture (.png) of one --time needs chromium alone") from None
    return found


def _encoding(output: str, rate: float) -> List[str]:
    ending = os.path.splitext(output)[1]
    if ending == ".gif":
        return ["-vf", "scale=800:-1:flags=lanczos,split[a][b];[a]palettegen[p];[b][p]paletteuse=dither=bayer"]
    return ["-pix_fmt", "yuv420p", *(["-crf", "30", "-b:v", "0"] if ending == ".webm" else []), "-r", f"{rate:g}"]


def _size(text: str) -> Optional[Tuple[int, int]]:
    parts = text.split("x")
    if not text:
        return None
    if len(parts) != 2 or not all(p.isdigit() and 200 <= int(p) <= 8192 and int(p) % 2 == 0 for p in parts):
        raise Refused(f"--size '{text}' must be WIDTHxHEIGHT in pixels, even numbers from 200 to 8192, as 1280x800")
    return int(parts[0]), int(parts[1])


def film(page: str, output: str, begin: Optional[float] = None, until: Optional[float] = None, speed: float = 1.0,
         size: Optional[Tuple[int, int]] = None) -> int:
    """Draws a page from begin to until [s of the recording] as a film (.mp4, .gif, .webm, ...) at a speed (0.1: ten times
    slower), or, where the name ends with .png, as one picture at begin. Returns the number of frames."""
    picture = output.endswith(".png")
    encoder = "" if picture else _ffmpeg()
    width, height = size or ((1280, 800) if picture else (960, 600))
    part = os.path.join(os.path.dirname(output), f".part.{os.path.basename(output)}")
    with open(page, "rb") as file:
        several = b"<iframe" in file.read(2000)
    shown = Page(page, width, height, "film" if several or not picture else "1")  # with titles
    try:
        t0 = shown.begin if begin is None else begin
        if picture:
            with open(part, "wb") as file:
                file.write(shown.draw(t0))
            os.replace(part, output)
            return 1
        t1 = shown.end if until is None else min(until, shown.end)
        rate = FRAMES_PER_SECOND.get(os.path.splitext(output)[1], 30)
        count = int((t1 - t0) / speed * rate + 1e-9) + 1
        if count < 2:
            raise Refused(f"a film from {t0:g} s to {t1:g} s has no two frames: the recording ends at {shown.end:g} s")
        command = [encoder, "-v", "error", "-y", "-f", "image2pipe", "-framerate", str(rate), "-i", "-",
                   *_encoding(output, rate), f"file:{part}"]  # any name, also with a colon
        with tempfile.TemporaryFile() as words, subprocess.Popen(command, stdin=subprocess.PIPE, stdout=words,
                                                                 stderr=words) as process:
            assert process.stdin is not None
            try:
                for i in range(count):
                    process.stdin.write(shown.draw(t0 + i * speed / rate))
                    if sys.stderr.isatty():
                        print(f"\rframe {i + 1} of {count}", end="\n" if i + 1 == count else "", file=sys.stderr)
                process.stdin.close()
            except BrokenPipeError:
                pass
            if process.wait() != 0:
                words.seek(0)
                raise Refused(f"ffmpeg: {words.read().decode(errors='replace').strip()}")
        os.replace(part, output)
        return count
    finally:
        shown.close()
        if os.path.exists(part):
            os.remove(part)


# --- a page that follows a run ---

# Shows the newest page behind the one that is seen, then swaps them. Follows the end of the run until the user chooses
# another time; a time at the end follows again.
LIVE = b"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>sapstep, live</title>
<style>html,body{margin:0;height:100%}iframe{position:absolute;border:0;width:100%;height:100%}
.new{visibility:hidden}#wait{font:14px system-ui;padding:2em}</style></head><body>
<p id="wait">Waiting for the first rows of the recording \xe2\x80\xa6</p>
<script>
'use strict';
let version = '', seen = null, next = null, told = null, end = 0, busy = false;
addEventListener('message', (e) => {
  const message = e.data && e.data.sapstep;
  if (!message) {
    return;
  }
  if (next && e.source === next.contentWindow) {  // the new page has drawn: it takes over the time and the view
    const follows = !told || told.t >= end - 1e-6;
    const bar = next.contentDocument.getElementById('scrub');
    end = Number(bar.max);
    const body = told ? told.body : undefined;
    const t = follows ? end : told.t;
    next.contentWindow.postMessage({sapstep: told ? {...told, body, t} : {t}}, '*');
    const old = seen;
    seen = next;
    next = null;
    seen.className = '';
    told = {...told, t};
    document.getElementById('wait').hidden = true;
    setTimeout(() => { if (old) { old.remove(); } busy = false; }, 100);
  } else if (seen && e.source === seen.contentWindow) {
    told = message;
  }
});
async function look() {
  try {
    const now = await (await fetch('/version')).text();
    if (now && now !== version && !busy && !document.hidden) {
      busy = true;
      version = now;
      next = Object.assign(document.createElement('iframe'), {className: 'new', src: '/page?' + now});
      document.body.append(next);
      setTimeout(() => { if (next) { next.remove(); next = null; busy = false; } }, 60000);
    }
    document.title = 'sapstep, live';
  } catch (error) {
    document.title = 'sapstep, ended';
  }
  setTimeout(look, 1000);
}
look();
</script></body></html>
"""


class Live:
    """Serves a recording that grows: ``/`` follows it, ``/page`` is a page of all rows so far."""

    def __init__(self, recording: str, program: str, options: Sequence[str] = (), port: int = 0) -> None:
        self.recording, self.program, self.options = recording, program, list(options)
        self._folder, self._lock = tempfile.mkdtemp(prefix="sapstep-live-"), threading.Lock()
        self._made, self._page = "", b""
        live = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                here = f":{self.server.server_address[1]}"
                if self.headers.get("Host") not in ("127.0.0.1" + here, "localhost" + here):  # a name that points here
                    self.send_error(403)
                elif self.path == "/":
                    live.answer(self, LIVE)
                elif self.path == "/version":
                    live.answer(self, live.version().encode(), "text/plain")
                elif self.path.startswith("/page"):
                    live.answer(self, live.page())
                else:
                    self.send_error(404)

            def log_message(self, *_: Any) -> None:
                pass

        try:
            self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        except OSError as reason:
            raise Refused(f"port {port} cannot be used: {reason.strerror}") from None
        self.server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self.server.server_port}/"

    @staticmethod
    def answer(request: http.server.BaseHTTPRequestHandler, body: bytes, kind: str = "text/html; charset=utf-8") -> None:
        request.send_response(200 if body or kind == "text/plain" else 503)
        request.send_header("Content-Type", kind)
        request.send_header("Content-Length", str(len(body)))
        request.send_header("Cache-Control", "no-store")
        request.end_headers()
        request.wfile.write(body)

    def version(self) -> str:
        """Returns a text that changes when the recording does; empty while there is none."""
        try:
            found = os.stat(self.recording)
        except OSError:
            return ""
        return f"{found.st_mtime_ns}-{found.st_size}" if found.st_size > 0 else ""

    def page(self) -> bytes:
        """Returns the page of the rows so far; the last one while the recording cannot be read."""
        with self._lock:
            version = self.version()
            if version and version != self._made:
                output = os.path.join(self._folder, "page.html")
                command = [self.program, "view", self.recording, "-o", output, *self.options]
                if subprocess.run(command, capture_output=True, check=False).returncode == 0:
                    with open(output, "rb") as file:
                        self._page = file.read()
                    self._made = version
            return self._page

    def close(self) -> None:
        """Ends the server."""
        self.server.server_close()
        shutil.rmtree(self._folder, ignore_errors=True)


def live(recording: str, options: Sequence[str] = (), port: int = 0) -> None:
    """Serves a page on this machine that follows a recording while it is written, until Ctrl-C. Options are those of
    ``sapstep view``, which makes the pages: the program that SAPSTEP_PROGRAM names, or the one of the path."""
    served = Live(recording, os.environ.get("SAPSTEP_PROGRAM", "sapstep"), options, port)
    try:
        print(f"{served.address} follows {recording}; Ctrl-C ends it", flush=True)
        served.server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        served.close()


def main(arguments: Sequence[str]) -> int:
    """The command line of ``sapstep view``; returns the exit code."""
    parser = argparse.ArgumentParser(prog="sapstep view")
    kinds = parser.add_subparsers(dest="kind", required=True)
    drawing = kinds.add_parser("film")
    drawing.add_argument("page")
    drawing.add_argument("output")
    drawing.add_argument("--time", type=float, default=-1.0, help="-1: the recording's begin")
    drawing.add_argument("--until", type=float, default=-1.0, help="-1: the recording's end")
    drawing.add_argument("--size", default="")
    drawing.add_argument("--speed", type=float, default=1.0)
    drawing.add_argument("--remove", action="store_true", help="the page, when done")
    serving = kinds.add_parser("live")
    serving.add_argument("recording")
    serving.add_argument("--port", type=int, default=0)
    serving.add_argument("--frame-rate", default="60")
    serving.add_argument("--contacts", default="1000000")
    given = parser.parse_args(arguments)
    try:
        if given.kind == "live":
            live(given.recording, ["--frame-rate", given.frame_rate, "--contacts", given.contacts], given.port)
        else:
            begin, until = (None if t < 0 else t for t in (given.time, given.until))
            frames = film(given.page, given.output, begin, until, given.speed, _size(given.size))
            print(given.output if frames == 1 else f"{given.output}: {frames} frames")
    except (Refused, OSError) as reason:
        print(f"sapstep: {given.recording if given.kind == 'live' else given.output}: {reason}", file=sys.stderr)
        return 3
    except KeyboardInterrupt:
        return 130
    finally:
        if given.kind == "film" and given.remove:
            os.remove(given.page)
    return 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what is temporary is removed
    sys.exit(main(sys.argv[1:]))
