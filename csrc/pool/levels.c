// The bodies of the family for each level.
#include "core/vec.h"
#include "pool/blocked.h"
#include "pool/pool.h"
#include "pool/window.h"

#define NACRE_BODY "pool/f32_pooling.inc"
#define NACRE_NAME f32_pooling
#include "core/each_level.h"

#define NACRE_BODY "pool/f32_pooling_blocked.inc"
#define NACRE_NAME f32_pooling_blocked
#include "core/each_level.h"

#define NACRE_BODY "pool/i8_pooling.inc"
#define NACRE_NAME i8_pooling
#include "core/each_level.h"

#define NACRE_BODY "pool/max_index.inc"
#define NACRE_NAME max_index
#include "core/each_level.h"
