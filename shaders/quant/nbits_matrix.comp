// nbits_matrix computes the products of quant/nbits by cooperative matrices. A block has a multiple of
// 16 columns.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "types.glsl"
#define BITS_ID 16
#include "nbits.glsl"
#define PARTIAL 6
#include "runs_matrix.glsl"
