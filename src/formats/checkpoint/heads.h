/* heads.h - the last layers of YOLO networks. */
#ifndef CLV_CHECKPOINT_HEADS_H
#define CLV_CHECKPOINT_HEADS_H

#include "formats/checkpoint/module.h"

module_fn head_detect, head_classify, head_dfl;
/* RT-DETR (rtdetr.c) */
module_fn detr_aifi, detr_mlp, detr_deform, detr_layer, detr_head;

#endif
