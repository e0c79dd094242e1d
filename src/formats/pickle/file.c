/* file.c - the files of torch.save: an archive with a pickle and storages
 * beside it, or, before torch 1.6, five pickles and then the storages:
 *
 *   magic number | version | system | object | keys | storage, storage, ..
 *
 * where a storage is the number of its elements in eight bytes, and then they
 * themselves, in the order of the keys. How large an element is the object
 * tells, which names each storage with its type. */
#include "formats/pickle/pickle.h"

#include <stdio.h>
#include <string.h>

/* -- storages -------------------------------------------------------------*/

static const struct file_type {
    const char *name; /* of the storage, and of the type */
    const char *dtype;
    clv_dtype type;
} file_types[] = {
    {"FloatStorage", "float32", CLV_FLOAT32},
    {"FloatStorage", "float", CLV_FLOAT32},
    {"HalfStorage", "float16", CLV_FLOAT16},
    {"HalfStorage", "half", CLV_FLOAT16},
    {"BFloat16Storage", "bfloat16", CLV_BFLOAT16},
    {"DoubleStorage", "float64", CLV_FLOAT64},
    {"DoubleStorage", "double", CLV_FLOAT64},
    {"LongStorage", "int64", CLV_INT64},
    {"LongStorage", "long", CLV_INT64},
    {"IntStorage", "int32", CLV_INT32},
    {"IntStorage", "int", CLV_INT32},
    {"ShortStorage", "int16", CLV_INT16},
    {"ShortStorage", "short", CLV_INT16},
    {"CharStorage", "int8", CLV_INT8},
    {"ByteStorage", "uint8", CLV_UINT8},
    {"BoolStorage", "bool", CLV_BOOL},
    {"ComplexFloatStorage", "complex64", CLV_COMPLEX64},
    {"ComplexDoubleStorage", "complex128", CLV_COMPLEX128},
    {"QInt8Storage", "qint8", CLV_INT8},
    {"QUInt8Storage", "quint8", CLV_UINT8},
    {"QInt32Storage", "qint32", CLV_INT32},
    {"", "float8_e4m3fn", CLV_FLOAT8E4M3},
    {"", "float8_e5m2", CLV_FLOAT8E5M2},
    {"", "float8_e4m3fnuz", CLV_FLOAT8E4M3UZ},
    {"", "float8_e5m2fnuz", CLV_FLOAT8E5M2UZ},
    {"", "float8_e8m0fnu", CLV_FLOAT8E8M0},
    {"", "uint16", CLV_UINT16},
    {"", "uint32", CLV_UINT32},
    {"", "uint64", CLV_UINT64},
};

static clv_dtype file_dtype(const pickle_node *n)
{
    const char *name = pickle_class(n);
    for (size_t i = 0; i < sizeof file_types / sizeof *file_types; i++)
        if (*name && (!strcmp(file_types[i].name, name) ||
                      !strcmp(file_types[i].dtype, name)))
            return file_types[i].type;
    return CLV_NODTYPE;
}

static const pickle_node *file_item(const pickle_node *n, uint32_t i)
{
    uint32_t count;
    pickle_node *const *items = pickle_items(n, &count);
    return i < count ? items[i] : NULL;
}

/* The storage ('storage', type, key, device, elements) into t. */
static bool file_storage(const pickle_file *p, const char *folder,
                         const pickle_node *n, torch_tensor *t)
{
    char name[160];
    if (!n || n->kind != PICKLE_STORAGE)
        return false;
    const char *key = pickle_text(file_item(n->args, 2), NULL);
    if (t->dtype == CLV_NODTYPE)
        t->dtype = file_dtype(file_item(n->args, 1));
    if (!key)
        return false;
    uint32_t i = strmap_get(&p->storages, key, strlen(key));
    if (i != CLV_NONE) {
        t->bytes = p->bytes + p->old[i].at;
        t->size = p->old[i].size;
        return true;
    }
    if (!p->zip.n)
        return true;
    snprintf(name, sizeof name, "%s%s", folder, key);
    const zip_entry *x = clv__archive_find(&p->zip, name);
    if (x && x->method == 0) {
        t->bytes = x->packed ? x->data : NULL;
        t->size = x->packed;
    }
    return true;
}

/* -- tensors --------------------------------------------------------------*/

enum { FILE_MAX_WRAPS = 8 }; /* a parameter of a parameter of .. */

