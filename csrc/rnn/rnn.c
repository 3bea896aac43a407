#include "rnn/rnn.h"

// The signature of the rows of each op.
typedef nacre_f32_rnn_cell_fn rnn_row_f32_rnn, rnn_row_f32_rnn_cell;
typedef nacre_f64_rnn_fn rnn_row_f64_rnn;

#define NACRE_FAMILY rnn
#include "core/table.inc"
