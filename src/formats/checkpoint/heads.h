/* heads.h - the last layers of YOLO networks. */
#ifndef CLV_CHECKPOINT_HEADS_H
#define CLV_CHECKPOINT_HEADS_H

#include "formats/checkpoint/module.h"

module_fn head_detect, head_classify, head_dfl;

#endif
