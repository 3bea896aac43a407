// pixels computes y[n,f,h,w] = F(pixels + bias + add) from points x[36,f,tiles], a tile of a filter
// per invocation.
#version 450
#extension GL_GOOGLE_include_directive : require
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

void main() {
    uint i = flat_index();
    if (i >= total) return;
    uint tile = i % tiles, own = i / tiles;
    uint image = tile / (down * across), top = tile / across % down * TILE, left = tile % across * TILE;
    uint at = (image * filters + own) * height * width;
    float rows[TILE * SIDE], v[SIDE];
    for (uint c = 0; c < SIDE; c++) {
        for (uint r = 0; r < SIDE; r++) v[r] = x[(r * SIDE + c) * total + i];
        pixels_of(v);
        for (uint r = 0; r < TILE; r++) rows[r * SIDE + c] = v[r];
    }
    float base = (has & 1) != 0 ? LOAD(bias[own]) : 0.0;
    for (uint r = 0; r < TILE && top + r < height; r++) {
        for (uint c = 0; c < SIDE; c++) v[c] = rows[r * SIDE + c];
        pixels_of(v);
        for (uint c = 0; c < TILE && left + c < width; c++) {
            uint to = at + (top + r) * width + left + c;
            float sum = v[c] + base;
            if ((has & 2) != 0) sum += LOAD(add[to]);
            y[to] = STORE(EPILOGUE(sum, then, p, q));
        }
    }
}
