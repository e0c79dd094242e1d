/* yolo.c - the YOLO networks of ultralytics: v3, v5 and v6 with the head of v8
 * ("u"), v8, v9, v10, 11, 12 and 26, each in its sizes and for its tasks.
 *
 * A table of rows is a network at full size, as its yaml says it: block, how
 * often, channels and what else the block takes, and the layers it reads (none
 * named: the one before). A size is three numbers: `depth` scales how often
 * blocks repeat, `width` their channels, up to `most`. */
#include "zoo/yolo.h"
#include "zoo/zoo.h"

static const yolo_row v3_rows[] = {
    ROW("Conv", 1, 32, 3, 1),
    ROW("Conv", 1, 64, 3, 2),
    ROW("Bottleneck", 1, 64),
    ROW("Conv", 1, 128, 3, 2),
    ROW("Bottleneck", 2, 128),
    ROW("Conv", 1, 256, 3, 2),
    ROW("Bottleneck", 8, 256),
    ROW("Conv", 1, 512, 3, 2),
    ROW("Bottleneck", 8, 512),
    ROW("Conv", 1, 1024, 3, 2),
    ROW("Bottleneck", 4, 1024),
    ROW("Bottleneck", 1, 1024, 0),
    ROW("Conv", 1, 512, 1, 1),
    ROW("Conv", 1, 1024, 3, 1),
    ROW("Conv", 1, 512, 1, 1),
    ROW("Conv", 1, 1024, 3, 1),
    READS((-2), "Conv", 1, 256, 1, 1),
    UPSAMPLE,
    CONCAT(8),
    ROW("Bottleneck", 1, 512, 0),
    ROW("Bottleneck", 1, 512, 0),
    ROW("Conv", 1, 256, 1, 1),
    ROW("Conv", 1, 512, 3, 1),
    READS((-2), "Conv", 1, 128, 1, 1),
    UPSAMPLE,
    CONCAT(6),
    ROW("Bottleneck", 1, 256, 0),
    ROW("Bottleneck", 2, 256, 0),
};

static const yolo_row v3_spp_rows[] = {
    ROW("Conv", 1, 32, 3, 1),
    ROW("Conv", 1, 64, 3, 2),
    ROW("Bottleneck", 1, 64),
    ROW("Conv", 1, 128, 3, 2),
    ROW("Bottleneck", 2, 128),
    ROW("Conv", 1, 256, 3, 2),
    ROW("Bottleneck", 8, 256),
    ROW("Conv", 1, 512, 3, 2),
    ROW("Bottleneck", 8, 512),
    ROW("Conv", 1, 1024, 3, 2),
    ROW("Bottleneck", 4, 1024),
    ROW("Bottleneck", 1, 1024, 0),
    ROW("SPP", 1, 512),
    ROW("Conv", 1, 1024, 3, 1),
    ROW("Conv", 1, 512, 1, 1),
    ROW("Conv", 1, 1024, 3, 1),
    READS((-2), "Conv", 1, 256, 1, 1),
    UPSAMPLE,
    CONCAT(8),
    ROW("Bottleneck", 1, 512, 0),
    ROW("Bottleneck", 1, 512, 0),
    ROW("Conv", 1, 256, 1, 1),
    ROW("Conv", 1, 512, 3, 1),
    READS((-2), "Conv", 1, 128, 1, 1),
    UPSAMPLE,
    CONCAT(6),
    ROW("Bottleneck", 1, 256, 0),
    ROW("Bottleneck", 2, 256, 0),
};

static const yolo_row v3_tiny_rows[] = {
    ROW("Conv", 1, 16, 3, 1),
    ROW("MaxPool2d", 1, 0, 2),
    ROW("Conv", 1, 32, 3, 1),
    ROW("MaxPool2d", 1, 0, 2),
    ROW("Conv", 1, 64, 3, 1),
    ROW("MaxPool2d", 1, 0, 2),
    ROW("Conv", 1, 128, 3, 1),
    ROW("MaxPool2d", 1, 0, 2),
    ROW("Conv", 1, 256, 3, 1),
    ROW("MaxPool2d", 1, 0, 2),
    ROW("Conv", 1, 512, 3, 1),
    ROW("ZeroPad2d", 1, 0),
    ROW("MaxPool2d", 1, 0, 1),
    ROW("Conv", 1, 1024, 3, 1),
    ROW("Conv", 1, 256, 1, 1),
    ROW("Conv", 1, 512, 3, 1),
    READS((-2), "Conv", 1, 128, 1, 1),
    UPSAMPLE,
    CONCAT(8),
    ROW("Conv", 1, 256, 3, 1),
};

