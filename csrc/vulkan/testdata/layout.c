// Compiles only if the structs and numbers of the helper equal those in the system's Vulkan header.
#include "vulkan/vulkan.c"

#include <vulkan/vulkan_core.h>

#define SIZE(ours, theirs) _Static_assert(sizeof(ours) == sizeof(theirs), "size of " #theirs)
#define ROOM(ours, theirs) _Static_assert(sizeof(ours) >= sizeof(theirs), "room for " #theirs)
#define PLACE(ours, our, theirs, their) _Static_assert(offsetof(ours, our) == offsetof(theirs, their), #theirs "." #their)
#define NUMBER(our, their) _Static_assert((long long)(our) == (long long)(their), #their)
// WORD checks that a field is word n after the head of a struct of features or properties.
#define WORD(i, theirs, their) _Static_assert(sizeof(vk_head) + 4 * (i) == offsetof(theirs, their), #theirs "." #their)

SIZE(vk_application, VkApplicationInfo);
PLACE(vk_application, engine, VkApplicationInfo, pEngineName);
PLACE(vk_application, api_version, VkApplicationInfo, apiVersion);
SIZE(vk_instance_info, VkInstanceCreateInfo);
PLACE(vk_instance_info, application, VkInstanceCreateInfo, pApplicationInfo);
PLACE(vk_instance_info, layer_count, VkInstanceCreateInfo, enabledLayerCount);
PLACE(vk_instance_info, layers, VkInstanceCreateInfo, ppEnabledLayerNames);
PLACE(vk_instance_info, extensions, VkInstanceCreateInfo, ppEnabledExtensionNames);
PLACE(vk_message, message, VkDebugUtilsMessengerCallbackDataEXT, pMessage);
SIZE(vk_messenger_info, VkDebugUtilsMessengerCreateInfoEXT);
PLACE(vk_messenger_info, severity, VkDebugUtilsMessengerCreateInfoEXT, messageSeverity);
PLACE(vk_messenger_info, types, VkDebugUtilsMessengerCreateInfoEXT, messageType);
PLACE(vk_messenger_info, function, VkDebugUtilsMessengerCreateInfoEXT, pfnUserCallback);
PLACE(vk_messenger_info, user, VkDebugUtilsMessengerCreateInfoEXT, pUserData);
SIZE(vk_validation_features, VkValidationFeaturesEXT);
PLACE(vk_validation_features, enabled_count, VkValidationFeaturesEXT, enabledValidationFeatureCount);
PLACE(vk_validation_features, enabled, VkValidationFeaturesEXT, pEnabledValidationFeatures);
PLACE(vk_validation_features, disabled, VkValidationFeaturesEXT, pDisabledValidationFeatures);
SIZE(vk_extension, VkExtensionProperties);
SIZE(vk_family, VkQueueFamilyProperties);
PLACE(vk_family, count, VkQueueFamilyProperties, queueCount);
PLACE(vk_family, timestamp_bits, VkQueueFamilyProperties, timestampValidBits);
SIZE(vk_queue_info, VkDeviceQueueCreateInfo);
PLACE(vk_queue_info, family, VkDeviceQueueCreateInfo, queueFamilyIndex);
PLACE(vk_queue_info, priorities, VkDeviceQueueCreateInfo, pQueuePriorities);
SIZE(vk_device_info, VkDeviceCreateInfo);
PLACE(vk_device_info, queues, VkDeviceCreateInfo, pQueueCreateInfos);
PLACE(vk_device_info, extension_count, VkDeviceCreateInfo, enabledExtensionCount);
PLACE(vk_device_info, extensions, VkDeviceCreateInfo, ppEnabledExtensionNames);
PLACE(vk_device_info, features, VkDeviceCreateInfo, pEnabledFeatures);
SIZE(vk_binding, VkDescriptorSetLayoutBinding);
PLACE(vk_binding, stages, VkDescriptorSetLayoutBinding, stageFlags);
PLACE(vk_binding, samplers, VkDescriptorSetLayoutBinding, pImmutableSamplers);
SIZE(vk_set_layout_info, VkDescriptorSetLayoutCreateInfo);
PLACE(vk_set_layout_info, bindings, VkDescriptorSetLayoutCreateInfo, pBindings);
SIZE(vk_push_range, VkPushConstantRange);
PLACE(vk_push_range, bytes, VkPushConstantRange, size);
SIZE(vk_pipeline_layout_info, VkPipelineLayoutCreateInfo);
PLACE(vk_pipeline_layout_info, sets, VkPipelineLayoutCreateInfo, pSetLayouts);
PLACE(vk_pipeline_layout_info, range_count, VkPipelineLayoutCreateInfo, pushConstantRangeCount);
PLACE(vk_pipeline_layout_info, ranges, VkPipelineLayoutCreateInfo, pPushConstantRanges);
SIZE(vk_constant, VkSpecializationMapEntry);
PLACE(vk_constant, bytes, VkSpecializationMapEntry, size);
SIZE(vk_constants, VkSpecializationInfo);
PLACE(vk_constants, bytes, VkSpecializationInfo, dataSize);
SIZE(vk_stage, VkPipelineShaderStageCreateInfo);
PLACE(vk_stage, stage, VkPipelineShaderStageCreateInfo, stage);
PLACE(vk_stage, module, VkPipelineShaderStageCreateInfo, module);
PLACE(vk_stage, constants, VkPipelineShaderStageCreateInfo, pSpecializationInfo);
SIZE(vk_subgroup_size, VkPipelineShaderStageRequiredSubgroupSizeCreateInfo);
PLACE(vk_subgroup_size, size, VkPipelineShaderStageRequiredSubgroupSizeCreateInfo, requiredSubgroupSize);
SIZE(vk_pipeline_info, VkComputePipelineCreateInfo);
PLACE(vk_pipeline_info, stage, VkComputePipelineCreateInfo, stage);
PLACE(vk_pipeline_info, layout, VkComputePipelineCreateInfo, layout);
PLACE(vk_pipeline_info, base_index, VkComputePipelineCreateInfo, basePipelineIndex);
SIZE(vk_pool_size, VkDescriptorPoolSize);
SIZE(vk_pool_info, VkDescriptorPoolCreateInfo);
PLACE(vk_pool_info, sets, VkDescriptorPoolCreateInfo, maxSets);
PLACE(vk_pool_info, sizes, VkDescriptorPoolCreateInfo, pPoolSizes);
SIZE(vk_set_info, VkDescriptorSetAllocateInfo);
PLACE(vk_set_info, count, VkDescriptorSetAllocateInfo, descriptorSetCount);
PLACE(vk_set_info, layouts, VkDescriptorSetAllocateInfo, pSetLayouts);
SIZE(vk_buffer_info, VkDescriptorBufferInfo);
PLACE(vk_buffer_info, bytes, VkDescriptorBufferInfo, range);
SIZE(vk_write, VkWriteDescriptorSet);
PLACE(vk_write, set, VkWriteDescriptorSet, dstSet);
PLACE(vk_write, count, VkWriteDescriptorSet, descriptorCount);
PLACE(vk_write, kind, VkWriteDescriptorSet, descriptorType);
PLACE(vk_write, buffers, VkWriteDescriptorSet, pBufferInfo);
SIZE(vk_memory_barrier, VkMemoryBarrier);
PLACE(vk_memory_barrier, from, VkMemoryBarrier, srcAccessMask);
PLACE(vk_memory_barrier, to, VkMemoryBarrier, dstAccessMask);
SIZE(nacre_vk_region, VkBufferCopy);
PLACE(nacre_vk_region, from, VkBufferCopy, srcOffset);
PLACE(nacre_vk_region, to, VkBufferCopy, dstOffset);
SIZE(vk_submit, VkSubmitInfo);
PLACE(vk_submit, command_count, VkSubmitInfo, commandBufferCount);
PLACE(vk_submit, commands, VkSubmitInfo, pCommandBuffers);

