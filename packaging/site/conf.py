"""Sphinx's settings for the documentation site, which packaging/site/build.py makes."""

import sys
from pathlib import Path

from sphinx import search
from sphinx.search.en import SearchEnglish

sys.path.insert(0, str(Path(__file__).parent))
import words

project = "incast"
html_title = "incast"

extensions = ["myst_parser"]
# Pages are written for code hosts: their anchors, and none of what MyST adds to Markdown.
myst_heading_anchors = 6
myst_disable_syntax = ["myst_block_break", "myst_line_comment", "myst_role", "myst_target"]
smartquotes = False
# A language of a block that its lexer does not fully know stays as it is.
suppress_warnings = ["misc.highlighting_failure"]
highlight_language = "text"

html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_favicon = "static/favicon.svg"
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_use_index = False
html_domain_indices = False
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"


class Search(SearchEnglish):
    """The search, which knows compounds."""

    js_splitter_code = words.QUERY

    def split(self, input: str) -> list[str]:  # noqa: A002 - Sphinx's name of it
        """The words of a text."""
        return words.split(input)


search.languages["en"] = Search
