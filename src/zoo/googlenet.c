/* googlenet.c - Going Deeper with Convolutions (Szegedy et al., 2014).
 *
 * Nine inception modules, each four branches side by side: 1x1, 3x3 twice
 * (the second is 5x5 in the paper, 3x3 in torchvision), and a pool. The
 * auxiliary heads are left out, as torchvision publishes the model. */
#include "zoo/zoo.h"

typedef struct inception {
    const char *name;
    int64_t one; /* channels of the 1x1 branch */
    int64_t reduce3, three, reduce5, five;
    int64_t pool;
    int64_t shrink; /* kernel of a max pool that follows; 0: none */
} inception;

static const inception modules[] = {
    {"inception3a", 64, 96, 128, 16, 32, 32, 0},
    {"inception3b", 128, 128, 192, 32, 96, 64, 3},
    {"inception4a", 192, 96, 208, 16, 48, 64, 0},
    {"inception4b", 160, 112, 224, 24, 64, 64, 0},
    {"inception4c", 128, 128, 256, 24, 64, 64, 0},
    {"inception4d", 112, 144, 288, 32, 64, 64, 0},
    {"inception4e", 256, 160, 320, 32, 128, 128, 2},
    {"inception5a", 256, 160, 320, 32, 128, 128, 0},
    {"inception5b", 384, 192, 384, 48, 128, 128, 0},
};

static tensor googlenet_reduced_3x3(builder *b, const char *name, tensor x,
                                    int64_t reduce, int64_t out)
{
    enter(b, "%s", name);
    x = basic_conv(b, "0", x, reduce);
    x = basic_conv(b, "1", x, out, .kernel = 3, .padding = 1);
    leave(b);
    return x;
}

static tensor googlenet_branches(builder *b, const inception *m, tensor x)
{
    enter(b, "%s", m->name);
    tensor one = basic_conv(b, "branch1", x, m->one);
    tensor three = googlenet_reduced_3x3(b, "branch2", x, m->reduce3, m->three);
    tensor five = googlenet_reduced_3x3(b, "branch3", x, m->reduce5, m->five);
    enter(b, "branch4");
    tensor pool = max_pool2d(b, "0", x, .kernel = 3, .stride = 1, .padding = 1,
                             .ceil = true);
    pool = basic_conv(b, "1", pool, m->pool);
    leave(b);
    x = cat_as(b, "cat", TENSORS(one, three, five, pool), 1);
    leave(b);
    return x;
}

static void googlenet_build(builder *b, const zoo_input *in,
                            const void *variant)
{
    (void)variant;
    b->norm_eps = 0.001;
    tensor x = input(b, "x", in);
    x = basic_conv(b, "conv1", x, 64, .kernel = 7, .stride = 2, .padding = 3);
    x = max_pool2d(b, "maxpool1", x, .kernel = 3, .stride = 2, .ceil = true);
    x = basic_conv(b, "conv2", x, 64);
    x = basic_conv(b, "conv3", x, 192, .kernel = 3, .padding = 1);
    x = max_pool2d(b, "maxpool2", x, .kernel = 3, .stride = 2, .ceil = true);
    const char *shrink = "maxpool3";
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) {
        x = googlenet_branches(b, &modules[i], x);
        if (!modules[i].shrink)
            continue;
        x = max_pool2d(b, shrink, x, .kernel = modules[i].shrink, .stride = 2,
                       .ceil = true);
        shrink = "maxpool4";
    }
    x = adaptive_avg_pool2d(b, "avgpool", x, 1);
    x = flatten(b, x, 1);
    x = dropout(b, "dropout", x);
    output(b, linear(b, "fc", x, 1000));
}

const zoo_model clv__zoo_googlenet[] = {
    {{"googlenet", "googlenet", IMAGE(224),
      TORCHVISION("classification", 2014)},
     googlenet_build,
     NULL},
    ZOO_END,
};
