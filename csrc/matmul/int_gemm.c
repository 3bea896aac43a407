// Command int_gemm. A chunk of work is INT_ROWS rows by NACRE_INT_COLUMNS columns of one product.
// It decodes INT_DEPTH rows of b and of a at a time into the scratch of a thread. With 16 bits, one
// factor is cut into bytes, so that INT_DEPTH products add up exactly in 32 bits.
#include <string.h>

#include "core/simd.h"
#include "matmul/matmul.h"

enum { INT_ROWS = 32, INT_DEPTH = 128 };

typedef struct {
    uint32_t b[INT_DEPTH * NACRE_INT_COLUMNS];
    uint32_t a[2][INT_DEPTH];
    uint32_t sum[NACRE_INT_COLUMNS];
    uint64_t total[INT_ROWS * NACRE_INT_COLUMNS];
} int_scratch;

typedef struct {
    const nacre_int_gemm_words *w;
    nacre_int_gemm_fn *fn;
    nacre_team *team;
    const uint8_t *a, *b;
    uint8_t *c;
    nacre_batch batch;
    size_t m, n, k, i_count, j_count;
    int_scratch *scratch;
} int_job;

// Reads n elements of whole bytes, from element `at` on.
static void int_load_bytes(const uint8_t *src, size_t at, size_t n, size_t bytes, uint32_t sign, uint32_t *dst) {
    src += at * bytes;
    if (bytes == 1) {
        NACRE_SIMD for (size_t i = 0; i < n; i++) dst[i] = (src[i] ^ sign) - sign;
        return;
    }
    for (size_t i = 0; i < n; i++) {
        uint16_t v;
        memcpy(&v, src + 2 * i, 2);
        dst[i] = (v ^ sign) - sign;
    }
}

// Reads n elements from element `at` on. sign is the bit of the sign, or 0.
static void int_load(const int_job *j, const uint8_t *src, size_t at, size_t n, uint32_t *dst) {
    const size_t bits = (size_t)j->w->bits, per = 8 / bits;
    const uint32_t sign = j->w->is_signed ? 1u << (bits - 1) : 0, mask = (1u << bits) - 1;
    if (bits >= 8) {
        int_load_bytes(src, at, n, bits / 8, sign, dst);
        return;
    }
    for (size_t i = 0; i < n;) {
        const size_t first = (at + i) % per, end = nacre_min(per, first + n - i);
        const uint32_t byte = src[(at + i) / per];
        for (size_t e = first; e < end; e++) dst[i++] = ((byte >> (e * bits) & mask) ^ sign) - sign;
    }
}

// Stores n results from element `at` on. Those narrower than a byte are ORed into zero bits.
static void int_store(const int_job *j, size_t at, size_t n, const uint64_t *total) {
    const size_t bits = (size_t)j->w->out_bits;
    if (bits < 8) {
        const uint64_t mask = (1u << bits) - 1;
        for (size_t i = 0; i < n; i++) {
            j->c[(at + i) * bits / 8] |= (uint8_t)((total[i] & mask) << ((at + i) * bits % 8));
        }
        return;
    }
    uint8_t *const c = j->c + at * (bits / 8);
    for (size_t i = 0; i < n; i++) {
        const uint8_t v8 = (uint8_t)total[i];
        const uint16_t v16 = (uint16_t)total[i];
        const uint32_t v32 = (uint32_t)total[i];
        if (bits == 8) c[i] = v8;
        if (bits == 16) memcpy(c + 2 * i, &v16, 2);
        if (bits == 32) memcpy(c + 4 * i, &v32, 4);
        if (bits == 64) memcpy(c + 8 * i, &total[i], 8);
    }
}

// Adds products of the rows in scratch, times a power of two, to total.
static void int_add(const int_job *j, int_scratch *s, const uint32_t *a, size_t k, size_t n, int shift,
                    uint64_t *total) {
    memset(s->sum, 0, n * sizeof *s->sum);
    j->fn(a, s->b, k, n, s->sum);
    const uint64_t sign = j->w->is_signed ? (uint64_t)1 << 31 : 0;
    NACRE_SIMD for (size_t i = 0; i < n; i++) total[i] += ((s->sum[i] ^ sign) - sign) << shift;
}

