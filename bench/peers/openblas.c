// Products by OpenBLAS.
#include <cblas.h>

#include "products.h"

static const char *prepare(product *p) {
    if (p->type == U8) return "OpenBLAS has no products of bytes";
    openblas_set_num_threads(p->threads);
    return NULL;
}

static void multiply(const product *p) {
    const blasint m = (blasint)p->m, n = (blasint)p->n, k = (blasint)p->k;
    if (p->type == F64) cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1, p->a, k, p->b, n, 0, p->c, n);
    else cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1, p->a, k, p->b, n, 0, p->c, n);
}
