// Exits with 0 if the capabilities of devices have the number of multiprocessors that their extensions
// tell. A loader of its own answers for the devices.
#include "vulkan/vulkan.c"

#include <stdio.h>

// device is a device with up to two extensions, and words of a struct of properties for each.
static const struct {
    const char *names[2];
    uint32_t types[2], words[2][3], units;
} devices[] = {
    {.units = 0},
    {{UNITS_NV_NAME}, {UNITS_NV}, {{132, 64}}, 132},
    {{UNITS_AMD_NAME}, {UNITS_AMD}, {{4, 2, 10}}, 80},
    {{UNITS_AMD_NAME, ACTIVE_UNITS_AMD_NAME}, {UNITS_AMD, ACTIVE_UNITS_AMD}, {{4, 2, 10}, {0, 72}}, 72},
    {{UNITS_AMD_NAME, ACTIVE_UNITS_AMD_NAME}, {UNITS_AMD, ACTIVE_UNITS_AMD}, {{4, 2, 10}, {0, 0}}, 80},
    {{UNITS_ARM_NAME}, {UNITS_ARM}, {{0x3ff, 0, 10}}, 10},
    {{"VK_EXT_other"}, {UNITS_NV}, {{132}}, 0},
};
static size_t at;

static void features(void *physical, void *all) { (void)physical, (void)all; }

static void properties(void *physical, void *all) {
    (void)physical;
    for (vk_head *s = ((vk_head *)all)->next; s; s = s->next) {
        for (int k = 0; k < 2; k++) {
            if (s->type == devices[at].types[k]) memcpy(s + 1, devices[at].words[k], sizeof devices[at].words[k]);
        }
    }
}

static int32_t enumerate(void *physical, const char *layer, uint32_t *n, vk_extension *list) {
    (void)physical, (void)layer;
    for (*n = 0; *n < 2 && devices[at].names[*n]; ++*n) {
        if (list) strcpy(list[*n].name, devices[at].names[*n]);
    }
    return 0;
}

static vk_function find(void *instance, const char *name) {
    (void)instance;
    if (strcmp(name, "vkGetPhysicalDeviceFeatures2") == 0) return (vk_function)features;
    if (strcmp(name, "vkGetPhysicalDeviceProperties2") == 0) return (vk_function)properties;
    return (vk_function)enumerate;
}

int main(void) {
    int wrong = 0;
    for (at = 0; at < sizeof devices / sizeof *devices; at++) {
        nacre_vk_caps caps;
        const int32_t status = nacre_vk_query((void *)find, 0, 0, &caps);
        if (status == 0 && caps.units == devices[at].units) continue;
        printf("device %zu has %u units, want %u\n", at, caps.units, devices[at].units);
        wrong = 1;
    }
    return wrong;
}
