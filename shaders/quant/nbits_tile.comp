// nbits_tile computes the products of quant/nbits by tiles. A block has a multiple of 16 columns.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "types.glsl"
#include "rows.glsl"
#define BITS_ID 11
#include "nbits.glsl"
#define PARTIAL 6
#include "runs_tile.glsl"
