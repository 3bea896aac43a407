// gemv_joined computes up to three products of matmul/gemv, with the same rows.
#version 450
#extension GL_GOOGLE_include_directive : require
#define JOINED
#include "gemv.glsl"
