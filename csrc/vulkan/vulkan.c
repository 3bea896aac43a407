#include "vulkan/vulkan.h"

#include "vulkan/structs.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// Structure types and other numbers of the specification.
enum {
    APPLICATION = 0,
    INSTANCE = 1,
    QUEUE = 2,
    DEVICE = 3,
    SUBMIT = 4,
    STAGE = 18,
    PIPELINE = 29,
    PIPELINE_LAYOUT = 30,
    SET_LAYOUT = 32,
    POOL = 33,
    SET = 34,
    WRITE = 35,
    MEMORY_BARRIER = 46,
    FEATURES2 = 1000059000,
    PROPERTIES2 = 1000059001,
    STORAGE16 = 1000083000,
    SUBGROUP = 1000094000,
    FLOAT16_INT8 = 1000082000,
    MESSENGER = 1000128004,
    VALIDATION_FEATURES = 1000247000,
    STORAGE8 = 1000177000,
    IMPORT_HOST = 1000178002,
    MAINTENANCE3 = 1000168000,
    DRIVER = 1000196000,
    MEMORY_MODEL = 1000211000,
    SUBGROUP_CONTROL_PROPERTIES = 1000225000,
    SUBGROUP_SIZE = 1000225001,
    SUBGROUP_CONTROL = 1000225002,
    INT_DOT = 1000280000,
    INT_DOT_PROPERTIES = 1000280001,
    BFLOAT16 = 1000141000,
    CLOCK = 1000181000,
    EXECUTABLE = 1000269003,
    EXECUTABLE_FEATURES = 1000269000,
    EXECUTABLE_STATISTIC = 1000269004,
    COOP_MATRIX = 1000506000,
    COOP_MATRIX_ENTRY = 1000506001,
    COOP_MATRIX_PROPERTIES = 1000506002,
    UNITS_NV = 1000154001,
    UNITS_AMD = 1000185000,
    ACTIVE_UNITS_AMD = 1000227000,
    UNITS_ARM = 1000497001,

    API_1_1 = 1 << 22 | 1 << 12,
    STORAGE_BUFFER = 7,
    COMPUTE = 0x20,
    COMPUTE_QUEUE = 2,
    DEVICE_STAGES = 0x800 | 0x1000, // compute, transfer
    HOST_STAGE = 0x4000,
    ALL_WRITES = 0x40 | 0x1000,
    DEVICE_ACCESSES = 0x20 | 0x40 | 0x800 | 0x1000,
    HOST_READ = 0x2000,
    BASIC = 1,
    ARITHMETIC = 4,
    WHOLE_SUBGROUPS = 2,
    SUBGROUP_SCOPE = 3,
    CAPTURE_STATISTICS = 0x40,
    WHOLE_NUMBER = 2, // the format of a statistic
    SYNCHRONIZATION_VALIDATION = 4,

    // Indices of flags in the features of Vulkan 1.0.
    FLOAT64_FLAG = 39,
    INT64_FLAG = 40,
    INT16_FLAG = 41,

    NOT_READY = 1,
    NO_MEMORY = -1,
    NO_EXTENSION = -7,
};

typedef void (*vk_function)(void);
typedef vk_function (*vk_load)(void *instance, const char *name);

static void *handle(uint64_t bits) { return (void *)(uintptr_t)bits; }

void *nacre_vk_load(const char **why) {
    static const char *const names[] = {"libvulkan.so.1", "libvulkan.so"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        if (!library) continue;
        void *f = dlsym(library, "vkGetInstanceProcAddr");
        if (f) return f;
        dlclose(library);
    }
    *why = dlerror();
    return NULL;
}

struct nacre_vk_log {
    pthread_mutex_t mutex;
    char *text;
    size_t used, size;
    uint64_t messenger;
};

nacre_vk_log *nacre_vk_log_new(void) {
    nacre_vk_log *log = calloc(1, sizeof *log);
    if (log) pthread_mutex_init(&log->mutex, NULL);
    return log;
}

void nacre_vk_log_free(nacre_vk_log *log) {
    if (!log) return;
    pthread_mutex_destroy(&log->mutex);
    free(log->text);
    free(log);
}

size_t nacre_vk_log_take(nacre_vk_log *log, char *text, size_t n) {
    pthread_mutex_lock(&log->mutex);
    const size_t count = log->used < n ? log->used : n;
    if (count) memcpy(text, log->text, count);
    memmove(log->text, log->text + count, log->used - count);
    log->used -= count;
    pthread_mutex_unlock(&log->mutex);
    return count;
}

