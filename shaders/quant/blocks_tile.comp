// blocks_tile computes the products of quant/blocks by tiles.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "types.glsl"
#include "rows.glsl"
#define BLOCKS_ID 11
#include "blocks.glsl"
#include "block_gemm.glsl"
#define PARTIAL 4
#include "runs_tile.glsl"