static const yolo_row v5_rows[] = {
    ROW("Conv", 1, 64, 6, 2, 2),
    ROW("Conv", 1, 128, 3, 2),
    ROW("C3", 3, 128),
    ROW("Conv", 1, 256, 3, 2),
    ROW("C3", 6, 256),
    ROW("Conv", 1, 512, 3, 2),
    ROW("C3", 9, 512),
    ROW("Conv", 1, 1024, 3, 2),
    ROW("C3", 3, 1024),
    ROW("SPPF", 1, 1024, 5),
    ROW("Conv", 1, 512, 1, 1),
    UPSAMPLE,
    CONCAT(6),
    ROW("C3", 3, 512, 0),
    ROW("Conv", 1, 256, 1, 1),
    UPSAMPLE,
    CONCAT(4),
    ROW("C3", 3, 256, 0),
    ROW("Conv", 1, 256, 3, 2),
    CONCAT(14),
    ROW("C3", 3, 512, 0),
    ROW("Conv", 1, 512, 3, 2),
    CONCAT(10),
    ROW("C3", 3, 1024, 0),
};

static const yolo_row v5_p6_rows[] = {
    ROW("Conv", 1, 64, 6, 2, 2),
    ROW("Conv", 1, 128, 3, 2),
    ROW("C3", 3, 128),
    ROW("Conv", 1, 256, 3, 2),
    ROW("C3", 6, 256),
    ROW("Conv", 1, 512, 3, 2),
    ROW("C3", 9, 512),
    ROW("Conv", 1, 768, 3, 2),
    ROW("C3", 3, 768),
    ROW("Conv", 1, 1024, 3, 2),
    ROW("C3", 3, 1024),
    ROW("SPPF", 1, 1024, 5),
    ROW("Conv", 1, 768, 1, 1),
    UPSAMPLE,
    CONCAT(8),
    ROW("C3", 3, 768, 0),
    ROW("Conv", 1, 512, 1, 1),
    UPSAMPLE,
    CONCAT(6),
    ROW("C3", 3, 512, 0),
    ROW("Conv", 1, 256, 1, 1),
    UPSAMPLE,
    CONCAT(4),
    ROW("C3", 3, 256, 0),
    ROW("Conv", 1, 256, 3, 2),
    CONCAT(20),
    ROW("C3", 3, 512, 0),
    ROW("Conv", 1, 512, 3, 2),
    CONCAT(16),
    ROW("C3", 3, 768, 0),
    ROW("Conv", 1, 768, 3, 2),
    CONCAT(12),
    ROW("C3", 3, 1024, 0),
};

static const yolo_row v6_rows[] = {
    ROW("Conv", 1, 64, 3, 2),
    ROW("Conv", 1, 128, 3, 2),
    ROW("Conv", 6, 128, 3, 1),
    ROW("Conv", 1, 256, 3, 2),
    ROW("Conv", 12, 256, 3, 1),
    ROW("Conv", 1, 512, 3, 2),
    ROW("Conv", 18, 512, 3, 1),
    ROW("Conv", 1, 1024, 3, 2),
    ROW("Conv", 6, 1024, 3, 1),
    ROW("SPPF", 1, 1024, 5),
    ROW("Conv", 1, 256, 1, 1),
    ROW("ConvTranspose2d", 1, 256, 2),
    CONCAT(6),
    ROW("Conv", 1, 256, 3, 1),
    ROW("Conv", 9, 256, 3, 1),
    ROW("Conv", 1, 128, 1, 1),
    ROW("ConvTranspose2d", 1, 128, 2),
    CONCAT(4),
    ROW("Conv", 1, 128, 3, 1),
    ROW("Conv", 9, 128, 3, 1),
    ROW("Conv", 1, 128, 3, 2),
    CONCAT(15),
    ROW("Conv", 1, 256, 3, 1),
    ROW("Conv", 9, 256, 3, 1),
    ROW("Conv", 1, 256, 3, 2),
    CONCAT(10),
    ROW("Conv", 1, 512, 3, 1),
    ROW("Conv", 9, 512, 3, 1),
};

#define V8_BACKBONE \
    ROW("Conv", 1, 64, 3, 2), ROW("Conv", 1, 128, 3, 2), \
        ROW("C2f", 3, 128, 1), ROW("Conv", 1, 256, 3, 2), \
        ROW("C2f", 6, 256, 1), ROW("Conv", 1, 512, 3, 2), \
        ROW("C2f", 6, 512, 1), ROW("Conv", 1, 1024, 3, 2), \
        ROW("C2f", 3, 1024, 1)

