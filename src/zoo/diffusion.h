/* diffusion.h - what the networks of diffusion share. */
#ifndef CLV_ZOO_DIFFUSION_H
#define CLV_ZOO_DIFFUSION_H

#include "zoo/transformer.h"

/* Cosines, then sines, of each number of x (N) times width/2 frequencies, as
 * (N,width). Frequency i is 10000^(-i / (width/2 - shift)). */
tensor diffusion_waves(builder *b, tensor x, int64_t width, int shift);
/* "linear_1", a SiLU and "linear_2": waves to the vector of a step. */
tensor diffusion_step(builder *b, const char *name, tensor x, int64_t width);
/* Module `name`: x (N,S,E) attends to `other`; bias: of q, k and v. */
tensor diffusion_attention(builder *b, const char *name, tensor x, tensor other,
                           int64_t heads, bool bias);

#endif
