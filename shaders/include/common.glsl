// What every shader has: the size of its groups and the flat index of an invocation.
#ifndef COMMON_GLSL
#define COMMON_GLSL

layout(local_size_x_id = 0) in;

// Counts the invocations of a grid whose groups lie along x and y: no axis of a grid
// has more than 65535 groups.
uint flat_index() {
    return gl_GlobalInvocationID.x + gl_GlobalInvocationID.y * gl_NumWorkGroups.x * gl_WorkGroupSize.x;
}

// The same count for groups.
uint flat_group() { return gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x; }

#endif
