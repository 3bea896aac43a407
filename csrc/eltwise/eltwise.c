#include "eltwise/eltwise.h"

#include <string.h>

#include "eltwise/loop.h"

enum {
    ELTWISE_CHUNK = 1 << 14,  // elements that a thread takes at a time
    ELTWISE_CHEAP = 1 << 15,  // the same for unary functions with vectors
    ELTWISE_COSTLY = 1 << 12,  // the same for unary functions that compute one number after the other
    ELTWISE_BLOCK = 1 << 10,  // elements converted at a time
    ELTWISE_AXES = 64,        // largest number of extents of at least 2 in an address space
    ELTWISE_WIDTH = 8,        // bytes of the widest element that is converted
};

void nacre_repeat(void *y, size_t size, size_t n) {
    char *const to = y;
    for (size_t done = 1, more; done < n; done += more) {
        more = nacre_min(done, n - done);
        memcpy(to + done * size, to, more * size);
    }
}

// --- one input ---

typedef struct {
    nacre_unary_fn fn;
    const char *x;
    char *y;
    nacre_storage x_storage, y_storage;
    size_t n;
    const void *params;
    size_t chunk;  // a multiple of ELTWISE_BLOCK
} map_job;

// Runs up to ELTWISE_BLOCK elements through the given ones of the three steps.
static void map_block(const map_job *j, const char *x, char *y, size_t n) {
    _Alignas(64) char in[ELTWISE_BLOCK * ELTWISE_WIDTH], out[ELTWISE_BLOCK * ELTWISE_WIDTH];
    const void *at = x;
    if (j->x_storage.via != NULL) {
        void *const to = j->fn == NULL && j->y_storage.via == NULL ? (void *)y : in;
        j->x_storage.via(at, to, n);
        at = to;
    }
    if (j->fn != NULL) {
        void *const to = j->y_storage.via == NULL ? (void *)y : out;
        j->fn(at, to, n, j->params);
        at = to;
    }
    if (j->y_storage.via != NULL) j->y_storage.via(at, y, n);
}

static void map_chunk(void *arg, size_t chunk, size_t thread) {
    (void)thread;
    const map_job *const j = arg;
    const size_t end = nacre_min((chunk + 1) * j->chunk, j->n);
    const size_t step = j->x_storage.via == NULL && j->y_storage.via == NULL ? j->chunk : ELTWISE_BLOCK;
    for (size_t i = chunk * j->chunk; i < end; i += step) {
        map_block(j, j->x + i * j->x_storage.bytes, j->y + i * j->y_storage.bytes, nacre_min(step, end - i));
    }
}

// Chunks take tens of microseconds for any cost of the function.
void nacre_eltwise_map(nacre_team *team, nacre_unary_fn fn, int costly, const void *x, nacre_storage x_storage, void *y,
                       nacre_storage y_storage, size_t n, const void *params) {
    map_job job = {fn, x, y, x_storage, y_storage, n, params, costly ? ELTWISE_COSTLY : ELTWISE_CHEAP};
    nacre_parallel(team, nacre_ceil_div(n, job.chunk), map_chunk, &job);
}

// --- broadcasting ---

enum { ELTWISE_INPUTS = 3 };

// The axes of an operation from the innermost outwards. Axes of extent 1 are left out. Neighbouring
// axes are merged if all inputs step alike along them, so the innermost step of an input is 0 or 1.
typedef struct {
    size_t rank, n;  // axes, elements
    size_t extent[ELTWISE_AXES];
    size_t step[ELTWISE_AXES][ELTWISE_INPUTS];  // in elements
} eltwise_walk;

