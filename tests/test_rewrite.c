/* test_rewrite.c - every rule of src/run/rewrite.def: graphs that it fits, and
 * graphs that look like it but must stay as they are.
 *
 * A case is a graph in a few words. Both kinds run on the plain kernels as they
 * are, and rewritten on the fast ones and on oneDNN; the results must agree.
 * For a graph that fits, the rule must have been applied so many times; for one
 * that must not change, never. */
#include "backend/backend.h"
#include "check.h"
#include "cleave/run.h"

#include <stdlib.h>

/* "in x 2 8; w = param 8; y = add x w; out y": statements of
 *     in NAME DIMS...            an input of floats
 *     mask NAME DIMS...          one of bools
 *     param NAME DIMS...         a weight that is drawn
 *     NAME = OP ARG... KEY=V...  a node; an argument may be a number
 *     out NAME                                                            */
typedef struct rewrite_case {
    const char *name, *rule;
    uint32_t times;
    const char *graph;
} rewrite_case;

#define LAYER_CORE \
    "m = mean x axes=-1 keepdim=1; d = sub x m; s = square d; " \
    "v = mean s axes=-1 keepdim=1; e = add v 1e-5; r = sqrt e; "
#define RMS_CORE    "s = pow x 2; v = mean s axes=-1 keepdim=1; e = add v 1e-6; "
#define GELU_CORE   "u = div x 1.4142135; f = erf u; g = add f 1; "
#define HEADS       "in q 2 3 5 4; in k 2 3 7 4; in v 2 3 7 6; "
#define TURNED_KEYS "t = permute k perm=0,1,3,2; "

/* Results have steps that no sum of products lies right between. */
#define BYTES \
    "in x 2 3 7 18; q = quantize_linear x 0.03; d = dequantize_linear q " \
    "0.03; "
#define MORE_BYTES \
    BYTES "r = quantize_linear x 0.1; e = dequantize_linear r 0.1; "
#define BYTES_NORM \
    BYTES "param w 3; param b 3; param m 3; param s 3; v = square s; n = " \
          "batch_norm d w b m v; "
#define BYTES_CONV \
    BYTES \
    "param w 6 3 3 3; u = quantize_linear w 0.02; v = " \
    "dequantize_linear u 0.02; c = conv2d d v padding=1; r = relu c; "
#define BYTES_LSTM \
    "in x 6 2 8; bytes w 1 8 20; bytes r 1 5 20; bytes z; d = " \
    "dequantize_linear w 0.02 z; a = permute d perm=0,2,1; v = " \
    "dequantize_linear r 0.02 z; b = permute v perm=0,2,1; "
#define BYTES_ROWS \
    "in x 2 5 9; q = quantize_linear x 0.03; d = dequantize_linear q 0.03; " \
    "param w 9 6; param b 6; u = quantize_linear w 0.02; v = " \
    "dequantize_linear u 0.02; m = matmul d v; "
#define HALF_X "in x 2 3 7 9; h = cast x dtype=float16; "

