// Compiles the bodies of the family for each level.
#include "core/vec.h"
#include "eltwise/f32_math.h"
#include "rnn/rnn.h"

#define NACRE_BODY "rnn/f32_rnn_cell.inc"
#define NACRE_NAME f32_rnn_cell
#include "core/each_level.h"