static uint32_t note(uint32_t severity, uint32_t types, const vk_message *data, void *user) {
    (void)severity, (void)types;
    nacre_vk_log *log = user;
    const size_t n = strlen(data->message);
    pthread_mutex_lock(&log->mutex);
    if (log->used + n + 1 > log->size) {
        char *larger = realloc(log->text, 2 * (log->used + n + 1));
        if (larger) log->text = larger, log->size = 2 * (log->used + n + 1);
    }
    if (log->used + n + 1 <= log->size) {
        for (size_t i = 0; i < n; i++) log->text[log->used++] = data->message[i] == '\n' ? ' ' : data->message[i];
        log->text[log->used++] = '\n';
    }
    pthread_mutex_unlock(&log->mutex);
    return 0;
}

int32_t nacre_vk_instance(void *load, nacre_vk_log *log, uint64_t *instance) {
    int32_t (*create)(const vk_instance_info *, const void *, void **) =
        (int32_t (*)(const vk_instance_info *, const void *, void **))((vk_load)load)(NULL, "vkCreateInstance");
    if (!create) return NO_EXTENSION;
    static const char *const layer = "VK_LAYER_KHRONOS_validation";
    static const char *const named[] = {"VK_EXT_debug_utils", "VK_EXT_validation_features"};
    static const uint32_t enabled[] = {SYNCHRONIZATION_VALIDATION};
    const vk_application application = {.type = APPLICATION, .application = "nacre", .engine = "nacre",
                                        .api_version = API_1_1};
    const vk_messenger_info messenger = {.type = MESSENGER, .severity = 0x1100, .types = 7, .function = note,
                                         .user = log};
    const vk_validation_features validation = {.type = VALIDATION_FEATURES, .next = &messenger, .enabled_count = 1,
                                               .enabled = enabled};
    vk_instance_info info = {.type = INSTANCE, .application = &application};
    if (log) {
        info.next = &validation;
        info.layer_count = 1;
        info.layers = &layer;
        info.extension_count = 2;
        info.extensions = named;
    }
    void *made = NULL;
    int32_t status = create(&info, NULL, &made);
    *instance = (uint64_t)(uintptr_t)made;
    if (status != 0 || !log) return status;
    int32_t (*listen)(void *, const vk_messenger_info *, const void *, uint64_t *) =
        (int32_t (*)(void *, const vk_messenger_info *, const void *,
                     uint64_t *))((vk_load)load)(made, "vkCreateDebugUtilsMessengerEXT");
    return listen ? listen(made, &messenger, NULL, &log->messenger) : NO_EXTENSION;
}

void nacre_vk_deaf(void *load, nacre_vk_log *log, uint64_t instance) {
    void (*destroy)(void *, uint64_t, const void *) =
        (void (*)(void *, uint64_t, const void *))((vk_load)load)(handle(instance), "vkDestroyDebugUtilsMessengerEXT");
    if (destroy && log->messenger) destroy(handle(instance), log->messenger, NULL);
    log->messenger = 0;
}

// extensions are the extensions of a device.
typedef struct {
    vk_extension *list;
    uint32_t count;
} extensions;

static int32_t list_extensions(vk_load load, void *instance, void *physical, extensions *x) {
    int32_t (*enumerate)(void *, const char *, uint32_t *, vk_extension *) =
        (int32_t (*)(void *, const char *, uint32_t *, vk_extension *))load(instance,
                                                                            "vkEnumerateDeviceExtensionProperties");
    *x = (extensions){0};
    if (!enumerate) return NO_EXTENSION;
    int32_t status = enumerate(physical, NULL, &x->count, NULL);
    if (status != 0) return status;
    x->list = malloc((x->count + 1) * sizeof *x->list);
    if (!x->list) return NO_MEMORY;
    return enumerate(physical, NULL, &x->count, x->list);
}

static int has(const extensions *x, const char *name) {
    for (uint32_t i = 0; i < x->count; i++) {
        if (strcmp(x->list[i].name, name) == 0) return 1;
    }
    return 0;
}

