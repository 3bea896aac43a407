// blocks_matrix computes the products of quant/blocks by cooperative matrices.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "types.glsl"
#define BLOCKS_ID 16
#include "blocks.glsl"
#include "block_gemm.glsl"
#define PARTIAL 4
#include "runs_matrix.glsl"
