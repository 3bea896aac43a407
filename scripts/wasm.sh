#!/usr/bin/env bash
# wasm.sh [FOLDER] compiles the kernels to kernels.wasm, a position-independent module, in
# bindings/internal/wasm or another folder. kernels.sum beside it has the compiler's version and the
# sums of the module and of its sources. The compiler is zig of .venv, and wasm-opt comes from npm: the
# same sources give the same bytes everywhere.
#
# C needs functions of the standard library. Some are musl's, and zig has the others in its own
# language: compiler_rt.zig and c.zig. An unknown function is an error, so the module imports memory,
# a table, its places in them, the function that yields, and nothing else.
set -euo pipefail
export LC_ALL=C
cd "$(dirname "$(dirname "$(readlink -f "$0")")")"
mkdir -p build/zig "${1:-bindings/internal/wasm}"
export ZIG_GLOBAL_CACHE_DIR=$PWD/build/zig ZIG_LOCAL_CACHE_DIR=$PWD/build/zig
out=$(cd "${1:-bindings/internal/wasm}" && pwd)
lib=$(.venv/bin/python -c 'import pathlib, ziglang; print(pathlib.Path(ziglang.__file__).parent / "lib")')

opt=$(scripts/wasm/binaryen.sh)

families=(attention blocks conv copy eltwise half matmul ml nbits norm pool probe quant random reduce resize rnn)
musl=(__expo2 __math_divzero __math_divzerof __math_invalid __math_invalidf __math_oflow __math_oflowf __math_uflow
  __math_uflowf __math_xflow __math_xflowf acosh asinh asinhf atanh atanhf erf exp2f_data exp_data expm1 ldexpf pow
  pow_data powf powf_data scalbnf sinh)
exports=(nacre_probe_read nacre_run nacre_wasm_detect nacre_wasm_failure nacre_wasm_fits nacre_wasm_level
  nacre_wasm_pack nacre_wasm_packed nacre_wasm_rate nacre_wasm_row nacre_wasm_scratch nacre_wasm_search
  nacre_wasm_whole)
target=(-target wasm32-wasi -mcpu=generic+bulk_memory+nontrapping_fptoint+sign_ext+simd128 -fPIC)

zig() { .venv/bin/python -m ziglang "$@"; }
# compile reads names of files, which stand for NAME in its arguments. Loops are unrolled and turned
# into vectors, and functions inlined, where the code asks for it: elsewhere that takes half as many
# bytes again.
compile() {
  xargs -P "$(nproc)" -I NAME .venv/bin/python -m ziglang cc "${target[@]}" -std=c11 -O3 -g0 -fvisibility=hidden \
    -ffp-contract=off -fno-unroll-loops -fno-vectorize -fno-slp-vectorize -mllvm -inline-threshold=0 "$@"
}

objects=$(mktemp -d)
trap 'rm -rf "$objects"' EXIT
(cd "$objects" && mkdir "${families[@]}" libc)
printf "%s\n" csrc/wasm.c $(printf "csrc/%s/*.c " "${families[@]}") | sed "s,^csrc/,," |
  compile -D_DEFAULT_SOURCE -fopenmp-simd -Icsrc -Wall -Wextra -Werror -c csrc/NAME -o "$objects/NAME.o"
printf '%s\n' "${musl[@]}" |
  compile -D_GNU_SOURCE -w -I"$lib/libc/musl/src/include" -I"$lib/libc/musl/src/internal" \
    -I"$lib/libc/musl/arch/generic" -c "$lib/libc/musl/src/math/NAME.c" -o "$objects/libc/NAME.o"
for name in c compiler_rt; do
  zig build-obj "${target[@]}" -O ReleaseFast -fstrip -lc "$lib/$name.zig" -femit-bin="$objects/libc/$name.o"
done
zig wasm-ld --no-entry --shared --experimental-pic --strip-all "${exports[@]/#/--export=}" \
  "$objects"/*.o "$objects"/*/*.o -o "$objects/linked.wasm"
.venv/bin/python scripts/wasm/relocations.py "$objects/linked.wasm"
node "$opt" --enable-simd --enable-bulk-memory --enable-nontrapping-float-to-int --enable-sign-ext --enable-mutable-globals \
  -O3 "$objects/linked.wasm" -o "$out/kernels.wasm"

# sources are the files that reach the module.
sources() {
  find scripts/wasm.sh scripts/wasm csrc/wasm.c csrc/core "${families[@]/#/csrc/}" -name '*.sh' -o -name '*.py' -o -name '*.[ch]' -o -name '*.inc' |
    grep -v -e x86 -e avx -e amx -e neon | sort
}
{
  printf 'zig %s\n' "$(zig version)"
  (cd "$out" && sha256sum kernels.wasm)
  printf '%s  sources\n' "$(sources | xargs sha256sum | sha256sum | cut -d ' ' -f 1)"
} >"$out/kernels.sum"
