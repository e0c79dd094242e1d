/* test_zoo.c - every built-in model against what others measured.
 *
 *   fvcore_torchvision.csv     fvcore and torch.fx on torchvision 0.14.1
 *   torchvision_published.csv  what torchvision prints beside its weights
 *   modules.txt                module paths and weight names (gen/modules.py)
 *   zoo.csv                    every name at its home (gen/zoo_truth.py)
 *   timm_published.csv         what timm prints (gen/timm_published.py)
 *   zoo_modules.csv            modules of timm's networks (gen/zoo_modules.py)
 *   zoo_fx.csv                 nodes of torch.fx (gen/zoo_fx.py)
 *   zoo_sizes.csv              sizes that live models take (gen/zoo_sizes.py)
 *   zoo_quantized.csv          bytes of quantised weights
 * (gen/zoo_quantized.py)
 *
 * Each row of a table is a case of its own. */
#include "check.h"
#include "cleave.h"
#include "csv.h"
#include "models.h"

#include <stdlib.h>

static clv_totals totals_of(const char *model, const int64_t *dims,
                            uint32_t rank)
{
    clv_shape_arg shape = {NULL, dims, rank};
    clv_graph *g =
        open_model(model, &(clv_open_opts){.size = sizeof(clv_open_opts),
                                           .shapes = &shape,
                                           .n_shapes = 1});
    clv_totals t = {0};
    clv_profile *p = NULL;
    clv_err err;
    if (g && CHECK(clv_profile_new(g, NULL, &p, &err) == CLV_OK))
        t = *clv_profile_totals(p);
    clv_profile_free(p);
    clv_graph_free(g);
    return t;
}

/* -- measured -------------------------------------------------------------*/

/* Families whose graph has one node for each node of torch.fx. */
static bool counts_like_fx(const char *model)
{
    static const char *const prefixes[] = {
        "alexnet",    "vgg",          "resnet",    "resnext",   "wide_resnet",
        "squeezenet", "densenet",     "googlenet", "inception", "mobilenet",
        "mnasnet",    "efficientnet", "regnet",
    };
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (!strncmp(model, prefixes[i], strlen(prefixes[i])))
            return true;
    return false;
}

static void measured(void)
{
    csv t;
    CHECK_OR_RETURN(csv_open(&t, "tests/data/fvcore_torchvision.csv"));
    while (csv_next(&t)) {
        const char *model = csv_get(&t, "model");
        if (!in_zoo(model))
            continue;
        check_row(model);
        int64_t dims[8];
        uint32_t rank = read_shape(csv_get(&t, "input"), dims);
        clv_totals got = totals_of(model, dims, rank);
        CHECK_EQ_INT(got.params, atoll(csv_get(&t, "params")));
        /* fvcore rounds einsum to four digits, and with it these MACs */
        if (!strstr(csv_get(&t, "fvcore_by_operator"), "einsum"))
            CHECK_EQ_INT(got.macs, atoll(csv_get(&t, "macs_conv_matmul")));
        if (counts_like_fx(model))
            CHECK_EQ_INT(got.graph_nodes, atoll(csv_get(&t, "fx_nodes")));
    }
}

/* Families of which torch.fx sees other nodes than there are operators. */
static bool traced_otherwise(const char *model)
{
    static const char *const prefixes[] = {
        "vit_",        /* nn.MultiheadAttention is one module */
        "swin",        /* attention in windows is one function */
        "mvit_",       /* one unbind or tensor_split where we slice each part;
                        * contiguous, and axes that are added and taken away */
        "cait_",       /* attention of the class token is one function */
        "levit_",      /* one split where we slice each part; idle dropouts */
        "poolformer_", /* axes are permuted around the norm of one pixel */
        "ghostnet_",   /* a flatten of what is flat */
    };
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (!strncmp(model, prefixes[i], strlen(prefixes[i])))
            return true;
    return false;
}

