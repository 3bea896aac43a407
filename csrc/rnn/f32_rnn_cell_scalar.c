// The oracle of f32_rnn_cell.
#include <math.h>

#include "core/target.h"
#include "rnn/rnn.h"

#define T float
#define UNITS nacre_f32_rnn_units
#define OWN(name) f32_rnn_cell_##name##_scalar
#include "rnn/plain_rnn_cell.inc"

const nacre_f32_rnn_cell_impl *nacre_f32_rnn_cell__scalar(void) {
    static const nacre_f32_rnn_cell_impl impl = {f32_rnn_cell_rnn_scalar, f32_rnn_cell_lstm_scalar,
                                                 f32_rnn_cell_gru_reset_scalar,
                                                 f32_rnn_cell_gru_state_scalar, f32_rnn_cell_gru_linear_scalar};
    return &impl;
}
