/* data.c - the batch that rank 0 reads and feeds, and the one it gathers.
 *
 * The parts fix the shape of one micro-batch. A tensor that is m times as long
 * in its first dimension is split into m; one that has just this shape is fed m
 * times. Outputs are joined in the same dimension. */
#include "rank.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool data_same_dims(const clv_tensor *a, const clv_tensor *b,
                           uint32_t from)
{
    return a->rank == b->rank &&
           (a->rank <= from || !memcmp(a->dims + from, b->dims + from,
                                       (a->rank - from) * sizeof *a->dims));
}

static void data_dims(const clv_tensor *t, char *buf, size_t size)
{
    size_t n = 0;
    buf[0] = '\0';
    for (uint32_t i = 0; i < t->rank && n + 24 < size; i++)
        n += (size_t)snprintf(buf + n, size - n, "%s%lld", i ? "x" : "",
                              (long long)t->dims[i]);
}

/* Takes the tensor for input i, whole or to be split. */
static clv_status data_take(const rank_world *w, rank_data *d, uint32_t i,
                            clv_tensor *t, clv_err *err)
{
    const clv_bundle_value *v = &w->plan->values[w->plan->inputs[i]];
    char has[200], wants[200];
    if (d->in[i].data)
        return rank_fail(err, CLV_SHAPE, "input '%.80s' is given twice",
                         v->name);
    if (t->dtype != v->type.dtype || t->form != CLV_FORM_TENSOR)
        return rank_fail(err, CLV_SHAPE, "input '%.80s' is %s, not %s", v->name,
                         clv_dtype_name(v->type.dtype),
                         clv_dtype_name(t->dtype));
    d->fed_again[i] = data_same_dims(t, &v->type, 0);
    bool split = t->rank && data_same_dims(t, &v->type, 1) &&
                 t->dims[0] == v->type.dims[0] * (int64_t)w->micro;
    if (d->fed_again[i] || split) {
        d->in[i] = *t;
        t->data = NULL;
        return CLV_OK;
    }
    data_dims(t, has, sizeof has);
    data_dims(&v->type, wants, sizeof wants);
    return rank_fail(
        err, CLV_SHAPE,
        "input '%.80s' is %s; the parts take micro-batches of %s, "
        "so %u of them are %lld in the first dimension",
        v->name, has, wants, w->micro,
        v->type.rank ? (long long)(v->type.dims[0] * (int64_t)w->micro) : 1LL);
}

static uint32_t data_find(const rank_world *w, const char *name, size_t len)
{
    for (uint32_t i = 0; i < w->plan->n_inputs; i++) {
        const char *s = w->plan->values[w->plan->inputs[i]].name;
        if (strlen(s) == len && !memcmp(s, name, len))
            return i;
    }
    return CLV_NONE;
}

/* Every entry of an archive that is called like an input. */
static clv_status data_archive(const rank_world *w, rank_data *d,
                               const char *path, clv_err *err)
{
    char name[256];
    bool any = false;
    for (uint32_t i = 0;; i++) {
        clv_err why = {0};
        clv_status s = clv_tensor_entry(path, i, name, sizeof name, &why);
        if (s == CLV_NOT_FOUND && i)
            break;
        if (s != CLV_OK)
            return rank_fail(err, s, "%s", why.msg);
        uint32_t k = data_find(w, name, strlen(name));
        clv_tensor t = {0};
        if (k == CLV_NONE)
            continue;
        s = clv_tensor_read(path, name, &t, err);
        if (s == CLV_OK)
            s = data_take(w, d, k, &t, err);
        clv_tensor_free(&t);
        if (s != CLV_OK)
            return s;
        any = true;
    }
    return any ? CLV_OK
               : rank_fail(err, CLV_NOT_FOUND,
                           "%.200s: no entry is called like an input", path);
}

