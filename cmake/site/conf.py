# SPDX-License-Identifier: BSD-3-Clause
# Sphinx's settings; cmake/site/build.py collects the sources and runs Sphinx.
import os

project = "sapstep"
version = release = os.environ.get("SAPSTEP_VERSION", "")
copyright = "the authors of sapstep, BSD-3-Clause"
extensions = ["myst_parser", "sphinx.ext.mathjax"]
myst_enable_extensions = ["dollarmath", "amsmath", "html_image"]
myst_heading_anchors = 4
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
root_doc = "index"
if os.environ.get("SAPSTEP_MATHJAX"):  # a MathJax of version 2 on this machine; otherwise the browser fetches it
    mathjax_path = os.environ["SAPSTEP_MATHJAX"]
    mathjax2_config = {"tex2jax": {"processClass": "tex2jax_process|mathjax_process|math"}}
suppress_warnings = ["myst.header"]
highlight_language = "none"
html_theme = "alabaster"
html_theme_options = {"page_width": "min(1150px, 100%)", "sidebar_width": "240px", "body_max_width": "none", "fixed_sidebar": True,
                      "font_family": "sans-serif", "head_font_family": "sans-serif", "font_size": "15px"}
html_static_path = []
html_copy_source = False
html_show_sphinx = False