static const yolo_row v8_cls_rows[] = {V8_BACKBONE};

static const yolo_row v8_rows[] = {
    V8_BACKBONE, ROW("SPPF", 1, 1024, 5), UPSAMPLE,
    CONCAT(6),   ROW("C2f", 3, 512),      UPSAMPLE,
    CONCAT(4),   ROW("C2f", 3, 256),      ROW("Conv", 1, 256, 3, 2),
    CONCAT(12),  ROW("C2f", 3, 512),      ROW("Conv", 1, 512, 3, 2),
    CONCAT(9),   ROW("C2f", 3, 1024),
};

static const yolo_row v8_p2_rows[] = {
    V8_BACKBONE, ROW("SPPF", 1, 1024, 5), UPSAMPLE,
    CONCAT(6),   ROW("C2f", 3, 512),      UPSAMPLE,
    CONCAT(4),   ROW("C2f", 3, 256),      UPSAMPLE,
    CONCAT(2),   ROW("C2f", 3, 128),      ROW("Conv", 1, 128, 3, 2),
    CONCAT(15),  ROW("C2f", 3, 256),      ROW("Conv", 1, 256, 3, 2),
    CONCAT(12),  ROW("C2f", 3, 512),      ROW("Conv", 1, 512, 3, 2),
    CONCAT(9),   ROW("C2f", 3, 1024),
};

static const yolo_row v8_p6_rows[] = {
    ROW("Conv", 1, 64, 3, 2),
    ROW("Conv", 1, 128, 3, 2),
    ROW("C2f", 3, 128, 1),
    ROW("Conv", 1, 256, 3, 2),
    ROW("C2f", 6, 256, 1),
    ROW("Conv", 1, 512, 3, 2),
    ROW("C2f", 6, 512, 1),
    ROW("Conv", 1, 768, 3, 2),
    ROW("C2f", 3, 768, 1),
    ROW("Conv", 1, 1024, 3, 2),
    ROW("C2f", 3, 1024, 1),
    ROW("SPPF", 1, 1024, 5),
    UPSAMPLE,
    CONCAT(8),
    ROW("C2", 3, 768, 0),
    UPSAMPLE,
    CONCAT(6),
    ROW("C2", 3, 512, 0),
    UPSAMPLE,
    CONCAT(4),
    ROW("C2", 3, 256, 0),
    ROW("Conv", 1, 256, 3, 2),
    CONCAT(17),
    ROW("C2", 3, 512, 0),
    ROW("Conv", 1, 512, 3, 2),
    CONCAT(14),
    ROW("C2", 3, 768, 0),
    ROW("Conv", 1, 768, 3, 2),
    CONCAT(11),
    ROW("C2", 3, 1024, 0),
};

static const yolo_row v8_ghost_rows[] = {
    ROW("Conv", 1, 64, 3, 2),
    ROW("GhostConv", 1, 128, 3, 2),
    ROW("C3Ghost", 3, 128),
    ROW("GhostConv", 1, 256, 3, 2),
    ROW("C3Ghost", 6, 256),
    ROW("GhostConv", 1, 512, 3, 2),
    ROW("C3Ghost", 6, 512),
    ROW("GhostConv", 1, 1024, 3, 2),
    ROW("C3Ghost", 3, 1024),
    ROW("SPPF", 1, 1024, 5),
    UPSAMPLE,
    CONCAT(6),
    ROW("C3Ghost", 3, 512),
    UPSAMPLE,
    CONCAT(4),
    ROW("C3Ghost", 3, 256),
    ROW("GhostConv", 1, 256, 3, 2),
    CONCAT(12),
    ROW("C3Ghost", 3, 512),
    ROW("GhostConv", 1, 512, 3, 2),
    CONCAT(9),
    ROW("C3Ghost", 3, 1024),
};

/* t, s and m differ in channels, and in what the first block is. */
#define V9_SMALL(name, stem, first, n, c3, c4, c5) \
    static const yolo_row name[] = { \
        ROW("Conv", 1, stem, 3, 2), \
        ROW("Conv", 1, 2 * (stem), 3, 2), \
        first, \
        ROW("AConv", 1, c3), \
        ROW("RepNCSPELAN4", 1, c3, c3, (c3) / 2, n), \
        ROW("AConv", 1, c4), \
        ROW("RepNCSPELAN4", 1, c4, c4, (c4) / 2, n), \
        ROW("AConv", 1, c5), \
        ROW("RepNCSPELAN4", 1, c5, c5, (c5) / 2, n), \
        ROW("SPPELAN", 1, c5, (c5) / 2), \
        UPSAMPLE, \
        CONCAT(6), \
        ROW("RepNCSPELAN4", 1, c4, c4, (c4) / 2, n), \
        UPSAMPLE, \
        CONCAT(4), \
        ROW("RepNCSPELAN4", 1, c3, c3, (c3) / 2, n), \
        ROW("AConv", 1, (c4) / 2), \
        CONCAT(12), \
        ROW("RepNCSPELAN4", 1, c4, c4, (c4) / 2, n), \
        ROW("AConv", 1, (c5) / 2), \
        CONCAT(9), \
        ROW("RepNCSPELAN4", 1, c5, c5, (c5) / 2, n), \
    }
