/* segmentation.c - a class for every pixel: FCN (Long et al., 2015), DeepLabV3
 * (Chen et al., 2017) and LR-ASPP (Howard et al., 2019).
 *
 * A dilated backbone, a head that makes 21 channels of its features, and those
 * resized to the image. As torchvision builds them without weights: the
 * auxiliary head that its trained ones carry along is not there. */
#include "zoo/zoo.h"

enum { CLASSES = 21, MOBILENET = 0 };

typedef struct segmentation {
    int backbone; /* blocks in ResNet's third stage, or MOBILENET */
    bool deeplab;
} segmentation;

static tensor segmentation_resize_like(builder *b, tensor x, tensor like)
{
    return zoo_call(b, CLV_OP_INTERPOLATE, "interpolate", TENSORS(x),
                    ATTRS(INTS(SIZE, dim(b, like, 2), dim(b, like, 3)),
                          STRING(MODE, "bilinear")));
}

/* "0" convolution, "1" batch norm, "2" relu. */
static tensor segmentation_conv_norm_relu(builder *b, tensor x, conv_args a)
{
    a.no_bias = true;
    x = zoo_conv(b, CLV_OP_CONV2D, "0", x, a);
    x = batch_norm(b, "1", x);
    return relu(b, "2", x);
}

static tensor segmentation_fcn_head(builder *b, tensor x)
{
    x = segmentation_conv_norm_relu(
        b, x, (conv_args){.out = dim(b, x, 1) / 4, .kernel = 3, .padding = 1});
    x = dropout(b, "3", x);
    return conv2d(b, "4", x, CLASSES);
}

/* -- DeepLab --------------------------------------------------------------*/

/* Pools the whole image and gives the result to every pixel. */
static tensor segmentation_pooled(builder *b, tensor x)
{
    tensor y = adaptive_avg_pool2d(b, "0", x, 1);
    y = conv2d(b, "1", y, 256, .no_bias = true);
    y = batch_norm(b, "2", y);
    y = relu(b, "3", y);
    return segmentation_resize_like(b, y, x);
}

/* Atrous spatial pyramid: the same features, filtered with growing dilation. */
static tensor segmentation_pyramid(builder *b, tensor x)
{
    static const int64_t rates[] = {0, 12, 24, 36};
    tensor level[5];
    enter(b, "convs");
    for (int i = 0; i < 5; i++) {
        enter(b, "%d", i);
        level[i] = i == 4 ? segmentation_pooled(b, x)
                          : segmentation_conv_norm_relu(
                                b, x,
                                (conv_args){.out = 256,
                                            .kernel = i ? 3 : 1,
                                            .padding = rates[i],
                                            .dilation = rates[i]});
        leave(b);
    }
    leave(b);
    x = cat(b, level, 5, 1);
    enter(b, "project");
    x = segmentation_conv_norm_relu(b, x, (conv_args){.out = 256});
    x = dropout(b, "3", x);
    leave(b);
    return x;
}

static tensor segmentation_deeplab_head(builder *b, tensor x)
{
    enter(b, "0");
    x = segmentation_pyramid(b, x);
    leave(b);
    x = conv2d(b, "1", x, 256, .kernel = 3, .padding = 1, .no_bias = true);
    x = batch_norm(b, "2", x);
    x = relu(b, "3", x);
    return conv2d(b, "4", x, CLASSES);
}

static void segmentation_build(builder *b, const zoo_input *in,
                               const void *variant)
{
    const segmentation *v = variant;
    tensor image = input(b, "x", in), low;
    enter(b, "backbone");
    tensor x = v->backbone == MOBILENET
                   ? mobilenet_v3_backbone(b, image, &low)
                   : resnet_backbone(b, v->backbone, image);
    leave(b);
    enter(b, "classifier");
    x = v->deeplab ? segmentation_deeplab_head(b, x)
                   : segmentation_fcn_head(b, x);
    leave(b);
    output(b, segmentation_resize_like(b, x, image));
}

/* -- LR-ASPP --------------------------------------------------------------*/

static void segmentation_build_lraspp(builder *b, const zoo_input *in,
                                      const void *variant)
{
    (void)variant;
    tensor image = input(b, "x", in), low;
    enter(b, "backbone");
    tensor high = mobilenet_v3_backbone(b, image, &low);
    leave(b);
    enter(b, "classifier");
    enter(b, "cbr");
    tensor x = segmentation_conv_norm_relu(b, high, (conv_args){.out = 128});
    leave(b);
    enter(b, "scale");
    tensor s = adaptive_avg_pool2d(b, "0", high, 1);
    s = conv2d(b, "1", s, 128, .no_bias = true);
    s = sigmoid(b, "2", s);
    leave(b);
    x = segmentation_resize_like(b, mul(b, x, s), low);
    tensor y = conv2d(b, "low_classifier", low, CLASSES);
    x = add(b, y, conv2d(b, "high_classifier", x, CLASSES));
    leave(b);
    output(b, segmentation_resize_like(b, x, image));
}

#define SEGMENTATION(name, ...) \
    { \
        {name, "segmentation", IMAGE(224), TORCHVISION("segmentation", 2017)}, \
            segmentation_build, &(const segmentation) \
        { \
            __VA_ARGS__ \
        } \
    }

const zoo_model clv__zoo_segmentation[] = {
    SEGMENTATION("fcn_resnet50", 6, false),
    SEGMENTATION("fcn_resnet101", 23, false),
    SEGMENTATION("deeplabv3_resnet50", 6, true),
    SEGMENTATION("deeplabv3_resnet101", 23, true),
    SEGMENTATION("deeplabv3_mobilenet_v3_large", MOBILENET, true),
    {{"lraspp_mobilenet_v3_large", "segmentation", IMAGE(224),
      TORCHVISION("segmentation", 2019)},
     segmentation_build_lraspp,
     NULL},
    ZOO_END,
};
