#include "random/random.h"

typedef nacre_random_units_fn random_row_random_fill, random_row_random_bernoulli;
extern const nacre_entry nacre_random_fill_entry, nacre_random_bernoulli_entry;

#define NACRE_FAMILY random
#include "core/table.inc"