/* Nodes of torch.fx, without those that are no work on tensors. */
static void traced(void)
{
    static const char *const not_work[] = {"sizes", "reads", "picks", "idle"};
    csv t;
    uint32_t same = 0;
    CHECK_OR_RETURN(csv_open(&t, "tests/data/zoo_fx.csv"));
    while (csv_next(&t)) {
        const char *model = csv_get(&t, "name");
        long long want = atoll(csv_get(&t, "nodes"));
        if (!in_zoo(model) || traced_otherwise(model))
            continue;
        check_row(model);
        same++;
        for (size_t i = 0; i < sizeof not_work / sizeof *not_work; i++)
            want -= atoll(csv_get(&t, not_work[i]));
        clv_graph *g = open_model(model, NULL);
        clv_profile *p = NULL;
        if (g && CHECK(clv_profile_new(g, NULL, &p, NULL) == CLV_OK))
            CHECK_EQ_INT(clv_profile_totals(p)->graph_nodes, want);
        clv_profile_free(p);
        clv_graph_free(g);
    }
    CHECK(same > 100);
}

/* What the profile reports for fvcore's name of an operator. */
static int64_t kind_total(const clv_profile *p, const char *kind)
{
    uint32_t n;
    const clv_kind_total *k = clv_profile_kinds(p, &n);
    for (uint32_t i = 0; i < n; i++)
        if (!strcmp(k[i].kind, kind))
            return k[i].total;
    return 0;
}

/* `want` is {"conv": 655566528, "linear": 58621952}. Kinds that are not listed
 * must be zero, so the sum has to agree as well. */
static void check_kinds(const clv_profile *p, const char *want)
{
    char kind[64];
    long long total;
    for (const char *at = want; (at = strchr(at, '"')); at = strchr(at, ':')) {
        int n = sscanf(at, "\"%63[^\"]\": %lld", kind, &total);
        CHECK_OR_RETURN(n == 2);
        check_that(kind_total(p, kind) == total, __FILE__, __LINE__,
                   "%s: got %" PRId64 ", want %lld", kind, kind_total(p, kind),
                   total);
    }
}

static void fvcore(void)
{
    csv t;
    CHECK_OR_RETURN(csv_open(&t, "tests/data/fvcore_torchvision.csv"));
    while (csv_next(&t)) {
        const char *model = csv_get(&t, "model");
        if (!in_zoo(model))
            continue;
        check_row(model);
        clv_graph *g = open_at(model, csv_get(&t, "input"));
        clv_profile *p = NULL;
        clv_profile_opts opts = {.size = sizeof opts,
                                 .convention = CLV_CONVENTION_FVCORE};
        if (g && CHECK(clv_profile_new(g, &opts, &p, NULL) == CLV_OK)) {
            CHECK_EQ_INT(clv_profile_totals(p)->flops,
                         atoll(csv_get(&t, "fvcore_total")));
            check_kinds(p, csv_get(&t, "fvcore_by_operator"));
        }
        clv_profile_free(p);
        clv_graph_free(g);
    }
}

/* The published input: "224" for an image, "112x112" for 16 frames of video. */
static uint32_t published_input(const char *text, int64_t *dims)
{
    int64_t size = atoll(text);
    bool video = strchr(text, 'x') != NULL;
    uint32_t rank = 0;
    dims[rank++] = 1;
    dims[rank++] = 3;
    if (video)
        dims[rank++] = 16;
    dims[rank++] = size;
    dims[rank++] = size;
    return rank;
}

static void published(void)
{
    csv t;
    CHECK_OR_RETURN(csv_open(&t, "tests/data/torchvision_published.csv"));
    while (csv_next(&t)) {
        const char *model = csv_get(&t, "model"), *task = csv_get(&t, "task");
        bool found = !strcmp(task, "detection"); /* so many as there were */
        if (!strcmp(task, "segmentation"))       /* theirs have a second head */
            continue;
        char name[128];
        snprintf(name, sizeof name, "%s %s", model, csv_get(&t, "entry"));
        check_row(name);
        int64_t dims[5];
        uint32_t rank = published_input(csv_get(&t, "input"), dims);
        clv_totals got = totals_of(model, dims, rank);
        CHECK_EQ_INT(got.params, atoll(csv_get(&t, "num_params")));
        double gmacs = atof(csv_get(&t, "gmacs_ref")); /* to 3 digits */
        if (found && strstr(model, "rcnn"))
            CHECK(llround((double)got.macs / 1e6) >= llround(gmacs * 1e3));
        else
            CHECK_EQ_INT(llround((double)got.macs / 1e6), llround(gmacs * 1e3));
    }
}