ROOM(vk_features, VkPhysicalDeviceFeatures2);
ROOM(vk_features, VkPhysicalDevice16BitStorageFeatures);
ROOM(vk_features, VkPhysicalDevice8BitStorageFeatures);
ROOM(vk_features, VkPhysicalDeviceVulkanMemoryModelFeatures);
ROOM(vk_features, VkPhysicalDeviceSubgroupSizeControlFeatures);
WORD(FLOAT64_FLAG, VkPhysicalDeviceFeatures2, features.shaderFloat64);
WORD(INT64_FLAG, VkPhysicalDeviceFeatures2, features.shaderInt64);
WORD(INT16_FLAG, VkPhysicalDeviceFeatures2, features.shaderInt16);
WORD(0, VkPhysicalDevice16BitStorageFeatures, storageBuffer16BitAccess);
WORD(0, VkPhysicalDevice8BitStorageFeatures, storageBuffer8BitAccess);
WORD(0, VkPhysicalDeviceShaderFloat16Int8Features, shaderFloat16);
WORD(1, VkPhysicalDeviceShaderFloat16Int8Features, shaderInt8);
WORD(0, VkPhysicalDeviceShaderIntegerDotProductFeatures, shaderIntegerDotProduct);
WORD(0, VkPhysicalDeviceVulkanMemoryModelFeatures, vulkanMemoryModel);
WORD(0, VkPhysicalDeviceSubgroupSizeControlFeatures, subgroupSizeControl);
WORD(1, VkPhysicalDeviceSubgroupSizeControlFeatures, computeFullSubgroups);

