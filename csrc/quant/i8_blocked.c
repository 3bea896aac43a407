// Code shared by the convolutions of codes in blocks.
#include <string.h>

#include "core/simd.h"
#include "core/vec.h"
#include "quant/i8_blocked.h"

// ---- the copy: rows of the value in the form that a variant takes, with zero points around ----

static void blocked8_pad(const blocked8_job *j, size_t pixels, char *dst) {
    if (j->x_bytes == 1) {
        memset(dst, j->pad, pixels * j->unit);
        return;
    }
    int16_t *const to = (int16_t *)(void *)dst;
    for (size_t i = 0; i < pixels * j->unit / 2; i++) to[i] = (int16_t)j->pad;
}

static void blocked8_codes(const blocked8_job *j, const uint8_t *x, size_t n, char *dst) {
    if (j->x_bytes == 2) {
        int16_t *const to = (int16_t *)(void *)dst;
        const int8_t *const s = (const int8_t *)x;
        if (j->x_signed) {
            NACRE_SIMD for (size_t i = 0; i < n; i++) to[i] = s[i];
        } else {
            NACRE_SIMD for (size_t i = 0; i < n; i++) to[i] = x[i];
        }
    } else if (j->flip == 0) {
        memcpy(dst, x, n);
    } else {
        uint8_t *const to = (uint8_t *)dst;
        NACRE_SIMD for (size_t i = 0; i < n; i++) to[i] = x[i] ^ 128;
    }
}

// Copies n pixels of a plain value, with the channels of a pixel contiguous.
static void blocked8_gather(const blocked8_job *j, const uint8_t *x, size_t n, char *dst) {
    const size_t plane = j->d.in * j->h.in * j->w.in;
    blocked8_pad(j, n, dst);
    for (size_t c = 0; c < j->channels; c++) {
        const uint8_t *const from = x + c * plane;
        if (j->x_bytes == 2) {
            int16_t *const to = (int16_t *)(void *)dst + c;
            for (size_t i = 0; i < n; i++) to[i * BLOCKED8_PLAIN] = (int16_t)(j->x_signed ? (int8_t)from[i] : from[i]);
        } else {
            uint8_t *const to = (uint8_t *)dst + c;
            for (size_t i = 0; i < n; i++) to[i * BLOCKED8_PLAIN] = from[i] ^ j->flip;
        }
    }
}

// Copies row `at` of slice `slice` of the padded value.
static void blocked8_copy_row(const blocked8_job *j, size_t image, size_t block, size_t slice, size_t at, char *dst) {
    if (slice < j->d.pad || slice - j->d.pad >= j->d.in || at < j->h.pad || at - j->h.pad >= j->h.in) {
        blocked8_pad(j, j->line, dst);
        return;
    }
    const size_t row = at - j->h.pad, pixels = blocked8_slice(j), first = row * j->w.in,
        place = (slice - j->d.pad) * pixels + first;
    const size_t inside = nacre_min(nacre_min(j->w.in, pixels - first), j->line - nacre_min(j->line, j->w.pad));
    const size_t before = nacre_min(j->line, j->w.pad);
    blocked8_pad(j, before, dst);
    if (j->plain) {
        blocked8_gather(j, j->x + image * j->channels * j->d.in * pixels + place, inside, dst + before * j->unit);
    } else {
        blocked8_codes(j, j->x + ((image * j->in_blocks + block) * j->d.in * pixels + place) * j->lanes,
                       inside * j->lanes, dst + before * j->unit);
    }
    blocked8_pad(j, j->line - before - inside, dst + (before + inside) * j->unit);
}

// Reports whether any row of the result meets a row of a band.
static int blocked8_meets(const blocked8_job *j, size_t row) {
    for (size_t ky = 0; ky < j->h.kernel && ky * j->h.dilation <= row; ky++) {
        if ((row - ky * j->h.dilation) % j->h.stride == 0) return 1;
    }
    return 0;
}

void nacre_blocked8_copy(const blocked8_job *j, size_t image, size_t block, size_t o, size_t rows, char *dst) {
    const size_t line = j->line * j->unit, slice = image % j->d.out * j->d.stride;
    dst += block * blocked8_copy_lines(j) * line;
    for (size_t kd = 0; kd < j->d.kernel; kd++) {
        for (size_t i = 0; i < blocked8_reach(&j->h, rows); i++) {
            if (!blocked8_meets(j, i)) continue;
            blocked8_copy_row(j, image / j->d.out, block, slice + kd * j->d.dilation, o * j->h.stride + i,
                              dst + (i * j->row_lines + kd * j->slice_lines) * line);
        }
    }
}

// ---- numbers ----

size_t nacre_blocked8_place(blocked8_job *j, char *scratch) {
    const size_t filters = nacre_align_bytes(j->out_blocks * j->lanes * 4);
    j->start = (int32_t *)(void *)scratch;
    j->w_zero = (int32_t *)(void *)(scratch + filters);
    j->scale = (float *)(void *)(scratch + 2 * filters);
    j->add = (float *)(void *)(scratch + 3 * filters);
    return 4 * filters;
}

static int32_t blocked8_w_zero(const nacre_call *c, const nacre_i8_conv_words *w, size_t filter) {
    const void *const zero = nacre_operand(c, CONV8_W_ZERO);
    const nacre_dtype code = w->w_signed ? NACRE_DTYPE_i8 : NACRE_DTYPE_u8;
    return (zero == NULL ? 0 : quant_integer(code, zero, w->w_zeros == 1 ? 0 : filter)) - (w->w_signed ? 0 : 128);
}

// Sets the start of the sums so that it makes up for the zero point of x and for offset codes.
void nacre_blocked8_put(blocked8_job *j, const nacre_call *c, const nacre_i8_conv_words *w, const int32_t *sums) {
    const int32_t *const bias = w->bias_float ? NULL : nacre_operand(c, CONV8_BIAS);
    const int32_t moved = j->x_bytes == 2 || j->flip == 0 ? 0 : j->x_unsigned ? 128 : -128;
    j->pad = j->numbers.x.zero + moved;
    const float low = (float)((w->y == NACRE_DTYPE_i8 ? -128 : 0) - j->numbers.y.zero);
    j->numbers.then.low = j->numbers.then.low > low ? j->numbers.then.low : low;
    j->numbers.then.high = j->numbers.then.high < low + 255 ? j->numbers.then.high : low + 255;
    for (size_t f = 0; f < j->out_blocks * j->lanes; f++) {
        const int there = f < j->filters;
        j->w_zero[f] = there && j->moved ? blocked8_w_zero(c, w, f) : 0;
        const uint32_t weights = (uint32_t)sums[f] - (uint32_t)j->w_zero[f] * (uint32_t)j->window;
        j->start[f] = there ? (int32_t)((bias == NULL ? 0 : (uint32_t)bias[f]) - (uint32_t)j->pad * weights) : 0;
        j->scale[f] = there ? i8_conv_scale(c, w, &j->numbers, f) : 0;
        j->add[f] = there ? i8_conv_add(c, w, &j->numbers, f) : 0;
    }
}
