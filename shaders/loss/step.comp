// step moves values against their gradients, an element per invocation. METHOD 0 is Adagrad, 1
// Adam, 2 momentum, 3 Nesterov's momentum. The rate and the number of earlier steps are operands.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "power.glsl"

layout(constant_id = 1) const uint METHOD = 0;

layout(std430, binding = 0) readonly buffer Rate { float rate_[]; };
layout(std430, binding = 1) readonly buffer Steps { int steps_[]; };
layout(std430, binding = 2) readonly buffer X { float x[]; };
layout(std430, binding = 3) readonly buffer Gradient { float gradients[]; };
layout(std430, binding = 4) readonly buffer First { float first[]; };
layout(std430, binding = 5) readonly buffer Second { float second[]; };
layout(std430, binding = 6) writeonly buffer Y { float y[]; };
layout(std430, binding = 7) writeonly buffer NewFirst { float new_first[]; };
layout(std430, binding = 8) writeonly buffer NewSecond { float new_second[]; };

layout(push_constant) uniform Words {
    uint n;
    float norm, post, epsilon, alpha, beta, decay;
    uint writes; // bits: values, first and second states
};

void main() {
    uint i = flat_index();
    if (i >= n) return;
    float rate = rate_[0], steps = float(steps_[0]), v = x[i], g = gradients[i] + norm * v, s = first[i];
    if (METHOD == 0) {
        rate /= 1.0 + steps * decay;
        s += g * g;
        v -= rate * g / (sqrt(s) + epsilon);
    } else if (METHOD == 1) {
        if (steps_[0] > 0) rate *= sqrt(1.0 - m_pow(beta, steps)) / (1.0 - m_pow(alpha, steps));
        s = alpha * s + (1.0 - alpha) * g;
        float t = beta * second[i] + (1.0 - beta) * g * g;
        v = (1.0 - post) * (v - rate * s / (sqrt(t) + epsilon));
        if ((writes & 4u) != 0u) new_second[i] = t;
    } else {
        s = alpha * s + (steps_[0] > 0 ? beta : 1.0) * g;
        v -= rate * (METHOD == 3 ? g + alpha * s : s);
    }
    if ((writes & 1u) != 0u) y[i] = v;
    if ((writes & 2u) != 0u) new_first[i] = s;
}
