// Commands of products of bytes. The numbers of rows and columns are laid out in scratch, before
// the scratch of the product.
#include "quant/numbers.h"

// Vectors of numbers of rows (0) and columns (1), and the count of each.
typedef struct {
    size_t vectors[2], lanes[2];
    quant_vectors numbers;
    size_t bytes;
} gemm_vectors;

static int gemm_dynamic(const nacre_i8_gemm_words *w) { return w->quantize != 0; }

static nacre_i8_gemm gemm_of(const nacre_i8_gemm_impl *impl, const nacre_i8_gemm_words *w) {
    nacre_i8_gemm g = {
        .impl = impl, .m = (size_t)w->m, .n = (size_t)w->n, .k = (size_t)w->k,
        .a = {NULL, 0, (int)w->a_signed, (size_t)w->a_row, (size_t)w->a_col},
        .b = {NULL, (int)w->b_packed, (int)w->b_signed, (size_t)w->b_row, (size_t)w->b_col},
        .batch = {(size_t)w->rank, w->batch},
        .row_count = 1, .col_count = 1,
        .bias_row = (size_t)w->bias_row, .bias_col = (size_t)w->bias_col,
        .type = (nacre_dtype)w->c,
    };
    return g;
}

static int gemm_one(nacre_quant_numbers scale, nacre_quant_numbers zero) { return scale.count <= 1 && zero.count <= 1; }

// Lays out the vectors; a NULL scratch only counts. The left operand of a dynamic product has its
// own.
static gemm_vectors gemm_place(const nacre_i8_gemm_words *w, const nacre_i8_gemm *g, char *scratch) {
    const size_t products = nacre_batch_count(&g->batch);
    gemm_vectors v = {.bytes = 0};
    v.lanes[0] = gemm_dynamic(w) ? 0 : g->m;
    v.lanes[1] = g->n;
    v.vectors[0] = gemm_one(w->a_scale, w->a_zero) || products == 0 ? 1 : products;
    v.vectors[1] = gemm_one(w->b_scale, w->b_zero) || products == 0 ? 1 : products;
    const size_t count[2] = {v.vectors[0] * v.lanes[0], v.vectors[1] * v.lanes[1]};
    v.numbers = quant_place_vectors(count, scratch, &v.bytes);
    return v;
}

// Returns the number of the first row, or column, of product q among the rows of all matrices.
static size_t gemm_first(const nacre_i8_gemm_words *w, const nacre_i8_gemm *g, int side, size_t q) {
    const size_t offset = nacre_batch_offset(&g->batch, side, q);
    if (side == 0) return g->k == 0 ? 0 : offset / g->k;
    return w->b_step == 0 ? 0 : offset / (size_t)w->b_step * g->n;
}

static void gemm_put_zeros(const nacre_i8_gemm_words *w, const nacre_i8_gemm *g, const gemm_vectors *v, int side,
                           nacre_quant_numbers of, const void *x) {
    for (size_t q = 0; q < v->vectors[side]; q++) {
        int32_t *const to = v->numbers.zeros[side] + q * v->lanes[side];
        size_t at = x == NULL || of.count == 0 ? 0 : gemm_first(w, g, side, q) % (size_t)of.count;
        for (size_t i = 0; i < v->lanes[side]; i++) {
            to[i] = x == NULL ? 0 : quant_integer((nacre_dtype)of.type, x, at);
            if (++at == (size_t)of.count) at = 0;
        }
    }
}

// Puts scales times alpha over the divisor.
static void gemm_put_scales(const nacre_i8_gemm_words *w, const nacre_i8_gemm *g, const gemm_vectors *v, int side,
                            nacre_quant_numbers of, const void *x, float alpha, float divisor) {
    for (size_t q = 0; q < v->vectors[side]; q++) {
        float *const to = v->numbers.scales[side] + q * v->lanes[side];
        size_t at = x == NULL || of.count == 0 ? 0 : gemm_first(w, g, side, q) % (size_t)of.count;
        for (size_t i = 0; i < v->lanes[side]; i++) {
            to[i] = alpha * (x == NULL ? 1 : quant_float((nacre_dtype)of.type, x, at)) / divisor;
            if (++at == (size_t)of.count) at = 0;
        }
    }
}

