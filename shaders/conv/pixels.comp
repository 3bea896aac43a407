// pixels computes y[n,f,h,w] = F(pixels + bias + add) from points x[36,f,tiles], a tile of a filter
// per invocation.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "common.glsl"
#include "types.glsl"
#include "epilogue.glsl"
#include "winograd.glsl"

layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) readonly buffer Bias { T bias[]; };
layout(std430, binding = 2) readonly buffer Add { T add[]; };
layout(std430, binding = 3) writeonly buffer Y { T y[]; };

layout(push_constant) uniform Words {
    uint total, filters, height, width;
    uint down, across; // tiles of an image
    uint tiles;        // tiles of all images
    uint has;          // bit 0: bias; bit 1: add
    uint then;
    float p, q;
};

// tile_pixels hands pixels to a loop that applies the function: a loop over registers with a large
// body would keep them in memory.
shared float tile_pixels[TILE * TILE * gl_WorkGroupSize.x];

void main() {
    uint i = flat_index();
    if (i >= total) return;
    uint tile = i % tiles, own = i / tiles;
    uint image = tile / (down * across), top = tile / across % down * TILE, left = tile % across * TILE;
    uint at = (image * filters + own) * height * width;
    float rows[TILE * SIDE], v[SIDE];
    [[unroll]] for (uint c = 0; c < SIDE; c++) {
        [[unroll]] for (uint r = 0; r < SIDE; r++) v[r] = x[(r * SIDE + c) * total + i];
        pixels_of(v);
        [[unroll]] for (uint r = 0; r < TILE; r++) rows[r * SIDE + c] = v[r];
    }
    uint own_pixels = gl_LocalInvocationID.x;
    [[unroll]] for (uint r = 0; r < TILE; r++) {
        [[unroll]] for (uint c = 0; c < SIDE; c++) v[c] = rows[r * SIDE + c];
        pixels_of(v);
        [[unroll]] for (uint c = 0; c < TILE; c++) tile_pixels[(r * TILE + c) * gl_WorkGroupSize.x + own_pixels] = v[c];
    }
    float base = (has & 1) != 0 ? LOAD(bias[own]) : 0.0;
    [[dont_unroll]] for (uint e = 0; e < TILE * TILE; e++) {
        uint row = top + e / TILE, col = left + e % TILE, to = at + row * width + col;
        if (row >= height || col >= width) continue;
        float sum = tile_pixels[e * gl_WorkGroupSize.x + own_pixels] + base;
        if ((has & 2) != 0) sum += LOAD(add[to]);
        y[to] = STORE(EPILOGUE(sum, then, p, q));
    }
}
