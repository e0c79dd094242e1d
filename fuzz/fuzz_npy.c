/* fuzz_npy.c - any bytes as .npy, .npz and TensorProto, from memory and from a
 * file, as a tensor, a sequence and an optional; what is accepted is written in
 * each format that can hold it, and must read back the same. */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>

static void same_again(const char *kind, const clv_buf *text, const char *name,
                       const clv_tensor *t)
{
    clv_tensor u;
    if (clv_tensor_parse(kind, text->text, text->len, name, &u, NULL) != CLV_OK)
        abort();
    if (!clv_tensor_close(&u, t, 0))
        abort();
    clv_tensor_free(&u);
}

static void write_and_read(const clv_tensor *t)
{
    static const char *const names[] = {"first", "second"};
    const clv_tensor *const two[] = {t, t};
    clv_buf npy = {0}, pb = {0}, npz = {0};
    if (clv_tensor_fits_npy(t) && clv_tensor_npy(t, &npy, NULL) == CLV_OK)
        same_again("npy", &npy, NULL, t);
    if (clv_tensor_pb(t, "t", &pb, NULL) == CLV_OK &&
        t->form == CLV_FORM_TENSOR)
        same_again("pb", &pb, NULL, t);
    if (clv_tensor_npz(two, names, 2, &npz, NULL) == CLV_OK &&
        t->form == CLV_FORM_TENSOR)
        same_again("npz", &npz, "second", t);
    clv_buf_free(&npy);
    clv_buf_free(&pb);
    clv_buf_free(&npz);
}

static void from_file(const char *name, const uint8_t *data, size_t size)
{
    char path[600], entry[64];
    clv_tensor t;
    snprintf(path, sizeof path, "%s", fuzz_file(name, data, size));
    for (uint32_t i = 0; i < 4 && clv_tensor_entry(path, i, entry, sizeof entry,
                                                   NULL) == CLV_OK;
         i++)
        if (clv_tensor_read(path, entry, &t, NULL) == CLV_OK)
            clv_tensor_free(&t);
    for (int form = CLV_FORM_TENSOR; form <= CLV_FORM_OPTIONAL; form++)
        if (clv_tensor_read_as(path, NULL, (clv_form)form, &t, NULL) ==
            CLV_OK) {
            write_and_read(&t);
            clv_tensor_free(&t);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const kinds[] = {"npy", "npz", "pb"};
    static const char *const files[] = {"t.npy", "t.npz", "t.pb"};
    clv_tensor t;
    for (int i = 0; i < 3; i++) {
        if (clv_tensor_parse(kinds[i], data, size, NULL, &t, NULL) == CLV_OK) {
            write_and_read(&t);
            clv_tensor_free(&t);
        }
        from_file(files[i], data, size);
    }
    return 0;
}
