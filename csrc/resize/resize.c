#include "resize/resize.h"
#include "resize/taps.h"

extern const nacre_entry nacre_f32_resample_entry, nacre_resample_nearest_entry, nacre_f32_grid_entry,
    nacre_f32_regions_entry, nacre_f32_deform_entry, nacre_f32_deform_any_entry, nacre_f64_deform_entry,
    nacre_f32_affine_grid_entry;

// The signature of the rows of each op.
typedef nacre_f32_resample_fn resize_row_f32_resample;
typedef nacre_affine_points_fn resize_row_f32_affine_grid;
typedef nacre_resample_nearest_fn resize_row_resample_nearest;
typedef nacre_f32_taps_fn resize_row_f32_grid_sample, resize_row_f32_regions, resize_row_f32_deform_columns;

#define NACRE_FAMILY resize
#include "core/table.inc"
