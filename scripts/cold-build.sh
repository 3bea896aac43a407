#!/usr/bin/env bash
# The processor time of a build of the command by itself: of this module and what it
# requires, with nothing in the build cache but the standard library. Fails above a bound,
# which is a multiple of what the standard library and C files of vectors take just before:
# half of the module's time is C, and machines and minutes differ in what each language
# takes. Other work on the machine slows one build more than the next, so a ratio above the
# bound is measured again: the bound is for the least of up to five. What was built last goes
# to the build cache, so that steps after this one need not build it again.
set -euo pipefail
cd "$(dirname "$0")/.."
bound=1.6 # quiet machines take from 1.15 to 1.4, by the kind of their processor; the rest is for other work
runs=5
files=24 # of C, which take two thirds as long as the standard library

cache=$(go env GOCACHE)
tmp=$(mktemp -d)
trap 'chmod -R u+w "$tmp"; rm -rf "$tmp"' EXIT
export GOCACHE=$tmp/cache CCACHE_DISABLE=1
TIMEFORMAT='%U %S'

reference() { # what the module's build is compared with
  go build std
  seq "$files" | xargs -P "$(nproc)" -I{} "$(go env CC)" -O2 -c "$tmp/vectors.c" -o "$tmp/{}.o"
}

{
  cat <<'C'
typedef float vector __attribute__((vector_size(16)));
#define ROWS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define DECLARE(i) vector a##i = y[i], b##i = y[i + 8];
#define STEP(i) a##i += x[i + N] * w[0], b##i += x[i + N] * w[1];
#define STORE(i) y[i] = a##i / b##i, y[i + 8] = b##i - a##i;
#define FORM(n)                                                                   \
    void form_##n(const vector *x, const vector *w, vector *y, unsigned long k) { \
        enum { N = n };                                                           \
        ROWS(DECLARE)                                                             \
        for (; k > N; k -= N, w += 2) {                                           \
            ROWS(STEP)                                                            \
            x += N;                                                               \
            ROWS(STEP)                                                            \
        }                                                                         \
        ROWS(STORE)                                                               \
    }
C
  seq -f 'FORM(%g)' 100
} >"$tmp/vectors.c"

go mod download # no part of a build
for ((run = 1; run <= runs; run++)); do
  rm -rf "$GOCACHE"
  { time reference 2>&3; } 3>&2 2>"$tmp/reference"
  { time go build -o "$tmp/nacre" ./cmd/nacre 2>&3; } 3>&2 2>"$tmp/module"
  if paste "$tmp/reference" "$tmp/module" | awk -v bound=$bound '{
    reference = $1 + $2
    module = $3 + $4
    printf "%.1f s of processor time (%.1f user, %.1f system), %.2f of the %.1f s of the standard library and of C; the bound is %.2f\n",
      module, $3, $4, module / reference, reference, bound
    exit module > bound * reference
  }'; then
    cp -Rn "$GOCACHE/." "$cache/"
    exit 0
  fi
done
exit 1
