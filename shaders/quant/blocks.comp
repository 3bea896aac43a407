// blocks computes the products of include/block_products.glsl.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "block_products.glsl"
