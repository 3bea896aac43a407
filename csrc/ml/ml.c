#include "ml/ml.h"

// The signature of the rows of each op.
typedef nacre_f32_rbf_fn ml_row_f32_rbf;
typedef nacre_f32_descend_fn ml_row_f32_forest;
typedef nacre_f64_descend_fn ml_row_f64_forest;

#define NACRE_FAMILY ml
#include "core/table.inc"
