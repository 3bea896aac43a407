// boxes picks boxes of a class by score, best first, a class of an image per workgroup. It skips a
// box if the overlap with a picked box exceeds part, a share of their union. Of equal scores, the
// box with the lower index wins. A NaN score is never picked. GIVEN is the limits that are present:
// 1 most, otherwise no box is picked; 2 part, otherwise 0; 4 least, the score to exceed.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "scale.glsl"

layout(constant_id = 1) const uint CENTER = 0; // a box is a center and extents, not two corners
layout(constant_id = 2) const uint GIVEN = 7;

layout(std430, binding = 0) readonly buffer Boxes { vec4 boxes[]; };
layout(std430, binding = 1) readonly buffer Scores { float scores[]; };
layout(std430, binding = 2) readonly buffer Most { uint low; int high; };
layout(std430, binding = 3) readonly buffer Part { float part; };
layout(std430, binding = 4) readonly buffer Least { float least; };
layout(std430, binding = 5) buffer State { uint left[]; };
layout(std430, binding = 6) writeonly buffer Picks { uint picks[]; };
layout(std430, binding = 7) writeonly buffer Counts { uint counts[]; };

layout(push_constant) uniform Words { uint lanes, classes, n; };

const uint NOWHERE = 0xffffffffu;

shared float best[gl_WorkGroupSize.x];
shared uint place[gl_WorkGroupSize.x];

// corners returns the lower and the upper corner of a box.
vec4 corners(vec4 b) {
    precise vec2 low = CENTER != 0 ? b.xy - b.zw / 2.0 : b.xy, high = CENTER != 0 ? b.xy + b.zw / 2.0 : b.zw;
    return vec4(min_nan(low.x, high.x), min_nan(low.y, high.y), max_nan(low.x, high.x), max_nan(low.y, high.y));
}

float area(vec4 c) {
    precise float a = (c.z - c.x) * (c.w - c.y);
    return a;
}

bool overlap(vec4 c, vec4 d) {
    precise float h = min_nan(c.z, d.z) - max_nan(c.x, d.x), w = min_nan(c.w, d.w) - max_nan(c.y, d.y);
    if (is_nan(h) || is_nan(w) || !(h > 0.0 && w > 0.0)) return false;
    precise float common_ = h * w, all = area(c) + area(d) - common_, share = rounded_quotient(common_, all);
    return !is_nan(all) && all > 0.0 && !is_nan(share) && share > ((GIVEN & 2) != 0 ? part : 0.0);
}

bool ahead(float u, uint i, float v, uint j) { return j == NOWHERE || i != NOWHERE && (u > v || u == v && i < j); }

// join reduces the best boxes of all invocations to one, in element 0.
void join(uint id) {
    barrier();
    for (uint step = gl_WorkGroupSize.x / 2; step > 0; step /= 2) {
        if (id < step && ahead(best[id + step], place[id + step], best[id], place[id])) {
            best[id] = best[id + step];
            place[id] = place[id + step];
        }
        barrier();
    }
}

void main() {
    uint lane = flat_group(), id = gl_LocalInvocationID.x, at = lane * n, box = lane / classes * n;
    if (lane >= lanes) return;
    uint most = (GIVEN & 1) == 0 || high < 0 ? 0 : high > 0 ? n : min(low, n);
    uint found = 0, last = NOWHERE;
    vec4 picked = vec4(0.0);
    while (found < most) {
        best[id] = 0.0;
        place[id] = NOWHERE;
        for (uint i = id; i < n; i += gl_WorkGroupSize.x) {
            float s = scores[at + i];
            bool stays = last == NOWHERE ? !is_nan(s) && ((GIVEN & 4) == 0 || !is_nan(least) && s > least)
                                         : left[at + i] != 0 && i != last && !overlap(corners(boxes[box + i]), picked);
            left[at + i] = uint(stays);
            if (stays && ahead(s, i, best[id], place[id])) {
                best[id] = s;
                place[id] = i;
            }
        }
        join(id);
        last = place[0];
        barrier();
        if (last == NOWHERE) break;
        if (id == 0) picks[at + found] = last;
        picked = corners(boxes[box + last]);
        found++;
    }
    if (id == 0) counts[lane] = found;
}
