// Structs of the Vulkan specification, as far as vulkan.c needs them. A test compares their sizes
// with the system's header.
#ifndef NACRE_VULKAN_STRUCTS
#define NACRE_VULKAN_STRUCTS

#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint32_t type;
    const void *next;
    const char *application;
    uint32_t application_version;
    const char *engine;
    uint32_t engine_version, api_version;
} vk_application;

typedef struct {
    uint32_t type;
    const void *next;
    uint32_t flags;
    const vk_application *application;
    uint32_t layer_count;
    const char *const *layers;
    uint32_t extension_count;
    const char *const *extensions;
} vk_instance_info;

typedef struct {
    uint32_t type;
    const void *next;
    uint32_t flags;
    const char *id_name;
    int32_t id;
    const char *message; // other fields follow
} vk_message;

typedef uint32_t (*vk_message_function)(uint32_t severity, uint32_t types, const vk_message *data, void *user);

typedef struct {
    uint32_t type;
    const void *next;
    uint32_t flags, severity, types;
    vk_message_function function;
    void *user;
} vk_messenger_info;

typedef struct {
    uint32_t type;
    const void *next;
    uint32_t enabled_count;
    const uint32_t *enabled;
    uint32_t disabled_count;
    const uint32_t *disabled;
} vk_validation_features;

typedef struct {
    char name[256];
    uint32_t version;
} vk_extension;

typedef struct {
    uint32_t flags, count, timestamp_bits, granularity[3];
} vk_family;

// vk_head is the head of a struct in a chain.
typedef struct {
    uint32_t type;
    void *next;
} vk_head;

// vk_features is a feature struct: its head and up to 55 flags.
typedef struct {
    vk_head head;
    uint32_t flags[56];
} vk_features;

typedef struct {
    vk_head head;
    uint64_t properties[103];
} vk_properties2;

typedef struct {
    vk_head head;
    uint32_t words[160];
} vk_properties;

typedef struct {
    uint32_t type;
    const void *next;
    uint32_t flags, family, count;
    const float *priorities;
} vk_queue_info;

typedef struct {
    uint32_t type;
    const void *next;
    uint32_t flags, queue_count;
    const vk_queue_info *queues;
    uint32_t layer_count;
    const char *const *layers;
    uint32_t extension_count;
    const char *const *extensions;
    const void *features;
} vk_device_info;

typedef struct {
    uint32_t binding, type, count, stages;
    const uint64_t *samplers;
} vk_binding;

typedef struct {
    uint32_t type;
    const void *next;
    uint32_t flags, count;
    const vk_binding *bindings;
} vk_set_layout_info;

typedef struct {
    uint32_t stages, offset, bytes;
} vk_push_range;

typedef struct {
    uint32_t type;
    const void *next;
    uint32_t flags, set_count;
    const uint64_t *sets;
    uint32_t range_count;
    const vk_push_range *ranges;
} vk_pipeline_layout_info;

typedef struct {
    uint32_t id, offset;
    size_t bytes;
} vk_constant;

typedef struct {
    uint32_t count;
    const vk_constant *entries;
    size_t bytes;
    const void *data;
} vk_constants;

typedef struct {
    uint32_t type;
    const void *next;
    uint32_t flags, stage;
    uint64_t module;
    const char *name;
    const vk_constants *constants;
} vk_stage;

typedef struct {
    uint32_t type;
    void *next;
    uint32_t size;
} vk_subgroup_size;

typedef struct {
    uint32_t type;
    const void *next;
    uint32_t flags;
    vk_stage stage;
    uint64_t layout, base;
    int32_t base_index;
} vk_pipeline_info;

typedef struct {
    uint32_t type;
    void *next;
    uint32_t m, n, k, a, b, c, result, saturating, scope;
} vk_matrix;

typedef struct {
    uint32_t type;
    const void *next;
    uint64_t pipeline;
    uint32_t index;
} vk_executable;

typedef struct {
    uint32_t type;
    void *next;
    char name[256], description[256];
    uint32_t format;
    uint64_t value;
} vk_statistic;

typedef struct {
    uint32_t type, count;
} vk_pool_size;

typedef struct {
    uint32_t type;
    const void *next;
    uint32_t flags, sets, size_count;
    const vk_pool_size *sizes;
} vk_pool_info;

typedef struct {
    uint32_t type;
    const void *next;
    uint64_t pool;
    uint32_t count;
    const uint64_t *layouts;
} vk_set_info;

typedef struct {
    uint64_t buffer, offset, bytes;
} vk_buffer_info;

typedef struct {
    uint32_t type;
    const void *next;
    uint64_t set;
    uint32_t binding, element, count, kind;
    const void *images;
    const vk_buffer_info *buffers;
    const void *views;
} vk_write;

typedef struct {
    uint32_t type;
    const void *next;
    uint32_t from, to;
} vk_memory_barrier;

typedef struct {
    uint32_t type;
    const void *next;
    uint32_t wait_count;
    const uint64_t *waits;
    const uint32_t *stages;
    uint32_t command_count;
    const uint64_t *commands;
    uint32_t signal_count;
    const uint64_t *signals;
} vk_submit;

#endif