V9_SMALL(v9t_rows, 16, ROW("ELAN1", 1, 32, 32, 16), 3, 64, 96, 128);
V9_SMALL(v9s_rows, 32, ROW("ELAN1", 1, 64, 64, 32), 3, 128, 192, 256);
V9_SMALL(v9m_rows, 32, ROW("RepNCSPELAN4", 1, 128, 128, 64, 1), 1, 240, 360,
         480);

static const yolo_row v9c_rows[] = {
    ROW("Conv", 1, 64, 3, 2),
    ROW("Conv", 1, 128, 3, 2),
    ROW("RepNCSPELAN4", 1, 256, 128, 64, 1),
    ROW("ADown", 1, 256),
    ROW("RepNCSPELAN4", 1, 512, 256, 128, 1),
    ROW("ADown", 1, 512),
    ROW("RepNCSPELAN4", 1, 512, 512, 256, 1),
    ROW("ADown", 1, 512),
    ROW("RepNCSPELAN4", 1, 512, 512, 256, 1),
    ROW("SPPELAN", 1, 512, 256),
    UPSAMPLE,
    CONCAT(6),
    ROW("RepNCSPELAN4", 1, 512, 512, 256, 1),
    UPSAMPLE,
    CONCAT(4),
    ROW("RepNCSPELAN4", 1, 256, 256, 128, 1),
    ROW("ADown", 1, 256),
    CONCAT(12),
    ROW("RepNCSPELAN4", 1, 512, 512, 256, 1),
    ROW("ADown", 1, 512),
    CONCAT(9),
    ROW("RepNCSPELAN4", 1, 512, 512, 256, 1),
};

static const yolo_row v9e_rows[] = {
    ROW("Identity", 1, 0),
    ROW("Conv", 1, 64, 3, 2),
    ROW("Conv", 1, 128, 3, 2),
    ROW("RepNCSPELAN4", 1, 256, 128, 64, 2),
    ROW("ADown", 1, 256),
    ROW("RepNCSPELAN4", 1, 512, 256, 128, 2),
    ROW("ADown", 1, 512),
    ROW("RepNCSPELAN4", 1, 1024, 512, 256, 2),
    ROW("ADown", 1, 1024),
    ROW("RepNCSPELAN4", 1, 1024, 512, 256, 2),
    READS((1), "CBLinear", 1, 0),
    READS((3), "CBLinear", 2, 0),
    READS((5), "CBLinear", 3, 0),
    READS((7), "CBLinear", 4, 0),
    READS((9), "CBLinear", 5, 0),
    READS((YOLO_FIRST), "Conv", 1, 64, 3, 2),
    READS((10, 11, 12, 13, 14, -1), "CBFuse", 1, 0, 0),
    ROW("Conv", 1, 128, 3, 2),
    READS((11, 12, 13, 14, -1), "CBFuse", 1, 0, 1),
    ROW("RepNCSPELAN4", 1, 256, 128, 64, 2),
    ROW("ADown", 1, 256),
    READS((12, 13, 14, -1), "CBFuse", 1, 0, 2),
    ROW("RepNCSPELAN4", 1, 512, 256, 128, 2),
    ROW("ADown", 1, 512),
    READS((13, 14, -1), "CBFuse", 1, 0, 3),
    ROW("RepNCSPELAN4", 1, 1024, 512, 256, 2),
    ROW("ADown", 1, 1024),
    READS((14, -1), "CBFuse", 1, 0, 4),
    ROW("RepNCSPELAN4", 1, 1024, 512, 256, 2),
    ROW("SPPELAN", 1, 512, 256),
    UPSAMPLE,
    CONCAT(25),
    ROW("RepNCSPELAN4", 1, 512, 512, 256, 2),
    UPSAMPLE,
    CONCAT(22),
    ROW("RepNCSPELAN4", 1, 256, 256, 128, 2),
    ROW("ADown", 1, 256),
    CONCAT(32),
    ROW("RepNCSPELAN4", 1, 512, 512, 256, 2),
    ROW("ADown", 1, 512),
    CONCAT(29),
    ROW("RepNCSPELAN4", 1, 512, 1024, 512, 2),
};

