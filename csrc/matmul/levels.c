// The bodies of the family for each level. The registers hold the sums of a tile, the vectors of b
// and the numbers of a in use: 24 + 2 + 1 of 32 (avx512), 12 + 2 + 1 of 16 (avx2), 24 + 3 + 5 of 32
// (neon), 12 + 3 + 1 of the 16 of most browsers' machines (simd128). Tiles of doubles have as many vectors.
#include <math.h>
#include <string.h>

#include "core/half_vec.h"
#include "core/simd.h"
#include "core/vec.h"
#include "half/half_levels.h"
#include "matmul/f64_finish.h"
#include "matmul/matmul.h"

#define F32_GEMM_MR_avx512 12
#define F32_GEMM_NV_avx512 2
#define F32_GEMM_PLAIN_ROWS_avx512 256
#define F32_GEMM_PLAIN_SPREAD_avx512 0
#define F32_GEMM_BLOCK_A_avx512 (144 << 10)
#define F32_GEMM_BLOCK_B_avx512 (768 << 10)
#define F64_GEMM_BLOCK_A_avx512 0
#define F64_GEMM_BLOCK_B_avx512 (128 << 10)
#define F32_GEMM_ROWS_avx512(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define F32_GEMM_MR_avx2 6
#define F32_GEMM_NV_avx2 2
#define F32_GEMM_PLAIN_ROWS_avx2 64
#define F32_GEMM_PLAIN_SPREAD_avx2 (32 << 10)
#define F32_GEMM_BLOCK_A_avx2 (108 << 10)
#define F32_GEMM_BLOCK_B_avx2 (768 << 10)
#define F64_GEMM_BLOCK_A_avx2 (54 << 10)
#define F64_GEMM_BLOCK_B_avx2 (384 << 10)
#define F32_GEMM_ROWS_avx2(X) X(0) X(1) X(2) X(3) X(4) X(5)
#define F32_GEMM_MR_neon 8
#define F32_GEMM_NV_neon 3
#define F32_GEMM_PLAIN_ROWS_neon 256
#define F32_GEMM_PLAIN_SPREAD_neon 0
#define F32_GEMM_BLOCK_A_neon 0
#define F32_GEMM_BLOCK_B_neon (128 << 10)
#define F64_GEMM_BLOCK_A_neon 0
#define F64_GEMM_BLOCK_B_neon (128 << 10)
#define F32_GEMM_ROWS_neon(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define F32_GEMM_MR_simd128 4
#define F32_GEMM_NV_simd128 3
#define F32_GEMM_PLAIN_ROWS_simd128 256
#define F32_GEMM_PLAIN_SPREAD_simd128 0
#define F32_GEMM_BLOCK_A_simd128 0
#define F32_GEMM_BLOCK_B_simd128 (128 << 10)
#define F64_GEMM_BLOCK_A_simd128 0
#define F64_GEMM_BLOCK_B_simd128 (128 << 10)
#define F32_GEMM_ROWS_simd128(X) X(0) X(1) X(2) X(3)

#define NACRE_BODY "matmul/f32_gemm.inc"
#define NACRE_NAME f32_gemm
#include "core/each_level.h"

#define NACRE_BODY "matmul/f64_gemm.inc"
#define NACRE_NAME f64_gemm
#include "core/each_level.h"

#define NACRE_BODY "matmul/int_gemm.inc"
#define NACRE_NAME int_gemm
#include "core/each_level.h"

// These bodies compile here, so that the headers of intrinsics are read once.
#include "matmul/f32_gemm_amx.inc"
#include "matmul/narrow_levels.inc"
