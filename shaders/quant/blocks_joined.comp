// blocks_joined computes up to three products of quant/blocks, with the same rows.
#version 450
#extension GL_GOOGLE_include_directive : require
#define JOINED
#include "block_products.glsl"