static clv_status data_file(const rank_world *w, rank_data *d, uint32_t place,
                            clv_err *err)
{
    const char *arg = w->o.input[place], *eq = strchr(arg, '=');
    const char *path = eq ? eq + 1 : arg;
    size_t n = strlen(path);
    clv_tensor t = {0};
    if (!eq && n > 4 && !strcmp(path + n - 4, ".npz"))
        return data_archive(w, d, path, err);
    if (eq)
        place = data_find(w, arg, (size_t)(eq - arg));
    if (place >= w->plan->n_inputs)
        return rank_fail(err, CLV_NOT_FOUND,
                         "--input %.100s: the model has %u inputs, '%.80s' "
                         "first",
                         arg, w->plan->n_inputs,
                         w->plan->n_inputs
                             ? w->plan->values[w->plan->inputs[0]].name
                             : "none");
    clv_status s = clv_tensor_read(path, NULL, &t, err);
    if (s == CLV_OK)
        s = data_take(w, d, place, &t, err);
    clv_tensor_free(&t);
    return s;
}

/* m micro-batches of one shape, as one tensor. A scalar becomes a row. */
static clv_status data_alloc(const rank_world *w, uint32_t value,
                             clv_tensor *out, clv_err *err)
{
    *out = w->plan->values[value].type;
    if (!out->rank)
        out->dims[out->rank++] = 1;
    out->dims[0] *= (int64_t)w->micro;
    if (clv_tensor_bytes(out) < 0)
        return rank_fail(err, CLV_OVERFLOW, "%u micro-batches are too large",
                         w->micro);
    return clv_tensor_alloc(out, err);
}

clv_status rank_data_read(const rank_world *w, rank_data *d, clv_err *err)
{
    const clv_bundle_plan *p = w->plan;
    d->in = calloc((size_t)p->n_inputs + 1, sizeof *d->in);
    d->out = calloc((size_t)p->n_outputs + 1, sizeof *d->out);
    d->fed_again = calloc((size_t)p->n_inputs + 1, sizeof *d->fed_again);
    if (!d->in || !d->out || !d->fed_again)
        return rank_fail(err, CLV_NOMEM, "out of memory");
    clv_status s = CLV_OK;
    for (uint32_t i = 0; i < w->o.n_input && s == CLV_OK; i++)
        s = data_file(w, d, i, err);
    for (uint32_t i = 0; i < p->n_inputs && s == CLV_OK; i++) {
        const char *name = p->values[p->inputs[i]].name;
        if (d->in[i].data)
            continue;
        if (!w->o.random)
            return rank_fail(err, CLV_NOT_FOUND,
                             "input '%.80s' is missing: --input %.80s=FILE, or "
                             "--random",
                             name, name);
        s = data_alloc(w, p->inputs[i], &d->in[i], err);
        if (s == CLV_OK)
            clv_tensor_random(&d->in[i], strtoull(w->o.random, NULL, 10) + i);
    }
    for (uint32_t i = 0; i < p->n_outputs && s == CLV_OK; i++)
        s = data_alloc(w, p->outputs[i], &d->out[i], err);
    return s;
}

void rank_data_free(const rank_world *w, rank_data *d)
{
    for (uint32_t i = 0; d->in && i < w->plan->n_inputs; i++)
        clv_tensor_free(&d->in[i]);
    for (uint32_t i = 0; d->out && i < w->plan->n_outputs; i++)
        clv_tensor_free(&d->out[i]);
    free(d->in);
    free(d->out);
    free(d->fed_again);
    *d = (rank_data){0};
}

void *rank_data_slice(const rank_world *w, clv_tensor *t, uint32_t value,
                      uint32_t b, bool again)
{
    size_t bytes = (size_t)rank_value_bytes(w, value);
    return (char *)t->data + (again ? 0 : b * bytes);
}

/* -- outputs --------------------------------------------------------------*/

static clv_status data_save(const char *path, const clv_buf *text, clv_err *err)
{
    FILE *f = fopen(path, "wb");
    bool ok = f && fwrite(text->text, 1, text->len, f) == text->len;
    if (f && fclose(f) != 0)
        ok = false;
    return ok ? CLV_OK
              : rank_fail(err, CLV_IO, "cannot write '%.200s': %s", path,
                          strerror(errno));
}

