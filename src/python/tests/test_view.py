# SPDX-License-Identifier: BSD-3-Clause
"""Films of pages, and pages that follow a recording."""

import os
import re
import shutil
import subprocess
import tempfile
import threading
import urllib.request

import pytest

import sapstep
from sapstep import program, view
from things import SCENES

CHROMIUM = any(map(shutil.which, view.BROWSERS))


@pytest.fixture
def recorded(tmp_path):
    box = sapstep.Simulation(str(SCENES / "falling_box.xml"), dt=0.01)
    with box.record(tmp_path / "a.h5"):
        box.step(60)
    if program.run("view", tmp_path / "a.h5", "-o", tmp_path / "a.html", check=False).returncode != 0:
        pytest.skip("this build writes no pages")
    return tmp_path


def test_a_film(recorded):
    if not CHROMIUM or not shutil.which("ffmpeg"):
        pytest.skip("no chromium or no ffmpeg")
    out = program.run("view", recorded / "a.h5", "-o", recorded / "a.gif", "--time", 0.2, "--until", "0.4", "--size",
                      "320x200").stdout
    assert out == f"{recorded / 'a.gif'}: 5 frames\n"  # 20 per second
    film = (recorded / "a.gif").read_bytes()
    assert film.startswith(b"GIF89a") and film.count(b"\x21\xf9\x04") == 5  # graphic control extensions
    assert sorted(path.name for path in recorded.iterdir()) == ["a.gif", "a.h5", "a.html"]
    slow = program.run("view", recorded / "a.h5", "-o", recorded / "a.mp4", "--time", "0.5", "--speed", "0.5", "--size",
                       "320x200").stdout
    assert slow.endswith(": 7 frames\n")  # 0.1 s at half the speed, 30 per second
    assert (recorded / "a.mp4").read_bytes()[4:8] == b"ftyp"


def test_names_and_folders(recorded, monkeypatch):
    if not CHROMIUM or not shutil.which("ffmpeg"):
        pytest.skip("no chromium or no ffmpeg")
    monkeypatch.chdir(recorded)
    with tempfile.TemporaryDirectory() as folder:  # the browser takes no long names
        monkeypatch.setenv("TMPDIR", folder)
        for name in ("a #1?%20.png", "a:b.gif"):
            program.run("view", "a.h5", "-o", name, *(["--until", "0.1"] if name.endswith(".gif") else []), "--size", "320x200")
            assert (recorded / name).stat().st_size > 1000
        assert os.listdir(folder) == []