static const rewrite_case cases_of_rules[] = {
    {"dead", "DEAD", 1, "in x 2 3; a = exp x; y = neg x; out y"},
    {"identity", "IDENTITY", 1, "in x 2 3; a = identity x; y = neg a; out y"},
    {"times_one", "IDENTITY", 1, "in x 2 3; a = mul x 1; y = neg a; out y"},
    {"times_two", "IDENTITY", 0, "in x 2 3; a = mul x 2; y = neg a; out y"},
    {"add_zero_wider", "IDENTITY", 0,
     "in x 3; z = zeros shape=2,3; a = add x z; y = neg a; out y"},
    {"slice_backwards", "IDENTITY", 0,
     "in x 4; a = slice x start=3 end=-9 axes=0 step=-1; y = neg a; out y"},
    {"slice_all", "IDENTITY", 1,
     "in x 4; a = slice x start=0 end=9 axes=0; y = neg a; out y"},
    {"repeated", "REPEATED", 1,
     "in x 2 3; a = exp x; b = exp x; y = add a b; out y"},
    {"not_repeated", "REPEATED", 0,
     "in x 2 3; a = softmax x axis=0; b = softmax x axis=1; y = add a b; "
     "out y"},
    {"constant", "CONSTANT", 2,
     "in x 2 3; param w 3; a = exp w; b = neg a; y = mul x b; out y"},
    {"views", "VIEWS", 1,
     "in x 2 6; a = reshape x shape=3,4; b = reshape a shape=4,3; y = neg b; "
     "out y"},
    {"permutes", "PERMUTES", 1,
     "in x 2 3 4; a = permute x perm=1,2,0; b = permute a perm=1,2,0; y = neg "
     "b; out y"},
    {"permutes_back", "IDENTITY", 1,
     "in x 2 3 4; a = permute x perm=1,2,0; b = permute a perm=2,0,1; y = neg "
     "b; out y"},
    {"permute_of_ones", "PERMUTE_ONES", 1,
     "in x 2 1 4; a = permute x perm=1,0,2; y = neg a; out y"},
    {"permute_not_of_ones", "PERMUTE_ONES", 0,
     "in x 2 1 4; a = permute x perm=2,1,0; y = neg a; out y"},

    {"gelu", "GELU", 1,
     "in x 5 7; " GELU_CORE "h = mul x g; y = mul h 0.5; out y"},
    {"gelu_half_first", "GELU", 1,
     "in x 5 7; " GELU_CORE "h = mul x 0.5; y = mul h g; out y"},
    {"gelu_other_reader", "GELU", 1,
     "in x 5 7; " GELU_CORE "h = mul x 0.5; y = mul h g; out y; out f"},
    {"gelu_other_number", "GELU", 0,
     "in x 5 7; u = div x 1.5; f = erf u; g = add f 1; h = mul x g; y = mul h "
     "0.5; out y"},
    {"gelu_other_argument", "GELU", 0,
     "in x 5 7; in z 5 7; u = div z 1.4142135; f = erf u; g = add f 1; h = mul "
     "x g; y = mul h 0.5; out y"},
    {"gelu_not_half", "GELU", 0,
     "in x 5 7; " GELU_CORE "h = mul x g; y = mul h 0.25; out y"},
    {"gelu_tanh", "GELU", 1,
     "in x 5 7; c = pow x 3; d = mul c 0.044715; e = add x d; u = mul e "
     "0.7978845608; f = tanh u; g = add f 1; h = mul x 0.5; y = mul h g; "
     "out y"},
    {"gelu_tanh_products", "GELU", 1,
     "in x 5 7; p = mul x x; c = mul p x; d = mul c 0.044715; e = add x d; u = "
     "mul e 0.7978845608; f = tanh u; g = add f 1; h = mul x 0.5; y = mul h g; "
     "out y"},
    {"gelu_tanh_square", "GELU", 0,
     "in x 5 7; c = pow x 2; d = mul c 0.044715; e = add x d; u = mul e "
     "0.7978845608; f = tanh u; g = add f 1; h = mul x 0.5; y = mul h g; "
     "out y"},
    {"silu", "SILU", 1, "in x 5 7; s = sigmoid x; y = mul s x; out y"},
    {"quick_gelu", "SILU", 1,
     "in x 5 7; a = mul x 1.702; s = sigmoid a; y = mul x s; out y"},
    {"gated_by_another", "SILU", 0,
     "in x 5 7; in z 5 7; s = sigmoid z; y = mul s x; out y"},
    {"gated_broadcast", "SILU", 0,
     "in x 1 7; in z 5 7; s = sigmoid x; y = mul s z; out y"},
    {"hardswish", "HARDSWISH", 1,
     "in x 5 7; a = add x 3; c = clamp a min=0.0 max=6.0; d = div c 6; y = mul "
     "x d; out y"},
    {"hardswish_behind", "HARDSWISH_DIV", 1,
     "in x 5 7; a = add x 3; c = clamp a min=0.0 max=6.0; d = mul x c; y = div "
     "d 6; out y"},
    {"hardswish_to_five", "HARDSWISH", 0,
     "in x 5 7; a = add x 3; c = clamp a min=0.0 max=5.0; d = div c 6; y = mul "
     "x d; out y"},
    {"mish", "MISH", 1,
     "in x 5 7; a = softplus x; t = tanh a; y = mul x t; out y"},
    {"hardsigmoid", "HARDSIGMOID", 1,
     "in x 5 7; a = add x 3; c = clamp a min=0.0 max=6.0; y = div c 6; out y"},

    {"layer_norm", "NORM_DIV", 1, "in x 4 9; " LAYER_CORE "y = div d r; out y"},
    {"layer_norm_whole", "NORM_BIAS", 1,
     "in x 4 9; param w 9; param b 9; " LAYER_CORE
     "n = div d r; a = mul n w; y = add a b; out y"},
    {"layer_norm_turned_round", "NORM_BIAS", 1,
     "in x 4 9; param w 1 9; param b 9; " LAYER_CORE
     "n = div d r; a = mul w n; y = add b a; out y"},
    {"layer_norm_shared", "NORM_WEIGHT", 0,
     "in x 4 9; param w 9; " LAYER_CORE
     "n = div d r; y = mul n w; out y; out n"},
    {"layer_norm_first_axis", "NORM_DIV", 0,
     "in x 4 9; m = mean x axes=0 keepdim=1; d = sub x m; s = square d; v = "
     "mean s axes=0 keepdim=1; e = add v 1e-5; r = sqrt e; y = div d r; out y"},
    {"rms_norm_of_centred", "NORM_DIV", 1,
     "in x 9 9; m = mean x axes=0 keepdim=1; d = sub x m; s = square d; v = "
     "mean s axes=-1 keepdim=1; e = add v 1e-5; r = sqrt e; y = div d r; "
     "out y"},
    {"layer_norm_column_weight", "NORM_WEIGHT", 0,
     "in x 9 9; param w 9 1; " LAYER_CORE "n = div d r; y = mul n w; out y"},
    {"rms_norm", "NORM_WEIGHT", 1,
     "in x 4 9; param w 9; " RMS_CORE
     "r = rsqrt e; n = mul x r; y = mul w n; out y"},
    {"rms_norm_reciprocal", "NORM_MUL", 1,
     "in x 4 9; " RMS_CORE "q = sqrt e; r = reciprocal q; y = mul x r; out y"},
    {"rms_norm_of_another", "NORM_MUL", 0,
     "in x 4 9; in z 4 9; " RMS_CORE "r = rsqrt e; y = mul z r; out y"},
    {"group_norm", "GROUP_BIAS", 1,
     "in x 2 6 5 3; param w 6 1 1; param b 6 1 1; a = reshape x "
     "shape=2,3,30; n = instance_norm a; c = reshape n shape=2,6,5,3; d = mul "
     "c w; y = add d b; out y"},
    {"group_norm_across", "GROUP_NORM", 0,
     "in x 2 6 5 3; a = reshape x shape=4,3,15; n = instance_norm a; y = "
     "reshape n shape=2,6,5,3; out y"},
    {"channel_shuffle", "CHANNEL_SHUFFLE", 1,
     "in x 2 6 5 3; a = reshape x shape=2,2,3,5,3; p = permute a "
     "perm=0,2,1,3,4; y = reshape p shape=2,6,5,3; z = neg y; out z"},
    {"not_channel_shuffle", "CHANNEL_SHUFFLE", 0,
     "in x 2 6 5 5; a = reshape x shape=2,6,5,5,1; p = permute a "
     "perm=0,1,3,2,4; y = reshape p shape=2,6,5,5; z = neg y; out z"},

    {"roll", "ROLL", 1,
     "in x 2 7; a = slice x start=3 end=9 axes=1; b = slice x start=0 end=3 "
     "axes=1; c = cat a b axis=1; y = neg c; out y"},
    {"not_roll_overlap", "ROLL", 0,
     "in x 2 7; a = slice x start=3 end=9 axes=1; b = slice x start=0 end=4 "
     "axes=1; c = cat a b axis=1; y = neg c; out y"},
    {"not_roll_in_order", "ROLL", 0,
     "in x 2 7; a = slice x start=0 end=3 axes=1; b = slice x start=3 end=9 "
     "axes=1; c = cat a b axis=1; y = neg c; out y"},
    {"not_roll_of_two", "ROLL", 0,
     "in x 2 7; in z 2 7; a = slice x start=3 end=9 axes=1; b = slice z "
     "start=0 end=3 axes=1; c = cat a b axis=1; y = neg c; out y"},
    {"not_roll_other_axis", "ROLL", 0,
     "in x 7 7; a = slice x start=3 end=9 axes=1; b = slice x start=0 end=4 "
     "axes=1; c = permute a perm=1,0; d = permute b perm=1,0; e = cat c d "
     "axis=0; y = neg e; out y"},
    {"pad_of_nothing", "IDENTITY", 1,
     "in x 2 7; a = pad x padding=0,0,0,0; y = neg a; out y"},
    {"pad_and_crop", "IDENTITY", 0,
     "in x 2 7; a = pad x padding=0,1,0,-1; y = neg a; out y"},
    {"split_slices", "SPLIT_SLICE", 1,
     "in x 5 4; param w 4 6; param b 6; p = matmul x w; q = add p b; c = slice "
     "q start=0 end=2 axes=1; d = slice q start=2 end=6 axes=-1; e = exp c; f "
     "= exp d; out e; out f"},
    {"split_heads", "SPLIT_SELECT", 1,
     "in x 2 5 4; param w 18 4; param b 18; p = linear x w b; q = reshape p "
     "shape=2,5,3,2,3; r = permute q perm=2,0,3,1,4; c = select r axis=0 "
     "index=0; d = select r axis=0 index=1; e = select r axis=0 index=-1; f = "
     "exp c; g = exp d; h = exp e; out f; out g; out h"},
    {"split_within_heads", "SPLIT_SLICE", 1,
     "in x 2 5 4; param w 4 18; p = matmul x w; q = reshape p shape=2,5,3,6; r "
     "= permute q perm=0,2,1,3; c = slice r start=0 end=2 axes=3; d = slice r "
     "start=2 end=4 axes=3; e = slice r start=4 end=6 axes=3; f = exp c; g = "
     "exp d; h = exp e; out f; out g; out h"},
    {"column_of_large", "IDENTITY", 0,
     "in x 40 128 70; in z 40 70 1; y = matmul x z; out y"},
    {"scaled_between_lines", "IDENTITY", 0,
     "in x 1 24 300; param w 24 24 7; param s 24 1; c = conv1d x w padding=3; "
     "t = exp c; u = mul t s; v = add u c; y = conv1d v w padding=3; out y"},
    {"split_shared_weight", "SPLIT_SLICE", 3,
     "in x 5 4; in z 5 4; param w 4 6; p = matmul x w; q = matmul z w; r = "
     "add z 1; k = matmul r w; c = slice p start=0 end=2 axes=1; d = slice p "
     "start=2 end=6 axes=1; e = slice q start=0 end=2 axes=1; f = slice q "
     "start=2 end=6 axes=1; a = slice k start=0 end=3 axes=1; b = slice k "
     "start=3 end=6 axes=1; g = exp c; h = exp d; i = exp e; j = exp f; l = "
     "exp a; m = exp b; out g; out h; out i; out j; out l; out m"},
    {"split_overlap", "SPLIT_SLICE", 0,
     "in x 5 4; param w 4 6; q = matmul x w; c = slice q start=0 end=4 axes=1; "
     "d = slice q start=2 end=6 axes=1; e = exp c; f = exp d; out e; out f"},
    {"split_rows", "SPLIT_SLICE", 0,
     "in x 5 4; param w 4 6; q = matmul x w; c = slice q start=0 end=2 axes=0; "
     "d = slice q start=2 end=5 axes=0; e = exp c; f = exp d; out e; out f"},
    {"split_read_whole", "SPLIT_SLICE", 0,
     "in x 5 4; param w 4 6; q = matmul x w; c = slice q start=0 end=2 axes=1; "
     "d = slice q start=2 end=6 axes=1; e = exp c; f = exp d; g = exp q; out "
     "e; out f; out g"},
    {"split_mixed_rows", "SPLIT_SLICE", 0,
     "in x 6 4; param w 4 6; p = matmul x w; q = reshape p shape=3,12; c = "
     "slice q start=0 end=4 axes=1; d = slice q start=4 end=12 axes=1; e = exp "
     "c; f = exp d; out e; out f"},

    {"squeeze_permute", "SQUEEZE_PERMUTE", 1,
     "in x 2 5 1 3 4; a = permute x perm=2,0,3,1,4; b = squeeze a axes=0; y = "
     "neg b; out y"},
    {"merge_permute", "SQUEEZE_PERMUTE", 0,
     "in x 2 5 3 4; a = permute x perm=0,2,1,3; b = reshape a shape=2,3,20; y "
     "= neg b; out y"},
    {"attention_split", "ATTENTION_ROWS", 1,
     "in x 2 5 4; param w 4 36; o = matmul x w; u = reshape o "
     "shape=2,5,3,3,4; w2 = permute u perm=2,0,3,1,4; z1 = select w2 axis=0 "
     "index=0; z2 = select w2 axis=0 index=1; z3 = select w2 axis=0 index=2; q "
     "= mul z1 0.5; k = permute z2 perm=0,1,3,2; s = matmul q k; p = softmax "
     "s; h = matmul p z3; i = permute h perm=0,2,1,3; y = reshape i "
     "shape=2,5,12; out y"},
    {"attention", "ATTENTION", 1,
     HEADS TURNED_KEYS
     "s = matmul q t; c = mul s 0.5; p = softmax c; y = matmul p v; out y"},
    {"attention_scaled_before", "ATTENTION", 1,
     HEADS "a = mul q 0.7; b = div k 1.4; t = permute b perm=0,1,3,2; s = "
           "matmul a t; p = softmax s; y = matmul p v; out y"},
    {"attention_added_mask", "ATTENTION", 1,
     HEADS TURNED_KEYS
     "in m 2 1 5 7; s = matmul q t; c = mul s 0.5; d = add m c; p = softmax d; "
     "y = matmul p v; out y"},
    {"attention_two_masks", "ATTENTION", 1,
     HEADS TURNED_KEYS
     "in m 2 1 5 7; param b 1 3 5 7; s = matmul q t; c = add s b; d = add c m; "
     "p = softmax d; y = matmul p v; out y"},
    {"attention_chosen_mask", "ATTENTION", 1,
     HEADS TURNED_KEYS
     "mask m 1 1 5 7; s = matmul q t; c = where m s -inf; p = softmax c; y = "
     "matmul p v; out y"},
    {"attention_filled_mask", "ATTENTION", 1,
     HEADS TURNED_KEYS
     "mask m 5 7; s = matmul q t; c = where m -1e9 s; p = softmax c; y = "
     "matmul p v; out y"},
    {"attention_small_fill", "ATTENTION", 0,
     HEADS TURNED_KEYS
     "mask m 5 7; s = matmul q t; c = where m -10 s; p = softmax c; y = matmul "
     "p v; out y"},
    {"attention_scaled_mask", "ATTENTION", 0,
     HEADS TURNED_KEYS
     "in m 2 1 5 7; s = matmul q t; c = add s m; d = mul c 0.5; p = softmax d; "
     "y = matmul p v; out y"},
    {"attention_other_axis", "ATTENTION", 0,
     HEADS TURNED_KEYS
     "s = matmul q t; p = softmax s axis=2; y = matmul p v; out y"},
    {"attention_shown_scores", "ATTENTION", 0,
     HEADS TURNED_KEYS
     "s = matmul q t; p = softmax s; y = matmul p v; out y; out p"},
    {"attention_plain_keys", "ATTENTION", 1,
     "in q 3 5 4; in t 3 4 7; in v 3 7 6; s = matmul q t; p = softmax s; y = "
     "matmul p v; out y"},
    {"attention_broadcast_keys", "ATTENTION", 0,
     "in q 2 3 5 4; in t 1 1 4 7; in v 1 1 7 6; s = matmul q t; p = softmax s; "
     "y = matmul p v; out y"},
    {"attention_grouped", "ATTENTION", 1,
     "in q 1 4 5 8; in k 1 2 7 8; in v 1 2 7 8; a = unsqueeze k axes=2; b = "
     "expand a shape=1,2,2,7,8; c = reshape b shape=1,4,7,8; t = permute c "
     "perm=0,1,3,2; d = unsqueeze v axes=2; e = expand d shape=1,2,2,7,8; f = "
     "reshape e shape=1,4,7,8; s = matmul q t; p = softmax s; y = matmul p f; "
     "out y"},
    {"attention_rows", "ATTENTION_ROWS", 1,
     "in a 2 5 12; in b 2 7 12; in c 2 7 12; d = reshape a shape=2,5,3,4; e = "
     "reshape b shape=2,7,3,4; f = reshape c shape=2,7,3,4; q = permute d "
     "perm=0,2,1,3; k = permute e perm=0,2,3,1; v = permute f perm=0,2,1,3; s "
     "= matmul q k; g = mul s 0.5; p = softmax g; h = matmul p v; i = permute "
     "h perm=0,2,1,3; y = reshape i shape=2,5,12; out y"},

    {"convs_of_two_sizes", "PARALLEL_CONVS", 1,
     "in x 2 4 7 6; param a 6 4 3 3; param c 6; param b 6 4 1 1; p = conv2d x "
     "a c padding=1 stride=2; q = conv2d x b stride=2; y = add p q; out y"},
    {"conv_less_conv", "PARALLEL_LESS", 1,
     "in x 2 4 9; param a 4 1 1; param b 4 1 5; param c 4; p = conv1d x a "
     "groups=4; q = conv1d x b c padding=2 groups=4; y = sub p q; out y"},
    {"convs_off_centre", "PARALLEL_CONVS", 1,
     "in x 1 2 7 7; param a 4 2 4 3; param b 4 2 2 3; p = conv2d x a "
     "padding=1,1,2,1; q = conv2d x b padding=0,1,1,1; y = add p q; out y"},
    {"convs_with_norms", "PARALLEL_CONVS", 2,
     "in x 2 6 5 5; param a 6 3 3 3; param b 6 3 1 1; param s 6; param t 6; "
     "param m 6; param u 6; v = square u; p = conv2d x a padding=1 groups=2; "
     "q = batch_norm p s t m v; f = conv2d x b groups=2; g = batch_norm f t s "
     "m v; h = batch_norm x t m s v; i = add q g; y = add i h; out y"},
    {"conv_and_x", "PARALLEL_CONVS", 1,
     "in x 2 4 5 5; param a 4 1 3 3; param g 4 1 1; p = conv2d x a padding=1 "
     "groups=4; q = mul p g; y = add x q; out y"},
    {"convs_scaled", "PARALLEL_LESS", 1,
     "in x 2 4 5 5; param a 4 4 3 3; param s 4; v = square s; p = conv2d x a "
     "padding=1; q = mul 0.5 p; h = batch_norm x s s s v; i = mul h 3; y = sub "
     "i q; out y"},
    {"conv_and_x_of_all", "PARALLEL_CONVS", 0,
     "in x 2 4 5 5; param a 4 4 3 3; p = conv2d x a padding=1; y = add x p; "
     "out y"},
    {"conv_scaled_elsewhere", "PARALLEL_CONVS", 0,
     "in x 2 4 5 5; param a 4 1 3 3; param g 4; p = conv2d x a padding=1 "
     "groups=4; h = permute p perm=0,2,3,1; q = mul h g; i = permute q "
     "perm=0,3,1,2; y = add x i; out y"},
    {"slices_of_a_conv", "IDENTITY", 0,
     "in x 1 3 9 9; param a 32 3 3 3; p = conv2d x a; q = slice p start=1,2 "
     "end=7,6 axes=2,3; r = slice p start=5 end=21 axes=1; s = mul r 2; y = "
     "exp "
     "q; out y; out s"},
    {"slices_with_steps", "IDENTITY", 0,
     "in x 2 7 7 6; a = mul x 2; q = slice a start=0,1 end=7,7 axes=1,2 "
     "step=2,3; r = slice a start=-1 end=-9 axes=3 step=-2; y = exp q; z = exp "
     "r; out y; out z"},
    {"pairs_turned", "IDENTITY", 0,
     "in x 1 3 40 8; a = mul x 2; p = slice a start=1 end=8 axes=3 step=2; q = "
     "slice a start=0 end=8 axes=3 step=2; n = neg p; s = unsqueeze n axes=-1; "
     "t = unsqueeze q axes=-1; u = cat s t axis=4; y = reshape u "
     "shape=1,3,40,8; out y"},
    {"prelu_of_one_slope", "PRELU", 1,
     "in x 2 3 4; param a 1; y = prelu x a; out y"},
    {"prelu_of_equal_slopes", "PRELU", 1,
     "in x 2 3 4; a = ones shape=3,1; b = mul a 0.25; y = prelu x b; out y"},
    {"prelu_of_channels", "PRELU", 0,
     "in x 2 3 4 5; param a 3 1 1; param w 32 3 1 1; param b 32; y = prelu x "
     "a; z = conv2d y w; u = prelu z b axis=1; out y; out u"},
    {"norm_of_rows", "NORM_OF_ROWS", 1,
     "in x 2 3 4; param w 4 6; param s 6; param t 6; v = square s; p = matmul "
     "x "
     "w; q = reshape p shape=6,6; y = batch_norm q s t s v; out y"},
    {"norm_of_planes", "NORM_OF_ROWS", 0,
     "in x 2 6 4; param s 6; v = square s; y = batch_norm x s s s v; out y"},
    {"convs_of_two_values", "PARALLEL_CONVS", 0,
     "in x 2 4 7 7; in z 2 4 7 7; param a 6 4 3 3; param b 6 4 1 1; p = conv2d "
     "x a padding=1; q = conv2d z b; y = add p q; out y"},
    {"convs_of_two_strides", "PARALLEL_CONVS", 0,
     "in x 2 4 7 7; param a 6 4 3 3; param b 6 4 1 1; p = conv2d x a; q = "
     "conv2d x b padding=1 stride=2; y = add p q; out y"},
    {"convs_beside_each_other", "PARALLEL_CONVS", 0,
     "in x 2 4 7 7; param a 6 4 3 3; param b 6 4 1 1; p = conv2d x a "
     "padding=0,0,2,2; q = conv2d x b padding=1,1,-1,-1; y = add p q; out y"},
    {"convs_dilated", "PARALLEL_CONVS", 0,
     "in x 2 4 7 7; param a 6 4 3 3; param b 6 4 1 1; p = conv2d x a padding=2 "
     "dilation=2; q = conv2d x b; y = add p q; out y"},
    {"conv_read_twice", "PARALLEL_CONVS", 0,
     "in x 2 4 7 7; param a 6 4 3 3; param b 6 4 1 1; p = conv2d x a "
     "padding=1; q = conv2d x b; y = add p q; out y; out q"},
    {"conv_and_norm_of_stride", "PARALLEL_CONVS", 0,
     "in x 2 4 1 1; param a 4 4 3 3; param s 4; v = square s; p = conv2d x a "
     "padding=1 stride=2; h = batch_norm x s s s v; y = add p h; out y"},

    {"quant_move", "QUANT_MOVE", 1,
     BYTES "p = permute d perm=0,2,3,1; y = quantize_linear p 0.03; out y"},
    {"quant_pool", "QUANT_MOVE", 1,
     BYTES "p = max_pool2d d kernel=3 stride=2 padding=1; y = "
           "quantize_linear p 0.0503; out y"},
    {"quant_result_stays", "QUANT_MOVE", 0,
     BYTES "p = permute d perm=0,2,3,1; out p"},
    {"quant_cat", "QUANT_CAT", 1,
     MORE_BYTES "c = cat d e axis=1; y = quantize_linear c 0.0503; out y"},
    {"quant_table", "QUANT_TABLE", 1,
     BYTES "s = sigmoid d; y = quantize_linear s 0.004; out y"},
    {"quant_table_of_two", "QUANT_TABLE", 1,
     BYTES "s = sigmoid d; t = mul d s; y = quantize_linear t 0.03; out y"},
    {"quant_table_of_tables", "QUANT_TABLE", 2,
     BYTES "s = tanh d; r = quantize_linear s 0.01; e = dequantize_linear r "
           "0.01; t = mul d e; y = quantize_linear t 0.03; out y"},
    {"quant_same_again", "QUANT_TABLE", 1,
     BYTES "a = quantize_linear d 0.03; y = dequantize_linear a 0.03; out y"},
    {"quant_no_table_of_floats", "QUANT_TABLE", 0,
     BYTES "s = add d x; y = quantize_linear s 0.03; out y"},
    {"quant_no_table_of_axes", "QUANT_TABLE", 0,
     BYTES "param c 18; s = add d c; y = quantize_linear s 0.03; out y"},
    {"quant_norm", "QUANT_CHANNELS", 1,
     BYTES_NORM "y = quantize_linear n 0.0503; out y"},
    {"quant_norm_relu", "QUANT_CHANNELS", 1,
     BYTES_NORM "r = relu n; y = quantize_linear r 0.0503; out y"},
    {"quant_norm_read_twice", "QUANT_CHANNELS", 0,
     BYTES_NORM "y = quantize_linear n 0.0503; t = neg n; out y; out t"},
    {"quant_conv", "QUANT_CONV", 1,
     BYTES_CONV "y = quantize_linear r 0.0503; out y"},
    {"quant_conv_stride", "QUANT_CONV", 1,
     BYTES
     "param w 3 1 5 5; u = quantize_linear w 0.02; v = "
     "dequantize_linear u 0.02; c = conv2d d v padding=2 stride=2 "
     "groups=3; l = clamp c min=0.1 max=0.9; y = quantize_linear l 0.0503; "
     "out y"},
    {"quant_conv_other_reader", "QUANT_CONV", 0,
     BYTES_CONV "y = quantize_linear r 0.0503; out y; out c"},
    {"quant_product", "QUANT_PRODUCT", 1,
     BYTES_ROWS "y = quantize_linear m 0.0503; out y"},
    {"quant_product_bias", "QUANT_PRODUCT", 1,
     BYTES_ROWS "a = add m b; y = quantize_linear a 0.0503; out y"},
    {"quant_product_heads", "QUANT_PRODUCT", 1,
     BYTES "t = permute d perm=0,1,3,2; m = matmul d t; y = quantize_linear m "
           "0.2; out y"},
    {"quant_product_wide_bias", "QUANT_PRODUCT", 0,
     BYTES_ROWS
     "param c 5 6; a = add m c; y = quantize_linear a 0.0503; out y"},
    {"quant_add", "QUANT_TWO", 1,
     "in z 3 1 18; " BYTES "r = quantize_linear z 0.1; e = dequantize_linear r "
     "0.1; s = add d e; y = quantize_linear s 0.0503; out y"},
    {"quant_mul_relu", "QUANT_TWO", 1,
     "in z 2 3 7 18; " BYTES "r = quantize_linear z 0.1; e = dequantize_linear "
     "r 0.1; s = mul d e; t = relu s; y = quantize_linear t 0.0503; out y"},
    {"quant_constant", "LATE_QUANT", 0, BYTES "y = softmax d; out y"},

    {"quant_lstm", "QUANT_LSTM", 1,
     BYTES_LSTM "y = lstm x a b layout=onnx hidden=5 quantized=1; out y"},
    {"quant_lstm_of_floats", "QUANT_LSTM", 0,
     BYTES_LSTM "y = lstm x a b layout=onnx hidden=5; out y"},

    {"half", "HALF", 2, HALF_X "a = relu h; b = neg a; out b"},
    {"half_moves", "HALF", 3,
     HALF_X "a = relu h; p = permute a perm=0,2,3,1; b = neg p; out b"},
    {"half_moves_alone", "HALF", 0, HALF_X "p = permute h perm=0,2,3,1; out p"},
    {"half_own_casts_round", "HALF_PAIR", 0,
     HALF_X "y = cast h dtype=float32; z = neg y; out z"},
};

