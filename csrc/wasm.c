//go:build ignore

// The functions that the WebAssembly module exports beside nacre_run and nacre_probe_read, and the C
// files of core that it needs. Numbers in signatures are 32-bit integers, addresses and floats, so
// that JavaScript calls them without BigInt. scripts/wasm.sh builds the module.
#include "core/cpu.c"
#include "core/run.c"

#include "attention/attention.h"
#include "blocks/blocks.h"
#include "conv/conv.h"
#include "copy/copy.h"
#include "eltwise/eltwise.h"
#include "half/half.h"
#include "matmul/matmul.h"
#include "ml/ml.h"
#include "nbits/nbits.h"
#include "norm/norm.h"
#include "pool/pool.h"
#include "probe/probe.h"
#include "quant/quant.h"
#include "quant/search.h"
#include "random/random.h"
#include "reduce/reduce.h"
#include "resize/resize.h"
#include "rnn/rnn.h"

// ---- one thread ----

void nacre_team_init(nacre_team *team, nacre_pool *pool, size_t threads, const int32_t *stop) {
    (void)pool, (void)threads;
    *team = (nacre_team){.threads = 1, .stop = stop};
}

void nacre_team_begin(nacre_team *team) { (void)team; }
void nacre_team_end(nacre_team *team) { (void)team; }

// nacre_yield lets other work of the host run. It is the only function that the module imports.
__attribute__((import_module("host"), import_name("yield"))) void nacre_yield(void);

int nacre_stopped(const nacre_team *team) {
    if (team == NULL || team->stop == NULL) return 0;
    if (__atomic_load_n(team->stop, __ATOMIC_RELAXED) == NACRE_YIELDS) nacre_yield();
    return __atomic_load_n(team->stop, __ATOMIC_RELAXED) == NACRE_STOPS;
}

// ---- tables ----

static uint32_t wasm_address(const void *p) { return (uint32_t)(uintptr_t)p; }

uint32_t nacre_wasm_detect(void) { return nacre_cpu_detect(); }

// nacre_wasm_level sets out to the name, the text and the mask of row i of isa.inc, and returns 1. If
// there is no such row, it returns 0.
int nacre_wasm_level(uint32_t i, uint32_t *out) {
    const nacre_isa_row *const row = nacre_isa_at((int)i);
    if (row == NULL) return 0;
    out[0] = wasm_address(row->name);
    out[1] = wasm_address(row->text);
    out[2] = row->mask;
    return 1;
}

// nacre_wasm_row sets out to row i of a family, and returns 1: the address of the row; its op, its
// variant, its levels, its function; whether it has an entry, and of the entry words, operands,
// exact, whether it has fits, its pack, unaligned and its panel, or zeros. Families are in the order
// of bindings/internal/families. If there is no such row, nacre_wasm_row returns 0.
int nacre_wasm_row(uint32_t family, uint32_t i, uint32_t *out) {
    static const nacre_kernel *(*const families[])(size_t *) = {
        nacre_attention_kernels, nacre_blocks_kernels, nacre_conv_kernels, nacre_copy_kernels, nacre_eltwise_kernels,
        nacre_half_kernels, nacre_matmul_kernels, nacre_ml_kernels, nacre_nbits_kernels, nacre_norm_kernels,
        nacre_pool_kernels, nacre_probe_kernels, nacre_quant_kernels, nacre_random_kernels, nacre_reduce_kernels,
        nacre_resize_kernels, nacre_rnn_kernels,
    };
    static const nacre_entry none;
    if (family >= sizeof families / sizeof families[0]) return 0;
    size_t count;
    const nacre_kernel *const row = families[family](&count) + i;
    if (i >= count) return 0;
    const nacre_entry *const entry = row->entry == NULL ? &none : row->entry;
    const uint32_t all[] = {
        wasm_address(row), wasm_address(row->op), wasm_address(row->variant), row->isa, (uint32_t)(uintptr_t)row->fn,
        row->entry != NULL, entry->words, entry->operands, (uint32_t)entry->exact, entry->fits != NULL,
        (uint32_t)(uintptr_t)entry->pack, (uint32_t)entry->unaligned, entry->panel == NULL ? 0 : entry->panel(row),
    };
    memcpy(out, all, sizeof all);
    return 1;
}

// nacre_wasm_failure sets out to the text and the kind of row code - 1 of failures.inc, and returns
// 1. If there is no such row, it returns 0.
int nacre_wasm_failure(uint32_t code, uint32_t *out) {
    const char *const text = nacre_failure_text(code);
    if (text == NULL) return 0;
    out[0] = wasm_address(text);
    out[1] = wasm_address(nacre_failure_kind(code));
    return 1;
}

// ---- functions of an entry ----

int nacre_wasm_fits(const nacre_kernel *k, const int64_t *words) {
    return k->entry->fits == NULL || k->entry->fits(k, words);
}

uint32_t nacre_wasm_scratch(const nacre_kernel *k, const int64_t *words, uint32_t threads) {
    return k->entry->scratch == NULL ? 0 : k->entry->scratch(k, words, threads);
}

uint32_t nacre_wasm_packed(const nacre_kernel *k, const int64_t *words, uint32_t operand) {
    return k->entry->packed == NULL ? 0 : k->entry->packed(k, words, operand);
}

void nacre_wasm_pack(const nacre_kernel *k, const int64_t *words, uint32_t operand, const void *src, void *dst) {
    k->entry->pack(k, words, operand, src, dst);
}

// ---- functions of parts that Go calls ----

uint32_t nacre_wasm_rate(const nacre_kernel *k, uint32_t ops) { return ((nacre_rate_fn *)k->fn)(ops); }

void nacre_wasm_search(const nacre_kernel *k, size_t size, size_t tries, float low, float high, const float *table,
                       const float *x, const float *w, const float *inverse, const float *shift, float *sums) {
    ((nacre_f32_search_fn *)k->fn)(size, tries, low, high, table, x, w, inverse, shift, sums);
}

void nacre_wasm_whole(const nacre_kernel *k, size_t size, size_t reach, float low, float high, const float *table,
                      const float *x, const float *w, const float *unit, const float *inverse, float least, float most,
                      float *numbers, float *sums) {
    ((nacre_f32_whole_fn *)k->fn)(size, reach, low, high, table, x, w, unit, inverse, least, most, numbers, sums);
}