/* What a parameter wraps; the node itself where it wraps nothing. */
static const pickle_node *file_unwrap(const pickle_node *n)
{
    for (int i = 0; n && n->kind == PICKLE_OBJECT && i < FILE_MAX_WRAPS; i++) {
        const char *name = pickle_class(n);
        if (!strncmp(name, "_rebuild_parameter", 18) ||
            !strcmp(name, "Parameter") || !strcmp(name, "Buffer"))
            n = file_item(n->args, 0);
        else
            break;
    }
    return n;
}

bool pickle_is_parameter(const pickle_node *n)
{
    const char *name = n && n->kind == PICKLE_OBJECT ? pickle_class(n) : "";
    if (n && n->kind == PICKLE_SHAPE)
        return n->cap > 0;
    return !strncmp(name, "_rebuild_parameter", 18) ||
           !strcmp(name, "Parameter");
}

/* Reads storage, offset, sizes and strides of args, which begin there. */
static bool file_view(const pickle_file *p, const char *folder,
                      const pickle_node *args, torch_tensor *t)
{
    int rank = pickle_ints(file_item(args, 2), t->dims, CLV_MAX_RANK);
    int n = pickle_ints(file_item(args, 3), t->strides, CLV_MAX_RANK);
    if (rank < 0 || !file_storage(p, folder, file_item(args, 0), t))
        return false;
    t->rank = (uint32_t)rank;
    pickle_int(file_item(args, 1), &t->offset);
    if (n != rank)
        clv__torch_dense(t);
    return t->dtype != CLV_NODTYPE;
}

/* A tensor that was saved without its contents: type, sizes, strides. */
static bool file_meta(const pickle_node *args, torch_tensor *t)
{
    int rank = pickle_ints(file_item(args, 1), t->dims, CLV_MAX_RANK);
    t->dtype = file_dtype(file_item(args, 0));
    t->rank = rank < 0 ? 0 : (uint32_t)rank;
    clv__torch_dense(t);
    return rank >= 0 && t->dtype != CLV_NODTYPE;
}

static bool file_shape(const pickle_node *n, torch_tensor *t)
{
    t->dtype = CLV_FLOAT32;
    t->rank = n->n;
    memcpy(t->dims, n->u.dims, n->n * sizeof *t->dims);
    clv__torch_dense(t);
    return true;
}

bool pickle_tensor_in(const pickle_file *p, const char *folder,
                      const pickle_node *node, torch_tensor *t)
{
    const pickle_node *n = file_unwrap(node);
    *t = (torch_tensor){0};
    if (n && n->kind == PICKLE_SHAPE)
        return file_shape(n, t);
    if (!n || n->kind != PICKLE_OBJECT)
        return false;
    const char *name = pickle_class(n);
    const pickle_node *args = n->args;
    if (!strcmp(name, "_rebuild_from_type_v2")) { /* a subclass of Tensor */
        name = pickle_class(file_item(args, 0));
        args = file_item(args, 2);
    }
    if (!strcmp(name, "_rebuild_tensor_v3"))
        t->dtype = file_dtype(file_item(args, 6));
    if (!strcmp(name, "_rebuild_meta_tensor_no_storage"))
        return file_meta(args, t);
    bool known = !strcmp(name, "_rebuild_tensor") ||
                 !strcmp(name, "_rebuild_tensor_v2") ||
                 !strcmp(name, "_rebuild_tensor_v3") ||
                 !strcmp(name, "_rebuild_qtensor");
    return known && file_view(p, folder, args, t);
}

bool pickle_tensor(const pickle_file *p, const pickle_node *n, torch_tensor *t)
{
    return pickle_tensor_in(p, "data/", n, t);
}

/* -- old files ------------------------------------------------------------*/

static const uint8_t file_magic[] = {0x80, 0x02, 0x8a, 0x0a, 0x6c, 0xfc, 0x9c,
                                     0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19};

bool pickle_is_old(const uint8_t *bytes, size_t size)
{
    return size > sizeof file_magic &&
           !memcmp(bytes, file_magic, sizeof file_magic);
}

/* Finds the type of every storage that the pickle names. Nodes lie in an arena
 * and have no list, so the walk goes over what the root reaches. */
typedef struct file_walk {
    strmap *types; /* key: bytes of an element */
    uint64_t budget;
} file_walk;

static bool file_note(file_walk *w, const pickle_node *n)
{
    const char *key = pickle_text(file_item(n->args, 2), NULL);
    clv_dtype t = file_dtype(file_item(n->args, 1));
    return !key || strmap_put(w->types, key, strlen(key),
                              (uint32_t)clv_dtype_bytes(t, 1));
}