/* -- graphs of words ------------------------------------------------------*/

enum { NAMES = 32, WORDS = 16 };

typedef struct builder {
    clv_graph *g;
    char names[NAMES][16];
    uint32_t ids[NAMES], n;
} builder;

static uint32_t number_value(builder *b, const char *word)
{
    uint32_t v = clv__value_add(b->g, "number", CLV_VALUE_CONST, CLV_FLOAT32);
    clv_payload *p = v == CLV_NONE ? NULL : clv__value_data(b->g, v);
    double *x = arena_alloc(&b->g->mem, sizeof *x);
    if (!p || !x || !clv__value_set_shape(b->g, v, 0, NULL))
        return CLV_NONE;
    *x = strtod(word, NULL);
    p->floats = x;
    p->n = 1;
    return v;
}

static uint32_t named(builder *b, const char *word)
{
    for (uint32_t i = 0; i < b->n; i++)
        if (!strcmp(b->names[i], word))
            return b->ids[i];
    return number_value(b, word);
}

static void name_value(builder *b, const char *name, uint32_t id)
{
    snprintf(b->names[b->n], sizeof b->names[b->n], "%s", name);
    b->ids[b->n++] = id;
}

/* Gives v bytes of all kinds, far from a pattern. */
static bool fill_bytes(builder *b, uint32_t v)
{
    int64_t n = clv__numel(&b->g->values[v]);
    clv_payload *p = clv__value_data(b->g, v);
    int8_t *x = arena_alloc(&b->g->mem, (size_t)n);
    if (!p || !x)
        return false;
    for (int64_t i = 0; i < n; i++)
        x[i] = (int8_t)(i * i * 37 % 101 - 50);
    p->bytes = x;
    p->size = (size_t)n;
    return true;
}