ROOM(vk_properties2, VkPhysicalDeviceProperties2);
ROOM(vk_properties, VkPhysicalDeviceSubgroupProperties);
ROOM(vk_properties, VkPhysicalDeviceSubgroupSizeControlProperties);
ROOM(vk_properties, VkPhysicalDeviceShaderIntegerDotProductProperties);
ROOM(vk_properties, VkPhysicalDeviceDriverProperties);
ROOM(vk_properties, VkPhysicalDeviceExternalMemoryHostPropertiesEXT);
ROOM(vk_properties, VkPhysicalDeviceMaintenance3Properties);
WORD(0, VkPhysicalDeviceSubgroupProperties, subgroupSize);
WORD(1, VkPhysicalDeviceSubgroupProperties, supportedStages);
WORD(2, VkPhysicalDeviceSubgroupProperties, supportedOperations);
WORD(0, VkPhysicalDeviceSubgroupSizeControlProperties, minSubgroupSize);
WORD(1, VkPhysicalDeviceSubgroupSizeControlProperties, maxSubgroupSize);
WORD(2, VkPhysicalDeviceSubgroupSizeControlProperties, maxComputeWorkgroupSubgroups);
WORD(3, VkPhysicalDeviceSubgroupSizeControlProperties, requiredSubgroupSizeStages);
WORD(4, VkPhysicalDeviceShaderIntegerDotProductProperties, integerDotProduct4x8BitPackedSignedAccelerated);
WORD(1, VkPhysicalDeviceDriverProperties, driverName);
WORD(0, VkPhysicalDeviceExternalMemoryHostPropertiesEXT, minImportedHostPointerAlignment);
WORD(0, VkPhysicalDeviceMaintenance3Properties, maxPerSetDescriptors);
WORD(2, VkPhysicalDeviceMaintenance3Properties, maxMemoryAllocationSize);