static bool file_find_types(file_walk *w, const pickle_node *n, int depth)
{
    enum { DEPTH = 200 };
    if (!n || depth > DEPTH || w->budget == 0)
        return true;
    w->budget--;
    if (n->kind == PICKLE_STORAGE)
        return file_note(w, n);
    bool ok = file_find_types(w, n->args, depth + 1) &&
              file_find_types(w, n->state, depth + 1);
    bool holds = n->kind == PICKLE_LIST || n->kind == PICKLE_TUPLE ||
                 n->kind == PICKLE_DICT || n->kind == PICKLE_OBJECT;
    for (uint32_t i = 0; ok && holds && n->u.items && i < n->n; i++)
        ok = file_find_types(w, n->u.items[i], depth + 1);
    return ok;
}

/* Finds the storages, which follow each other from byte `at` on. */
static clv_status file_old_storages(pickle_file *p, const pickle_node *keys,
                                    const strmap *types, size_t at, clv_err *e)
{
    enum { HEAD = 8 };
    uint32_t n;
    pickle_node *const *items = pickle_items(keys, &n);
    p->old = arena_array(&p->mem, n + 1u, sizeof *p->old);
    if (!p->old)
        return clv__nomem(e);
    for (uint32_t i = 0; i < n; i++) {
        const char *key = pickle_text(items[i], "");
        uint32_t each = strmap_get(types, key, strlen(key));
        uint64_t count = 0;
        if (p->size - at < HEAD)
            return clv__fail(e, CLV_FORMAT,
                             "byte %zu: storage %u of %u is missing", at, i, n);
        for (int k = HEAD; k-- > 0;)
            count = count << 8 | p->bytes[at + (size_t)k];
        at += HEAD;
        if (each == CLV_NONE || each == 0 || count > (p->size - at) / each)
            return clv__fail(e, CLV_FORMAT,
                             "byte %zu: storage '%s' of %llu elements does not "
                             "fit the file",
                             at, key, (unsigned long long)count);
        p->old[i] =
            (struct pickle_storage){.at = at, .size = (size_t)count * each};
        at += (size_t)count * each;
        if (!strmap_put(&p->storages, key, strlen(key), i))
            return clv__nomem(e);
    }
    p->n_old = n;
    return CLV_OK;
}

static clv_status file_open_old(pickle_file *p, clv_err *e)
{
    enum { PICKLES = 5, OBJECT = 3, KEYS = 4 };
    const pickle_node *roots[PICKLES];
    size_t at = 0, used;
    for (int i = 0; i < PICKLES; i++) {
        CLV_TRY(pickle_run(&p->mem, p->bytes + at, p->size - at, at, &roots[i],
                           &used, e));
        at += used;
    }
    strmap types = {0};
    file_walk w = {.types = &types, .budget = at};
    p->root = roots[OBJECT];
    clv_status s = file_find_types(&w, p->root, 0)
                       ? file_old_storages(p, roots[KEYS], &types, at, e)
                       : clv__nomem(e);
    strmap_free(&types);
    return s;
}

/* -- files ----------------------------------------------------------------*/

clv_status pickle_read(pickle_file *p, const char *name,
                       const pickle_node **root, clv_err *e)
{
    const uint8_t *bytes;
    size_t n, used;
    const zip_entry *x = clv__archive_find(&p->zip, name);
    *root = NULL;
    if (!x)
        return clv__fail(e, CLV_FORMAT, "no '%s' in the archive", name);
    CLV_TRY(clv__archive_read(&p->zip, x, &p->mem, &bytes, &n, e));
    return pickle_run(&p->mem, bytes, n, (size_t)(x->data - p->bytes), root,
                      &used, e);
}

static clv_status file_check_order(pickle_file *p, clv_err *e)
{
    const zip_entry *x = clv__archive_find(&p->zip, "byteorder");
    if (x && x->method == 0 && x->packed >= 3 && !memcmp(x->data, "big", 3))
        return clv__fail(e, CLV_UNSUPPORTED,
                         "byte %zu: it was saved on a big-endian machine",
                         (size_t)(x->data - p->bytes));
    return CLV_OK;
}

clv_status pickle_open(const uint8_t *bytes, size_t size, pickle_file *p,
                       clv_err *e)
{
    *p = (pickle_file){.bytes = bytes, .size = size};
    if (size < 4 || memcmp(bytes, "PK\3\4", 4) != 0)
        return file_open_old(p, e);
    CLV_TRY(clv__archive_open(bytes, size, &p->zip, e));
    CLV_TRY(file_check_order(p, e));
    return pickle_read(p, "data.pkl", &p->root, e);
}

void pickle_close(pickle_file *p)
{
    strmap_free(&p->storages);
    clv__archive_close(&p->zip);
    arena_free(&p->mem);
    *p = (pickle_file){0};
}
