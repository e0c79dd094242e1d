/* report_whatif.h - the part of a page that answers "what if". */
#ifndef CLI_REPORT_WHATIF_H
#define CLI_REPORT_WHATIF_H

#include "cli.h"

enum { WHATIF_TYPES = 4 };

typedef struct report_whatif {
    clv_scaling *scaling;
    const char *dtypes[WHATIF_TYPES];
    int64_t batch;
    bool batches;
    char why[600];
    const clv_device *host;
    clv_buf words; /* of the command line */
    struct whatif_points *points;
} report_whatif;

/* Opens the model, of which g is one, at several batches and in several types.
 * Call report_whatif_free in any case. */
CLV_MUST clv_status report_whatif_new(const options *o, const char *model,
                                      const clv_graph *g, report_whatif *w,
                                      clv_err *err);
void report_whatif_free(report_whatif *w);

/* The model and the flags that say how it is read, as words of a shell. */
void report_words(const options *o, const char *model, clv_buf *out);

#endif