static const char STORAGE8_NAME[] = "VK_KHR_8bit_storage", FLOAT16_NAME[] = "VK_KHR_shader_float16_int8",
    INT_DOT_NAME[] = "VK_KHR_shader_integer_dot_product",
                  COOP_NAME[] = "VK_KHR_cooperative_matrix", MODEL_NAME[] = "VK_KHR_vulkan_memory_model",
                      CONTROL_NAME[] = "VK_EXT_subgroup_size_control",
                  BFLOAT16_NAME[] = "VK_KHR_shader_bfloat16", DRIVER_NAME[] = "VK_KHR_driver_properties",
                      IMPORT_NAME[] = "VK_EXT_external_memory_host",
                  EXECUTABLE_NAME[] = "VK_KHR_pipeline_executable_properties",
                      CLOCK_NAME[] = "VK_KHR_shader_clock", UNITS_NV_NAME[] = "VK_NV_shader_sm_builtins",
                  UNITS_AMD_NAME[] = "VK_AMD_shader_core_properties",
                      ACTIVE_UNITS_AMD_NAME[] = "VK_AMD_shader_core_properties2",
                  UNITS_ARM_NAME[] = "VK_ARM_shader_core_builtins";

// chain adds struct s to a chain if the device has its extension.
static void chain(vk_head *first, vk_head *s, uint32_t type, int there) {
    s->type = type;
    if (!there) return;
    s->next = first->next;
    first->next = s;
}

// list_matrices lists the matrix products of a device that have operands of one type, add to sums
// of the type of the result, do not saturate, and are computed by a subgroup.
static void list_matrices(vk_load load, void *instance, void *physical, nacre_vk_caps *caps) {
    int32_t (*list)(void *, uint32_t *, vk_matrix *) =
        (int32_t (*)(void *, uint32_t *, vk_matrix *))load(instance,
                                                           "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR");
    uint32_t n = 0;
    if (!list || list(physical, &n, NULL) != 0) return;
    vk_matrix *all = calloc(n + 1, sizeof *all);
    if (!all) return;
    for (uint32_t i = 0; i < n; i++) all[i].type = COOP_MATRIX_ENTRY;
    if (list(physical, &n, all) < 0) n = 0;
    for (uint32_t i = 0; i < n && caps->matrix_count < NACRE_VK_MATRICES; i++) {
        const vk_matrix *x = &all[i];
        if (x->a != x->b || x->c != x->result || x->saturating || x->scope != SUBGROUP_SCOPE) continue;
        caps->matrices[caps->matrix_count++] = (nacre_vk_matrix){x->m, x->n, x->k, x->a, x->c};
    }
    free(all);
}

// units returns the number of multiprocessors by the properties of extensions, which are 0 if the
// device lacks them. Units that a product turns off count only if nothing else is told.
static uint32_t units(const uint32_t *nv, const uint32_t *amd, const uint32_t *active, const uint32_t *arm) {
    const uint32_t told[] = {nv[0], active[1], amd[0] * amd[1] * amd[2], arm[2]};
    for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
        if (told[i] != 0) return told[i];
    }
    return 0;
}

