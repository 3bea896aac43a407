// gemv computes the products of include/gemv.glsl.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "gemv.glsl"
