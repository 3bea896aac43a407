// Products by oneDNN 2: weights on the right in the layout that it prefers, others as
// they are. Its threads are those of OpenMP (OMP_NUM_THREADS). It has no float64.
#include <dnnl.h>

#include "products.h"

static dnnl_primitive_t packed; // NULL without weights on the right
static dnnl_stream_t stream;
static dnnl_exec_arg_t args[3];

#define CHECK(call) \
    if ((call) != dnnl_success) return #call " failed"

static const char *describe(dnnl_memory_desc_t *d, dnnl_data_type_t type, long rows, long cols, dnnl_format_tag_t tag) {
    const dnnl_dims_t dims = {rows, cols};
    CHECK(dnnl_memory_desc_init_by_tag(d, 2, dims, type, tag));
    return NULL;
}

// Rearranges b into `wanted`.
static const char *rearrange(const product *p, dnnl_engine_t engine, const dnnl_memory_desc_t *wanted, dnnl_memory_t *out) {
    dnnl_memory_desc_t plain;
    dnnl_memory_t from;
    dnnl_primitive_desc_t description;
    dnnl_primitive_t reorder;
    const char *problem = describe(&plain, p->type == U8 ? dnnl_s8 : dnnl_f32, p->k, p->n, dnnl_ab);
    if (problem) return problem;
    CHECK(dnnl_memory_create(&from, &plain, engine, p->b));
    CHECK(dnnl_memory_create(out, wanted, engine, DNNL_MEMORY_ALLOCATE));
    CHECK(dnnl_reorder_primitive_desc_create(&description, &plain, engine, wanted, engine, NULL));
    CHECK(dnnl_primitive_create(&reorder, description));
    const dnnl_exec_arg_t both[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, *out}};
    CHECK(dnnl_primitive_execute(reorder, stream, 2, both));
    CHECK(dnnl_stream_wait(stream));
    return NULL;
}

static const char *prepare(product *p) {
    if (p->type == F64) return "oneDNN has no float64 products";
    const int bytes = p->type == U8;
    if (bytes && p->constant != 'b') return "products of bytes have weights on the right";
    if (p->constant != 'b') return NULL;
    dnnl_engine_t engine;
    CHECK(dnnl_engine_create(&engine, dnnl_cpu, 0));
    CHECK(dnnl_stream_create(&stream, engine, dnnl_stream_default_flags));
    dnnl_memory_desc_t a, b, c;
    const char *problem = describe(&a, bytes ? dnnl_u8 : dnnl_f32, p->m, p->k, dnnl_ab);
    if (!problem) problem = describe(&b, bytes ? dnnl_s8 : dnnl_f32, p->k, p->n, dnnl_format_tag_any);
    if (!problem) problem = describe(&c, bytes ? dnnl_s32 : dnnl_f32, p->m, p->n, dnnl_ab);
    if (problem) return problem;
    dnnl_matmul_desc_t matmul;
    dnnl_primitive_desc_t description;
    CHECK(dnnl_matmul_desc_init(&matmul, &a, &b, NULL, &c));
    CHECK(dnnl_primitive_desc_create(&description, &matmul, NULL, engine, NULL));
    const dnnl_memory_desc_t *wanted = dnnl_primitive_desc_query_md(description, dnnl_query_weights_md, 0);
    if (!wanted) return "oneDNN does not say how it wants weights";
    dnnl_memory_t left, right, out;
    CHECK(dnnl_memory_create(&left, &a, engine, p->a));
    problem = rearrange(p, engine, wanted, &right);
    if (problem) return problem;
    CHECK(dnnl_memory_create(&out, &c, engine, p->c));
    CHECK(dnnl_primitive_create(&packed, description));
    args[0] = (dnnl_exec_arg_t){DNNL_ARG_SRC, left};
    args[1] = (dnnl_exec_arg_t){DNNL_ARG_WEIGHTS, right};
    args[2] = (dnnl_exec_arg_t){DNNL_ARG_DST, out};
    return NULL;
}

static void multiply(const product *p) {
    if (packed) {
        if (dnnl_primitive_execute(packed, stream, 3, args) != dnnl_success || dnnl_stream_wait(stream) != dnnl_success) abort();
        return;
    }
    if (dnnl_sgemm('N', 'N', p->m, p->n, p->k, 1, p->a, p->k, p->b, p->n, 0, p->c, p->n) != dnnl_success) abort();
}
