"""The words that the search of the site knows: a compound such as `all-to-all` is one, too."""

import json
import re
from pathlib import Path

SEARCHED = {
    "all-to-all": "guide/traffic",
    "all to all": "guide/traffic",
    "speed": "internals/performance",
    "FCT": "reference/results",
}
"""What readers look for, each with a page that the search must find by it."""

# As a query is taken apart in the browser: a compound stays whole there. Words with one that the
# search would leave out are the compound that the site has of them: `all to all`.
QUERY = r"""
var splitQuery = (query) => {
  const words = query.match(/[\p{Letter}\p{Number}_]+(?:-[\p{Letter}\p{Number}_]+)*/gu) ?? [];
  const stemmer = new Stemmer();
  const isCompound = (parts) =>
    parts.some((part) => stopwords.has(part.toLowerCase())) &&
    Object.hasOwn(Search._index.terms, stemmer.stemWord(parts.join("-").toLowerCase()));
  const found = [];
  while (words.length) {
    let taken = words.length;
    while (taken > 1 && !isCompound(words.slice(0, taken))) taken -= 1;
    found.push(words.splice(0, taken).join("-"));
  }
  return found;
};
"""
_COMPOUND = re.compile(r"\w+(?:-\w+)*")


def split(text: str) -> list[str]:
    """The words of a text: compounds, and their parts."""
    compounds = _COMPOUND.findall(text)
    return [*re.findall(r"\w+", text), *(one for one in compounds if "-" in one)]


def faults(site: Path) -> list[str]:
    """Sentences on words by which the search does not find their page."""
    text = (site / "searchindex.js").read_text(encoding="utf-8")
    index = json.loads(text.removeprefix("Search.setIndex(").rstrip().removesuffix(")"))
    names = index["docnames"]
    found = []
    for word, page in SEARCHED.items():
        term = word.lower().replace(" ", "-")  # as the query's words are put together
        there = {
            names[place]
            for one, places in index["terms"].items()
            if _is_stem(one, term)
            for place in (places if isinstance(places, list) else [places])
        }
        if page not in there:
            found.append(f"{page}: the search does not find it by {word}; write {word} there")
    return found


def _is_stem(term: str, word: str) -> bool:
    """Whether the index may have a word as this term: a stem lacks some letters at the end."""
    return word.startswith(term) and len(word) - len(term) <= 2