static void walk_axes(eltwise_walk *w, const int64_t *dims, size_t rank, size_t inputs) {
    size_t run[ELTWISE_INPUTS] = {1, 1, 1};
    w->rank = 0;
    w->n = 1;
    for (size_t axis = rank; axis-- > 0;) {
        const size_t extent = (size_t)dims[axis];
        w->n *= extent;
        if (extent == 1) continue;
        size_t step[ELTWISE_INPUTS] = {0, 0, 0};
        size_t alike = w->rank > 0;
        for (size_t k = 0; k < inputs; k++) {
            const size_t own = (size_t)dims[(k + 1) * rank + axis];
            step[k] = own == 1 ? 0 : run[k];
            run[k] *= own;
            if (alike && step[k] != w->step[w->rank - 1][k] * w->extent[w->rank - 1]) alike = 0;
        }
        if (alike) {
            w->extent[w->rank - 1] *= extent;
            continue;
        }
        if (w->rank == ELTWISE_AXES) return;
        w->extent[w->rank] = extent;
        memcpy(w->step[w->rank], step, sizeof step);
        w->rank++;
    }
    if (w->rank == 0) {
        w->extent[0] = 1;
        memset(w->step[0], 0, sizeof w->step[0]);
        w->rank = 1;
    }
}

// Computes n elements of one row. Offsets are in elements.
typedef void (*eltwise_row)(const void *job, const size_t *offsets, const size_t *steps, size_t y, size_t n);

// Cuts elements from..to-1 of the output into pieces of rows.
static void walk_rows(const eltwise_walk *w, size_t from, size_t to, eltwise_row row, const void *job) {
    size_t index[ELTWISE_AXES], at[ELTWISE_INPUTS] = {0, 0, 0};
    for (size_t a = 0, rest = from; a < w->rank; a++) {
        index[a] = rest % w->extent[a];
        rest /= w->extent[a];
        for (size_t k = 0; k < ELTWISE_INPUTS; k++) at[k] += index[a] * w->step[a][k];
    }
    while (from < to) {
        const size_t n = nacre_min(w->extent[0] - index[0], to - from);
        row(job, at, w->step[0], from, n);
        from += n;
        index[0] += n;
        for (size_t k = 0; k < ELTWISE_INPUTS; k++) at[k] += n * w->step[0][k];
        for (size_t a = 0; a + 1 < w->rank && index[a] == w->extent[a]; a++) {
            index[a] = 0;
            index[a + 1]++;
            for (size_t k = 0; k < ELTWISE_INPUTS; k++) {
                at[k] += w->step[a + 1][k] - w->extent[a] * w->step[a][k];
            }
        }
    }
}

// --- two inputs ---

enum { ELTWISE_PERIOD = 64 };  // largest short row that is repeated

typedef struct {
    eltwise_walk walk;
    nacre_binary_fn fn;
    const char *a, *b;
    char *y;
    nacre_storage a_storage, b_storage, y_storage;
    // If an input repeats a short row along the innermost axis: the elements of the row, and the
    // index of the input. Its offset stays at the start of the row while the axis is walked.
    size_t period, repeated;
} binary_job;

// Merges the two innermost axes if one input steps along both and the other along the innermost
// alone, which is short.
static void binary_repeat(binary_job *j) {
    eltwise_walk *const w = &j->walk;
    if (w->rank < 2 || w->extent[0] > ELTWISE_PERIOD ||
        nacre_max(j->a_storage.bytes, j->b_storage.bytes) > ELTWISE_WIDTH) {
        return;
    }
    if (j->a_storage.via != NULL || j->b_storage.via != NULL || j->y_storage.via != NULL) return;
    for (size_t k = 0; k < 2; k++) {
        const size_t other = 1 - k;
        if (w->step[0][k] != 1 || w->step[1][k] != 0 || w->step[0][other] != 1 || w->step[1][other] != w->extent[0]) {
            continue;
        }
        j->period = w->extent[0];
        j->repeated = k;
        w->extent[0] *= w->extent[1];
        w->step[0][k] = 0;
        w->rank--;
        memmove(w->extent + 1, w->extent + 2, (w->rank - 1) * sizeof *w->extent);
        memmove(w->step + 1, w->step + 2, (w->rank - 1) * sizeof *w->step);
        return;
    }
}

