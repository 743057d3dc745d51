# SPDX-License-Identifier: BSD-3-Clause
"""site.py SOURCE HTML CC: the built site has every function, type, enumerator and member of the public headers, as
the C compiler sees them, every public name of the Python package, and the figures of the tutorials."""

import ast
import re
import subprocess
import sys
from pathlib import Path

source, html, compiler = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
bad = []
found = set()
for path in html.rglob("*.html"):
    found |= set(re.findall(r'id="([^"]+)"', path.read_text()))

headers = sorted((source / "include" / "sapstep").glob("*.h"))
code = subprocess.run([compiler, "-E", "-I", source / "include", "-include", headers[0], "-x", "c", "-"],
                      input="".join(f"#include <sapstep/{h.name}>\n" for h in headers if h.name != "mujoco.h"),
                      capture_output=True, text=True, check=True).stdout
own, inside = [], False
for line in code.splitlines():
    if line.startswith("# "):
        inside = "/sapstep/" in line
    elif inside:
        own.append(line)
code = re.sub(r"__attribute__\(\(.*?\)\)", "", "\n".join(own))
names = {f"c.{n}" for n in re.findall(r"\b(sap_\w+)\s*\(", code)}
for kind, name, body in re.findall(r"typedef (enum|struct) (\w+)\s*{(.*?)}\s*\w+;", code, re.DOTALL):
    names.add(f"c.{name}")
    if kind == "enum":
        members = [m.split("=")[0].strip() for m in body.split(",")]
        members = [m for m in members if m and not m.endswith("_COUNT")]
    else:
        members = re.findall(r"\(\*(\w+)\)\(", body)
        plain = re.sub(r"[^;]*\(\*\w+\)\([^;]*;", "", body)
        members += re.findall(r"(\w+)\s*(?:\[[^\]]*\])*\s*[,;]", plain)
    names |= {f"c.{name}.{m}" for m in members}
bad += sorted(f"the site lacks {name}" for name in names - found)
if len(names) < 800:
    bad.append(f"only {len(names)} names were found in the headers")

package = source / "src" / "python" / "sapstep"
exported = ast.literal_eval(re.search(r"__all__ = (\[.*?\])", (package / "__init__.py").read_text(), re.DOTALL).group(1))
bad += [f"the site lacks sapstep.{name}" for name in exported if name != "Residuals" and f"sapstep.{name}" not in found]
for path in (source / "examples" / "tutorials").glob("*.py"):
    page = html / "tutorials" / f"{path.stem}.html"
    if not page.exists() or ("<img" not in page.read_text() and path.stem != "mujoco_models"):
        bad.append(f"{page} has no figure")
print("\n".join(bad))
sys.exit(bool(bad))
