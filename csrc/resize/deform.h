// Numbers computed from the extents of a deformable convolution.
#ifndef NACRE_RESIZE_DEFORM_H
#define NACRE_RESIZE_DEFORM_H

#include "resize/resize.h"

typedef struct {
    size_t kernel, places, pixels;  // elements of the kernel, of the output, of the input
    size_t field, fields;           // first field of the channels, and number of fields
    int64_t kernel_step[NACRE_DEFORM_AXES], out_step[NACRE_DEFORM_AXES], in_step[NACRE_DEFORM_AXES];
} deform_space;

static inline size_t deform_steps(int64_t axes, const int64_t *extents, int64_t *steps) {
    int64_t n = 1;
    for (int64_t a = axes - 1; a >= 0; a--) {
        steps[a] = n;
        n *= extents[a];
    }
    return (size_t)n;
}

static inline deform_space deform_space_of(const nacre_deform_words *w) {
    deform_space s;
    s.kernel = deform_steps(w->axes, w->kernel, s.kernel_step);
    s.places = deform_steps(w->axes, w->out, s.out_step);
    s.pixels = deform_steps(w->axes, w->in, s.in_step);
    s.field = (size_t)(w->first / w->per_field);
    s.fields = (size_t)((w->first + w->channels - 1) / w->per_field) - s.field + 1;
    return s;
}

#endif