/* Sizes of v10 differ in which blocks are CIBs, and in the large kernels (lk)
 * of the small ones. */
#define V10(name, b6, b8, b13, b19, lk) \
    static const yolo_row name[] = { \
        ROW("Conv", 1, 64, 3, 2), \
        ROW("Conv", 1, 128, 3, 2), \
        ROW("C2f", 3, 128, 1), \
        ROW("Conv", 1, 256, 3, 2), \
        ROW("C2f", 6, 256, 1), \
        ROW("SCDown", 1, 512, 3, 2), \
        ROW(b6 ? "C2fCIB" : "C2f", 6, 512, 1), \
        ROW("SCDown", 1, 1024, 3, 2), \
        ROW(b8 ? "C2fCIB" : "C2f", 3, 1024, 1, lk), \
        ROW("SPPF", 1, 1024, 5), \
        ROW("PSA", 1, 1024), \
        UPSAMPLE, \
        CONCAT(6), \
        ROW(b13 ? "C2fCIB" : "C2f", 3, 512, b13), \
        UPSAMPLE, \
        CONCAT(4), \
        ROW("C2f", 3, 256), \
        ROW("Conv", 1, 256, 3, 2), \
        CONCAT(13), \
        ROW(b19 ? "C2fCIB" : "C2f", 3, 512, b19), \
        ROW("SCDown", 1, 512, 3, 2), \
        CONCAT(10), \
        ROW("C2fCIB", 3, 1024, 1, lk), \
    }
V10(v10n_rows, 0, 0, 0, 0, 1);
V10(v10s_rows, 0, 1, 0, 0, 1);
V10(v10m_rows, 0, 1, 0, 1, 0);
V10(v10l_rows, 0, 1, 1, 1, 0);
V10(v10x_rows, 1, 1, 1, 1, 0);

#define V11_BACKBONE \
    ROW("Conv", 1, 64, 3, 2), ROW("Conv", 1, 128, 3, 2), \
        ROW("C3k2", 2, 256, 0, 0.25), ROW("Conv", 1, 256, 3, 2), \
        ROW("C3k2", 2, 512, 0, 0.25), ROW("Conv", 1, 512, 3, 2), \
        ROW("C3k2", 2, 512, 1), ROW("Conv", 1, 1024, 3, 2), \
        ROW("C3k2", 2, 1024, 1)

static const yolo_row v11_rows[] = {
    V11_BACKBONE,
    ROW("SPPF", 1, 1024, 5),
    ROW("C2PSA", 2, 1024),
    UPSAMPLE,
    CONCAT(6),
    ROW("C3k2", 2, 512),
    UPSAMPLE,
    CONCAT(4),
    ROW("C3k2", 2, 256),
    ROW("Conv", 1, 256, 3, 2),
    CONCAT(13),
    ROW("C3k2", 2, 512),
    ROW("Conv", 1, 512, 3, 2),
    CONCAT(10),
    ROW("C3k2", 2, 1024, 1),
};

static const yolo_row v11_cls_rows[] = {
    V11_BACKBONE,
    ROW("C2PSA", 2, 1024),
};

#define V12_BACKBONE \
    ROW("Conv", 1, 64, 3, 2), ROW("Conv", 1, 128, 3, 2), \
        ROW("C3k2", 2, 256, 0, 0.25), ROW("Conv", 1, 256, 3, 2), \
        ROW("C3k2", 2, 512, 0, 0.25), ROW("Conv", 1, 512, 3, 2), \
        ROW("A2C2f", 4, 512, 1, 4), ROW("Conv", 1, 1024, 3, 2), \
        ROW("A2C2f", 4, 1024, 1, 1)

static const yolo_row v12_cls_rows[] = {V12_BACKBONE};

static const yolo_row v12_rows[] = {
    V12_BACKBONE,
    UPSAMPLE,
    CONCAT(6),
    ROW("A2C2f", 2, 512, 0, -1),
    UPSAMPLE,
    CONCAT(4),
    ROW("A2C2f", 2, 256, 0, -1),
    ROW("Conv", 1, 256, 3, 2),
    CONCAT(11),
    ROW("A2C2f", 2, 512, 0, -1),
    ROW("Conv", 1, 512, 3, 2),
    CONCAT(8),
    ROW("C3k2", 2, 1024, 1),
};

