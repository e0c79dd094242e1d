/* alexnet.c - One weird trick for parallelizing convolutional neural
 * networks (Krizhevsky, 2014). */
#include "zoo/zoo.h"

static void alexnet_build(builder *b, const zoo_input *in, const void *variant)
{
    (void)variant;
    tensor x = input(b, "x", in);
    enter(b, "features");
    x = conv2d(b, "0", x, 64, .kernel = 11, .stride = 4, .padding = 2);
    x = relu(b, "1", x);
    x = max_pool2d(b, "2", x, .kernel = 3, .stride = 2);
    x = conv2d(b, "3", x, 192, .kernel = 5, .padding = 2);
    x = relu(b, "4", x);
    x = max_pool2d(b, "5", x, .kernel = 3, .stride = 2);
    x = conv2d(b, "6", x, 384, .kernel = 3, .padding = 1);
    x = relu(b, "7", x);
    x = conv2d(b, "8", x, 256, .kernel = 3, .padding = 1);
    x = relu(b, "9", x);
    x = conv2d(b, "10", x, 256, .kernel = 3, .padding = 1);
    x = relu(b, "11", x);
    x = max_pool2d(b, "12", x, .kernel = 3, .stride = 2);
    leave(b);
    x = adaptive_avg_pool2d(b, "avgpool", x, 6);
    x = flatten(b, x, 1);
    enter(b, "classifier");
    x = dropout(b, "0", x);
    x = linear(b, "1", x, 4096);
    x = relu(b, "2", x);
    x = dropout(b, "3", x);
    x = linear(b, "4", x, 4096);
    x = relu(b, "5", x);
    x = linear(b, "6", x, 1000);
    leave(b);
    output(b, x);
}

const zoo_model clv__zoo_alexnet[] = {
    {{"alexnet", "alexnet", IMAGE(224), TORCHVISION("classification", 2014)},
     alexnet_build,
     NULL},
    ZOO_END,
};
