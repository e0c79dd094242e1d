/* formats.c - the file formats, and the way from a path to a graph.
 *
 * Formats are told apart by their contents; the first that knows the file
 * loads it. Whatever fails says which file it was. A file that none of them
 * knows is at least called by what it is, where its first bytes tell: a row of
 * formats_kinds goes when a format learns to read it. No ONNX model begins as
 * one of these does (their first bytes are no field of a protobuf message), so
 * they are looked for first, whatever the file's name ends in. */
#include "formats/formats.h"
#include "formats/torch/archive.h"
#include "tensor/zip.h"

#include <string.h>

/* One row per format. Those whose bytes tell them come first, ONNX last. */
static const clv_importer formats[] = {
    {{"pt2", "torch.export archive", ".pt2", "graph, symbols, weights", false},
     true,
     clv__pt2_knows,
     clv__pt2_load},
    {{"torchscript", "TorchScript", ".pt .torchscript",
      "graph at a given shape, weights", false},
     true,
     clv__torchscript_knows,
     clv__torchscript_load},
    {{"pt", "torch.save checkpoint", ".pt .pth .bin .ckpt",
      "weights by module; of a YOLO model the graph", false},
     true,
     clv__checkpoint_knows,
     clv__checkpoint_load},
    {{"tflite", "TFLite (LiteRT)", ".tflite", "graph, weights", false},
     true,
     clv__tflite_knows,
     clv__tflite_load},
    {{"stablehlo", "StableHLO text", ".mlir .stablehlo",
      "graph, symbols, constants", false},
     true,
     clv__stablehlo_knows,
     clv__stablehlo_load},
    {{"onnx", "ONNX", ".onnx", "graph, symbols, weights", true},
     false,
     clv__onnx_knows,
     clv__onnx_load},
};

const clv_file_kind *clv_file_kind_at(uint32_t i)
{
    return i < sizeof formats / sizeof *formats ? &formats[i].is : NULL;
}

/* -- kinds of files that are not read -------------------------------------*/

#define FORMATS_EXPORT  "torch.onnx.export writes a model that is"
#define FORMATS_TF2ONNX "tf2onnx writes a model that is"
#define FORMATS_BUILT   "the model that it was built of may be"

/* A file with these bytes at this place. */
typedef struct formats_kind {
    uint16_t at;
    uint8_t n;
    const char *bytes;
    const char *text;   /* what it is */
    const char *advice; /* what to do; "": nothing to say */
    bool sure;          /* it holds files of formats that are read */
} formats_kind;

#define KIND(at, bytes, text, advice) \
    { \
        at, sizeof(bytes) - 1, bytes, text, advice, false \
    }

static const formats_kind formats_kinds[] = {
    KIND(0, "\x89HDF\r\n\x1a\n", "an HDF5 file (Keras .h5)", FORMATS_TF2ONNX),
    KIND(0, "GGUF", "a GGUF model", FORMATS_EXPORT),
    KIND(4, "ORTM", "a model in ONNX Runtime's own format",
         "the .onnx file that it was made of is"),
    KIND(4, "ET12", "an ExecuTorch program",
         "torch.export.save writes a model that is"),
    KIND(0, "ftrt", "a TensorRT engine", FORMATS_BUILT),
    KIND(0, "ptrt", "a TensorRT engine", FORMATS_BUILT),
    KIND(0, "\x80\x02", "a Python pickle", FORMATS_EXPORT),
    KIND(0, "\x80\x03", "a Python pickle", FORMATS_EXPORT),
    KIND(0, "\x80\x04", "a Python pickle", FORMATS_EXPORT),
    KIND(0, "\x80\x05", "a Python pickle", FORMATS_EXPORT),
    KIND(0, "\x93NUMPY", "a NumPy array", ""),
    KIND(0, "ML\xefR", "MLIR bytecode",
         "jax.export's mlir_module(), or stablehlo-translate, writes the text "
         "that is"),
    KIND(0, "HloModule", "XLA's HLO text",
         "jax.jit(f).lower(x).as_text() writes StableHLO that is"),
    KIND(0, "\x1f\x8b", "a gzip file", "unpack it first"),
    KIND(0,
         "\xfd"
         "7zXZ",
         "an xz file", "unpack it first"),
    KIND(4, "1AY&SY", "a bzip2 file", "unpack it first"),
    KIND(0, "\x28\xb5\x2f\xfd", "a zstd file", "unpack it first"),
    KIND(257, "ustar\0", "a tar archive", "unpack it first"),
    KIND(257, "ustar  ", "a tar archive", "unpack it first"),
    KIND(0, "version https://git-lfs", "a Git LFS pointer",
         "'git lfs pull' fetches the file itself"),
    KIND(0, "<!DOCTYPE", "a web page", ""),
    KIND(0, "<!doctype", "a web page", ""),
    KIND(0, "<html", "a web page", ""),
    KIND(0, "<?xml", "an XML file (OpenVINO .xml)", FORMATS_BUILT),
    KIND(0, "\x89PNG", "a picture", ""),
    KIND(0, "\xff\xd8\xff", "a picture", ""),
    KIND(0, "%PDF-", "a PDF file", ""),
    KIND(0,
         "\x7f"
         "ELF",
         "a program or library", ""),
};

