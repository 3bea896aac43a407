// A Run is RUN neighbouring weights of a column as they are stored: the words of their codes, and two
// numbers that they are decoded by. blocks.glsl, nbits.glsl and wide.glsl have run_at, which reads a
// run, and decoded, which returns four of its weights for their codes. CODES_OF(r, w) is the codes of
// word w, which is a constant after loops are unrolled. With RIGHT_EXACT, weights are bfloat16.
#ifndef RUN_GLSL
#define RUN_GLSL

#extension GL_EXT_control_flow_attributes : require

#ifndef RUN
#define RUN 16
#endif

struct Run {
    uvec4 codes;
    vec2 by;
};

// no_run returns a run of zeros.
Run no_run() { return Run(uvec4(0), vec2(0.0)); }

#endif
