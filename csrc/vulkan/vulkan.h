// Calls that the Go package for Vulkan lacks: loading, features of newer headers, and calls with
// arrays of structs as arguments. Structs are declared in structs.h as far as they are needed,
// because users lack Vulkan's headers. Names and layouts are as in the specification. Handles are
// passed as 64 bits.
#ifndef NACRE_VULKAN
#define NACRE_VULKAN

#include <stddef.h>
#include <stdint.h>

// The types of matrix elements, with the numbers of the specification.
enum { NACRE_VK_F16 = 0, NACRE_VK_F32 = 1, NACRE_VK_I8 = 3, NACRE_VK_I32 = 5, NACRE_VK_BF16 = 1000141000 };

// nacre_vk_matrix is a product of matrices [m,k] and [k,n] that a subgroup computes. Both operands
// have one type.
typedef struct {
    uint32_t m, n, k, operands, sums;
} nacre_vk_matrix;

// NACRE_VK_MATRICES is the largest number of matrix products in a list.
enum { NACRE_VK_MATRICES = 32 };

// nacre_vk_caps holds the capabilities of a device that shaders and plans use. It reports
// cooperative matrices only if the device also has the memory model and full subgroups of a
// required size, because their shaders need both.
typedef struct {
    uint32_t storage16, storage8, float16, int8, int16, int64, float64;
    uint32_t int_dot, int_dot_fast, coop_matrix, coop_bf16, memory_model, subgroup_control;
    uint32_t statistics, clock; // of compiled pipelines, of shaders
    uint32_t subgroup_size, subgroup_least, subgroup_most, subgroups, subgroup_basic, subgroup_arithmetic; // subgroups: most per workgroup
    uint32_t units; // multiprocessors; 0 if the driver does not tell
    uint32_t matrix_count;
    nacre_vk_matrix matrices[NACRE_VK_MATRICES];
    uint64_t import_align; // 0 if host memory cannot be imported
    uint64_t max_allocation, max_set;
    char driver[256];
} nacre_vk_caps;

// nacre_vk_load returns the loader's entry point. If there is no loader, it returns NULL and sets
// why.
void *nacre_vk_load(const char **why);

typedef struct nacre_vk_log nacre_vk_log;

// nacre_vk_instance makes an instance for Vulkan 1.1 and returns a VkResult. With a log, it enables
// the validation layer, with the validation of barriers, and appends its messages to the log until
// nacre_vk_deaf.
int32_t nacre_vk_instance(void *load, nacre_vk_log *log, uint64_t *instance);
void nacre_vk_deaf(void *load, nacre_vk_log *log, uint64_t instance);

// nacre_vk_log is a list of messages, one per line. nacre_vk_log_take moves up to n bytes of it to
// text and returns their number. It adds no terminating zero.
nacre_vk_log *nacre_vk_log_new(void);
size_t nacre_vk_log_take(nacre_vk_log *log, char *text, size_t n);
void nacre_vk_log_free(nacre_vk_log *log);

int32_t nacre_vk_query(void *load, uint64_t instance, uint64_t physical, nacre_vk_caps *caps);

// The largest numbers of operands and of specialization constants of a pipeline.
enum { NACRE_VK_OPERANDS = 32, NACRE_VK_CONSTANTS = 32 };

// nacre_vk_calls are the functions of a device.
typedef struct nacre_vk_calls nacre_vk_calls;

// nacre_vk_device makes a device with one queue of a family and all features of the caps, and sets
// *queue to the queue. nacre_vk_calls_free frees the calls only.
int32_t nacre_vk_device(void *load, uint64_t instance, uint64_t physical, uint32_t family, const nacre_vk_caps *caps,
                        uint64_t *device, uint64_t *queue, nacre_vk_calls **calls);
void nacre_vk_calls_free(nacre_vk_calls *calls);

// nacre_vk_family returns the compute family with the most timestamp bits and sets *timestamp_bits,
// or returns -1 if there is none.
int32_t nacre_vk_family(void *load, uint64_t instance, uint64_t physical, uint32_t *timestamp_bits);

int32_t nacre_vk_layouts(nacre_vk_calls *c, uint32_t operands, uint32_t push, uint64_t *set, uint64_t *pipeline);
// If subgroup is not 0, all subgroups are full and have that size. If statistics is not 0, the driver
// keeps them for nacre_vk_statistics.
int32_t nacre_vk_pipeline(nacre_vk_calls *c, uint64_t module, uint64_t layout, uint64_t cache,
                          const uint32_t *constants, uint32_t count, uint32_t subgroup, uint32_t statistics,
                          uint64_t *pipeline);

// nacre_vk_statistic is a whole number that a driver tells about a compiled shader.
typedef struct {
    char name[256];
    uint64_t value;
} nacre_vk_statistic;

// NACRE_VK_STATISTICS is the largest number of statistics of a pipeline.
enum { NACRE_VK_STATISTICS = 64 };

// nacre_vk_statistics lists up to n statistics of a pipeline, and sets *count to their number.
int32_t nacre_vk_statistics(nacre_vk_calls *c, uint64_t pipeline, nacre_vk_statistic *list, uint32_t n,
                            uint32_t *count);
int32_t nacre_vk_pool(nacre_vk_calls *c, uint32_t sets, uint32_t operands, uint64_t *pool);

typedef struct {
    uint64_t buffer, offset, bytes;
} nacre_vk_operand;

// nacre_vk_set allocates a set from a pool, with the given storage buffers.
int32_t nacre_vk_set(nacre_vk_calls *c, uint64_t pool, uint64_t layout, const nacre_vk_operand *list, uint32_t count,
                     uint64_t *set);

// nacre_vk_barrier makes earlier writes of shaders and copies visible to later shaders and copies.
// If host is not 0, they are visible to the host, too.
void nacre_vk_barrier(nacre_vk_calls *c, uint64_t commands, uint32_t host);

// nacre_vk_region is bytes that a copy moves, in the layout of VkBufferCopy.
typedef struct {
    uint64_t from, to, bytes;
} nacre_vk_region;

void nacre_vk_copy(nacre_vk_calls *c, uint64_t commands, uint64_t src, uint64_t dst, const nacre_vk_region *list,
                   uint32_t count);
int32_t nacre_vk_submit(nacre_vk_calls *c, uint64_t queue, uint64_t commands, uint64_t fence);
// nacre_vk_wait polls a fence for poll nanoseconds and then waits for it, at most the given
// nanoseconds. If it is signalled, it resets it.
int32_t nacre_vk_wait(nacre_vk_calls *c, uint64_t fence, uint64_t poll, uint64_t nanoseconds);

#endif