static const yolo_row v26_rows[] = {
    V11_BACKBONE,
    ROW("SPPF", 1, 1024, 5, 3, 1),
    ROW("C2PSA", 2, 1024),
    UPSAMPLE,
    CONCAT(6),
    ROW("C3k2", 2, 512, 1),
    UPSAMPLE,
    CONCAT(4),
    ROW("C3k2", 2, 256, 1),
    ROW("Conv", 1, 256, 3, 2),
    CONCAT(13),
    ROW("C3k2", 2, 512, 1),
    ROW("Conv", 1, 512, 3, 2),
    CONCAT(10),
    ROW("C3k2", 1, 1024, 1, 0.5, 1),
};

/* -- names ----------------------------------------------------------------*/

static const yolo_body v3_body = {ROWS(v3_rows), {27, 22, 15}, 32, false};
static const yolo_body v3_spp_body = {
    ROWS(v3_spp_rows), {27, 22, 15}, 32, false};
static const yolo_body v3_tiny_body = {ROWS(v3_tiny_rows), {19, 15}, 32, false};
static const yolo_body v5_body = {ROWS(v5_rows), {17, 20, 23}, 32, false};
static const yolo_body v5_p6_body = {
    ROWS(v5_p6_rows), {23, 26, 29, 32}, 64, false};
static const yolo_body v6_body = {ROWS(v6_rows), {19, 23, 27}, 32, true};
static const yolo_body v8_body = {ROWS(v8_rows), {15, 18, 21}, 32, false};
static const yolo_body v8_cls_body = {ROWS(v8_cls_rows), {0}, 1, false};
static const yolo_body v8_p2_body = {
    ROWS(v8_p2_rows), {18, 21, 24, 27}, 32, false};
static const yolo_body v8_p6_body = {
    ROWS(v8_p6_rows), {20, 23, 26, 29}, 64, false};
static const yolo_body v8_ghost_body = {
    ROWS(v8_ghost_rows), {15, 18, 21}, 32, false};
static const yolo_body v9t_body = {ROWS(v9t_rows), {15, 18, 21}, 32, false};
static const yolo_body v9s_body = {ROWS(v9s_rows), {15, 18, 21}, 32, false};
static const yolo_body v9m_body = {ROWS(v9m_rows), {15, 18, 21}, 32, false};
static const yolo_body v9c_body = {ROWS(v9c_rows), {15, 18, 21}, 32, false};
static const yolo_body v9e_body = {ROWS(v9e_rows), {35, 38, 41}, 32, false};
static const yolo_body v10n_body = {ROWS(v10n_rows), {16, 19, 22}, 32, false};
static const yolo_body v10s_body = {ROWS(v10s_rows), {16, 19, 22}, 32, false};
static const yolo_body v10m_body = {ROWS(v10m_rows), {16, 19, 22}, 32, false};
static const yolo_body v10l_body = {ROWS(v10l_rows), {16, 19, 22}, 32, false};
static const yolo_body v10x_body = {ROWS(v10x_rows), {16, 19, 22}, 32, false};
static const yolo_body v11_body = {ROWS(v11_rows), {16, 19, 22}, 32, false};
static const yolo_body v11_cls_body = {ROWS(v11_cls_rows), {0}, 1, false};
static const yolo_body v12_body = {ROWS(v12_rows), {14, 17, 20}, 32, false};
static const yolo_body v12_cls_body = {ROWS(v12_cls_rows), {0}, 1, false};
static const yolo_body v26_body = {ROWS(v26_rows), {16, 19, 22}, 32, false};

#define HEAD(name) "ultralytics.nn.modules.head " name
enum { COCO = 80, DOTA = 15, IMAGENET = 1000, BINS = 16, PROTOS = 256 };

static const yolo_head detect = {YOLO_DETECT, HEAD("Detect"), COCO, BINS,
                                 0,           false,          false};
static const yolo_head segment = {YOLO_SEGMENT, HEAD("Segment"), COCO, BINS,
                                  PROTOS,       false,           false};
static const yolo_head pose = {YOLO_POSE, HEAD("Pose"), 1,    BINS,
                               0,         false,        false};
static const yolo_head obb = {YOLO_OBB, HEAD("OBB"), DOTA, BINS,
                              0,        false,       false};
static const yolo_head classify = {
    YOLO_CLASSIFY, HEAD("Classify"), IMAGENET, 0, 0, false, false};
static const yolo_head v10_detect = {
    YOLO_DETECT, HEAD("v10Detect"), COCO, BINS, 0, true, true};
/* from 11 on, the branch for classes has depthwise convolutions */
static const yolo_head light_detect = {YOLO_DETECT, HEAD("Detect"), COCO, BINS,
                                       0,           true,           false};
