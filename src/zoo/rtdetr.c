/* rtdetr.c - RT-DETR (Zhao et al., 2023) as ultralytics has it: a backbone, one
 * layer of attention over its last map, a pyramid, and a decoder whose queries
 * are the best of all cells. Rows are those of yolo.h with the channels that
 * come out first; these networks have one size each. */
#include "zoo/yolo.h"

/* HGBlock: out, inside, kernel, light, shortcut. The last row of a backbone is
 * what the pyramid starts from. */
static const yolo_row rtdetr_l_rows[] = {
    ROW("HGStem", 1, 48, 32),
    ROW("HGBlock", 6, 128, 48, 3),
    ROW("DWConv", 1, 128, 3, 2),
    ROW("HGBlock", 6, 512, 96, 3),
    ROW("DWConv", 1, 512, 3, 2),
    ROW("HGBlock", 6, 1024, 192, 5, 1),
    ROW("HGBlock", 6, 1024, 192, 5, 1, 1),
    ROW("HGBlock", 6, 1024, 192, 5, 1, 1),
    ROW("DWConv", 1, 1024, 3, 2),
    ROW("HGBlock", 6, 2048, 384, 5, 1),
    ROW("ConvPlain", 1, 256),
    ROW("AIFI", 1, 0, 1024, 8),
    ROW("Conv", 1, 256, 1, 1),
    UPSAMPLE,
    READS((7), "ConvPlain", 1, 256),
    READS((-2, -1), "Concat", 1, 0),
    ROW("RepC3", 3, 256),
    ROW("Conv", 1, 256, 1, 1),
    UPSAMPLE,
    READS((3), "ConvPlain", 1, 256),
    READS((-2, -1), "Concat", 1, 0),
    ROW("RepC3", 3, 256),
    ROW("Conv", 1, 256, 3, 2),
    CONCAT(17),
    ROW("RepC3", 3, 256),
    ROW("Conv", 1, 256, 3, 2),
    CONCAT(12),
    ROW("RepC3", 3, 256),
};

static const yolo_row rtdetr_x_rows[] = {
    ROW("HGStem", 1, 64, 32),
    ROW("HGBlock", 6, 128, 64, 3),
    ROW("DWConv", 1, 128, 3, 2),
    ROW("HGBlock", 6, 512, 128, 3),
    ROW("HGBlock", 6, 512, 128, 3, 0, 1),
    ROW("DWConv", 1, 512, 3, 2),
    ROW("HGBlock", 6, 1024, 256, 5, 1),
    ROW("HGBlock", 6, 1024, 256, 5, 1, 1),
    ROW("HGBlock", 6, 1024, 256, 5, 1, 1),
    ROW("HGBlock", 6, 1024, 256, 5, 1, 1),
    ROW("HGBlock", 6, 1024, 256, 5, 1, 1),
    ROW("DWConv", 1, 1024, 3, 2),
    ROW("HGBlock", 6, 2048, 512, 5, 1),
    ROW("HGBlock", 6, 2048, 512, 5, 1, 1),
    ROW("ConvPlain", 1, 384),
    ROW("AIFI", 1, 0, 2048, 8),
    ROW("Conv", 1, 384, 1, 1),
    UPSAMPLE,
    READS((10), "ConvPlain", 1, 384),
    READS((-2, -1), "Concat", 1, 0),
    ROW("RepC3", 3, 384),
    ROW("Conv", 1, 384, 1, 1),
    UPSAMPLE,
    READS((4), "ConvPlain", 1, 384),
    READS((-2, -1), "Concat", 1, 0),
    ROW("RepC3", 3, 384),
    ROW("Conv", 1, 384, 3, 2),
    CONCAT(21),
    ROW("RepC3", 3, 384),
    ROW("Conv", 1, 384, 3, 2),
    CONCAT(16),
    ROW("RepC3", 3, 384),
};

/* ResNetLayer: out, inside, stride, first, blocks. */
#define RESNET_ROWS(third) \
    ROW("ResNetLayer", 1, 64, 64, 1, 1, 1), \
        ROW("ResNetLayer", 1, 256, 64, 1, 0, 3), \
        ROW("ResNetLayer", 1, 512, 128, 2, 0, 4), \
        ROW("ResNetLayer", 1, 1024, 256, 2, 0, third), \
        ROW("ResNetLayer", 1, 2048, 512, 2, 0, 3), ROW("ConvPlain", 1, 256), \
        ROW("AIFI", 1, 0, 1024, 8), ROW("Conv", 1, 256, 1, 1), UPSAMPLE, \
        READS((3), "ConvPlain", 1, 256), READS((-2, -1), "Concat", 1, 0), \
        ROW("RepC3", 3, 256), ROW("Conv", 1, 256, 1, 1), UPSAMPLE, \
        READS((2), "ConvPlain", 1, 256), READS((-2, -1), "Concat", 1, 0), \
        ROW("RepC3", 3, 256), ROW("Conv", 1, 256, 3, 2), CONCAT(12), \
        ROW("RepC3", 3, 256), ROW("Conv", 1, 256, 3, 2), CONCAT(7), \
        ROW("RepC3", 3, 256)

static const yolo_row rtdetr_50_rows[] = {RESNET_ROWS(6)};
static const yolo_row rtdetr_101_rows[] = {RESNET_ROWS(23)};

static const yolo_body rtdetr_l = {ROWS(rtdetr_l_rows), {21, 24, 27}, 32, 0};
static const yolo_body rtdetr_x = {ROWS(rtdetr_x_rows), {25, 28, 31}, 32, 0};
static const yolo_body rtdetr_50 = {ROWS(rtdetr_50_rows), {16, 19, 22}, 32, 0};
static const yolo_body rtdetr_101 = {
    ROWS(rtdetr_101_rows), {16, 19, 22}, 32, 0};

static const yolo_head rtdetr_decoder = {
    .task = YOLO_QUERIES,
    .cls = "ultralytics.nn.modules.head RTDETRDecoder",
    .classes = 80};

/* These have no numbers to set: a function of their own has no knobs. */
static void rtdetr_build(builder *b, const zoo_input *in, const void *variant)
{
    yolo_build(b, in, variant);
}

#define RTDETR(name, body) \
    { \
        {name, "rtdetr", IMAGE(640), HOME("detection", "ultralytics", 2023), \
         .input_name = "images"}, \
            rtdetr_build, &(const yolo) \
        { \
            1, 1, 0, "", &(body), &rtdetr_decoder \
        } \
    }

const zoo_model clv__zoo_rtdetr[] = {
    RTDETR("rtdetr-l", rtdetr_l),
    RTDETR("rtdetr-x", rtdetr_x),
    RTDETR("rtdetr-resnet50", rtdetr_50),
    RTDETR("rtdetr-resnet101", rtdetr_101),
    ZOO_END,
};
