"""In a notebook: graphs and results as HTML, the report in a frame, pandas. The
figures are those of the dicts, and no name of a model becomes markup."""
import copy
import html.parser
import json
import os
import pickle
import re

from py_check import check, equal, main, raises, skip

import cleave
from cleave import notebook

ROOT = os.environ["CLEAVE_ROOT"]
HOSTILE = os.path.join(ROOT, "tests", "data", "report", "hostile.onnx")
g = cleave.load("resnet18")
RESULTS = {
    "profile": g.profile, "partition": lambda: g.partition("fusion"),
    "memory": g.memory, "concurrency": g.concurrency,
    "map": lambda: g.map("h100"), "compare": lambda: g.compare("resnet34"),
    "sweep": lambda: g.sweep([1, 2]), "validate": g.validate,
    "diagnose": g.diagnose, "check": lambda: g.check(budget={"macs": "1G"}),
    "hardware": cleave.hardware,
}
TAGS = {"table", "thead", "tbody", "tr", "th", "td", "p", "code", "span"}


class Parsed(html.parser.HTMLParser):
    """The tags, the attributes and the text of some HTML."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.open, self.attributes, self.words = set(), [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.open.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        equal(self.open.pop(), tag, "tags close in order")

    def handle_data(self, data):
        self.words.append(data)


def test_result_is_a_dict():
    p = g.profile()
    check(isinstance(p, dict) and type(p) is cleave.Result, "the type")
    equal(json.loads(json.dumps(p)), p, "JSON")
    for again in (pickle.loads(pickle.dumps(p)), copy.deepcopy(p), copy.copy(p)):
        equal((again, type(again)), (p, cleave.Result), "a copy")
    equal(repr(p), repr(dict(p)), "repr")


def test_html():
    for name, make in RESULTS.items():
        result = make()
        found = Parsed(result._repr_html_())
        equal(found.open, [], f"{name}: all tags are closed")
        check(found.tags <= TAGS, f"{name}: {found.tags}")
        equal({a for a, _ in found.attributes} - {"style", "title"}, set(), name)
        for key, value in result.items():
            if isinstance(value, str):
                check(value[:notebook.TEXT - 1] in "".join(found.words),
                      f"{name}: {key} is not shown")
    exact = {int(v) for a, v in Parsed(g._repr_html_()).attributes
             if a == "title" and v.isdigit()}
    for key in ("total_flops", "total_macs", "total_params", "total_memory"):
        check(g.profile()[key] in exact, f"{key} is not shown")


def test_rows_left_out_are_counted():
    p = g.profile()
    left = len(p["layers"]) - notebook.ROWS
    check(f"{left} more layers" in p._repr_html_(), "the count of rows")


def test_hostile_names():
    found = Parsed(cleave.load(HOSTILE)._repr_html_())
    check(found.tags <= TAGS, f"tags of a name: {found.tags}")
    check(any("<script>" in w for w in found.words), "the name is shown as text")


def test_show():
    page = g.show(height=500)
    found = Parsed(page._repr_html_())
    equal(found.tags, {"iframe"}, "tags")
    frame = dict(found.attributes)
    equal(frame["srcdoc"], page.html, "the page in the frame")
    equal(frame["height"], "500", "height")
    check("allow-same-origin" not in frame["sandbox"], "the frame is apart")
    check("src" not in frame and page.html.startswith("<!"), "one page")
    equal(g.report(path="shown.html"), None, "a file")
    with open("shown.html", encoding="utf-8") as f:
        equal(f.read(), page.html, "the page in a file")
    check("cleave report resnet18" in _block(page.html, "meta-0"), "the command")
    both = g.show("resnet34").html
    check('id="compare-0"' in both, "two models")
    with raises(ValueError, "flag"):
        g.show(no_such=1)


def _block(page, name):
    """A packed part of a page."""
    import base64
    import zlib
    found = re.search(f'id="{name}">([^<]*)<', page)
    return zlib.decompress(base64.b64decode(found[1])).decode() if found else page


def test_captured():
    try:
        import torch
    except ImportError:
        skip("no torch")
        return
    got = cleave.capture(torch.nn.Linear(8, 4), torch.rand(2, 8)).graph
    check("Linear" in got._repr_html_(), "the name")
    check(got.show().html.startswith("<!"), "the page")


def test_dataframe():
    try:
        import pandas
    except ImportError:
        with raises(cleave.Error, "pandas is not installed"):
            g.to_dataframe()
        skip("no pandas")
        return
    p, frame = g.profile(), g.to_dataframe()
    equal(list(frame["flops"]), [x["flops"] for x in p["layers"]], "flops")
    check("parallelism.batch" in frame.columns, "nested columns")
    equal(len(p.to_dataframe()), len(p["layers"]), "rows")
    equal(list(g.compare("resnet34").to_dataframe("models")["model"]),
          ["resnet18", "resnet34"], "another key")
    equal(int(g.to_dataframe("fvcore")["flops"].sum()),
          g.profile("fvcore")["total_flops"], "another count")
    for name, make in RESULTS.items():
        check(isinstance(make().to_dataframe(), pandas.DataFrame), name)
    with raises(cleave.Error, "no list of rows"):
        p.to_dataframe("nothing")


main(globals())