def test_an_ended_server_leaves_no_folder(recorded, monkeypatch):
    (recorded / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(recorded / "temporary"))
    command = [str(program.path()), "view", "--live", str(recorded / "a.h5")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as served:
        assert served.stdout.readline().startswith("http://127.0.0.1:")
        assert len(list((recorded / "temporary").iterdir())) == 1
        served.terminate()
        served.wait(timeout=30)
    assert list((recorded / "temporary").iterdir()) == []


def test_films_without_frames_are_refused(recorded):
    if not CHROMIUM or not shutil.which("ffmpeg"):
        pytest.skip("no chromium or no ffmpeg")
    with pytest.raises(view.Refused, match="no two frames: the recording ends at 0.6 s"):
        view.film(str(recorded / "a.html"), str(recorded / "b.mp4"), begin=2.0)
    assert not (recorded / "b.mp4").exists()


def serve(path):
    live = view.Live(str(path), str(program.path()))
    threading.Thread(target=live.server.serve_forever, daemon=True).start()
    return live


def fetch(live, name):
    with urllib.request.urlopen(live.address + name, timeout=60) as answer:
        return answer.read().decode()


def frames(page):
    return int(re.search(r'"frames":(\d+),', page).group(1))


def test_live_answers_this_machine_only(recorded):
    live = serve(recorded / "b.h5")
    try:
        port = live.server.server_address[1]
        for host, allowed in ((f"localhost:{port}", True), (f"127.0.0.1:{port}", True), ("evil.example", False), (f"evil.example:{port}", False)):
            request = urllib.request.Request(live.address, headers={"Host": host})
            if allowed:
                assert urllib.request.urlopen(request, timeout=60).status == 200
            else:
                with pytest.raises(urllib.error.HTTPError, match="403"):
                    urllib.request.urlopen(request, timeout=60)
    finally:
        live.close()


def test_live_follows_a_recording(recorded):
    live = serve(recorded / "b.h5")
    try:
        assert fetch(live, "version") == ""
        box = sapstep.Simulation(str(SCENES / "falling_box.xml"), dt=0.02)
        with box.record(recorded / "b.h5"):
            box.step(10)
        first = fetch(live, "version")
        assert frames(fetch(live, "page")) == 11
        box.step(5)
        with box.record(recorded / "c.h5"):
            box.step(20)
        (recorded / "c.h5").replace(recorded / "b.h5")
        assert fetch(live, "version") not in ("", first)
        assert frames(fetch(live, "page")) == 21
        (recorded / "b.h5").write_bytes(b"broken")  # the last page stays
        assert frames(fetch(live, "page")) == 21
    finally:
        live.server.shutdown()
        live.close()


def test_a_browser_follows(recorded):
    if not CHROMIUM:
        pytest.skip("no chromium")

    class Follower(view.Page):
        def _wait(self):
            pass

    live = serve(recorded / "a.h5")
    box = sapstep.Simulation(str(SCENES / "falling_box.xml"), dt=0.02)
    page = Follower(str(recorded / "a.html"), 320, 200)
    until = "new Promise((done) => {{ const look = () => {} ? done(told.t) : setTimeout(look, 50); look(); }})"
    try:
        page._call("Page.navigate", url=live.address)
        assert page.evaluate(until.format("typeof seen !== 'undefined' && seen")) == pytest.approx(0.6)
        with box.record(recorded / "b.h5"):
            box.step(50)
        (recorded / "b.h5").replace(recorded / "a.h5")
        assert page.evaluate(until.format("end > 0.9")) == pytest.approx(1.0)  # the end of the run
        page.evaluate("told.t = 0.3")  # the user looks at another time
        with box.record(recorded / "b.h5"):
            box.step(50)
        (recorded / "b.h5").replace(recorded / "a.h5")
        assert page.evaluate(until.format("end > 1.9")) == pytest.approx(0.3)
    finally:
        page.close()
        live.server.shutdown()
        live.close()


def test_a_taken_port_is_refused(recorded):
    live = serve(recorded / "a.h5")
    try:
        port = live.server.server_port
        done = subprocess.run([str(program.path()), "view", "--live", recorded / "a.h5", "--port", str(port)],
                              capture_output=True, encoding="utf-8", check=False)
        assert done.returncode == 3 and f"port {port} cannot be used: Address already in use" in done.stderr
    finally:
        live.server.shutdown()
        live.close()


def test_pages_beside_each_other_compare_forces(recorded):
    if not CHROMIUM:
        pytest.skip("no chromium")
    for name, gravity in (("one", -9.81), ("two", -14.81)):
        box = sapstep.Simulation(str(SCENES / "falling_box.xml"), dt=0.01, edits={"option/*/gravity": [0, 0, gravity]})
        with box.record(recorded / f"{name}.h5"):
            box.step(200)
    program.run("view", recorded / "one.h5", recorded / "two.h5", "-o", recorded / "both.html")
    page = view.Page(str(recorded / "both.html"), 640, 300, "film")
    try:
        page.draw(2.0)
        shown = [page.evaluate(f"((d) => d.getElementById('differences').hidden ? '' : "
                               f"d.getElementById('largest').textContent)(window[{i}].document)") for i in range(2)]
    finally:
        page.close()
    assert shown[0] == ""
    # Each of the four corners of 1 kg carries a quarter of 5 N more.
    assert float(re.search(r"largest now ([\d.]+) N", shown[1]).group(1)) == pytest.approx(1.25, rel=0.02)