static bool add_value(builder *b, char **word, uint32_t n)
{
    int64_t dims[8];
    for (uint32_t i = 2; i < n; i++)
        dims[i - 2] = atoll(word[i]);
    bool bytes = !strcmp(word[0], "bytes"), mask = !strcmp(word[0], "mask");
    bool param = bytes || !strcmp(word[0], "param");
    const clv_value_arg arg = {.size = sizeof arg,
                               .name = word[1],
                               .kind =
                                   param ? CLV_VALUE_PARAM : CLV_VALUE_INPUT,
                               .dtype = mask    ? CLV_BOOL
                                        : bytes ? CLV_INT8
                                                : CLV_FLOAT32,
                               .rank = n - 2,
                               .dims = dims};
    uint32_t id;
    if (clv_graph_add_value(b->g, &arg, &id, NULL) != CLV_OK)
        return false;
    name_value(b, word[1], id);
    return !bytes || fill_bytes(b, id);
}

/* KEY=1,2 is a list, KEY=0.5 a float, KEY=1 an integer, dtype=T a type,
 * layout=T a text. */
static clv_attr_arg attr_of(char *word, int64_t *room)
{
    char *text = strchr(word, '=') + 1;
    text[-1] = '\0';
    clv_attr_arg a = {.name = word, .type = CLV_ATTR_INT};
    if (!strcmp(word, "dtype")) {
        a.u.i = clv_dtype_find(text);
    } else if (!strcmp(word, "layout")) {
        a.type = CLV_ATTR_STRING;
        a.u.s = text;
    } else if (strchr(text, '.')) {
        a.type = CLV_ATTR_FLOAT;
        a.u.f = strtod(text, NULL);
    } else if (strchr(text, ',') || !strcmp(word, "axes")) {
        a.type = CLV_ATTR_INTS;
        a.u.ints = room;
        for (char *at = text; at; at = strchr(at, ',')) {
            at += *at == ',';
            room[a.n++] = atoll(at);
        }
    } else {
        a.u.i = atoll(text);
    }
    return a;
}

