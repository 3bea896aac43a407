#include "attention/attention.h"
#include "core/target.h"

void nacre_f32_linear_attention__scalar(const nacre_linear_attention_token *t, float *state, float *out) {
    for (size_t m = 0; m < t->dv; m++) {
        double found = 0;
        for (size_t d = 0; d < t->dk; d++) {
            if (t->decay != NULL) state[d * t->dv + m] *= t->decay[d * t->decay_step];
            found += (double)state[d * t->dv + m] * t->k[d];
        }
        const float add = t->beta == NULL ? t->v[m] : *t->beta * (t->v[m] - (float)found);
        for (size_t d = 0; d < t->dk; d++) state[d * t->dv + m] += t->k[d] * add;
        for (size_t h = 0; h < t->queries; h++) {
            double sum = 0;
            for (size_t d = 0; d < t->dk; d++) sum += (double)state[d * t->dv + m] * t->q[h * t->q_step + d];
            out[h * t->dv + m] = (float)sum * t->scale;
        }
    }
}
