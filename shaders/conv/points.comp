// points transforms tiles of an image [n,c,h,w] to points y[36,c,tiles], a tile of a channel per
// invocation.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "common.glsl"
#include "types.glsl"
#include "winograd.glsl"

layout(std430, binding = 0) readonly buffer X { T x[]; };
layout(std430, binding = 1) writeonly buffer Y { float y[]; };

layout(push_constant) uniform Words {
    uint total, channels, height, width;
    uint pad_top, pad_left;
    uint down, across; // tiles of an image
    uint tiles;        // tiles of all images
};

void main() {
    uint i = flat_index();
    if (i >= total) return;
    uint tile = i % tiles, channel = i / tiles;
    uint image = tile / (down * across), top = tile / across % down * TILE, left = tile % across * TILE;
    uint at = (image * channels + channel) * height * width;
    float rows[POINTS], v[SIDE];
    [[unroll]] for (uint c = 0; c < SIDE; c++) {
        [[unroll]] for (uint r = 0; r < SIDE; r++) {
            uint row = top + r - pad_top, col = left + c - pad_left; // wrap to large numbers before an edge
            v[r] = row < height && col < width ? LOAD(x[at + row * width + col]) : 0.0;
        }
        points_of(v);
        [[unroll]] for (uint r = 0; r < SIDE; r++) rows[r * SIDE + c] = v[r];
    }
    [[unroll]] for (uint r = 0; r < SIDE; r++) {
        [[unroll]] for (uint c = 0; c < SIDE; c++) v[c] = rows[r * SIDE + c];
        points_of(v);
        [[unroll]] for (uint c = 0; c < SIDE; c++) y[(r * SIDE + c) * total + i] = v[c];
    }
}