NUMBER(APPLICATION, VK_STRUCTURE_TYPE_APPLICATION_INFO);
NUMBER(INSTANCE, VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO);
NUMBER(QUEUE, VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO);
NUMBER(DEVICE, VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO);
NUMBER(SUBMIT, VK_STRUCTURE_TYPE_SUBMIT_INFO);
NUMBER(STAGE, VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO);
NUMBER(PIPELINE, VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO);
NUMBER(PIPELINE_LAYOUT, VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO);
NUMBER(SET_LAYOUT, VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO);
NUMBER(POOL, VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO);
NUMBER(SET, VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO);
NUMBER(WRITE, VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET);
NUMBER(MEMORY_BARRIER, VK_STRUCTURE_TYPE_MEMORY_BARRIER);
NUMBER(FEATURES2, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
NUMBER(PROPERTIES2, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2);
NUMBER(STORAGE16, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES);
NUMBER(SUBGROUP, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES);
NUMBER(FLOAT16_INT8, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES);
NUMBER(MESSENGER, VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT);
NUMBER(VALIDATION_FEATURES, VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT);
NUMBER(STORAGE8, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES);
NUMBER(IMPORT_HOST, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT);
NUMBER(MAINTENANCE3, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES);
NUMBER(DRIVER, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES);
NUMBER(MEMORY_MODEL, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES);
NUMBER(SUBGROUP_CONTROL_PROPERTIES, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES);
NUMBER(SUBGROUP_SIZE, VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO);
NUMBER(SUBGROUP_CONTROL, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES);
NUMBER(INT_DOT, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES);
NUMBER(INT_DOT_PROPERTIES, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_PROPERTIES);
#ifdef VK_KHR_cooperative_matrix
SIZE(vk_matrix, VkCooperativeMatrixPropertiesKHR);
PLACE(vk_matrix, m, VkCooperativeMatrixPropertiesKHR, MSize);
PLACE(vk_matrix, k, VkCooperativeMatrixPropertiesKHR, KSize);
PLACE(vk_matrix, a, VkCooperativeMatrixPropertiesKHR, AType);
PLACE(vk_matrix, result, VkCooperativeMatrixPropertiesKHR, ResultType);
PLACE(vk_matrix, saturating, VkCooperativeMatrixPropertiesKHR, saturatingAccumulation);
PLACE(vk_matrix, scope, VkCooperativeMatrixPropertiesKHR, scope);
WORD(0, VkPhysicalDeviceCooperativeMatrixFeaturesKHR, cooperativeMatrix);
WORD(0, VkPhysicalDeviceCooperativeMatrixPropertiesKHR, cooperativeMatrixSupportedStages);
NUMBER(COOP_MATRIX, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR);
NUMBER(COOP_MATRIX_ENTRY, VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR);
NUMBER(COOP_MATRIX_PROPERTIES, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_PROPERTIES_KHR);
NUMBER(SUBGROUP_SCOPE, VK_SCOPE_SUBGROUP_KHR);
NUMBER(NACRE_VK_F16, VK_COMPONENT_TYPE_FLOAT16_KHR);
NUMBER(NACRE_VK_F32, VK_COMPONENT_TYPE_FLOAT32_KHR);
NUMBER(NACRE_VK_I8, VK_COMPONENT_TYPE_SINT8_KHR);
NUMBER(NACRE_VK_I32, VK_COMPONENT_TYPE_SINT32_KHR);
#endif
#ifdef VK_KHR_shader_bfloat16
WORD(0, VkPhysicalDeviceShaderBfloat16FeaturesKHR, shaderBFloat16Type);
WORD(2, VkPhysicalDeviceShaderBfloat16FeaturesKHR, shaderBFloat16CooperativeMatrix);
NUMBER(BFLOAT16, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_BFLOAT16_FEATURES_KHR);
NUMBER(NACRE_VK_BF16, VK_COMPONENT_TYPE_BFLOAT16_KHR);
#endif
#ifdef VK_ARM_shader_core_builtins
WORD(2, VkPhysicalDeviceShaderCoreBuiltinsPropertiesARM, shaderCoreCount);
NUMBER(UNITS_ARM, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_BUILTINS_PROPERTIES_ARM);
#endif
WORD(0, VkPhysicalDeviceShaderSMBuiltinsPropertiesNV, shaderSMCount);
WORD(0, VkPhysicalDeviceShaderCorePropertiesAMD, shaderEngineCount);
WORD(1, VkPhysicalDeviceShaderCorePropertiesAMD, shaderArraysPerEngineCount);
WORD(2, VkPhysicalDeviceShaderCorePropertiesAMD, computeUnitsPerShaderArray);
WORD(1, VkPhysicalDeviceShaderCoreProperties2AMD, activeComputeUnitCount);
NUMBER(UNITS_NV, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SM_BUILTINS_PROPERTIES_NV);
NUMBER(UNITS_AMD, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_PROPERTIES_AMD);
NUMBER(ACTIVE_UNITS_AMD, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_PROPERTIES_2_AMD);
NUMBER(API_1_1, VK_API_VERSION_1_1);
NUMBER(STORAGE_BUFFER, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER);
NUMBER(COMPUTE, VK_SHADER_STAGE_COMPUTE_BIT);
NUMBER(COMPUTE_QUEUE, VK_QUEUE_COMPUTE_BIT);
NUMBER(DEVICE_STAGES, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT);
NUMBER(HOST_STAGE, VK_PIPELINE_STAGE_HOST_BIT);
NUMBER(ALL_WRITES, VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT);
NUMBER(DEVICE_ACCESSES, VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_READ_BIT |
                            VK_ACCESS_TRANSFER_WRITE_BIT);
NUMBER(HOST_READ, VK_ACCESS_HOST_READ_BIT);
NUMBER(NOT_READY, VK_NOT_READY);
SIZE(vk_executable, VkPipelineExecutableInfoKHR);
PLACE(vk_executable, index, VkPipelineExecutableInfoKHR, executableIndex);
SIZE(vk_statistic, VkPipelineExecutableStatisticKHR);
PLACE(vk_statistic, format, VkPipelineExecutableStatisticKHR, format);
PLACE(vk_statistic, value, VkPipelineExecutableStatisticKHR, value);
NUMBER(EXECUTABLE, VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR);
NUMBER(EXECUTABLE_FEATURES, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR);
NUMBER(CLOCK, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CLOCK_FEATURES_KHR);
WORD(0, VkPhysicalDeviceShaderClockFeaturesKHR, shaderSubgroupClock);
NUMBER(EXECUTABLE_STATISTIC, VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR);
NUMBER(CAPTURE_STATISTICS, VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR);
NUMBER(WHOLE_NUMBER, VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_UINT64_KHR);
NUMBER(BASIC, VK_SUBGROUP_FEATURE_BASIC_BIT);
NUMBER(SYNCHRONIZATION_VALIDATION, VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT);
NUMBER(WHOLE_SUBGROUPS, VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT);
NUMBER(ARITHMETIC, VK_SUBGROUP_FEATURE_ARITHMETIC_BIT);
NUMBER(NO_MEMORY, VK_ERROR_OUT_OF_HOST_MEMORY);
NUMBER(NO_EXTENSION, VK_ERROR_EXTENSION_NOT_PRESENT);
