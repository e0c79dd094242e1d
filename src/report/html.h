/* html.h - the page that `cleave report` writes, and what goes into it. */
#ifndef CLV_REPORT_HTML_H
#define CLV_REPORT_HTML_H

#include "cleave/report.h"

/* The built page (web/), embedded. Data goes where it says so. */
typedef struct clv_page_file {
    const char *name, *text;
    size_t size;
} clv_page_file;

extern const clv_page_file clv__page_files[];

/* Boxes, items and wires as JSON, and the bytes of the values drawn. */
void clv__html_layout(const clv_graph *g, const clv_layout_info *l,
                      clv_buf *out);

/* The graph as JSON; of a folded layout, the nodes that it draws. */
void clv__report_graph(const clv_graph *g, const clv_layout_info *l,
                       clv_buf *out);

/* The polynomials and the devices that the page answers "what if" with. */
void clv__html_whatif(const clv_graph *g, const clv_profile *p,
                      const clv_html_whatif *w, clv_buf *out);

#endif