int32_t nacre_vk_query(void *loader, uint64_t instance, uint64_t physical, nacre_vk_caps *caps) {
    vk_load load = (vk_load)loader;
    void *i = handle(instance), *p = handle(physical);
    void (*features2)(void *, void *) = (void (*)(void *, void *))load(i, "vkGetPhysicalDeviceFeatures2");
    void (*properties2)(void *, void *) = (void (*)(void *, void *))load(i, "vkGetPhysicalDeviceProperties2");
    memset(caps, 0, sizeof *caps);
    if (!features2 || !properties2) return NO_EXTENSION;
    extensions x;
    int32_t status = list_extensions(load, i, p, &x);
    if (status != 0) {
        free(x.list);
        return status;
    }
    vk_features all = {.head.type = FEATURES2}, f[10] = {0};
    chain(&all.head, &f[0].head, STORAGE16, 1);
    chain(&all.head, &f[1].head, STORAGE8, has(&x, STORAGE8_NAME));
    chain(&all.head, &f[2].head, FLOAT16_INT8, has(&x, FLOAT16_NAME));
    chain(&all.head, &f[3].head, INT_DOT, has(&x, INT_DOT_NAME));
    chain(&all.head, &f[4].head, COOP_MATRIX, has(&x, COOP_NAME));
    chain(&all.head, &f[5].head, MEMORY_MODEL, has(&x, MODEL_NAME));
    chain(&all.head, &f[6].head, SUBGROUP_CONTROL, has(&x, CONTROL_NAME));
    chain(&all.head, &f[7].head, BFLOAT16, has(&x, BFLOAT16_NAME));
    chain(&all.head, &f[8].head, EXECUTABLE_FEATURES, has(&x, EXECUTABLE_NAME));
    chain(&all.head, &f[9].head, CLOCK, has(&x, CLOCK_NAME));
    features2(p, &all);
    caps->storage16 = f[0].flags[0];
    caps->storage8 = f[1].flags[0];
    caps->float16 = f[2].flags[0];
    caps->int8 = f[2].flags[1];
    caps->int_dot = f[3].flags[0];
    caps->memory_model = f[5].flags[0] & f[5].flags[1]; // with device scope, for atomics
    caps->subgroup_control = f[6].flags[0] & f[6].flags[1]; // with whole subgroups
    caps->coop_matrix = f[4].flags[0];
    caps->coop_bf16 = f[7].flags[0] & f[7].flags[2];
    caps->statistics = f[8].flags[0];
    caps->clock = f[9].flags[0]; // of subgroups
    caps->float64 = all.flags[FLOAT64_FLAG];
    caps->int64 = all.flags[INT64_FLAG];
    caps->int16 = all.flags[INT16_FLAG];

    vk_properties2 whole = {.head.type = PROPERTIES2};
    vk_properties q[11] = {0};
    chain(&whole.head, &q[0].head, SUBGROUP, 1);
    chain(&whole.head, &q[1].head, SUBGROUP_CONTROL_PROPERTIES, has(&x, CONTROL_NAME));
    chain(&whole.head, &q[2].head, INT_DOT_PROPERTIES, has(&x, INT_DOT_NAME));
    chain(&whole.head, &q[3].head, DRIVER, has(&x, DRIVER_NAME));
    chain(&whole.head, &q[4].head, IMPORT_HOST, has(&x, IMPORT_NAME));
    chain(&whole.head, &q[5].head, MAINTENANCE3, 1);
    chain(&whole.head, &q[6].head, COOP_MATRIX_PROPERTIES, has(&x, COOP_NAME));
    chain(&whole.head, &q[7].head, UNITS_NV, has(&x, UNITS_NV_NAME));
    chain(&whole.head, &q[8].head, UNITS_AMD, has(&x, UNITS_AMD_NAME));
    chain(&whole.head, &q[9].head, ACTIVE_UNITS_AMD, has(&x, ACTIVE_UNITS_AMD_NAME));
    chain(&whole.head, &q[10].head, UNITS_ARM, has(&x, UNITS_ARM_NAME));
    properties2(p, &whole);
    caps->subgroup_size = caps->subgroup_least = caps->subgroup_most = q[0].words[0];
    caps->subgroup_basic = (q[0].words[1] & COMPUTE) != 0 && (q[0].words[2] & BASIC) != 0;
    caps->subgroup_arithmetic = (q[0].words[1] & COMPUTE) != 0 && (q[0].words[2] & ARITHMETIC) != 0;
    if (has(&x, CONTROL_NAME)) {
        caps->subgroup_least = q[1].words[0];
        caps->subgroup_most = q[1].words[1];
        caps->subgroups = q[1].words[2];
        if (!(q[1].words[3] & COMPUTE)) caps->subgroup_control = 0;
    }
    caps->int_dot_fast = q[2].words[4]; // packed 4 x 8 bits, signed
    if (has(&x, DRIVER_NAME)) memcpy(caps->driver, &q[3].words[1], sizeof caps->driver - 1);
    if (!(q[6].words[0] & COMPUTE) || !caps->memory_model || !caps->subgroup_control) caps->coop_matrix = 0;
    if (caps->coop_matrix) list_matrices(load, i, p, caps);
    caps->coop_bf16 &= caps->coop_matrix;
    memcpy(&caps->import_align, &q[4].words, sizeof caps->import_align);
    caps->units = units(q[7].words, q[8].words, q[9].words, q[10].words);
    caps->max_set = q[5].words[0];
    memcpy(&caps->max_allocation, &q[5].words[2], sizeof caps->max_allocation);
    free(x.list);
    return 0;
}