/* Kinds that no bytes tell; the name of the file does. */
static const struct formats_named {
    const char *end;
    formats_kind kind;
} formats_named[] = {
    {"saved_model.pb",
     {.text = "a TensorFlow SavedModel", .advice = FORMATS_TF2ONNX}},
    {".pb", {.text = "a TensorFlow graph", .advice = FORMATS_TF2ONNX}},
    {".mlmodel",
     {.text = "a Core ML model",
      .advice = "export the network that it was made of to ONNX"}},
    {".engine", {.text = "a TensorRT engine", .advice = FORMATS_BUILT}},
    {".plan", {.text = "a TensorRT engine", .advice = FORMATS_BUILT}},
    {".trt", {.text = "a TensorRT engine", .advice = FORMATS_BUILT}},
    {".ort",
     {.text = "a model in ONNX Runtime's own format",
      .advice = "the .onnx file that it was made of is"}},
    {".pte",
     {.text = "an ExecuTorch program",
      .advice = "torch.export.save writes a model that is"}},
    {".dlc", {.text = "a Qualcomm container", .advice = FORMATS_BUILT}},
    {".pkl", {.text = "a Python pickle", .advice = FORMATS_EXPORT}},
    {".t7", {.text = "a model of Lua Torch", .advice = ""}},
    {".cfg", {.text = "a network of Darknet", .advice = ""}},
    {".pdmodel",
     {.text = "a PaddlePaddle model",
      .advice = "paddle2onnx writes a model that is"}},
    {".pdiparams",
     {.text = "a weight file of PaddlePaddle",
      .advice = "paddle2onnx writes a model that is"}},
    {".caffemodel",
     {.text = "a Caffe model", .advice = "export it to ONNX first"}},
    {".prototxt",
     {.text = "a Caffe network", .advice = "export it to ONNX first"}},
    {".msgpack",
     {.text = "a msgpack file (weights of Flax)",
      .advice = "jax.jit(model.apply).lower(params, x).as_text() writes a "
                "model that is"}},
    {".param", {.text = "an ncnn network", .advice = FORMATS_BUILT}},
    {".mnn", {.text = "an MNN model", .advice = FORMATS_BUILT}},
    {".weights", {.text = "a weight file of Darknet", .advice = ""}},
    {".json", {.text = "a JSON file", .advice = ""}},
    {".yaml", {.text = "a YAML file", .advice = ""}},
};

static bool formats_has(const clv_mapping *map, size_t at, const char *bytes,
                        size_t n)
{
    return map->size >= at + n &&
           !memcmp((const char *)map->data + at, bytes, n);
}

static const formats_kind formats_cut = {
    .text = "a zip archive without the directory at its end",
    .advice = "the file is cut short"};

/* The name of a zip's first member lies behind a head of 30 bytes. */
enum { ZIP_NAME_LENGTH = 26, ZIP_NAME = 30 };

