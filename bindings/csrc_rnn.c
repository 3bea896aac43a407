// The C files of csrc/rnn.
#include "rnn/rnn.c"
#include "rnn/f32_rnn.c"
#include "rnn/f32_rnn_cell_avx2.c"
#include "rnn/f32_rnn_cell_avx512.c"
#include "rnn/f32_rnn_cell_neon.c"
#include "rnn/f32_rnn_cell_scalar.c"
#include "rnn/f64_rnn.c"