static void int_row(const int_job *j, int_scratch *s, size_t at, size_t k, size_t n, uint64_t *total) {
    int_load(j, j->a, at, k, s->a[0]);
    if (j->w->bits < 16 || j->w->out_bits <= 32) {
        int_add(j, s, s->a[0], k, n, 0, total);
        return;
    }
    for (size_t p = 0; p < k; p++) {
        s->a[1][p] = (uint32_t)((int32_t)s->a[0][p] >> 8);
        s->a[0][p] &= 255;
    }
    int_add(j, s, s->a[0], k, n, 0, total);
    int_add(j, s, s->a[1], k, n, 8, total);
}

static void int_chunk(void *job, size_t chunk, size_t thread) {
    const int_job *const j = job;
    int_scratch *const s = j->scratch + thread;
    const size_t index = chunk / (j->i_count * j->j_count);
    const size_t i0 = chunk / j->j_count % j->i_count * INT_ROWS, j0 = chunk % j->j_count * NACRE_INT_COLUMNS;
    const size_t m = nacre_min(INT_ROWS, j->m - i0), n = nacre_min(NACRE_INT_COLUMNS, j->n - j0);
    const size_t a = nacre_batch_offset(&j->batch, 0, index) + i0 * j->k,
        b = nacre_batch_offset(&j->batch, 1, index) + j0;
    memset(s->total, 0, sizeof s->total);
    for (size_t k0 = 0; k0 < j->k && !nacre_stopped(j->team); k0 += INT_DEPTH) {
        const size_t k = nacre_min(INT_DEPTH, j->k - k0);
        for (size_t p = 0; p < k; p++) int_load(j, j->b, b + (k0 + p) * j->n, n, s->b + p * NACRE_INT_COLUMNS);
        for (size_t i = 0; i < m; i++) int_row(j, s, a + i * j->k + k0, k, n, s->total + i * NACRE_INT_COLUMNS);
    }
    for (size_t i = 0; i < m; i++) {
        int_store(j, (index * j->m + i0 + i) * j->n + j0, n, s->total + i * NACRE_INT_COLUMNS);
    }
}

static void int_run(const nacre_call *c) {
    const nacre_int_gemm_words *const w = (const void *)c->words;
    int_job j = {.w = w, .fn = (nacre_int_gemm_fn *)c->kernel->fn, .team = c->team, .m = (size_t)w->m,
                 .n = (size_t)w->n, .k = (size_t)w->k,
                 .a = nacre_operand(c, 0), .b = nacre_operand(c, 1), .c = nacre_operand(c, 2),
                 .batch = {(size_t)w->rank, w->axes}, .scratch = c->scratch};
    j.i_count = nacre_ceil_div(j.m, INT_ROWS);
    j.j_count = nacre_ceil_div(j.n, NACRE_INT_COLUMNS);
    const size_t products = nacre_batch_count(&j.batch), chunks = products * j.i_count * j.j_count,
        bits = (size_t)w->out_bits;
    if (bits < 8) memset(j.c, 0, nacre_ceil_div(products * j.m * j.n * bits, 8));
    if (bits >= 8 || j.n * bits % 8 == 0) {
        nacre_parallel(c->team, chunks, int_chunk, &j);
        return;
    }
    for (size_t i = 0; i < chunks && !nacre_stopped(c->team); i++) int_chunk(&j, i, 0);  // rows share bytes
}

static size_t int_scratch_size(const nacre_kernel *k, const int64_t *words, size_t threads) {
    (void)k;
    (void)words;
    return threads * sizeof(int_scratch);
}

void nacre_int_gemm__scalar(const uint32_t *a, const uint32_t *b, size_t k, size_t n, uint32_t *sum) {
    for (size_t p = 0; p < k; p++) {
        for (size_t j = 0; j < n; j++) sum[j] += a[p] * b[p * NACRE_INT_COLUMNS + j];
    }
}

const nacre_entry nacre_int_gemm_entry = {
    .words = sizeof(nacre_int_gemm_words) / 8, .operands = 3, .run = int_run, .scratch = int_scratch_size,
};
