// What the Go package for Vulkan lacks: loading, the features of newer headers, and calls
// whose arguments are arrays of structs. Structs are declared here as far as they are needed,
// because users lack Vulkan's headers; names and layouts are those of the specification.
// Handles are given as 64 bits.
#ifndef NACRE_VULKAN
#define NACRE_VULKAN

#include <stddef.h>
#include <stdint.h>

// Types of the elements of matrices, as the specification numbers them.
enum { NACRE_VK_F16 = 0, NACRE_VK_F32 = 1, NACRE_VK_I8 = 3, NACRE_VK_I32 = 5, NACRE_VK_BF16 = 1000141000 };

// A product of matrices [m,k] and [k,n] of operands of one type, that a subgroup computes.
typedef struct {
    uint32_t m, n, k, operands, sums;
} nacre_vk_matrix;

// How many products of matrices are listed at most.
enum { NACRE_VK_MATRICES = 32 };

// What a device can do, of what shaders and plans ask for. It has cooperative matrices only with
// what their shaders need besides: the memory model, and whole subgroups of a required size.
typedef struct {
    uint32_t storage16, storage8, float16, int8, int16, int64, float64;
    uint32_t int_dot, int_dot_fast, coop_matrix, coop_bf16, memory_model, subgroup_control;
    uint32_t subgroup_size, subgroup_least, subgroup_most, subgroups, subgroup_basic, subgroup_arithmetic; // subgroups: of a workgroup at most
    uint32_t matrix_count;
    nacre_vk_matrix matrices[NACRE_VK_MATRICES];
    uint64_t import_align; // 0 for none
    uint64_t max_allocation, max_set;
    char driver[256];
} nacre_vk_caps;

// The loader's entry point; NULL, and why, if there is no loader.
void *nacre_vk_load(const char **why);

typedef struct nacre_vk_log nacre_vk_log;

// Makes an instance for Vulkan 1.1. With a log it has the validation layer, whose messages
// go there until nacre_vk_deaf. Returns a VkResult.
int32_t nacre_vk_instance(void *load, nacre_vk_log *log, uint64_t *instance);
void nacre_vk_deaf(void *load, nacre_vk_log *log, uint64_t instance);

// A list of messages, one a line. Take copies what there is and forgets it; it returns the
// bytes, without the zero behind them.
nacre_vk_log *nacre_vk_log_new(void);
size_t nacre_vk_log_take(nacre_vk_log *log, char *text, size_t n);
void nacre_vk_log_free(nacre_vk_log *log);

int32_t nacre_vk_query(void *load, uint64_t instance, uint64_t physical, nacre_vk_caps *caps);

// How many operands and specialization constants a pipeline has at most.
enum { NACRE_VK_OPERANDS = 32, NACRE_VK_CONSTANTS = 32 };

// The calls of a device.
typedef struct nacre_vk_calls nacre_vk_calls;

// Makes a device with one queue of a family and all features of the caps; *queue is that
// queue. Free gives back the calls alone.
int32_t nacre_vk_device(void *load, uint64_t instance, uint64_t physical, uint32_t family, const nacre_vk_caps *caps, uint64_t *device, uint64_t *queue,
                        nacre_vk_calls **calls);
void nacre_vk_calls_free(nacre_vk_calls *calls);

// The family with compute and the most bits of timestamps; -1 for none.
int32_t nacre_vk_family(void *load, uint64_t instance, uint64_t physical, uint32_t *timestamp_bits);

int32_t nacre_vk_layouts(nacre_vk_calls *c, uint32_t operands, uint32_t push, uint64_t *set, uint64_t *pipeline);
// With a subgroup size other than 0 all subgroups are whole and have that size.
int32_t nacre_vk_pipeline(nacre_vk_calls *c, uint64_t module, uint64_t layout, uint64_t cache, const uint32_t *constants, uint32_t count, uint32_t subgroup,
                          uint64_t *pipeline);
int32_t nacre_vk_pool(nacre_vk_calls *c, uint32_t sets, uint32_t operands, uint64_t *pool);

typedef struct {
    uint64_t buffer, offset, bytes;
} nacre_vk_operand;

// A set of a pool with those storage buffers.
int32_t nacre_vk_set(nacre_vk_calls *c, uint64_t pool, uint64_t layout, const nacre_vk_operand *list, uint32_t count, uint64_t *set);

// What shaders and copies wrote before is seen by shaders, copies and the host behind it.
void nacre_vk_barrier(nacre_vk_calls *c, uint64_t commands);
void nacre_vk_copy(nacre_vk_calls *c, uint64_t commands, uint64_t src, uint64_t src_at, uint64_t dst, uint64_t dst_at, uint64_t n);
int32_t nacre_vk_submit(nacre_vk_calls *c, uint64_t queue, uint64_t commands, uint64_t fence);
// Waits for a fence, nanoseconds at most, and resets it.
int32_t nacre_vk_wait(nacre_vk_calls *c, uint64_t fence, uint64_t nanoseconds);

#endif
