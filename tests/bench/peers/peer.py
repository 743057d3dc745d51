# SPDX-License-Identifier: BSD-3-Clause
"""The protocol of `sapstep bench` for engines with Python bindings.

A request is a line "run DT SKIP STEPS cpu|wall SCENE", the answer a line of JSON.
"""
import json
import sys
import time


def serve(name, load):
    """load(path, dt) gives an object with reset(), step(count) and describe()."""
    answer({"peer": name})
    loaded = {}
    for line in sys.stdin:
        try:
            _, dt, skip, steps, clock, path = line.rstrip("\n").split(" ", 5)
            key = (path, dt)
            if key not in loaded:
                loaded.clear()  # one scene after the other
                loaded[key] = load(path, float(dt))
            answer(measure(loaded[key], int(skip), int(steps), clock))
        except Exception as error:  # whatever the engine says against a scene
            answer({"error": str(error).replace("\n", " ")[:300]})


def measure(scene, skip, steps, clock):
    now = time.process_time if clock == "cpu" else time.perf_counter
    scene.reset()
    if skip > 0:
        scene.step(skip)
    begin = now()
    scene.step(steps)
    step = (now() - begin) / steps
    return {"step_s": step, **scene.describe(skip, steps)}


def answer(fields):
    print(json.dumps(fields), flush=True)


def missing(module, error):
    answer({"error": f"{module}: {error}"})
    sys.exit(1)
