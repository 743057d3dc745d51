# SPDX-License-Identifier: BSD-3-Clause
"""Builds the site: C and Python reference, pages of the repository, tutorials.

    python3 cmake/site/build.py OUT

needs Sphinx and myst-parser, and for the tutorials the package with matplotlib. Writes OUT/html/index.html and ends
with status 1 if Sphinx warns, or if a link or a picture of a page does not exist; with 77 if Sphinx or myst-parser is missing.
"""

import base64
import contextlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

sys.dont_write_bytecode = True
from c_reference import ROLES, Words, enumerators, page, read  # noqa: E402
from python_reference import Package  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
PAGES = ["README.md", "CHANGELOG.md", "src/README.md", "integrators/README.md", "src/solvers/README.md",
         "src/multibody/README.md", ".github/CONTRIBUTING.md", "examples/scenes/README.md",
         "examples/studies/README.md", "examples/studies/orders/README.md", "tests/bench/README.md",
         "tests/data/README.md", "examples/bring_your_own_dynamics.md"]
GROUPS = {
    "base": ("Every program", ["base.h"]),
    "problem": ("Problem API", ["problem.h", "solver.h", "gradient.h", "contact.h", "problem_file.h"]),
    "stepper": ("Stepper API", ["system.h", "stepper.h", "adaptive.h", "linearize.h"]),
    "scenes": ("Scenes", ["scene.h", "model.h", "multibody.h", "sensor.h"]),
    "output": ("Output", ["recorder.h", "output.h"]),
    "mujoco": ("MuJoCo", ["mujoco.h"]),
}
TUTORIALS = ["mujoco_models", "own_dynamics", "orders", "solvers", "sweep", "learn_the_floor", "ball_into_cup",
             "quadruped_jump"]


# --- pages ---

def stage_pages(source):
    """Copies the repository's pages; links to files that are no pages become links to copies of these files."""
    for name in [*PAGES, "cmake/site/index.md", "cmake/site/method.md"]:
        target = source / (Path(name).name if name.startswith("cmake/site/") else name.replace(".github", "github"))
        target.parent.mkdir(parents=True, exist_ok=True)
        here = (ROOT / name).parent

        def link(match):
            path, _, anchor = match.group(2).partition("#")
            if "://" in path or not path or match.group(2).startswith("<"):
                return match.group()
            file = (here / path).resolve()
            if file.is_dir() and (file / "README.md").exists():
                file = file / "README.md"
            up = os.path.relpath(source, target.parent)
            if file.suffix == ".h" and file.parent.name == "sapstep":
                group = next(g for g, (_, headers) in GROUPS.items() if file.name in headers)
                return f"{match.group(1)}{up}/c/{group}.rst{match.group(3)}"
            if not file.is_file() or not file.is_relative_to(ROOT):
                return match.group()  # Sphinx names it
            relative = file.relative_to(ROOT).as_posix()
            if relative not in PAGES:
                copy = source / relative
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, copy)
            mark = f"#{anchor}" if anchor else ""
            return f"{match.group(1)}{up}/{relative.replace('.github', 'github')}{mark}{match.group(3)}"

        text = (ROOT / name).read_text()
        text = re.sub(r"(\]\()([^)\s]+)(\))", link, text)
        text = re.sub(r'(<img src=")([^"]+)(")', link, text)
        target.write_text(text)


def stage_reference(source):
    words = Words(re.findall(r"\(castro-(\d+)\)=", (ROOT / "cmake" / "site" / "method.md").read_text()))
    headers = read(ROOT / "include" / "sapstep")
    for header in headers.values():
        words.roles.update({item[1]: ROLES[item[0]] for item in header.items if item[0] in ROLES and item[1]})
        words.roles.update(dict.fromkeys(enumerators(header.items), "enumerator"))
    (source / "c").mkdir()
    for name, (title, files) in GROUPS.items():
        text = "\n".join(page(headers[file], file, words) for file in files)
        mark = "#" * len(title)
        (source / "c" / f"{name}.rst").write_text(f"{mark}\n{title}\n{mark}\n\n{text}")
    package = Package(ROOT / "src" / "python" / "sapstep")
    (source / "python").mkdir()
    for name, title in {"": "sapstep", "mujoco": "sapstep.mujoco", "gym": "sapstep.gym",
                        "torch": "sapstep.torch", "jax": "sapstep.jax", "program": "sapstep.program"}.items():
        (source / "python" / f"{name or 'sapstep'}.rst").write_text(package.module(name, title))


# --- tutorials ---