// Computes a piece of a row of the output, n elements from y on, a block of whole repetitions at a
// time.
static void binary_repeated(const binary_job *j, const char *a, const char *b, char *out, size_t y, size_t n) {
    _Alignas(64) char row[ELTWISE_BLOCK * ELTWISE_WIDTH];
    const size_t size = j->repeated == 0 ? j->a_storage.bytes : j->b_storage.bytes, phase = y % j->period;
    const char *const from = j->repeated == 0 ? a : b;
    const size_t block = nacre_min(n, ELTWISE_BLOCK / j->period * j->period), rest = j->period - phase;
    memcpy(row, from + phase * size, nacre_min(rest, block) * size);
    if (block > rest) memcpy(row + rest * size, from, nacre_min(phase, block - rest) * size);
    if (block > j->period) nacre_repeat(row, j->period * size, block / j->period);
    if (block > j->period && block % j->period != 0) {
        memcpy(row + (block - block % j->period) * size, row, block % j->period * size);
    }
    for (size_t done = 0; done < n; done += block) {
        const size_t now = nacre_min(block, n - done);
        j->fn(j->repeated == 0 ? row : a + done * j->a_storage.bytes, 1,
              j->repeated == 1 ? row : b + done * j->b_storage.bytes, 1, out + done * j->y_storage.bytes, now);
    }
}

static const void *binary_load(nacre_storage from, const char *at, size_t step, size_t n, char *buffer) {
    if (from.via == NULL) return at;
    from.via(at, buffer, step == 0 ? 1 : n);
    return buffer;
}

static void binary_row(const void *arg, const size_t *offsets, const size_t *steps, size_t y, size_t n) {
    const binary_job *const j = arg;
    const char *a = j->a + offsets[0] * j->a_storage.bytes, *b = j->b + offsets[1] * j->b_storage.bytes;
    char *out = j->y + y * j->y_storage.bytes;
    if (j->period != 0) {
        binary_repeated(j, a, b, out, y, n);
        return;
    }
    if (j->a_storage.via == NULL && j->b_storage.via == NULL && j->y_storage.via == NULL) {
        j->fn(a, steps[0], b, steps[1], out, n);
        return;
    }
    _Alignas(64) char wide[3][ELTWISE_BLOCK * ELTWISE_WIDTH];
    for (size_t done = 0; done < n; done += ELTWISE_BLOCK) {
        const size_t block = nacre_min(ELTWISE_BLOCK, n - done);
        const void *const in_a = binary_load(j->a_storage, a, steps[0], block, wide[0]);
        const void *const in_b = binary_load(j->b_storage, b, steps[1], block, wide[1]);
        j->fn(in_a, steps[0], in_b, steps[1], j->y_storage.via == NULL ? out : wide[2], block);
        if (j->y_storage.via != NULL) j->y_storage.via(wide[2], out, block);
        a += block * steps[0] * j->a_storage.bytes;
        b += block * steps[1] * j->b_storage.bytes;
        out += block * j->y_storage.bytes;
    }
}

static void binary_chunk(void *arg, size_t chunk, size_t thread) {
    (void)thread;
    const binary_job *const j = arg;
    const size_t from = chunk * ELTWISE_CHUNK;
    walk_rows(&j->walk, from, nacre_min(from + ELTWISE_CHUNK, j->walk.n), binary_row, j);
}

void nacre_eltwise_binary(nacre_team *team, nacre_binary_fn fn, const void *a, nacre_storage a_storage, const void *b,
                          nacre_storage b_storage, void *y, nacre_storage y_storage, const int64_t *dims, size_t rank) {
    binary_job job = {.fn = fn, .a = a, .b = b, .y = y, .a_storage = a_storage, .b_storage = b_storage,
                      .y_storage = y_storage};
    walk_axes(&job.walk, dims, rank, 2);
    binary_repeat(&job);
    nacre_parallel(team, nacre_ceil_div(job.walk.n, ELTWISE_CHUNK), binary_chunk, &job);
}

// --- selection ---

typedef struct {
    eltwise_walk walk;
    nacre_where_fn fn;
    const uint8_t *cond;
    const char *a, *b;
    char *y;
    size_t bytes;
} where_job;

static void where_row(const void *arg, const size_t *offsets, const size_t *steps, size_t y, size_t n) {
    const where_job *const j = arg;
    j->fn(j->cond + offsets[0], steps[0], j->a + offsets[1] * j->bytes, steps[1], j->b + offsets[2] * j->bytes,
          steps[2], j->y + y * j->bytes, n);
}

static void where_chunk(void *arg, size_t chunk, size_t thread) {
    (void)thread;
    const where_job *const j = arg;
    const size_t from = chunk * ELTWISE_CHUNK;
    walk_rows(&j->walk, from, nacre_min(from + ELTWISE_CHUNK, j->walk.n), where_row, j);
}

