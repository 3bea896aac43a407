// nbits4 computes the products of quant/nbits as include/nbits4.glsl says.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "nbits4.glsl"
