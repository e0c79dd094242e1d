/* partition.h - the three faces of a cut. */
#ifndef CLV_REPORT_PARTITION_H
#define CLV_REPORT_PARTITION_H

#include "cleave/capability.h"
#include "cleave/placement.h"
#include "cleave/report.h"
#include "core/jsonw.h"

void clv__partition_text(const clv_cut *c, const clv_summary *s,
                         const clv_report_opts *o, clv_buf *out);

/* A capability cut: support, partitions, certificate, what-if. */
void clv__capability_text(const clv_cut *c, const clv_report_opts *o,
                          clv_buf *out);
/* Its keys; nothing for other cuts. With `folded` long paths are cut short. */
void clv__json_capability(jsonw *w, const clv_cut *c, bool folded);
/* The same for placements and pipelines. */
void clv__placement_text(const clv_cut *c, const clv_report_opts *o,
                         clv_buf *out);
void clv__pipeline_text(const clv_cut *c, const clv_report_opts *o,
                        clv_buf *out);
void clv__json_placement(jsonw *w, const clv_cut *c);
void clv__json_pipeline(jsonw *w, const clv_cut *c);
/* And for plans of a cluster (cluster.c). */
void clv__cluster_text(const clv_cut *c, const clv_report_opts *o,
                       clv_buf *out);
void clv__json_cluster(jsonw *w, const clv_cut *c);

#endif
