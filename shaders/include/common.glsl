// The size of workgroups and the flat index of an invocation, for every shader.
#ifndef COMMON_GLSL
#define COMMON_GLSL

layout(local_size_x_id = 0) in;

// flat_index numbers the invocations of a grid of workgroups along x and y. A grid needs both axes
// because one has at most 65535 workgroups.
uint flat_index() {
    return gl_GlobalInvocationID.x + gl_GlobalInvocationID.y * gl_NumWorkGroups.x * gl_WorkGroupSize.x;
}

// flat_group numbers the workgroups in the same order.
uint flat_group() { return gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x; }

#endif
