#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Time per step of sapstep and of other engines, which take turns so that other load hits all alike.

    python3 tests/bench/interleave.py --peer 'python3 tests/bench/peers/mujoco_peer.py' SCENE...

Prints JSON: a row per scene and engine, `ratio` its time over ours in the same turn, median and quartiles. A peer is a program that is
started once, says who it is, {"peer": "mujoco 4.0.0"}, and answers a line "run DT SKIP STEPS cpu|wall SCENE" by a line of JSON,
{"step_s": 1e-4, "contacts": 10, "iterations": 2.1} or {"error": "why not"}. Other options go to `sapstep bench` (--preset, --tolerance, ...).
"""
import argparse
import json
import os
import select
import shlex
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LINE = 4096  # longest answer


class Peer:
    def __init__(self, command, patience):
        self.command, self.patience, self.text = command, patience, b""
        self.process = subprocess.Popen(["sh", "-c", command], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            greeting = self.read()
            if "peer" not in greeting:
                raise ValueError(greeting.get("error", "its first line is not a greeting"))
        except ValueError:
            self.stop()
            raise
        self.name = greeting["peer"]

    def read(self):
        end = time.monotonic() + self.patience
        while b"\n" not in self.text:
            if len(self.text) >= LINE:
                raise ValueError("a line is too long")
            if not select.select([self.process.stdout], [], [], max(0.0, end - time.monotonic()))[0]:
                raise ValueError("no answer within --patience")
            got = os.read(self.process.stdout.fileno(), LINE)
            if not got:
                raise ValueError("it ended")
            self.text += got
        line, self.text = self.text.split(b"\n", 1)
        try:
            answer = json.loads(line)
        except ValueError:
            return {}
        return answer if isinstance(answer, dict) else {}

    def run(self, dt, skip, steps, clock, scene):
        try:
            self.process.stdin.write(f"run {dt!r} {skip} {steps} {clock} {scene}\n".encode())
            self.process.stdin.flush()
            answer = self.read()
        except (OSError, ValueError) as error:  # what it says later would be taken for an answer to something else
            self.stop()
            return str(error)
        step = answer.get("step_s")
        if isinstance(step, (int, float)) and 0 < step < float("inf"):
            return answer
        said = answer.get("error")
        return said if isinstance(said, str) else "no time in its answer"

    def stop(self):
        for stream in (self.process.stdin, self.process.stdout):
            try:
                stream.close()
            except OSError:
                pass
        try:
            self.process.wait(0.5)  # the end of its input ends it
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def say(text):
    print(f"interleave.py: {text}", file=sys.stderr)


def start(command, patience):
    try:
        return Peer(command, patience)
    except ValueError as error:
        say(f"peer '{command}' is left out: {error}")
        return None


def ours(arguments, options, scene):
    command = [arguments.program, "bench", "--clock", arguments.clock, "--steps", str(arguments.steps), "--skip",
               str(arguments.skip), "--repetitions", "1", "--format", "json", *options, scene]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{shlex.join(command)}: exit code {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)[0]


def quartiles(values):
    if not values:
        return [None] * 3
    return statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else values * 3


def measure(arguments, options, peers, scene):
    """The first turn warms up the peers; ours does so in each."""
    rows, ratios, out = [], {peer: [] for peer in peers}, {}
    dt, last, steps = ours(arguments, options, scene)["dt_s"], {}, []
    for turn in range(arguments.repetitions + 1):
        order = [None, *peers]
        order = order[turn % len(order):] + order[:turn % len(order)]
        times = {}
        for peer in order:
            if peer is None:
                times[None] = ours(arguments, options, scene)
            elif peer not in out:
                answer = peer.run(dt, arguments.skip, arguments.steps, arguments.clock, scene)
                if isinstance(answer, str):
                    say(f"{peer.name} leaves out {scene}: {answer}")
                    out[peer] = True
                else:
                    times[peer] = last[peer] = answer
        if turn == 0:
            continue
        steps.append(times[None]["step_us"])
        for peer in peers:
            if peer in times:
                ratios[peer].append((1e6 * times[peer]["step_s"] / times[None]["step_us"], times[peer]["step_s"]))
    rows.append({**times[None], "engine": "sapstep", "repetitions": len(steps), "step_us": statistics.median(steps),
                 "step_min_us": min(steps), "ratio": 1.0, "ratio_q1": 1.0, "ratio_q3": 1.0})
    for peer in peers:
        q1, median, q3 = quartiles([ratio for ratio, _ in ratios[peer]])
        step = [1e6 * step for _, step in ratios[peer]]
        rows.append({"scene": rows[0]["scene"], "engine": peer.name, "repetitions": len(step),
                     "step_us": statistics.median(step) if step else None, "step_min_us": min(step, default=None),
                     "ratio": median, "ratio_q1": q1, "ratio_q3": q3,
                     **{key: last.get(peer, {}).get(key) for key in ("contacts", "iterations", "residual")},
                     "dt_s": dt})
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=os.environ.get("SAPSTEP", ROOT / "build" / "src" / "cli" / "sapstep"))
    parser.add_argument("--peer", action="append", default=[], metavar="COMMAND")
    parser.add_argument("--patience", type=float, default=60.0, help="how long an answer may take [s]")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--skip", type=int, default=0)
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall")
    parser.add_argument("scenes", nargs="+", metavar="SCENE")
    arguments, options = parser.parse_known_args()
    peers = [peer for peer in (start(command, arguments.patience) for command in arguments.peer) if peer]
    try:
        rows = [row for scene in arguments.scenes for row in measure(arguments, options, peers, scene)]
    finally:
        for peer in peers:
            peer.stop()
    print("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]")


if __name__ == "__main__":
    main()
