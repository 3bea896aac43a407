// conv computes convolutions of 8-bit codes less their zero points, a result per invocation.
// Results are integers or codes. Weights have a scale and a zero point per filter or for all
// filters. For codes, steps after the sum are: multiply by scales, add floats per filter, round to
// the codes of a stage, add codes, clamp. Every step is optional except scaling.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "quantized.glsl"
#ifdef RESULT_BYTES
#extension GL_EXT_shader_8bit_storage : require
#define R uint8_t
#else
#define R int
#endif

layout(constant_id = 1) const uint X_SIGNED = 0;
layout(constant_id = 2) const uint W_SIGNED = 0;
layout(constant_id = 3) const uint Y_SIGNED = 0;
layout(constant_id = 4) const uint HALF = 0;   // scales are float16
layout(constant_id = 5) const uint LAST = 0;   // channels are the last axis
layout(constant_id = 6) const uint BIAS = 0;   // 1 for integers, 2 for floats
layout(constant_id = 7) const uint ADDS = 0;   // 1 for unsigned codes, 2 for signed codes
layout(constant_id = 8) const uint STAGE = 0;  // likewise
layout(constant_id = 9) const uint CLAMPS = 0;
layout(constant_id = 10) const uint X_ZERO = 0; // x has a zero point

layout(std430, binding = 0) readonly buffer X { uint x[]; };
layout(std430, binding = 1) readonly buffer XScale { uint x_scale[]; };
layout(std430, binding = 2) readonly buffer XZero { uint x_zero[]; };
layout(std430, binding = 3) readonly buffer W { uint w[]; };
layout(std430, binding = 4) readonly buffer WScale { uint w_scale[]; };
layout(std430, binding = 5) readonly buffer WZero { uint w_zero[]; };
layout(std430, binding = 6) readonly buffer YScale { uint y_scale[]; };
layout(std430, binding = 7) readonly buffer YZero { uint y_zero[]; };
layout(std430, binding = 8) readonly buffer Bias { int bias[]; };
layout(std430, binding = 9) readonly buffer Add { uint codes[]; };
layout(std430, binding = 10) readonly buffer AddScale { uint add_scale[]; };
layout(std430, binding = 11) readonly buffer AddZero { uint add_zero[]; };
layout(std430, binding = 12) readonly buffer StageScale { uint stage_scale[]; };
layout(std430, binding = 13) readonly buffer StageZero { uint stage_zero[]; };
layout(std430, binding = 14) writeonly buffer Y { R y[]; };

layout(push_constant) uniform Words {
    uint total, groups, channels, filters; // channels and filters of a group
    uint extent[3], result[3], kernel[3], stride[3], dilation[3], pad[3];
    uint w_scales, w_zeros;
    float low, high; // bounds of the clamp
};

int least(uint is_signed) { return is_signed != 0 ? -128 : 0; }

void main() {
    uint at = flat_index();
    if (at >= total) return;
    uint places = result[0] * result[1] * result[2], space = extent[0] * extent[1] * extent[2];
    uint all_channels = groups * channels, all_filters = groups * filters;
    uint p = LAST != 0 ? at / all_filters % places : at % places;
    uint f = LAST != 0 ? at % all_filters : at / places % all_filters;
    uint image = at / places / all_filters;
    uint o2 = p % result[2], o1 = p / result[2] % result[1], o0 = p / result[2] / result[1];
    uint first = f / filters * channels, taps = kernel[0] * kernel[1] * kernel[2];
    int xz = X_ZERO != 0 ? CODE_OF(x_zero, 0, X_SIGNED) : 0, wz = w_zeros == 0 ? 0 : CODE_OF(w_zero, f % w_zeros, W_SIGNED);
    int sum = BIAS == 1 ? bias[f] : 0;
    for (uint t = 0; t < taps; t++) {
        uint i2 = o2 * stride[2] + t % kernel[2] * dilation[2] - pad[2];
        uint i1 = o1 * stride[1] + t / kernel[2] % kernel[1] * dilation[1] - pad[1];
        uint i0 = o0 * stride[0] + t / kernel[2] / kernel[1] * dilation[0] - pad[0];
        if (i0 >= extent[0] || i1 >= extent[1] || i2 >= extent[2]) continue;
        uint pixel = (i0 * extent[1] + i1) * extent[2] + i2;
        for (uint c = 0; c < channels; c++) {
            uint from = LAST != 0 ? (image * space + pixel) * all_channels + first + c : (image * all_channels + first + c) * space + pixel;
            sum += (CODE_OF(x, from, X_SIGNED) - xz) * (CODE_OF(w, (f * channels + c) * taps + t, W_SIGNED) - wz);
        }
    }
#ifdef RESULT_BYTES
    int zero = CODE_OF(y_zero, 0, Y_SIGNED);
    float y_step = SCALE_OF(y_scale, 0, HALF), step = STAGE != 0 ? SCALE_OF(stage_scale, 0, HALF) : y_step;
    precise float by = SCALE_OF(x_scale, 0, HALF) * SCALE_OF(w_scale, f % w_scales, HALF) / step;
    precise float v = float(sum) * by;
    precise float ratio = ADDS != 0 ? SCALE_OF(add_scale, 0, HALF) / y_step : 0.0;
    precise float offset = ADDS != 0 ? float(CODE_OF(add_zero, 0, ADDS - 1)) * ratio : 0.0;
    precise float extra = BIAS == 2 ? intBitsToFloat(bias[f]) / step : 0.0;
    if (ADDS != 0 && STAGE == 0) extra -= offset;
    if (BIAS == 2 || ADDS != 0 && STAGE == 0) v += extra;
    if (STAGE != 0) {
        float under = float(least(STAGE - 1) - CODE_OF(stage_zero, 0, STAGE - 1));
        precise float moved = roundEven(min(max(v, under), under + 255.0)) * (step / y_step);
        v = moved - offset;
    }
    if (ADDS != 0) v += float(CODE_OF(codes, at, ADDS - 1)) * ratio;
    float under = float(least(Y_SIGNED) - zero), over = under + 255.0;
    if (CLAMPS != 0) {
        under = max(under, low / y_step);
        over = min(over, high / y_step);
    }
    y[at] = uint8_t(quantized(v, under, over, zero));
#else
    y[at] = sum;
#endif
}
