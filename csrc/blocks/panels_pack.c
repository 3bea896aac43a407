// Packing of blocks into panels.
#include "blocks/forms.h"
#include "blocks/panels_put.h"

enum { PACK_AHEAD = 512 };  // bytes between the blocks that are read and those that are asked for

// Blocks of up to four rows, and where they go.
typedef struct {
    const uint8_t *src;
    const int8_t *book;
    size_t row;    // bytes from a row to the next one
    size_t rows;
    size_t count;  // blocks of a row
    size_t lanes, lane;
    uint8_t *to;   // slabs
} pack_blocks;

// Packs blocks of a size in bytes. The type of small ones is constant.
NACRE_INLINE void pack_as(int small, size_t type, size_t bytes, const pack_blocks *p) {
    const nacre_block_form *const f = &nacre_block_forms[type];
    const size_t lanes = p->lanes, lane = p->lane, count = p->count;
    const size_t slab = nacre_block_slab(f, lanes), scales = slab - nacre_block_tail(f, lanes);
    uint8_t *to = p->to;
    quad_blocks b;
    for (size_t l = 0; l < QUAD; l++) b[l] = p->src + (l < p->rows ? l : 0) * p->row;
    for (size_t s = 0; s < count; s++, to += slab) {
        QUAD_UNROLL for (size_t l = 0; l < QUAD; l++) {
            const uintptr_t ahead = (uintptr_t)b[l] + PACK_AHEAD;
            for (size_t i = 0; i < bytes; i += 64) __builtin_prefetch((const void *)(ahead + i));
        }
        const quad_words t = {to + 4 * lane, 4 * lanes};
        if (small) {
            put_small_codes(type, b, t);
            put_small_scales(type, b, lanes, lane, to + scales);
        } else {
            put_large_codes(type, b, p->book, t);
            put_large_scales(type, b, lanes, lane, to + scales);
        }
        QUAD_UNROLL for (size_t l = 0; l < QUAD; l++) b[l] += bytes;
    }
}

static const size_t pack_block_bytes[] = {
#define NACRE_BLOCK_TYPE(name, elements, bytes) bytes,
#include "blocks/types.inc"
#undef NACRE_BLOCK_TYPE
};

static void pack_some(size_t type, const pack_blocks *p) {
#define SMALL(name) pack_as(1, NACRE_BLOCK_##name, pack_block_bytes[NACRE_BLOCK_##name], p)
    switch (type) {
    case NACRE_BLOCK_q4_0:
    case NACRE_BLOCK_iq4_nl: SMALL(q4_0); break;
    case NACRE_BLOCK_q4_1: SMALL(q4_1); break;
    case NACRE_BLOCK_q5_0: SMALL(q5_0); break;
    case NACRE_BLOCK_q5_1: SMALL(q5_1); break;
    case NACRE_BLOCK_q8_0: SMALL(q8_0); break;
    case NACRE_BLOCK_mxfp4: SMALL(mxfp4); break;
    case NACRE_BLOCK_nvfp4: SMALL(nvfp4); break;
    case NACRE_BLOCK_q1_0: SMALL(q1_0); break;
    case NACRE_BLOCK_q2_0: SMALL(q2_0); break;
    default: pack_as(0, type, pack_block_bytes[type], p);
    }
#undef SMALL
}

// Clears lanes of a slab from `from` on.
static void pack_clear(const nacre_block_form *f, size_t lanes, size_t from, uint8_t *slab) {
    const size_t words = nacre_block_unit(f, lanes) * f->units / (4 * lanes);
    for (size_t i = 0; i < words; i++, slab += 4 * lanes) memset(slab + 4 * from, 0, 4 * (lanes - from));
    for (size_t i = 0; i < nacre_block_halves(f); i++, slab += 2 * lanes) {
        memset(slab + 2 * from, 0, 2 * (lanes - from));
    }
    for (size_t i = 0; i < nacre_block_bytes(f); i++, slab += lanes) memset(slab + from, 0, lanes - from);
}

void nacre_block_pack(size_t type, size_t lanes, size_t n, size_t k, const uint8_t *src, const int8_t *book, uint8_t *dst) {
    const nacre_block_form *const f = &nacre_block_forms[type];
    const size_t bytes = pack_block_bytes[type], depth = nacre_block_depth(f), slab = nacre_block_slab(f, lanes);
    const size_t slabs = k / depth, step = NACRE_BLOCKS_ELEMENTS / depth;
    pack_blocks p = {.book = book, .row = slabs * bytes, .lanes = lanes};
    for (size_t j = 0; j < n; j += lanes, src += lanes * p.row, dst += nacre_block_panel(f, lanes, k)) {
        const size_t rows = nacre_min(lanes, n - j);
        for (size_t s = 0; s < slabs; s += step) {
            p.count = nacre_min(step, slabs - s);
            p.to = dst + s * slab;
            for (p.lane = 0; p.lane < rows; p.lane += QUAD) {
                p.rows = nacre_min(QUAD, rows - p.lane);
                p.src = src + p.lane * p.row + s * bytes;
                pack_some(type, &p);
            }
        }
        if (rows == lanes) continue;
        for (size_t s = 0; s < slabs; s++) pack_clear(f, lanes, rows, dst + s * slab);
    }
}
