// nbits4_joined computes up to three products of quant/nbits4, with the same rows.
#version 450
#extension GL_GOOGLE_include_directive : require
#define JOINED
#include "nbits4.glsl"