/* Whether the archive has a directory that lists its first member, whose name
 * has n bytes. A file that is cut short may end with that of an archive in it.
 */
static bool formats_zip_whole(const clv_mapping *map, size_t n)
{
    zip z;
    zip_entry x;
    if (clv__zip_open(map->data, map->size, &z, NULL) != CLV_OK)
        return false;
    while (z.next < z.count && clv__zip_list(&z, &x, NULL) == CLV_OK)
        if (x.name_size == n && formats_has(map, ZIP_NAME, x.name, n))
            return true;
    return false;
}

static const formats_kind *formats_zip(const clv_mapping *map)
{
    static const formats_kind torch = {
        .text = "a PyTorch archive of another kind",
        .advice = "torch.export.save writes a model that is"};
    static const formats_kind npz = {.text = "a NumPy .npz archive",
                                     .advice = ""};
    static const formats_kind keras = {.text = "a Keras .keras archive",
                                       .advice = FORMATS_TF2ONNX};
    static const formats_kind package = {
        .sure = true,
        .text = "a torch.package archive",
        .advice = "torch.export.save writes a model that is"};
    static const formats_kind coreml = {
        .text = "a Core ML package",
        .advice = "export the network that it was made of to ONNX"};
    static const formats_kind served = {.text = "a TorchServe archive",
                                        .advice = "unpack it first"};
    static const formats_kind plain = {.text = "a zip archive",
                                       .advice = "unpack it first"};
    static const struct {
        const char *end;
        const formats_kind *kind;
    } members[] = {
        {"/data.pkl", &torch},
        {"/version", &torch},
        {"/byteorder", &torch},
        {"/.format_version", &torch},
        {"/archive_format", &torch},
        {"/archive_version", &torch},
        {"exported_program.json", &torch},
        {".npy", &npz},
        {"metadata.json", &keras},
        {"Manifest.json", &coreml},
        {"MANIFEST.json", &served},
    };
    const uint8_t *p = map->data;
    if (!formats_has(map, 0, "PK\3\4", 4) || map->size < ZIP_NAME)
        return NULL;
    size_t n = p[ZIP_NAME_LENGTH] | (size_t)p[ZIP_NAME_LENGTH + 1] << 8;
    bool whole = formats_zip_whole(map, n);
    if (clv__archive_has(map->data, map->size, ".data/extern_modules"))
        return &package;
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        size_t end = strlen(members[i].end);
        if (n >= end &&
            formats_has(map, ZIP_NAME + n - end, members[i].end, end))
            return members[i].kind == &torch && !whole ? &formats_cut
                                                       : members[i].kind;
    }
    return whole ? &plain : &formats_cut;
}

/* Eight bytes of length, then that much JSON, which begins with a brace. */
static const formats_kind *formats_safetensors(const clv_mapping *map)
{
    static const formats_kind kind = {
        .text = "a safetensors file (weights without a graph)",
        .advice = FORMATS_EXPORT};
    const uint8_t *p = map->data;
    uint64_t length = 0;
    for (int i = 7; map->size > 8 && i >= 0; i--)
        length = length << 8 | p[i];
    bool fits = length > 1 && length <= map->size - 8;
    return fits && formats_has(map, 8, "{\"", 2) ? &kind : NULL;
}

static const formats_kind *formats_kind_of(const clv_mapping *map)
{
    for (size_t i = 0; i < sizeof formats_kinds / sizeof *formats_kinds; i++)
        if (formats_has(map, formats_kinds[i].at, formats_kinds[i].bytes,
                        formats_kinds[i].n))
            return &formats_kinds[i];
    const formats_kind *archive = formats_zip(map);
    return archive ? archive : formats_safetensors(map);
}

/* Whether the file begins as text does. No ONNX model does: the tags of the
 * fields that every node has are no characters. */
static bool formats_is_text(const clv_mapping *map)
{
    enum { LOOK = 4096 };
    const uint8_t *p = map->data;
    size_t n = map->size < LOOK ? map->size : LOOK;
    for (size_t i = 0; i < n; i++)
        if (p[i] < ' ' && p[i] != '\n' && p[i] != '\r' && p[i] != '\t')
            return false;
    return n > 0;
}