static const yolo_head light_segment = {
    YOLO_SEGMENT, HEAD("Segment"), COCO, BINS, PROTOS, true, false};
static const yolo_head light_pose = {YOLO_POSE, HEAD("Pose"), 1,    BINS,
                                     0,         true,         false};
static const yolo_head light_obb = {YOLO_OBB, HEAD("OBB"), DOTA, BINS,
                                    0,        true,        false};
/* 26 predicts sides without bins, and boxes without doubles */
static const yolo_head v26_detect = {YOLO_DETECT, HEAD("Detect"), COCO, 1,
                                     0,           true,           true};
static const yolo_head v26_segment = {
    YOLO_SEGMENT, HEAD("Segment26"), COCO, 1, PROTOS, true, true};
static const yolo_head v26_pose = {YOLO_POSE, HEAD("Pose26"), 1,   1,
                                   0,         true,           true};
static const yolo_head v26_obb = {YOLO_OBB, HEAD("OBB26"), DOTA, 1,
                                  0,        true,          true};

/* One network: name, family, task, year, side of the image; size; body, head.
 */
const zoo_knobs clv__knobs_yolo = ZOO_KNOBS(
    yolo_build, yolo, KNOB("depth", ZOO_DOUBLE, yolo, depth, 0.01, 10),
    KNOB("width", ZOO_DOUBLE, yolo, width, 0.01, 10),
    KNOB("most", ZOO_INT64, yolo, most, 0, 65536));

#define YOLO(name, family, task, year, image, ...) \
    { \
        {name, family, IMAGE(image), HOME(task, "ultralytics", year), \
         .input_name = "images"}, \
            yolo_build, &(const yolo) \
        { \
            __VA_ARGS__ \
        } \
    }
#define SIZE(name, letter, tail, depth, width, most, family, task, year, \
             image, body, head) \
    YOLO(name letter tail, family, task, year, image, depth, width, most, \
         letter, &(body), &(head))
/* All sizes of one; what stands between name and size is as above. */
#define SIZES_V5(name, tail, ...) \
    SIZE(name, "n", tail, 0.33, 0.25, 0, __VA_ARGS__), \
        SIZE(name, "s", tail, 0.33, 0.50, 0, __VA_ARGS__), \
        SIZE(name, "m", tail, 0.67, 0.75, 0, __VA_ARGS__), \
        SIZE(name, "l", tail, 1.00, 1.00, 0, __VA_ARGS__), \
        SIZE(name, "x", tail, 1.33, 1.25, 0, __VA_ARGS__)
#define SIZES_V8(name, tail, ...) \
    SIZE(name, "n", tail, 0.33, 0.25, 0, __VA_ARGS__), \
        SIZE(name, "s", tail, 0.33, 0.50, 0, __VA_ARGS__), \
        SIZE(name, "m", tail, 0.67, 0.75, 768, __VA_ARGS__), \
        SIZE(name, "l", tail, 1.00, 1.00, 512, __VA_ARGS__), \
        SIZE(name, "x", tail, 1.00, 1.25, 512, __VA_ARGS__)
#define SIZES_V8_CLS(name, tail, ...) \
    SIZE(name, "n", tail, 0.33, 0.25, 0, __VA_ARGS__), \
        SIZE(name, "s", tail, 0.33, 0.50, 0, __VA_ARGS__), \
        SIZE(name, "m", tail, 0.67, 0.75, 0, __VA_ARGS__), \
        SIZE(name, "l", tail, 1.00, 1.00, 0, __VA_ARGS__), \
        SIZE(name, "x", tail, 1.00, 1.25, 0, __VA_ARGS__)
#define SIZES_V11(name, tail, ...) \
    SIZE(name, "n", tail, 0.50, 0.25, 0, __VA_ARGS__), \
        SIZE(name, "s", tail, 0.50, 0.50, 0, __VA_ARGS__), \
        SIZE(name, "m", tail, 0.50, 1.00, 512, __VA_ARGS__), \
        SIZE(name, "l", tail, 1.00, 1.00, 512, __VA_ARGS__), \
        SIZE(name, "x", tail, 1.00, 1.50, 512, __VA_ARGS__)
/* v3 and v9 have a table for each size, v10 nearly so. */
#define V3(tail, body) \
    YOLO("yolov3" tail, "yolov3", DETECTS, 2018, 640, 1, 1, 0, "", &(body), \
         &detect)
#define V9(tail, task, body, head) \
    YOLO("yolov9" tail, "yolov9", task, 2024, 640, 1, 1, 0, "", &(body), \
         &(head))
#define V10_SIZE(letter, depth, width, most, body) \
    SIZE("yolov10", letter, "", depth, width, most, "yolov10", DETECTS, 2024, \
         640, body, v10_detect)