/* What ultralytics prints beside its networks: parameters of the network as it
 * is trained, GMACs to two digits. From 11 on theirs leave attention out. */
static void published_yolo(void)
{
    csv t;
    CHECK_OR_RETURN(csv_open(&t, "tests/data/yolo_published.csv"));
    while (csv_next(&t)) {
        const char *model = csv_get(&t, "model"), *gmacs = csv_get(&t, "gmacs");
        int64_t size = atoll(csv_get(&t, "imgsz"));
        clv_totals got = totals_of(model, (int64_t[]){1, 3, size, size}, 4);
        check_row(model);
        if (!strcmp(csv_get(&t, "state"), "unfused"))
            CHECK_EQ_INT(got.params, atoll(csv_get(&t, "params")));
        else if (!strncmp(model, "yolov8", 6))
            CHECK_EQ_INT(llround((double)got.macs / 1e7),
                         llround(atof(gmacs) * 1e2));
    }
}

/* What fvcore counts, and attention, which it leaves out where it is one
 * operator: timm's tables are made with its products apart. */
static int64_t counted_by_timm(const clv_profile *p)
{
    uint32_t n;
    int64_t sum = clv_profile_totals(p)->flops;
    const clv_type_total *t = clv_profile_types(p, &n);
    for (uint32_t i = 0; i < n; i++)
        if (!strcmp(t[i].type, "scaled_dot_product_attention"))
            sum += t[i].macs;
    return sum;
}

/* Tables of timm's results, to the two digits that they print. */
static void published_timm(void)
{
    csv t;
    CHECK_OR_RETURN(csv_open(&t, "tests/data/timm_published.csv"));
    while (csv_next(&t)) {
        const char *model = csv_get(&t, "name");
        int64_t size = atoll(csv_get(&t, "size")), dims[] = {1, 3, size, size};
        if (!strcmp(csv_get(&t, "state"), "fused")) /* another network */
            continue;
        check_row(model);
        clv_shape_arg shape = {NULL, dims, 4};
        clv_open_opts open = {
            .size = sizeof open, .shapes = &shape, .n_shapes = 1};
        clv_profile_opts opts = {.size = sizeof opts,
                                 .convention = CLV_CONVENTION_FVCORE};
        clv_graph *g = open_model(model, &open);
        clv_profile *p = NULL;
        if (!g || !CHECK(clv_profile_new(g, &opts, &p, NULL) == CLV_OK))
            continue;
        CHECK_EQ_INT(llround((double)clv_profile_totals(p)->params / 1e4),
                     llround(atof(csv_get(&t, "params_m")) * 1e2));
        CHECK_EQ_INT(llround((double)counted_by_timm(p) / 1e7),
                     llround(atof(csv_get(&t, "gmacs")) * 1e2));
        clv_profile_free(p);
        clv_graph_free(g);
    }
}

/* -- names ----------------------------------------------------------------*/

typedef struct {
    char *line[4096];
    size_t n;
} lines;

