"""The documentation's site: `make docs` builds it into build/docs."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

import pluginkit

project = "pluginkit"
author = "The pluginkit authors"
project_copyright = author
release = version = pluginkit.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "pluginkit_docs"]
exclude_patterns = ["_ext"]
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
add_module_names = False
default_role = "code"  # docstrings have code in single backquotes
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
napoleon_use_ivar = True
nitpicky = False  # TensorRT's and click's names are not pages here
html_theme = "pydata_sphinx_theme"
html_title = f"pluginkit {release}"
html_show_sourcelink = False
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
}
html_sidebars = {"index": []}