#define DETECTS    "detection"
#define SEGMENTS   "segmentation"
#define TURNED     "oriented-detection"
#define CLASSIFIES "classification"

const zoo_model clv__zoo_yolo[] = {
    V3("u", v3_body),
    V3("-sppu", v3_spp_body),
    V3("-tinyu", v3_tiny_body),
    SIZES_V5("yolov5", "u", "yolov5", DETECTS, 2020, 640, v5_body, detect),
    SIZES_V5("yolov5", "6u", "yolov5", DETECTS, 2020, 1280, v5_p6_body, detect),
    SIZES_V8("yolov6", "", "yolov6", DETECTS, 2022, 640, v6_body, detect),
    SIZES_V8("yolov8", "", "yolov8", DETECTS, 2023, 640, v8_body, detect),
    SIZES_V8("yolov8", "-seg", "yolov8", SEGMENTS, 2023, 640, v8_body, segment),
    SIZES_V8("yolov8", "-pose", "yolov8", "pose", 2023, 640, v8_body, pose),
    SIZES_V8("yolov8", "-obb", "yolov8", TURNED, 2023, 1024, v8_body, obb),
    SIZES_V8_CLS("yolov8", "-cls", "yolov8", CLASSIFIES, 2023, 224, v8_cls_body,
                 classify),
    SIZES_V8("yolov8", "-p2", "yolov8", DETECTS, 2023, 640, v8_p2_body, detect),
    SIZES_V8("yolov8", "-p6", "yolov8", DETECTS, 2023, 1280, v8_p6_body,
             detect),
    SIZES_V8("yolov8", "-ghost", "yolov8", DETECTS, 2023, 640, v8_ghost_body,
             detect),
    V9("t", DETECTS, v9t_body, detect),
    V9("s", DETECTS, v9s_body, detect),
    V9("m", DETECTS, v9m_body, detect),
    V9("c", DETECTS, v9c_body, detect),
    V9("e", DETECTS, v9e_body, detect),
    V9("c-seg", SEGMENTS, v9c_body, segment),
    V9("e-seg", SEGMENTS, v9e_body, segment),
    V10_SIZE("n", 0.33, 0.25, 0, v10n_body),
    V10_SIZE("s", 0.33, 0.50, 0, v10s_body),
    V10_SIZE("m", 0.67, 0.75, 768, v10m_body),
    V10_SIZE("b", 0.67, 1.00, 512, v10l_body),
    V10_SIZE("l", 1.00, 1.00, 512, v10l_body),
    V10_SIZE("x", 1.00, 1.25, 512, v10x_body),
    SIZES_V11("yolo11", "", "yolo11", DETECTS, 2024, 640, v11_body,
              light_detect),
    SIZES_V11("yolo11", "-seg", "yolo11", SEGMENTS, 2024, 640, v11_body,
              light_segment),
    SIZES_V11("yolo11", "-pose", "yolo11", "pose", 2024, 640, v11_body,
              light_pose),
    SIZES_V11("yolo11", "-obb", "yolo11", TURNED, 2024, 1024, v11_body,
              light_obb),
    SIZES_V11("yolo11", "-cls", "yolo11", CLASSIFIES, 2024, 224, v11_cls_body,
              classify),
    SIZES_V11("yolo12", "", "yolo12", DETECTS, 2025, 640, v12_body,
              light_detect),
    SIZES_V11("yolo12", "-seg", "yolo12", SEGMENTS, 2025, 640, v12_body,
              light_segment),
    SIZES_V11("yolo12", "-pose", "yolo12", "pose", 2025, 640, v12_body,
              light_pose),
    SIZES_V11("yolo12", "-obb", "yolo12", TURNED, 2025, 1024, v12_body,
              light_obb),
    SIZES_V11("yolo12", "-cls", "yolo12", CLASSIFIES, 2025, 224, v12_cls_body,
              classify),
    SIZES_V11("yolo26", "", "yolo26", DETECTS, 2026, 640, v26_body, v26_detect),
    SIZES_V11("yolo26", "-seg", "yolo26", SEGMENTS, 2026, 640, v26_body,
              v26_segment),
    SIZES_V11("yolo26", "-pose", "yolo26", "pose", 2026, 640, v26_body,
              v26_pose),
    SIZES_V11("yolo26", "-obb", "yolo26", TURNED, 2026, 1024, v26_body,
              v26_obb),
    SIZES_V11("yolo26", "-cls", "yolo26", CLASSIFIES, 2026, 224, v11_cls_body,
              classify),
    ZOO_END,
};