enum { GEMM_A, GEMM_A_SCALE, GEMM_A_ZERO, GEMM_B, GEMM_B_SCALE, GEMM_B_ZERO, GEMM_C_SCALE, GEMM_C_ZERO, GEMM_BIAS,
      GEMM_ADD, GEMM_C, GEMM_OPERANDS };

// A single scale for all rows is multiplied into the scales of the columns.
static void gemm_scales(const nacre_call *c, const nacre_i8_gemm *g, const gemm_vectors *v, float divisor) {
    const nacre_i8_gemm_words *const w = (const void *)c->words;
    const void *rows = nacre_operand(c, GEMM_A_SCALE);
    float alpha = (float)w->alpha;
    if (rows != NULL && w->a_scale.count == 1) {
        alpha *= quant_float((nacre_dtype)w->a_scale.type, rows, 0);
        rows = NULL;
    }
    gemm_put_scales(w, g, v, 0, w->a_scale, rows, 1, 1);
    gemm_put_scales(w, g, v, 1, w->b_scale, nacre_operand(c, GEMM_B_SCALE), alpha, divisor);
}

static void gemm_command(const nacre_call *c, int lines) {
    const nacre_i8_gemm_words *const w = (const void *)c->words;
    nacre_i8_gemm g = gemm_of(((nacre_i8_gemm_fn *)c->kernel->fn)(), w);
    const gemm_vectors v = gemm_place(w, &g, c->scratch);
    const quant_tensor y = quant_tensor_of(c, GEMM_C_SCALE, w->c_scale, g.type);
    g.lines = lines;
    gemm_put_zeros(w, &g, &v, 0, w->a_zero, nacre_operand(c, GEMM_A_ZERO));
    gemm_put_zeros(w, &g, &v, 1, w->b_zero, nacre_operand(c, GEMM_B_ZERO));
    if (g.type != NACRE_DTYPE_i32) gemm_scales(c, &g, &v, y.scale);
    quant_set_product(&g, c, (quant_product_operands){.a = GEMM_A, .bias = GEMM_BIAS, .c = GEMM_C}, &v.numbers, y.zero);
    g.b.data = nacre_operand(c, GEMM_B);
    g.row_count = v.vectors[0];
    g.col_count = v.vectors[1];
    g.add = nacre_operand(c, GEMM_ADD);
    uint8_t *const scratch = (uint8_t *)c->scratch + v.bytes;
    if (gemm_dynamic(w)) {
        const nacre_f32_quantize_impl *const quantize = ((nacre_f32_quantize_fn *)nacre_part_fn(w->quantize))();
        nacre_i8_gemm_dynamic_run(&g, quantize, c->team, (size_t)w->a_size, g.a.data, scratch);
    } else {
        nacre_i8_gemm_run(&g, c->team, scratch);
    }
}

static void gemm_tiles(const nacre_call *c) { gemm_command(c, 0); }
static void gemm_lines(const nacre_call *c) { gemm_command(c, 1); }

static size_t gemm_bytes(const nacre_kernel *k, const int64_t *words, size_t threads, int lines) {
    const nacre_i8_gemm_words *const w = (const void *)words;
    nacre_i8_gemm g = gemm_of(((nacre_i8_gemm_fn *)k->fn)(), w);
    g.lines = lines;
    const size_t own = gemm_place(w, &g, NULL).bytes;
    return own + (gemm_dynamic(w) ? nacre_i8_gemm_dynamic_scratch(&g, (size_t)w->a_size, threads)
                  : nacre_i8_gemm_scratch(&g, threads));
}