int32_t nacre_vk_family(void *loader, uint64_t instance, uint64_t physical, uint32_t *timestamp_bits) {
    void (*families)(void *, uint32_t *, vk_family *) =
        (void (*)(void *, uint32_t *, vk_family *))((vk_load)loader)(handle(instance),
                                                                     "vkGetPhysicalDeviceQueueFamilyProperties");
    vk_family list[32];
    uint32_t n = sizeof list / sizeof *list;
    if (!families) return -1;
    families(handle(physical), &n, list);
    int32_t best = -1;
    for (uint32_t i = 0; i < n; i++) {
        if (!(list[i].flags & COMPUTE_QUEUE) || list[i].count == 0) continue;
        if (best < 0 || list[i].timestamp_bits > list[best].timestamp_bits) best = (int32_t)i;
    }
    if (best >= 0) *timestamp_bits = list[best].timestamp_bits;
    return best;
}

struct nacre_vk_calls {
    void *device;
    int32_t (*create_set_layout)(void *, const vk_set_layout_info *, const void *, uint64_t *);
    int32_t (*create_pipeline_layout)(void *, const vk_pipeline_layout_info *, const void *, uint64_t *);
    int32_t (*create_pipelines)(void *, uint64_t, uint32_t, const vk_pipeline_info *, const void *, uint64_t *);
    int32_t (*create_pool)(void *, const vk_pool_info *, const void *, uint64_t *);
    int32_t (*allocate_sets)(void *, const vk_set_info *, uint64_t *);
    void (*update_sets)(void *, uint32_t, const vk_write *, uint32_t, const void *);
    void (*barrier)(void *, uint32_t, uint32_t, uint32_t, uint32_t, const vk_memory_barrier *, uint32_t, const void *,
                    uint32_t, const void *);
    void (*copy)(void *, uint64_t, uint64_t, uint32_t, const nacre_vk_region *);
    int32_t (*submit)(void *, uint32_t, const vk_submit *, uint64_t);
    int32_t (*wait)(void *, uint32_t, const uint64_t *, uint32_t, uint64_t);
    int32_t (*reset)(void *, uint32_t, const uint64_t *);
    int32_t (*fence_status)(void *, uint64_t);
    // Of an extension; NULL if the device lacks it.
    int32_t (*statistics)(void *, const vk_executable *, uint32_t *, vk_statistic *);
};

static nacre_vk_calls *load_calls(vk_load load, void *instance, void *device) {
    static const char *const names[] = {
        "vkCreateDescriptorSetLayout", "vkCreatePipelineLayout", "vkCreateComputePipelines", "vkCreateDescriptorPool",
            "vkAllocateDescriptorSets",
        "vkUpdateDescriptorSets", "vkCmdPipelineBarrier", "vkCmdCopyBuffer", "vkQueueSubmit", "vkWaitForFences",
            "vkResetFences", "vkGetFenceStatus",
    };
    vk_function (*get)(void *, const char *) =
        (vk_function (*)(void *, const char *))load(instance, "vkGetDeviceProcAddr");
    nacre_vk_calls *c = calloc(1, sizeof *c);
    if (!c || !get) {
        free(c);
        return NULL;
    }
    c->device = device;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const vk_function f = get(device, names[i]);
        if (!f) {
            free(c);
            return NULL;
        }
        memcpy((char *)c + sizeof c->device + i * sizeof f, &f, sizeof f);
    }
    c->statistics = (int32_t (*)(void *, const vk_executable *, uint32_t *, vk_statistic *))get(
        device, "vkGetPipelineExecutableStatisticsKHR");
    return c;
}

void nacre_vk_calls_free(nacre_vk_calls *c) { free(c); }