static bool add_node(builder *b, char **word, uint32_t n)
{
    uint32_t in[8], out;
    int64_t room[WORDS][8];
    clv_attr_arg attrs[WORDS];
    clv_node_arg arg = {
        .size = sizeof arg, .op = word[2], .inputs = in, .attrs = attrs};
    for (uint32_t i = 3; i < n; i++)
        if (strchr(word[i], '=')) {
            attrs[arg.n_attrs] = attr_of(word[i], room[arg.n_attrs]);
            arg.n_attrs++;
        } else {
            in[arg.n_inputs++] = named(b, word[i]);
        }
    clv_err e = {0};
    if (clv_graph_add_node(b->g, &arg, &out, &e) != CLV_OK) {
        printf("%s\n", e.msg);
        return false;
    }
    name_value(b, word[0], out);
    return true;
}

static bool add_statement(builder *b, char *text)
{
    char *word[WORDS];
    uint32_t n = 0;
    for (char *w = strtok(text, " "); w && n < WORDS; w = strtok(NULL, " "))
        word[n++] = w;
    if (n > 2 && !strcmp(word[1], "="))
        return add_node(b, word, n);
    if (n == 2 && !strcmp(word[0], "out"))
        return clv_graph_add_output(b->g, named(b, word[1]), NULL) == CLV_OK;
    return n >= 2 && add_value(b, word, n);
}