static size_t gemm_tiles_bytes(const nacre_kernel *k, const int64_t *words, size_t threads) {
    return gemm_bytes(k, words, threads, 0);
}
static size_t gemm_lines_bytes(const nacre_kernel *k, const int64_t *words, size_t threads) {
    return gemm_bytes(k, words, threads, 1);
}

static int gemm_few_rows(const nacre_kernel *k, const int64_t *words) {
    (void)k;
    const nacre_i8_gemm_words *const w = (const void *)words;
    return nacre_i8_gemm_few_rows((size_t)w->m) && !w->b_packed && w->b_col == 1;
}

// Low tiles read b once for each of them: rows that make two or three are for higher ones.
enum { GEMM_LOW_TILES = 3 };

static int gemm_low_tiles(const nacre_kernel *k, const int64_t *words) {
    const nacre_i8_gemm_words *const w = (const void *)words;
    const int64_t mr = (int64_t)((nacre_i8_gemm_fn *)k->fn)()->mr;
    return w->m <= mr || w->m > GEMM_LOW_TILES * mr;
}

// Matrices of a packed b follow each other. A b is not packed if most of its tiles would be
// padding.
enum { GEMM_MOST_FILLING = 4 };

static size_t gemm_packed(const nacre_kernel *k, const int64_t *words, size_t operand) {
    const nacre_i8_gemm_words *const w = (const void *)words;
    const size_t n = (size_t)w->n, depth = (size_t)w->k;
    const size_t size = nacre_i8_gemm_packed_b(((nacre_i8_gemm_fn *)k->fn)(), n, depth);
    if (operand != GEMM_B || n == 1 || size > GEMM_MOST_FILLING * (n * depth + 4 * n + 64)) return 0;
    const nacre_batch batch = {(size_t)w->rank, w->batch};
    return size * nacre_batch_distinct(&batch, 1);
}

static void gemm_pack(const nacre_kernel *k, const int64_t *words, size_t operand, const void *src, void *dst) {
    (void)operand;
    const nacre_i8_gemm_words *const w = (const void *)words;
    const nacre_i8_gemm_impl *const impl = ((nacre_i8_gemm_fn *)k->fn)();
    const nacre_batch batch = {(size_t)w->rank, w->batch};
    const size_t size = nacre_i8_gemm_packed_b(impl, (size_t)w->n, (size_t)w->k),
        count = nacre_batch_distinct(&batch, 1);
    for (size_t q = 0; q < count; q++) {
        const void *const from = (const uint8_t *)src + nacre_batch_distinct_offset(&batch, 1, q);
        const nacre_i8_operand b = {from, 0, (int)w->b_signed, (size_t)w->b_row, (size_t)w->b_col};
        nacre_i8_gemm_pack_b(impl, (size_t)w->n, (size_t)w->k, &b, (uint8_t *)dst + q * size);
    }
}

const nacre_entry nacre_i8_gemm_entry = {
    .words = sizeof(nacre_i8_gemm_words) / 8,
    .operands = GEMM_OPERANDS,
    .run = gemm_tiles,
    .scratch = gemm_tiles_bytes,
    .packed = gemm_packed,
    .pack = gemm_pack,
};
const nacre_entry nacre_i8_gemm_low_entry = {
    .words = sizeof(nacre_i8_gemm_words) / 8,
    .operands = GEMM_OPERANDS,
    .run = gemm_tiles,
    .fits = gemm_low_tiles,
    .scratch = gemm_tiles_bytes,
    .packed = gemm_packed,
    .pack = gemm_pack,
};
const nacre_entry nacre_i8_gemv_entry = {
    .words = sizeof(nacre_i8_gemm_words) / 8,
    .operands = GEMM_OPERANDS,
    .run = gemm_lines,
    .fits = gemm_few_rows,
    .scratch = gemm_lines_bytes,
};
