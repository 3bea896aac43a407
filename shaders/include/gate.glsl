// gate(function, x, p) computes some activations of unary.glsl, as unary does.
#ifndef GATE_GLSL
#define GATE_GLSL

#include "math_active.glsl"
#include "unary.glsl"

// swish returns x sigmoid(p x). Infinity times 0 is NaN.
float swish(float x, float p) {
    float v = m_sigmoid(p * x);
    precise const float y = is_inf(x) && is_zero(v) ? NAN : x * v;
    return y;
}

float gate(uint function, float x, float p) {
    if (is_nan(x)) return x;
    switch (function) {
    case F_relu: return x < 0.0 ? 0.0 : x;
    case F_sigmoid: return m_sigmoid(x);
    case F_swish: return swish(x, p);
    case F_gelu: return m_gelu(x);
    case F_gelu_tanh: return m_gelu_tanh(x);
    default: return NAN;
    }
}

#endif