static clv_graph *graph_of(const char *text)
{
    builder b = {0};
    clv_err e = {0};
    bool ok = clv_graph_new("case", &b.g, NULL) == CLV_OK;
    while (ok && *text) {
        char one[400];
        size_t n = strcspn(text, ";");
        snprintf(one, sizeof one, "%.*s", (int)n, text);
        ok = add_statement(&b, one);
        text += n + (text[n] == ';');
    }
    if (ok && clv_graph_infer(b.g, &e) == CLV_OK)
        return b.g;
    printf("%s\n", e.msg);
    clv_graph_free(b.g);
    return NULL;
}

/* -- running --------------------------------------------------------------*/

enum { PORTS = 8 };

typedef struct run {
    clv_model *m;
    clv_context *c;
} run;

static bool run_with(const clv_graph *g, clv_backend *backend, clv_tensor *in,
                     run *r)
{
    clv_err e = {0};
    uint32_t n;
    clv_graph_inputs(g, &n);
    const clv_model_opts o = {.size = sizeof o, .backend = backend, .seed = 5};
    clv_status s = clv_model_new(g, &o, &r->m, &e);
    if (s == CLV_OK)
        s = clv_context_new(r->m, &r->c, &e);
    for (uint32_t i = 0; i < n && s == CLV_OK; i++)
        s = clv_context_set(r->c, i, &in[i], &e);
    if (s == CLV_OK)
        s = clv_context_run(r->c, &e);
    if (s != CLV_OK)
        printf("%s\n", e.msg);
    return s == CLV_OK;
}