static const formats_kind *formats_kind_named(const clv_mapping *map,
                                              const char *path)
{
    static const formats_kind empty = {.text = "an empty file", .advice = ""};
    static const formats_kind text = {.text = "a text file", .advice = ""};
    size_t n = strlen(path);
    for (size_t i = 0;
         map->size && i < sizeof formats_named / sizeof *formats_named; i++) {
        size_t end = strlen(formats_named[i].end);
        if (n >= end && !strcmp(path + n - end, formats_named[i].end))
            return &formats_named[i].kind;
    }
    if (formats_is_text(map))
        return &text;
    return map->size ? NULL : &empty;
}

static clv_status formats_refuse(const char *path, const formats_kind *kind,
                                 size_t size, clv_err *e)
{
    if (!kind)
        return clv__fail(e, CLV_FORMAT,
                         "%s: not a model file that is understood here", path);
    if (kind == &formats_cut)
        return clv__fail(e, CLV_FORMAT, "%s: byte %zu: %s; %s", path, size,
                         kind->text, kind->advice);
    return clv__fail(e, CLV_FORMAT, "%s: %s is not read here%s%s", path,
                     kind->text, *kind->advice ? "; " : "", kind->advice);
}

/* -- the way in -----------------------------------------------------------*/

/* The format of a file, NULL when none of ours is; then *kind says what it is
 * if its bytes do. Most files are ONNX, whose first bytes no other kind has. */
static const clv_importer *formats_of(const clv_mapping *map, const char *path,
                                      const formats_kind **kind)
{
    const size_t n = sizeof formats / sizeof *formats;
    *kind = NULL;
    if (clv__onnx_begins(map))
        return &formats[n - 1];
    *kind = formats_kind_of(map);
    if (*kind && (*kind)->sure)
        return NULL;
    bool other = *kind || formats_is_text(map);
    for (size_t i = 0; i < n; i++)
        if ((formats[i].told || !other) && formats[i].knows(map, path))
            return &formats[i];
    return NULL;
}

/* Folders that are models of another kind are told by a file in them. */
static const formats_kind *formats_folder(const char *path)
{
    static const struct {
        const char *member;
        formats_kind kind;
    } rows[] = {
        {"saved_model.pb",
         {.text = "a TensorFlow SavedModel", .advice = FORMATS_TF2ONNX}},
        {"Manifest.json",
         {.text = "a Core ML package",
          .advice = "export the network that it was made of to ONNX"}},
        {"config.json",
         {.text = "a folder of Hugging Face", .advice = FORMATS_EXPORT}},
    };
    char file[1024];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        clv_mapping map;
        clv_format(file, sizeof file, "%s/%s", path, rows[i].member);
        if (clv__mapping_open(file, &map, NULL) != CLV_OK)
            continue;
        clv__mapping_close(&map);
        return &rows[i].kind;
    }
    return NULL;
}

clv_status clv__import(const char *path, const clv_open_opts *opts,
                       clv_graph **out, clv_err *e)
{
    clv_mapping map;
    *out = NULL;
    const formats_kind *kind;
    clv_status opened = clv__mapping_open(path, &map, e);
    if (opened == CLV_IO && (kind = formats_folder(path)) != NULL) {
        clv__err_clear(e);
        return formats_refuse(path, kind, 0, e);
    }
    CLV_TRY(opened);
    const clv_importer *row = formats_of(&map, path, &kind);
    if (row && opts && opts->signature && row->load != clv__tflite_load) {
        clv__mapping_close(&map);
        return clv__fail(e, CLV_USAGE, "%s: only TFLite files have signatures",
                         path);
    }
    if (row) {
        clv_status s = row->load(map, path, opts, out, e);
        if (s != CLV_OK)
            clv__err_prefix(e, "%s", path);
        return s;
    }
    if (!kind)
        kind = formats_kind_named(&map, path);
    size_t size = map.size;
    clv__mapping_close(&map);
    return formats_refuse(path, kind, size, e);
}