int32_t nacre_vk_device(void *loader, uint64_t instance, uint64_t physical, uint32_t family, const nacre_vk_caps *caps,
                        uint64_t *device, uint64_t *queue, nacre_vk_calls **calls) {
    vk_load load = (vk_load)loader;
    void *i = handle(instance);
    int32_t (*create)(void *, const vk_device_info *, const void *, void **) =
        (int32_t (*)(void *, const vk_device_info *, const void *, void **))load(i, "vkCreateDevice");
    void (*get_queue)(void *, uint32_t, uint32_t, void **) =
        (void (*)(void *, uint32_t, uint32_t, void **))load(i, "vkGetDeviceQueue");
    if (!create || !get_queue) return NO_EXTENSION;
    vk_features all = {.head.type = FEATURES2}, f[10] = {0};
    all.flags[FLOAT64_FLAG] = caps->float64;
    all.flags[INT64_FLAG] = caps->int64;
    all.flags[INT16_FLAG] = caps->int16;
    f[0].flags[0] = caps->storage16;
    f[1].flags[0] = caps->storage8;
    f[2].flags[0] = caps->float16;
    f[2].flags[1] = caps->int8;
    f[3].flags[0] = caps->int_dot;
    f[4].flags[0] = caps->coop_matrix;
    f[5].flags[0] = f[5].flags[1] = caps->memory_model;
    f[6].flags[0] = f[6].flags[1] = caps->subgroup_control;
    f[7].flags[0] = f[7].flags[2] = caps->coop_bf16;
    f[8].flags[0] = caps->statistics;
    f[9].flags[0] = caps->clock;
    const char *names[10];
    uint32_t count = 0;
    chain(&all.head, &f[0].head, STORAGE16, 1);
    const struct {
        uint32_t on, type;
        const char *name;
    } optional[] = {
        {caps->storage8, STORAGE8, STORAGE8_NAME},   {caps->float16 | caps->int8, FLOAT16_INT8, FLOAT16_NAME},
        {caps->int_dot, INT_DOT, INT_DOT_NAME},      {caps->coop_matrix, COOP_MATRIX, COOP_NAME},
        {caps->memory_model, MEMORY_MODEL, MODEL_NAME}, {caps->subgroup_control, SUBGROUP_CONTROL, CONTROL_NAME},
        {caps->coop_bf16, BFLOAT16, BFLOAT16_NAME},      {caps->statistics, EXECUTABLE_FEATURES, EXECUTABLE_NAME},
        {caps->clock, CLOCK, CLOCK_NAME},
    };
    for (size_t k = 0; k < sizeof optional / sizeof *optional; k++) {
        chain(&all.head, &f[1 + k].head, optional[k].type, optional[k].on != 0);
        if (optional[k].on) names[count++] = optional[k].name;
    }
    const float priority = 1;
    const vk_queue_info queues = {.type = QUEUE, .family = family, .count = 1, .priorities = &priority};
    const vk_device_info info = {.type = DEVICE, .next = &all, .queue_count = 1, .queues = &queues,
                                 .extension_count = count, .extensions = names};
    void *made = NULL, *line = NULL;
    const int32_t status = create(handle(physical), &info, NULL, &made);
    if (status != 0) return status;
    get_queue(made, family, 0, &line);
    *device = (uint64_t)(uintptr_t)made;
    *queue = (uint64_t)(uintptr_t)line;
    *calls = load_calls(load, i, made);
    return *calls ? 0 : NO_EXTENSION;
}

int32_t nacre_vk_layouts(nacre_vk_calls *c, uint32_t operands, uint32_t push, uint64_t *set, uint64_t *pipeline) {
    vk_binding list[NACRE_VK_OPERANDS];
    if (operands > sizeof list / sizeof *list) return NO_MEMORY;
    for (uint32_t i = 0; i < operands; i++) {
        list[i] = (vk_binding){.binding = i, .type = STORAGE_BUFFER, .count = 1, .stages = COMPUTE};
    }
    const vk_set_layout_info info = {.type = SET_LAYOUT, .count = operands, .bindings = list};
    const int32_t status = c->create_set_layout(c->device, &info, NULL, set);
    if (status != 0) return status;
    const vk_push_range range = {COMPUTE, 0, push};
    const vk_pipeline_layout_info layout = {.type = PIPELINE_LAYOUT, .set_count = 1, .sets = set,
                                            .range_count = push > 0, .ranges = &range};
    return c->create_pipeline_layout(c->device, &layout, NULL, pipeline);
}

int32_t nacre_vk_pipeline(nacre_vk_calls *c, uint64_t module, uint64_t layout, uint64_t cache,
                          const uint32_t *constants, uint32_t count, uint32_t subgroup, uint32_t statistics,
                          uint64_t *pipeline) {
    vk_constant entries[NACRE_VK_CONSTANTS];
    if (count > sizeof entries / sizeof *entries) return NO_MEMORY;
    for (uint32_t i = 0; i < count; i++) entries[i] = (vk_constant){i, 4 * i, 4};
    const vk_constants all = {count, entries, 4 * count, constants};
    vk_subgroup_size size = {.type = SUBGROUP_SIZE, .size = subgroup};
    const vk_pipeline_info info = {
        .type = PIPELINE,
        .flags = statistics ? CAPTURE_STATISTICS : 0,
        .stage = {.type = STAGE, .next = subgroup ? &size : NULL, .flags = subgroup ? WHOLE_SUBGROUPS : 0,
                  .stage = COMPUTE, .module = module, .name = "main", .constants = &all},
        .layout = layout,
        .base_index = -1,
    };
    return c->create_pipelines(c->device, cache, 1, &info, NULL, pipeline);
}

