"""Results and graphs as a notebook shows them: HTML, the page of `cleave report` in
a frame, pandas. All figures are those of the dicts; nothing is computed here."""
from html import escape

from cleave._cleave import Error

ROWS = 12       # of a table; the rest is counted
TEXT = 60       # characters of a cell
# The list that says most of a result, the first that it has.
TABLES = ("layers", "subgraphs", "tensors", "checks", "points", "changes",
          "devices", "models", "zeros", "operators")
# Columns that a page has room for; a list without any of them shows its first.
COLUMNS = {"layers": ("name", "type", "output_shape", "params", "macs", "flops",
                      "memory", "bottleneck", "trust")}
SHOWN = 9       # columns otherwise
STYLE = "text-align:left;vertical-align:top"


def result_html(result):
    """The figures of a result, and the first rows of its table."""
    figures = "".join(
        f"<tr><th style='{STYLE}'>{escape(str(k).replace('_', ' '))}</th>"
        f"<td style='{STYLE}'>{_cell(v)}</td></tr>"
        for k, v in result.items() if _plain(v) and k != "schema")
    return f"<table>{figures}</table>{_table(result)}"


def graph_html(graph):
    return result_html(graph.profile())


def result_frame(result, key=None):
    """The rows under a key, nested dicts as columns `outer.inner`."""
    key = key or _table_of(result)
    rows = result.get(key)
    if not _is_table(rows):
        tables = [k for k, v in result.items() if _is_table(v)]
        raise Error(f"to_dataframe: no list of rows under {key!r}"
                    + (f": there is {', '.join(tables)}" if tables else ""))
    return _pandas().json_normalize(rows, sep=".")


def graph_frame(graph, count="full"):
    return result_frame(graph.profile(count=count), "layers")


def graph_show(graph, *models, height=640, **flags):
    return Page(graph.report(*models, **flags), height)


class Page:
    """A page that a notebook shows in a frame of its own. The page is in the
    notebook: it needs no file and no network, and cannot touch what is around."""

    def __init__(self, html, height=640):
        self.html, self.height = html, int(height)

    def __repr__(self):
        return f"<cleave.notebook.Page of {len(self.html)} characters>"

    def _repr_html_(self):
        return (f'<iframe title="cleave report" width="100%" height="{self.height}" '
                'style="border:1px solid #8884" '
                'sandbox="allow-scripts allow-downloads allow-modals" '
                f'srcdoc="{escape(self.html)}"></iframe>')


def _pandas():
    try:
        import pandas
    except ImportError:
        raise Error("to_dataframe: pandas is not installed: pip install pandas, "
                    "or take the rows as they are: result['layers']") from None
    return pandas


def _plain(value):
    return value is None or isinstance(value, (bool, int, float, str))


def _is_table(value):
    return isinstance(value, list) and bool(value) and \
        all(isinstance(row, dict) for row in value)


def _table_of(result):
    """The key of the list that is shown; None if there is none."""
    for key in (*TABLES, *result):
        if _is_table(result.get(key)):
            return key
    return None


def _table(result):
    key = _table_of(result)
    if key is None:
        return ""
    rows = result[key]
    names = [c for c in COLUMNS.get(key, ()) if c in rows[0]] or \
        [c for c in rows[0] if _plain(rows[0][c])][:SHOWN] or list(rows[0])[:SHOWN]
    head = "".join(f"<th style='{STYLE}'>{escape(n)}</th>" for n in names)
    body = "".join("<tr>" + "".join(f"<td style='{STYLE}'>{_cell(row.get(n))}</td>"
                                    for n in names) + "</tr>"
                   for row in rows[:ROWS])
    more = len(rows) - ROWS
    rest = f"<p>{more} more {escape(key)}: <code>to_dataframe()</code> has all</p>" \
        if more > 0 else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}"


def _cell(value):
    """A value as text; a large number short, with all digits under the pointer."""
    if isinstance(value, bool) or value is None:
        return escape(str(value))
    if isinstance(value, int):
        return f"<span title='{value}'>{_short(value)}</span>" \
            if abs(value) >= 10000 else str(value)
    if isinstance(value, float):
        return f"<span title='{value!r}'>{value:.4g}</span>"
    text = str(value)
    return escape(text if len(text) <= TEXT else text[:TEXT - 1] + "\u2026")


def _short(n):
    for factor, unit in ((10**12, "T"), (10**9, "G"), (10**6, "M"), (10**3, "K")):
        if abs(n) >= factor:
            return f"{n / factor:.2f} {unit}"
    return str(n)
