// wide_matrix computes products of rows of float32 and weights of 16 bits by cooperative matrices.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "types.glsl"
#include "wide.glsl"
#include "block_gemm.glsl"
#define PARTIAL 4
#include "runs_matrix.glsl"
