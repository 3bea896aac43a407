// dot4 returns sum + the dot product of two words of four signed bytes, and dot16 the one of four words.
// DOT selects the device's instruction.
#ifndef DOT_GLSL
#define DOT_GLSL

#ifdef DOT
#extension GL_EXT_spirv_intrinsics : require
spirv_instruction(extensions = ["SPV_KHR_integer_dot_product"], capabilities = [6019, 6018], id = 4450)
int packed_dot(uint a, uint b, spirv_literal int format);
int dot4(uint a, uint b, int sum) { return sum + packed_dot(a, b, 0); }
#else
int dot4(uint a, uint b, int sum) {
    for (int i = 0; i < 4; i++) sum += bitfieldExtract(int(a), 8 * i, 8) * bitfieldExtract(int(b), 8 * i, 8);
    return sum;
}
#endif

int dot16(uvec4 a, uvec4 b) { return dot4(a.x, b.x, dot4(a.y, b.y, dot4(a.z, b.z, dot4(a.w, b.w, 0)))); }

#endif
