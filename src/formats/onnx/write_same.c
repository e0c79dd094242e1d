/* write_same.c - operators that the opsets we write have in one form.
 *
 * A node read from ONNX goes back under its own name when the reader has only
 * renamed its attributes: the rows KEPT of onnx.def. They tell the first opset
 * of the form that we hold, and the attributes that have names of ours.
 * Attributes that only ONNX knows are written as they came. */
#include "formats/onnx/read.h"
#include "formats/onnx/writer.h"

#include <string.h>

/* The row of the name that the node had, if it is one to keep. */
static const onnx_op *same_row(const clv_node *n)
{
    const char *name = n->origin ? n->origin : "";
    const onnx_op *row =
        onnx_op_find((text){"", 0}, (text){name, strlen(name)});
    return row && row->kept ? row : NULL;
}

/* A list or a number, whatever our attribute is; a type by ONNX's number. */
static void same_put_renamed(body *b, onnx_out *o, const clv_attr *a,
                             const char *name)
{
    clv_attr own = *a;
    own.name = name;
    if (a->key != CLV_A_DTYPE) {
        out_attr(o, &own);
        return;
    }
    int t = onnx_dtype_number(asked_type(b->n, CLV_NODTYPE));
    b->unable = b->unable || t == 0;
    out_int(o, name, t);
}

/* Where a shape may begin came later. */
static bool same_is_later(const body *b, const clv_attr *a)
{
    bool part = a->key == CLV_A_START || a->key == CLV_A_END;
    return part && b->opset < 15;
}

static void same_attrs(body *b, onnx_out *o)
{
    const onnx_rename *names = same_row(b->n)->kept;
    for (uint32_t i = 0; i < b->n->n_attrs; i++) {
        const clv_attr *a = &b->n->attrs[i];
        const char *name = onnx_attr_name(a);
        for (const onnx_rename *as = names; as->name; as++)
            if (as->key == a->key) {
                b->unable = b->unable || same_is_later(b, a);
                name = as->name;
            }
        if (name)
            same_put_renamed(b, o, a, name);
    }
}

onnx_form onnx_same_of(const clv_graph *g, const clv_node *n, int64_t opset)
{
    const onnx_op *row = strcmp(g->format, "onnx") ? NULL : same_row(n);
    if (!row || row->since > opset)
        return (onnx_form){0};
    return (onnx_form){row->name, same_attrs, NULL};
}