static bool data_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '-' || c == '_';
}

/* One file per output into a folder that is there. */
static clv_status data_fill(const rank_world *w, const rank_data *d,
                            const char *dir, clv_err *err)
{
    clv_status s = CLV_OK;
    for (uint32_t i = 0; i < w->plan->n_outputs && s == CLV_OK; i++) {
        char path[1500];
        clv_buf text = {0};
        const clv_tensor *t = &d->out[i];
        const char *name = w->plan->values[w->plan->outputs[i]].name;
        bool npy = clv_tensor_fits_npy(t);
        size_t n = (size_t)snprintf(path, sizeof path, "%.1000s/", dir);
        for (int k = 0; name[k] && k < 200; k++)
            path[n++] = data_plain(name[k]) ? name[k] : '_';
        if (i && !access(path, F_OK))
            n += (size_t)snprintf(path + n, sizeof path - n, ".%u", i);
        snprintf(path + n, sizeof path - n, npy ? ".npy" : ".pb");
        s = npy ? clv_tensor_npy(t, &text, err)
                : clv_tensor_pb(t, name, &text, err);
        if (s == CLV_OK)
            s = data_save(path, &text, err);
        clv_buf_free(&text);
    }
    return s;
}

static clv_status data_fill_archive(const rank_world *w, const rank_data *d,
                                    const char *path, clv_err *err)
{
    uint32_t n = w->plan->n_outputs;
    const clv_tensor **t = calloc((size_t)n + 1, sizeof(void *));
    const char **names = calloc((size_t)n + 1, sizeof(void *));
    clv_buf file = {0};
    clv_status s =
        t && names ? CLV_OK : rank_fail(err, CLV_NOMEM, "out of memory");
    for (uint32_t i = 0; i < n && s == CLV_OK; i++) {
        t[i] = &d->out[i];
        names[i] = w->plan->values[w->plan->outputs[i]].name;
    }
    if (s == CLV_OK)
        s = clv_tensor_npz(t, names, n, &file, err);
    if (s == CLV_OK)
        s = data_save(path, &file, err);
    clv_buf_free(&file);
    free(t);
    free(names);
    return s;
}

/* Everything goes to a name beside it, which the minder removes if this rank
 * dies, and takes its own name at the end. */
clv_status rank_data_write(rank_world *w, const rank_data *d, clv_err *err)
{
    char own[1100], temporary[1150];
    size_t n = (size_t)snprintf(own, sizeof own, "%.1000s", w->o.output);
    while (n > 1 && own[n - 1] == '/')
        own[--n] = '\0';
    bool archive = n > 4 && !strcmp(own + n - 4, ".npz");
    snprintf(temporary, sizeof temporary, "%s.XXXXXX", own);
    int fd = archive ? mkstemp(temporary) : -1;
    bool made = archive ? fd >= 0 : mkdtemp(temporary) != NULL;
    if (!made)
        return rank_fail(err, CLV_IO, "cannot write beside '%.200s': %s", own,
                         strerror(errno));
    if (fd >= 0)
        close(fd);
    if (w->pulse)
        snprintf(w->pulse->unfinished, sizeof w->pulse->unfinished, "%s",
                 temporary);
    clv_unfinished(temporary);
    clv_status s = archive ? data_fill_archive(w, d, temporary, err)
                           : data_fill(w, d, temporary, err);
    mode_t mask = umask(0);
    umask(mask);
    if (s == CLV_OK &&
        (chmod(temporary, (archive ? 0666 : 0777) & ~mask) != 0 ||
         rename(temporary, own) != 0))
        s = rank_fail(err, CLV_IO, "cannot make '%.200s': %s", own,
                      errno == ENOTEMPTY || errno == EEXIST
                          ? "it is there already, and not empty"
                          : strerror(errno));
    if (s != CLV_OK)
        clv_cleanup();
    clv_finished(temporary);
    if (w->pulse)
        w->pulse->unfinished[0] = '\0';
    return s;
}