int32_t nacre_vk_statistics(nacre_vk_calls *c, uint64_t pipeline, nacre_vk_statistic *list, uint32_t n, uint32_t *count) {
    vk_statistic all[NACRE_VK_STATISTICS];
    const vk_executable first = {.type = EXECUTABLE, .pipeline = pipeline};
    if (!c->statistics) return NO_EXTENSION;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        all[i] = (vk_statistic){.type = EXECUTABLE_STATISTIC};
    }
    uint32_t found = sizeof all / sizeof *all;
    const int32_t status = c->statistics(c->device, &first, &found, all);
    if (status < 0) return status;
    *count = 0;
    for (uint32_t i = 0; i < found && *count < n; i++) {
        if (all[i].format > WHOLE_NUMBER) continue;
        memcpy(list[*count].name, all[i].name, sizeof all[i].name);
        list[*count].name[sizeof all[i].name - 1] = 0;
        list[(*count)++].value = all[i].value;
    }
    return 0;
}

int32_t nacre_vk_pool(nacre_vk_calls *c, uint32_t sets, uint32_t operands, uint64_t *pool) {
    const vk_pool_size size = {STORAGE_BUFFER, operands};
    const vk_pool_info info = {.type = POOL, .sets = sets, .size_count = 1, .sizes = &size};
    return c->create_pool(c->device, &info, NULL, pool);
}

int32_t nacre_vk_set(nacre_vk_calls *c, uint64_t pool, uint64_t layout, const nacre_vk_operand *list, uint32_t count,
                     uint64_t *set) {
    const vk_set_info info = {.type = SET, .pool = pool, .count = 1, .layouts = &layout};
    vk_buffer_info buffers[NACRE_VK_OPERANDS];
    vk_write writes[NACRE_VK_OPERANDS];
    if (count > sizeof writes / sizeof *writes) return NO_MEMORY;
    const int32_t status = c->allocate_sets(c->device, &info, set);
    if (status != 0) return status;
    for (uint32_t i = 0; i < count; i++) {
        buffers[i] = (vk_buffer_info){list[i].buffer, list[i].offset, list[i].bytes};
        writes[i] = (vk_write){.type = WRITE, .set = *set, .binding = i, .count = 1, .kind = STORAGE_BUFFER,
                               .buffers = &buffers[i]};
    }
    c->update_sets(c->device, count, writes, 0, NULL);
    return 0;
}

void nacre_vk_barrier(nacre_vk_calls *c, uint64_t commands, uint32_t host) {
    const vk_memory_barrier all = {.type = MEMORY_BARRIER, .from = ALL_WRITES,
                                   .to = DEVICE_ACCESSES | (host ? HOST_READ : 0)};
    c->barrier(handle(commands), DEVICE_STAGES, DEVICE_STAGES | (host ? HOST_STAGE : 0), 0, 1, &all, 0, NULL, 0, NULL);
}

void nacre_vk_copy(nacre_vk_calls *c, uint64_t commands, uint64_t src, uint64_t dst, const nacre_vk_region *list,
                   uint32_t count) {
    c->copy(handle(commands), src, dst, count, list);
}

int32_t nacre_vk_submit(nacre_vk_calls *c, uint64_t queue, uint64_t commands, uint64_t fence) {
    const vk_submit info = {.type = SUBMIT, .command_count = 1, .commands = &commands};
    return c->submit(handle(queue), 1, &info, fence);
}

static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

int32_t nacre_vk_wait(nacre_vk_calls *c, uint64_t fence, uint64_t poll, uint64_t nanoseconds) {
    int32_t status = NOT_READY;
    for (const uint64_t begin = poll ? now() : 0; status == NOT_READY && poll && now() - begin < poll;) {
        status = c->fence_status(c->device, fence);
    }
    if (status == NOT_READY) status = c->wait(c->device, 1, &fence, 1, nanoseconds);
    return status != 0 ? status : c->reset(c->device, 1, &fence);
}