static void add_line(lines *l, const char *path, size_t len, const char *rest)
{
    size_t size = len + strlen(rest) + 3;
    char *s = malloc(size);
    CHECK_OR_RETURN(s && l->n < sizeof l->line / sizeof *l->line);
    snprintf(s, size, "%.*s %s\n", (int)len, path, rest);
    l->line[l->n++] = s;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* FNV-1a over the sorted lines; frees them. */
static uint64_t hash_lines(lines *l)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    qsort(l->line, l->n, sizeof *l->line, by_text);
    for (size_t i = 0; i < l->n; i++) {
        for (const char *c = l->line[i]; *c; c++)
            h = (h ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
        free(l->line[i]);
    }
    return h;
}

static void check_hash(lines *got, const char *what, int64_t n, uint64_t want)
{
    CHECK_EQ_INT(got->n, n);
    uint64_t h = hash_lines(got);
    check_that(h == want, __FILE__, __LINE__, "%s differ: %016" PRIx64, what,
               h);
}

static bool is_weight(const clv_value_info *v)
{
    return v->kind == CLV_VALUE_PARAM || v->kind == CLV_VALUE_BUFFER;
}

/* Parameters of the module itself: weights called "path.name". */
static int64_t own_params(const clv_graph *g, const char *path)
{
    size_t len = strlen(path);
    int64_t sum = 0;
    for (uint32_t i = 0; i < clv_graph_num_values(g); i++) {
        clv_value_info v = clv_graph_value(g, i);
        if (v.kind != CLV_VALUE_PARAM || strncmp(v.name, path, len) ||
            v.name[len] != '.' || strchr(v.name + len + 1, '.'))
            continue;
        int64_t n = 1;
        for (uint32_t k = 0; k < v.rank; k++)
            n *= v.dims[k];
        sum += n;
    }
    return sum;
}

/* Modules that hold no other: the next in tree order is no deeper. */
static void leaf_modules(const clv_graph *g, const clv_profile *p, lines *l)
{
    uint32_t n;
    const clv_module_total *m = clv_profile_modules(p, &n);
    for (uint32_t i = 1; i < n; i++) {
        if (i + 1 < n && m[i + 1].depth > m[i].depth)
            continue;
        char count[32];
        snprintf(count, sizeof count, "%" PRId64, own_params(g, m[i].path));
        add_line(l, m[i].path, strlen(m[i].path), count);
    }
}

static void weight_names(const clv_graph *g, lines *l)
{
    for (uint32_t i = 0; i < clv_graph_num_values(g); i++) {
        clv_value_info v = clv_graph_value(g, i);
        if (!is_weight(&v))
            continue;
        char shape[128] = "";
        for (uint32_t k = 0; k < v.rank; k++)
            snprintf(shape + strlen(shape), sizeof shape - strlen(shape),
                     "%s%" PRId64, k ? "x" : "", v.dims[k]);
        add_line(l, v.name, strlen(v.name), shape);
    }
}

static void names(void)
{
    char model[64];
    int64_t n_modules, n_weights;
    uint64_t modules, weights;
    FILE *f = fopen("tests/data/modules.txt", "r");
    CHECK_OR_RETURN(f != NULL);
    while (fscanf(f, "%63s %" SCNd64 " %" SCNx64 " %" SCNd64 " %" SCNx64, model,
                  &n_modules, &modules, &n_weights, &weights) == 5) {
        if (!in_zoo(model))
            continue;
        check_row(model);
        static lines l;
        clv_graph *g = open_model(model, NULL);
        clv_profile *p = NULL;
        if (!g || !CHECK(clv_profile_new(g, NULL, &p, NULL) == CLV_OK))
            continue;
        l.n = 0;
        leaf_modules(g, p, &l);
        check_hash(&l, "leaf modules", n_modules, modules);
        l.n = 0;
        weight_names(g, &l);
        check_hash(&l, "weight names", n_weights, weights);
        clv_profile_free(p);
        clv_graph_free(g);
    }
    fclose(f);
}

/* Parameters, MACs, and names and shapes of weights, of every name. */
static void homes(void)
{
    csv t;
    uint32_t rows = 0, all = 0;
    CHECK_OR_RETURN(csv_open(&t, "tests/data/zoo.csv"));
    while (clv_zoo_at(all))
        all++;
    while (csv_next(&t)) {
        const char *model = csv_get(&t, "name");
        static lines l;
        check_row(model);
        rows++;
        clv_graph *g = open_model(model, NULL);
        clv_profile *p = NULL;
        if (!g || !CHECK(clv_profile_new(g, NULL, &p, NULL) == CLV_OK))
            continue;
        CHECK_EQ_INT(clv_profile_totals(p)->params,
                     atoll(csv_get(&t, "params")));
        CHECK_EQ_INT(clv_profile_totals(p)->macs, atoll(csv_get(&t, "macs")));
        l.n = 0;
        weight_names(g, &l);
        check_hash(&l, "weights", atoll(csv_get(&t, "weights")),
                   strtoull(csv_get(&t, "hash"), NULL, 16));
        clv_profile_free(p);
        clv_graph_free(g);
    }
    CHECK_EQ_INT(rows, all);
}

/* The modules in which something is computed. */
static void computing_modules(const clv_profile *p, lines *l)
{
    uint32_t n;
    const clv_module_total *m = clv_profile_modules(p, &n);
    for (uint32_t i = 1; i < n; i++) {
        if (m[i].flops == 0)
            continue;
        size_t size = strlen(m[i].path) + 2;
        char *line = malloc(size);
        CHECK_OR_RETURN(line && l->n < sizeof l->line / sizeof *l->line);
        snprintf(line, size, "%s\n", m[i].path);
        l->line[l->n++] = line;
    }
}

static void timm_modules(void)
{
    csv t;
    CHECK_OR_RETURN(csv_open(&t, "tests/data/zoo_modules.csv"));
    while (csv_next(&t)) {
        const char *model = csv_get(&t, "name");
        static lines l;
        check_row(model);
        clv_graph *g = open_model(model, NULL);
        clv_profile *p = NULL;
        if (!g || !CHECK(clv_profile_new(g, NULL, &p, NULL) == CLV_OK))
            continue;
        l.n = 0;
        computing_modules(p, &l);
        check_hash(&l, "modules", atoll(csv_get(&t, "modules")),
                   strtoull(csv_get(&t, "hash"), NULL, 16));
        clv_profile_free(p);
        clv_graph_free(g);
    }
}

/* Bytes of the int8 weights and of the biases of quantised networks. */
static void quantized(void)
{
    csv t;
    CHECK_OR_RETURN(csv_open(&t, "tests/data/zoo_quantized.csv"));
    while (csv_next(&t)) {
        const char *model = csv_get(&t, "name");
        int64_t bytes = 0;
        check_row(model);
        clv_graph *g = open_model(model, NULL);
        for (uint32_t i = 0; g && i < clv_graph_num_values(g); i++) {
            clv_value_info v = clv_graph_value(g, i);
            int64_t n = v.dtype == CLV_INT8 ? 1 : 4;
            for (uint32_t k = 0; k < v.rank; k++)
                n *= v.dims[k];
            if (v.kind == CLV_VALUE_PARAM)
                bytes += n;
        }
        CHECK_EQ_INT(bytes, atoll(csv_get(&t, "bytes")));
        clv_graph_free(g);
    }
}

/* -- sizes ----------------------------------------------------------------*/

/* What a live model takes is taken, and what it refuses is refused. */
static void check_size(const char *model, const char *input, const char *params,
                       const char *macs)
{
    int64_t dims[8];
    clv_shape_arg shape = {NULL, dims, read_shape(input, dims)};
    clv_open_opts opts = {.size = sizeof opts, .shapes = &shape, .n_shapes = 1};
    clv_graph *g = NULL;
    clv_profile *p = NULL;
    clv_err err = {0};
    clv_status s = clv_graph_open(model, &opts, &g, &err);
    if (!strcmp(macs, "refused")) {
        CHECK_EQ_INT(s, CLV_SHAPE);
    } else if (check_that(s == CLV_OK, __FILE__, __LINE__, "%s", err.msg) &&
               CHECK(clv_profile_new(g, NULL, &p, &err) == CLV_OK)) {
        CHECK_EQ_INT(clv_profile_totals(p)->params, atoll(params));
        CHECK_EQ_INT(clv_profile_totals(p)->macs, atoll(macs));
    }
    clv_profile_free(p);
    clv_graph_free(g);
}

static void sizes(void)
{
    csv t;
    CHECK_OR_RETURN(csv_open(&t, "tests/data/zoo_sizes.csv"));
    while (csv_next(&t)) {
        char row[128];
        const char *model = csv_get(&t, "name"), *input = csv_get(&t, "input");
        snprintf(row, sizeof row, "%s %s", model, input);
        check_row(row);
        if (in_zoo(model))
            check_size(model, input, csv_get(&t, "params"),
                       csv_get(&t, "macs"));
    }
}

/* -- bad input ------------------------------------------------------------*/

typedef struct {
    const char *name, *model;
    uint32_t rank;
    int64_t dims[5], batch;
    clv_status want;
    const char *says[3];
} bad_shape;

#define BIG(bits) (INT64_C(1) << (bits))

static const bad_shape bad_shapes[] = {
    {"rank", "resnet50", 3, {3, 224, 224}, 0, CLV_SHAPE, {"4 axes", "has 3"}},
    {"zero", "resnet50", 4, {1, 3, 0, 224}, 0, CLV_USAGE, {"2 is 0"}},
    {"negative", "vgg11", 4, {1, -3, 224, 224}, 0, CLV_USAGE, {"1 is -3"}},
    {"negative batch", "vgg11", 0, {0}, -2, CLV_USAGE, {"batch of -2"}},
    {"input overflows",
     "resnet50",
     4,
     {1, 3, BIG(31), BIG(31)},
     0,
     CLV_OVERFLOW,
     {"64 bits"}},
    {"batch overflows", "resnet50", 0, {0}, BIG(40), CLV_OVERFLOW, {"64 bits"}},
    {"total overflows",
     "resnet50",
     0,
     {0},
     BIG(31),
     CLV_OVERFLOW,
     {"resnet50", "64 bits"}},
    {"batch is huge", "resnet50", 0, {0}, INT64_MAX, CLV_OVERFLOW, {"64 bits"}},
    {"kernel too large",
     "alexnet",
     4,
     {1, 3, 6, 6},
     0,
     CLV_SHAPE,
     {"'features.0' (conv2d)", "kernel of 11", "of 10"}},
    {"pool too large",
     "vgg16",
     4,
     {1, 3, 8, 8},
     0,
     CLV_SHAPE,
     {"'features.23' (max_pool2d)", "kernel of 2", "of 1"}},
    {"inside a module",
     "inception_v3",
     4,
     {1, 3, 70, 70},
     0,
     CLV_SHAPE,
     {"'Mixed_7a.branch3x3_2.conv' (conv2d)", "kernel of 3", "of 2"}},
    {"patches do not fit",
     "vit_b_16",
     4,
     {1, 3, 230, 230},
     0,
     CLV_SHAPE,
     {"230x230", "16x16"}},
    {"no square", "vit_b_16", 4, {1, 3, 224, 240}, 0, CLV_SHAPE, {"squares"}},
    {"positions do not fit",
     "sam-vit-base",
     4,
     {1, 3, 512, 512},
     0,
     CLV_SHAPE,
     {"512x512", "1024x1024"}},
    {"a map below its window",
     "swin-tiny-patch4-window7-224",
     4,
     {1, 3, 160, 160},
     0,
     CLV_SHAPE,
     {"5x5", "7x7"}},
    {"a side below its stride",
     "rtdetr-l",
     4,
     {1, 3, 650, 640},
     0,
     CLV_SHAPE,
     {"650x640", "multiples of 32"}},
    {"windows do not fit",
     "maxvit_t",
     4,
     {1, 3, 192, 192},
     0,
     CLV_SHAPE,
     {"48x48", "7x7"}},
    {"branches do not fit",
     "hrnet_w18",
     4,
     {1, 3, 240, 240},
     0,
     CLV_SHAPE,
     {"60x60", "halved 3 times"}},
    {"positions are learned",
     "eva02_tiny_patch14_336",
     4,
     {1, 3, 350, 350},
     0,
     CLV_SHAPE,
     {"350x350", "336x336"}},
    {"offsets are learned",
     "coatnet_0_224",
     4,
     {1, 3, 256, 256},
     0,
     CLV_SHAPE,
     {"16x16", "14x14"}},
    {"function too large",
     "inception_v3",
     4,
     {1, 3, 8, 8},
     0,
     CLV_SHAPE,
     {"(max_pool2d)", "kernel of 3"}},
};

static void bad_input(void)
{
    for (size_t i = 0; i < sizeof bad_shapes / sizeof *bad_shapes; i++) {
        const bad_shape *c = &bad_shapes[i];
        check_row(c->name);
        clv_shape_arg shape = {NULL, c->dims, c->rank};
        clv_open_opts opts = {.size = sizeof opts,
                              .shapes = &shape,
                              .n_shapes = c->rank > 0,
                              .batch = c->batch};
        clv_graph *g = NULL;
        clv_profile *p = NULL;
        clv_err err;
        clv_status s = clv_graph_open(c->model, &opts, &g, &err);
        if (s == CLV_OK)
            s = clv_profile_new(g, NULL, &p, &err);
        CHECK_EQ_INT(s, c->want);
        CHECK_EQ_INT(err.code, c->want);
        for (int k = 0; k < 3 && c->says[k]; k++)
            CHECK_HAS(err.msg, c->says[k]);
        clv_profile_free(p);
        clv_graph_free(g);
    }
}

static void unknown_model(void)
{
    clv_graph *g;
    clv_err err;
    CHECK_EQ_INT(clv_graph_open("resnet5O", NULL, &g, &err), CLV_NOT_FOUND);
    CHECK(g == NULL);
    CHECK_HAS(err.msg, "'resnet50'");
    CHECK_EQ_INT(clv_graph_open("", NULL, &g, &err), CLV_NOT_FOUND);
    CHECK_EQ_INT(clv_graph_open("zzzzzzzzzzzz", NULL, &g, NULL), CLV_NOT_FOUND);
}

/* Wrong input names are refused; batch and type are honoured. */
static void options(void)
{
    clv_graph *g;
    clv_err err;
    int64_t dims[] = {1, 3, 64, 64};
    clv_shape_arg shape = {"image", dims, 4};
    clv_open_opts opts = {.size = sizeof opts, .shapes = &shape, .n_shapes = 1};
    CHECK_EQ_INT(clv_graph_open("resnet18", &opts, &g, &err), CLV_USAGE);
    CHECK_HAS(err.msg, "'image'");

    shape.name = "x";
    opts.batch = 5;
    opts.dtype = CLV_FLOAT16;
    CHECK_OR_RETURN((g = open_model("resnet18", &opts)));
    uint32_t n;
    const uint32_t *values = clv_graph_outputs(g, &n);
    CHECK_EQ_INT(n, 1);
    clv_value_info out = clv_graph_value(g, values[0]);
    CHECK_EQ_INT(out.dims[0], 5);
    CHECK_EQ_INT(out.dims[1], 1000);
    CHECK_EQ_INT(out.dtype, CLV_FLOAT16);
    clv_graph_free(g);
}

/* -- knobs ----------------------------------------------------------------*/

typedef struct {
    const char *model, *arg, *same; /* as this row of the zoo */
} knob_case;

static const knob_case knob_cases[] = {
    {"vit:patch=32", NULL, "vit_b_32"},
    {"vit_b_16:dim=1024,depth=24,heads=16,mlp=4096", NULL, "vit_l_16"},
    {"resnet50:stage3=23", NULL, "resnet101"},
    {"resnet50", "groups=32,width=4", "resnext50_32x4d"},
    {"efficientnet_b0:width=1.1", "depth=1.2", "efficientnet_b2"},
    {"mnasnet1_0", "width=0.5", "mnasnet0_5"},
    {"ghostnet_100:width=1.3", NULL, "ghostnet_130"},
    {"efficientnet_lite0:width=1.4,depth=1.8", NULL, "efficientnet_lite4"},
    {"convnext_tiny:stage3=27", NULL, "convnext_small"},
    {"swin_t:stage3=18", NULL, "swin_s"},
    {"hrnet_w18:width=30", NULL, "hrnet_w30"},
    {"mobileone_s1:width2=2,width3=2.5", "width4=4", "mobileone_s2"},
    {"nfnet_f0:stage1=2,stage2=4,stage3=12,stage4=6", NULL, "nfnet_f1"},
    {"xcit:dim=192,mlp=768", "depth=24", "xcit_tiny_24_p16_224"},
    {"yolov8n:depth=0.67,width=0.75,most=768", NULL, "yolov8m"},
    {"vit:dim=1024,depth=24,heads=16", NULL, "vit_l_16"},
    {"bert:dim=256,depth=4,heads=4", NULL, "bert-mini"},
    {"bert-base-uncased:dim=1024", "depth=24,heads=16", "bert-large-uncased"},
    {"roberta-base:vocabulary=250002", NULL, "xlm-roberta-base"},
    {"albert-base-v2:dim=1024,depth=24,heads=16", NULL, "albert-large-v2"},
    {"electra-base-discriminator:dim=1024,depth=24", "heads=16",
     "electra-large-discriminator"},
    {"t5:dim=1024,depth=24,heads=16", NULL, "t5-large"},
    {"deberta-v3-small:depth=12", NULL, "deberta-v3-base"},
    {"densenet:growth=48,stem=96", "block3=36,block4=24", "densenet161"},
    {"mixer_s16_224:dim=768,depth=12", NULL, "mixer_b16_224"},
    {"cait_xxs24_224:dim=384,heads=8", NULL, "cait_s24_224"},
};

/* Of `model`, on an input as the row `same` has it. */
static clv_totals knob_totals(const char *model, const char *arg,
                              const char *same)
{
    const clv_zoo_model *m = NULL;
    for (uint32_t i = 0; (m = clv_zoo_at(i)) && strcmp(m->name, same); i++)
        continue;
    clv_totals none = {0};
    if (!CHECK(m != NULL))
        return none;
    const clv_shape_arg shape = {NULL, m->input, m->rank};
    clv_open_opts opts = {.size = sizeof opts,
                          .args = &arg,
                          .n_args = arg != NULL,
                          .shapes = &shape,
                          .n_shapes = 1};
    clv_graph *g = open_model(model, &opts);
    clv_profile *p = NULL;
    clv_totals t = {0};
    if (g && CHECK(clv_profile_new(g, NULL, &p, NULL) == CLV_OK))
        t = *clv_profile_totals(p);
    clv_profile_free(p);
    clv_graph_free(g);
    return t;
}

static void knobs(void)
{
    for (size_t i = 0; i < sizeof knob_cases / sizeof *knob_cases; i++) {
        const knob_case *c = &knob_cases[i];
        check_row(c->model);
        clv_totals turned = knob_totals(c->model, c->arg, c->same);
        clv_totals same = knob_totals(c->same, NULL, c->same);
        CHECK_EQ_INT(turned.params, same.params);
        CHECK_EQ_INT(turned.macs, same.macs);
    }
}

static const struct {
    const char *model, *says[2];
} bad_knobs[] = {
    {"vit:ptch=3", {"no 'ptch'", "patch (1 to 512)"}},
    {"vit:patch=0", {"patch", "1 to 512"}},
    {"vit:depth=2.5", {"a whole number", "2.5"}},
    {"vit:depth=nan", {"takes a number", "'nan'"}},
    {"vit:patch", {"'patch' is not NAME=NUMBER"}},
    {"vit:patch=", {"is not NAME=NUMBER"}},
    {"vit:=3", {"is not NAME=NUMBER"}},
    {"vit:heads=5", {"768", "5 heads"}},
    {"xcit:heads=5", {"128", "5 heads"}},
    {"bert:heads=3", {"128", "3 heads"}},
    {"deberta:dim=100", {"100", "6 heads"}},
    {"cait:heads=5", {"192", "5 heads"}},
    {"densenet:block1=49", {"block1", "1 to 48"}},
    {"hrnet:width=0", {"width", "1 to 4096"}},
    {"alexnet:width=2", {"alexnet has no numbers"}},
};

static void bad_knob(void)
{
    for (size_t i = 0; i < sizeof bad_knobs / sizeof *bad_knobs; i++) {
        clv_graph *g = NULL;
        clv_err err;
        check_row(bad_knobs[i].model);
        CHECK(clv_graph_open(bad_knobs[i].model, NULL, &g, &err) != CLV_OK);
        CHECK(g == NULL);
        for (int k = 0; k < 2 && bad_knobs[i].says[k]; k++)
            CHECK_HAS(err.msg, bad_knobs[i].says[k]);
    }
}

/* What looks like a file is not looked for among the names. */
static void no_paths(void)
{
    const clv_zoo_model *m;
    for (uint32_t i = 0; (m = clv_zoo_at(i)); i++) {
        check_row(m->name);
        CHECK(!strchr(m->name, '/') && !strstr(m->name, ".onnx"));
    }
}

static const check_case cases[] = {
    {"measured", measured},
    {"no_paths", no_paths},
    {"traced", traced},
    {"sizes", sizes},
    {"fvcore", fvcore},
    {"published", published},
    {"names", names},
    {"homes", homes},
    {"published_yolo", published_yolo},
    {"bad_input", bad_input},
    {"unknown_model", unknown_model},
    {"options", options},
    {"knobs", knobs},
    {"bad_knob", bad_knob},
    {"timm_modules", timm_modules},
    {"published_timm", published_timm},
    {"quantized", quantized},
};
CHECK_MAIN(cases)