static void end_run(run *r)
{
    clv_context_free(r->c);
    clv_model_free(r->m);
}

static uint32_t times_of(const clv_model *m, const char *rule)
{
    const clv_model_info *info = clv_model_get(m);
    for (uint32_t i = 0; i < info->n_rewrites; i++)
        if (!strcmp(info->rewrites[i].name, rule))
            return info->rewrites[i].count;
    return 0;
}

static void draw_inputs(const clv_graph *g, clv_tensor *in)
{
    uint32_t n;
    const uint32_t *ids = clv_graph_inputs(g, &n);
    for (uint32_t i = 0; i < n; i++) {
        clv_value_info v = clv_graph_value(g, ids[i]);
        in[i] = (clv_tensor){.dtype = v.dtype, .rank = v.rank};
        memcpy(in[i].dims, v.dims, v.rank * sizeof *v.dims);
        if (CHECK(clv_tensor_alloc(&in[i], NULL) == CLV_OK))
            clv_tensor_random(&in[i], 11 + i);
    }
}

static void same_outputs(const run *a, const run *b, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        CHECK(clv_tensor_close(clv_context_output(a->c, i),
                               clv_context_output(b->c, i), 1e-5));
}

/* onednn: NULL where it is not installed */
static void check_rule(const rewrite_case *c, clv_backend *ref,
                       clv_backend *onednn)
{
    clv_tensor in[PORTS] = {{0}};
    run plain = {0}, fast = {0}, compiled = {0};
    uint32_t n;
    clv_graph *g = graph_of(c->graph);
    CHECK_OR_RETURN(g != NULL);
    draw_inputs(g, in);
    if (CHECK(run_with(g, ref, in, &plain)) &&
        CHECK(run_with(g, NULL, in, &fast))) {
        clv_graph_outputs(g, &n);
        same_outputs(&fast, &plain, n);
        if (onednn && CHECK(run_with(g, onednn, in, &compiled)))
            same_outputs(&compiled, &plain, n);
        CHECK_EQ_INT(times_of(fast.m, c->rule), c->times);
        CHECK_EQ_INT(clv_model_get(plain.m)->n_rewrites, 0);
    }
    end_run(&plain);
    end_run(&fast);
    end_run(&compiled);
    for (uint32_t i = 0; i < PORTS; i++)
        clv_tensor_free(&in[i]);
    clv_graph_free(g);
}

