// TYPE_F16, TYPE_BF16, TYPE_F32 or TYPE_I8 selects ELEMENT, the element type of operands of
// cooperative matrices, and SUM, the type of results. Operands for TYPE_F32 are bfloat16. With
// EMULATED, the matrices of matrix.glsl are the ones of matrix_emulated.glsl: devices without
// cooperative matrices test shaders by them.
#ifndef MATRIX_TYPES_GLSL
#define MATRIX_TYPES_GLSL

#extension GL_EXT_control_flow_attributes : require
#ifndef EMULATED
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#endif

#if defined(TYPE_I8)
#define SUM int
#else
#define SUM float
#endif

#ifndef EMULATED
#if defined(TYPE_I8)
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#define ELEMENT int8_t
#elif defined(TYPE_BF16) || defined(TYPE_F32)
#extension GL_EXT_bfloat16 : require
#define ELEMENT bfloat16_t
#else
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#define ELEMENT float16_t
#endif
#endif

layout(constant_id = 1) const uint MATRIX_M = 16; // extents of one product of matrices
layout(constant_id = 2) const uint MATRIX_N = 16;
layout(constant_id = 3) const uint MATRIX_K = 16;
layout(constant_id = 4) const uint SUBGROUP = 32; // invocations of a subgroup

#ifndef EMULATED
#define LEFT_MATRIX coopmat<ELEMENT, gl_ScopeSubgroup, MATRIX_M, MATRIX_K, gl_MatrixUseA>
#define RIGHT_MATRIX coopmat<ELEMENT, gl_ScopeSubgroup, MATRIX_K, MATRIX_N, gl_MatrixUseB>
#define SUM_MATRIX coopmat<SUM, gl_ScopeSubgroup, MATRIX_M, MATRIX_N, gl_MatrixUseAccumulator>
#endif

#endif