void nacre_eltwise_where(nacre_team *team, nacre_where_fn fn, const uint8_t *cond, const void *a, const void *b,
                         void *y, size_t bytes, const int64_t *dims, size_t rank) {
    where_job job = {.fn = fn, .cond = cond, .a = a, .b = b, .y = y, .bytes = bytes};
    walk_axes(&job.walk, dims, rank, 3);
    nacre_parallel(team, nacre_ceil_div(job.walk.n, ELTWISE_CHUNK), where_chunk, &job);
}

// --- commands ---

static nacre_storage storage_of(nacre_storage_words w) {
    return (nacre_storage){(size_t)w.bytes, (nacre_convert_fn)nacre_part_fn(w.via)};
}

static void unary_command(const nacre_call *c) {
    const nacre_unary_words *const w = (const void *)c->words;
    char params[sizeof w->params];
    memcpy(params, w->params, sizeof params);
    for (size_t i = 0; i < 2; i++) {
        const void *const given = nacre_operand(c, 2 + i);
        if (given != NULL) memcpy(params + i * (size_t)w->size, given, (size_t)w->size);
    }
    nacre_eltwise_map(c->team, (nacre_unary_fn)c->kernel->fn, c->kernel->isa == NACRE_ISA_scalar, nacre_operand(c, 0),
                      storage_of(w->x), nacre_operand(c, 1), storage_of(w->y), (size_t)w->n, params);
}

static void convert_command(const nacre_call *c) {
    const nacre_convert_words *const w = (const void *)c->words;
    const nacre_storage x = {(size_t)w->x_bytes, (nacre_convert_fn)c->kernel->fn};
    const nacre_storage y = {(size_t)w->y_bytes, (nacre_convert_fn)nacre_part_fn(w->later)};
    nacre_eltwise_map(c->team, NULL, 0, nacre_operand(c, 0), x, nacre_operand(c, 1), y, (size_t)w->n, NULL);
}

static void binary_command(const nacre_call *c) {
    const nacre_binary_words *const w = (const void *)c->words;
    nacre_eltwise_binary(c->team, (nacre_binary_fn)c->kernel->fn, nacre_operand(c, 0), storage_of(w->a),
                         nacre_operand(c, 1), storage_of(w->b),
                         nacre_operand(c, 2), storage_of(w->y), w->dims, (size_t)w->rank);
}

static void where_command(const nacre_call *c) {
    const nacre_where_words *const w = (const void *)c->words;
    nacre_eltwise_where(c->team, (nacre_where_fn)c->kernel->fn, nacre_operand(c, 0), nacre_operand(c, 1),
                        nacre_operand(c, 2), nacre_operand(c, 3), (size_t)w->bytes, w->dims, (size_t)w->rank);
}

static void fused_command(const nacre_call *c) {
    const nacre_fused_words *const w = (const void *)c->words;
    const nacre_fused f = {(nacre_unary_fn)nacre_part_fn(w->unary), w->params, w->unary_first != 0,
                           (nacre_binary_fn)nacre_part_fn(w->binary),
                           (size_t)w->period, storage_of(w->in), storage_of(w->out)};
    if (w->n > 0 && w->period > 0) {
        nacre_eltwise_fused(c->team, &f, nacre_operand(c, 0), nacre_operand(c, 1), nacre_operand(c, 2), (size_t)w->n);
    }
}

#define WORDS(type) sizeof(type) / 8
const nacre_entry nacre_unary_entry = {.words = WORDS(nacre_unary_words), .operands = 4, .run = unary_command};
const nacre_entry nacre_convert_entry = {.words = WORDS(nacre_convert_words), .operands = 2, .run = convert_command};
const nacre_entry nacre_binary_entry = {.words = WORDS(nacre_binary_words), .operands = 3, .run = binary_command};
const nacre_entry nacre_where_entry = {.words = WORDS(nacre_where_words), .operands = 4, .run = where_command};
const nacre_entry nacre_fused_entry = {.words = WORDS(nacre_fused_words), .operands = 3, .run = fused_command};
#undef WORDS