def cells(text):
    """Cells (is_code, text) of a script in the percent format."""
    for part in re.split(r"^# %%", text, flags=re.MULTILINE)[1:]:
        head, _, body = part.partition("\n")
        if "[markdown]" in head:
            yield False, re.sub(r"^# ?", "", body, flags=re.MULTILINE).strip()
        else:
            yield True, body.strip()


def run_tutorial(name, target):
    """Runs the cells in one namespace; writes target/NAME.md and NAME.ipynb with what they print and draw."""
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    page_text, notebook, names, pictures = [], [], {"__name__": "__main__"}, 0
    os.chdir(target)  # they write files
    for is_code, text in cells((ROOT / "examples" / "tutorials" / f"{name}.py").read_text()):
        if not is_code:
            page_text.append(text + "\n")
            notebook.append({"cell_type": "markdown", "metadata": {}, "source": text})
            continue
        printed, outputs = io.StringIO(), []
        with contextlib.redirect_stdout(printed):
            exec(compile(text, f"{name}.py", "exec"), names)
        page_text.append(f"```python\n{text}\n```\n")
        if printed.getvalue():
            page_text.append(f"```text\n{printed.getvalue().rstrip()}\n```\n")
            outputs.append({"output_type": "stream", "name": "stdout", "text": printed.getvalue()})
        for number in plt.get_fignums():
            pictures += 1
            picture = f"{name}_{pictures}.png"
            plt.figure(number).savefig(target / picture, dpi=100)
            page_text.append(f"![A figure that the code above draws]({picture})\n")
            data = base64.b64encode((target / picture).read_bytes()).decode()
            outputs.append({"output_type": "display_data", "metadata": {}, "data": {"image/png": data}})
        plt.close("all")
        notebook.append({"cell_type": "code", "metadata": {}, "execution_count": None, "source": text,
                         "outputs": outputs})
    if not pictures:
        raise RuntimeError(f"the tutorial {name} draws nothing")
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    (target / f"{name}.ipynb").write_text(json.dumps(
        {"cells": notebook, "metadata": kernel, "nbformat": 4, "nbformat_minor": 4}, indent=1))
    page_text.append(f"[This page as a notebook]({name}.ipynb)\n")
    (target / f"{name}.md").write_text("\n".join(page_text))


def stage_tutorials(source):
    target = source / "tutorials"
    target.mkdir()
    for name in TUTORIALS:
        try:
            run_tutorial(name, target)
        except ImportError as error:  # without MuJoCo, matplotlib, or the package
            if os.environ.get("SAPSTEP_NO_SKIPS") and name != "mujoco_models":  # Debian has no Python package of MuJoCo
                raise
            print(f"{name}: not run: {error}", file=sys.stderr)
            parts = cells((ROOT / "examples" / "tutorials" / f"{name}.py").read_text())
            (target / f"{name}.md").write_text(
                "\n".join(f"```python\n{text}\n```\n" if is_code else text + "\n" for is_code, text in parts))


# --- links ---

class Links(HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.names, self.links = set(), []
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("id", "name"):
                self.names.add(value)
            elif name in ("href", "src") and value:
                self.links.append(value)


def dead_links(html):
    """Returns "PAGE: LINK" of each link within the site without its page, picture or anchor."""
    pages = {path: Links(path) for path in html.rglob("*.html")}
    bad = []
    for path, found in pages.items():
        for link in found.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchor = unquote(parts.fragment)
            if not target.is_file() or (anchor and target in pages and anchor not in pages[target].names):
                bad.append(f"{path.relative_to(html)}: {link}")
    return bad


def main():
    out = Path(sys.argv[1]).resolve()
    try:
        import myst_parser  # noqa: F401
        import sphinx  # noqa: F401
    except ImportError as error:
        print(f"the site needs Sphinx and myst-parser: {error}", file=sys.stderr)
        return 77
    source, html = out / "source", out / "html"
    shutil.rmtree(out, ignore_errors=True)
    source.mkdir(parents=True)
    stage_pages(source)
    stage_reference(source)
    stage_tutorials(source)
    version = re.search(r"VERSION (\d+\.\d+\.\d+)", (ROOT / "CMakeLists.txt").read_text()).group(1)
    done = subprocess.run([sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", "-c", ROOT / "cmake" / "site",
                           "-d", out / "cache", source, html], env={**os.environ, "SAPSTEP_VERSION": version})
    bad = dead_links(html)
    for line in bad:
        print(f"dead link: {line}", file=sys.stderr)
    print(f"{html}/index.html")
    return 1 if done.returncode or bad else 0


if __name__ == "__main__":
    sys.exit(main())