static void rules(void)
{
    clv_backend *ref = NULL, *onednn = NULL;
    CHECK_OR_RETURN(clv_backend_open("ref", NULL, &ref, NULL) == CLV_OK);
    if (clv_backend_open("onednn", NULL, &onednn, NULL) != CLV_OK)
        onednn = NULL;
    for (size_t i = 0; i < sizeof cases_of_rules / sizeof *cases_of_rules;
         i++) {
        check_row(cases_of_rules[i].name);
        check_rule(&cases_of_rules[i], ref, onednn);
    }
    clv_backend_free(onednn);
    clv_backend_free(ref);
}

/* A query that no key counts for is NaN, as softmax makes it. */
static void masked_rows(void)
{
    clv_backend *ref = NULL;
    clv_tensor in[PORTS] = {{0}};
    run plain = {0}, fast = {0};
    clv_graph *g = graph_of(
        HEADS TURNED_KEYS
        "mask m 5 7; s = matmul q t; c = where m s -inf; p = softmax c; y = "
        "matmul p v; out y");
    CHECK_OR_RETURN(g && clv_backend_open("ref", NULL, &ref, NULL) == CLV_OK);
    draw_inputs(g, in);
    memset(in[3].data, 1, 35);
    memset(in[3].data, 0, 7);
    if (CHECK(run_with(g, ref, in, &plain)) &&
        CHECK(run_with(g, NULL, in, &fast))) {
        const clv_tensor *y = clv_context_output(fast.c, 0);
        CHECK(isnan(clv_tensor_get(y, 0)) && !isnan(clv_tensor_get(y, 6)));
        CHECK(clv_tensor_close(y, clv_context_output(plain.c, 0), 1e-5));
        CHECK_EQ_INT(times_of(fast.m, "ATTENTION"), 1);
    }
    end_run(&plain);
    end_run(&fast);
    for (uint32_t i = 0; i < PORTS; i++)
        clv_tensor_free(&in[i]);
    clv_graph_free(g);
    clv_backend_free(ref);
}

static const check_case cases[] = {
    {"rules", rules},
    {"masked_rows", masked_rows},
};

CHECK_MAIN(cases)
