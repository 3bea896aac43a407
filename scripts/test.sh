#!/usr/bin/env bash
# Checks of the project, one after the other; the first that fails ends the run.
# Steps of a group check the same code in other ways, each at about the same cost. A run without
# arguments takes every step without a group, and one of each group, which the commit chooses, so
# that commits take turns. Steps that check many systems or sizes then take one of them likewise, and
# tests of Vulkan one of the sets of features that devices lack.
# The argument full takes all, those of the group full too; names of steps take just these, whole.
# scripts/setup-test.sh installs what the steps need.
set -euo pipefail
cd "$(dirname "$0")/.."
export GOFLAGS="${GOFLAGS:+$GOFLAGS }-trimpath" # Go code is built once, whatever folder the checkout is in
export NACRE_TEST_COMPLETE=1 # what a test would leave out for want of data or a tool is a failure
export NACRE_ONNX_DATA=$PWD/.cache/onnx/1.22.0
# Tests of Vulkan run on Mesa's device in software, on one thread, whatever else there is.
export LP_NUM_THREADS=1
for driver in /usr/share/vulkan/icd.d/lvp_icd.*.json; do
  [ ! -e "$driver" ] || export VK_DRIVER_FILES=$driver VK_ICD_FILENAMES=$driver
done
long=80m # no test or model ends for want of time on a slow machine: what is stuck, ends with the whole run
patience=-timeout=$long
mkdir -p build
sources() { git ls-files --cached --others --exclude-standard "$@"; }

format() { # gofmt
  local bad
  bad=$(sources '*.go' | xargs gofmt -l)
  [ -z "$bad" ] || { printf 'not formatted (make fmt does it):\n%s\n' "$bad" >&2; return 1; }
}

vet() { # go vet, with and without cgo
  go vet ./...
  go -C bench/plot vet ./...
  CGO_ENABLED=0 go vet ./...
  CGO_ENABLED=0 go build ./...
}

# share prints the lines of its input, or the one that NACRE_TEST_SAMPLE chooses.
share() {
  awk -v sample="${NACRE_TEST_SAMPLE-}" '{ line[NR - 1] = $0 }
    END { for (i = 0; i < NR; i++) if (sample == "" || i == sample % NR) print line[i] }'
}

# systems prints the systems of the table in README.md whose row names a step, GOOS/GOARCH.
systems() { # STEP
  awk -F ' *[|] *' -v step="\`$1\`" 'index($4, step) { gsub(", ", "\n", $2); print $2; found = 1 } END { exit !found }' README.md
}

cross() { # everything compiles without cgo for other systems and processors
  local target targets
  targets=$(systems cross)
  for target in $targets; do
    printf '%s\n' "$target"
    CGO_ENABLED=0 GOOS=${target%/*} GOARCH=${target#*/} go build ./...
    CGO_ENABLED=0 GOOS=${target%/*} GOARCH=${target#*/} go vet ./bindings ./bindings/internal/... ./bindings/wazero
  done
}

ports() { # the command with its kernels, as a recent clang compiles and links them for other systems
  local target targets
  targets=$(systems ports | share)
  # shellcheck disable=SC2086 # one argument for each system
  scripts/ports.sh $targets
  for target in $targets; do
    case $target in
    linux/amd64) build/ports/linux-amd64/nacre demo | tail -n 1 ;;
    linux/arm64) qemu-aarch64 -L /usr/aarch64-linux-gnu build/ports/linux-arm64/nacre demo | tail -n 1 ;;
    esac
  done
}

wine() { # the command and the kernels for Windows, in Wine
  scripts/test-wine.sh
  conform nacre-windows all
  CC="'$PWD/scripts/zig.sh' windows/amd64" CGO_ENABLED=1 GOOS=windows GOARCH=amd64 \
    go test "$patience" -short -exec "$PWD/scripts/wine.sh" ./bindings ./runtime/internal/cpu ./packed
}

cold() { # the processor time of a build with an empty cache
  scripts/cold-build.sh
}

staticcheck() { # staticcheck, at the version that go.mod pins
  go tool staticcheck ./...
}

tidy() { # go.mod and go.sum say exactly what the code needs
  go mod tidy -diff
  go -C bench/plot mod tidy -diff
}

data() { # the official ONNX backend tests, a voice, and the dictionary behind the model of English words
  scripts/fetch-onnx-data.sh
  scripts/fetch-voice.sh
  scripts/fetch-cmudict.sh
}

tests() { # go test of every package, first of the one that takes longest
  # Step vet has what go test would vet again.
  go test "$patience" -vet=off ./runtime/vulkan ./...
  go -C bench/plot test ./...
}

# node starts a program for js/wasm in Node.
node=$(go env GOROOT)/lib/wasm/go_js_wasm_exec

# conform runs the official tests with a program at some levels of instruction sets; none may
# fail or be left out. Levels that the CPU lacks count for nothing.
conform() { # PROGRAM LEVELS OPTION...
  local program=$1 levels=$2 start=()
  shift 2
  [[ $program != *.wasm ]] || start=("$node")
  printf '%s with %s%s: ' "$program" "$levels" "${*:+, $*}"
  NACRE_ISA=${levels/all/} "${start[@]}" "build/$program" conformance "$NACRE_ONNX_DATA" --timeout "$long" "$@" >build/conformance.txt || true
  tail -n 20 build/conformance.txt
  grep -qx '1914 passed, 0 failed, 0 skipped' build/conformance.txt
}

conformance() { # the official tests on one thread and two, optimised and not
  go build -o build/nacre ./cmd/nacre
  conform nacre all --threads 1
  conform nacre all --threads 2
  conform nacre all --threads 1 --no-optimize
  conform nacre all --threads 2 --no-optimize
}

levels() { # the official tests at levels of instruction sets below the best
  go build -o build/nacre ./cmd/nacre
  conform nacre scalar
  conform nacre avx2
  conform nacre avx2,avx512
  conform nacre avx2,avx512,avx512vnni
}

vulkan() { # the official tests on a Vulkan device; the operators that ran there may not become fewer
  go build -o build/nacre ./cmd/nacre
  conform nacre all --device vulkan:0 --where build/vulkan.txt
  local lost
  lost=$(LC_ALL=C comm -23 runtime/vulkan/testdata/official.txt build/vulkan.txt)
  [ -z "$lost" ] || { printf 'not on the device any more:\n%s\n' "$lost" >&2; return 1; }
  printf '%d operators with element types ran on the device\n' "$(wc -l <build/vulkan.txt)"
}

swiftshader() { # the shaders on another Vulkan device in software, of chromium; it has subgroups of 4 and few features
  local -x VK_DRIVER_FILES=/usr/lib/chromium/vk_swiftshader_icd.json
  local -x VK_ICD_FILENAMES=$VK_DRIVER_FILES
  go test "$patience" -count=1 -vet=off -short -skip '^TestNodes$/low_limits' ./runtime/vulkan
}

subgroups() { # the shaders with subgroups of other sizes than the usual 8
  local size list
  list=$(printf '%d\n' 1 2 4 16 32 64 | share)
  for size in $list; do
    printf 'subgroups of %d\n' "$size"
    LP_NATIVE_VECTOR_WIDTH=$((32 * size)) go test "$patience" -count=1 -vet=off -short \
      -run '^Test(Nodes|Codes|Counted|IndexSizes|FewRows|Depthwise|Turning|NormedProducts)$' -skip '^TestNodes$/low_limits' ./runtime/vulkan
  done
}

netlib() { # the rows of the system's CBLAS; CGO_LDFLAGS would compile all C code again
  go test "$patience" -short -tags netlib -ldflags='-extldflags=-lopenblas' ./bindings ./runtime/internal/cpu ./runtime/op/standard
}

scalar() { # the same kernels and operators with no instruction-set extension
  NACRE_ISA=scalar go test "$patience" -short ./bindings ./runtime/...
}

deadlines() { # every operator, on inputs that grow until a run takes long, ends soon after it is to end
  NACRE_TEST_DEADLINES=all go test "$patience" -count=1 -run Deadlines ./runtime/internal/optest
}

soak() { # everything at once under the race detector, a Vulkan device too; NACRE_SOAK_TIME says how long
  go test "$patience" -race -run '^TestSoak$' ./bench/soak -soak "${NACRE_SOAK_TIME:-10m}" -soak-device 0
}

race() { # the race detector; it does not see C, and has nothing to find where one goroutine works alone
  local kernels='Gemm|Conv|IntGemm|BlockedDense|Broadcast|BlockedDepthwise|ConvTranspose|Winograd|Gather|BlockedPooling|Copy|NBits|ByteConv|ByteConvThen|ConvShort'
  local alone='StreamsOffloaded|BoundStreamsOffloaded|InputsLeftOut|ReaderMemory'
  # One goroutine alone computes the cases of optest in Go.
  go list ./runtime/... ./formats/... ./generate/... ./speech/... ./text/... ./npy . | grep -v '/internal/optest$' |
    xargs go test "$patience" -race -short -skip "^Test($kernels|$alone)\$"
}

asan() { # out-of-bounds and use-after-free in C, in tests of kernels and in the official tests
  # The formulas that kernels are compared with are Go, most of it in runtime/internal/cpu.
  go test "$patience" -asan -gcflags=./runtime/internal/cpu=-asan=false -short ./bindings ./runtime/internal/cpu ./runtime/op/... ./runtime/internal/ops/...
  go build -asan -o build/nacre-asan ./cmd/nacre
  conform nacre-asan all
}

ubsan() { # undefined behaviour in C, in tests of kernels and in the official tests
  local -x CGO_CFLAGS='-g -O1 -fsanitize=undefined -fno-sanitize-recover=undefined' CGO_LDFLAGS=-fsanitize=undefined
  go test "$patience" -short ./bindings ./runtime/internal/cpu
  go build -o build/nacre-ubsan ./cmd/nacre
  conform nacre-ubsan all
}

emulated() { # the kernels of AVX-512, its extensions and AMX on any x86-64, as C
  CGO_CFLAGS='-g -O2 -Wno-psabi -DNACRE_EMULATED' go test "$patience" -short ./runtime/internal/cpu
}

clang() { # the kernels as clang compiles them
  CC=clang go test "$patience" -short ./bindings ./runtime/internal/cpu
}

neon() { # the kernels of 64-bit ARM, under emulation
  CC=aarch64-linux-gnu-gcc CGO_ENABLED=1 GOARCH=arm64 \
    go test "$patience" -short -exec 'qemu-aarch64 -L /usr/aarch64-linux-gnu' ./bindings ./runtime/internal/cpu ./packed
}

js() { # the engine and its kernels as WebAssembly, in Node
  # The memory of the process is Node's, a command on the only thread runs to its end, nothing starts a
  # process or maps a file, and there is no Vulkan.
  local elsewhere='MemoryIsFlat|CancelWithinStep|DeadlineOfSession|DeadlineOfRun|WaitForProgram|OpenContextLate'
  elsewhere+='|PictureMemory|PictureOfFewBytes|ShorterFile|StreamsOffloaded|BoundStreamsOffloaded'
  GOOS=js GOARCH=wasm go test "$patience" -vet=off -short -exec "$node" -skip "^Test($elsewhere)\$" . ./bindings ./packed \
    ./runtime ./runtime/graph ./runtime/tensor ./runtime/op/... ./runtime/internal/cpu ./runtime/internal/exec ./runtime/internal/plan
  GOOS=js GOARCH=wasm go build -o build/nacre.wasm ./cmd/nacre
  conform nacre.wasm all
}

wazero() { # the engine without cgo, and its kernels in wazero
  local elsewhere='StreamsOffloaded|BoundStreamsOffloaded' # there is no Vulkan
  CGO_ENABLED=0 go test "$patience" -vet=off -short -skip "^Test($elsewhere)\$" . ./bindings ./bindings/internal/heap \
    ./bindings/wazero ./runtime ./runtime/op/... ./runtime/internal/cpu ./runtime/internal/exec ./runtime/internal/plan
  CGO_ENABLED=0 go build -o build/nacre-wazero ./cmd/nacre
  conform nacre-wazero all
}

web() { # the page, in a browser; pictures of it are in build/screenshots
  scripts/web.sh
  go test "$patience" ./web
}

android() { # all code compiles for Android, and the programs are what its loader takes
  scripts/test-android.sh
}

library() { # csrc as a C library: both compilers, sanitizers, the cross build
  cmake --preset default -B build/gcc -DCMAKE_C_COMPILER=gcc
  cmake --build build/gcc --parallel "$(nproc)"
  cmake --preset default -B build/clang -DCMAKE_C_COMPILER=clang
  cmake --build build/clang --parallel "$(nproc)"
  cmake --preset sanitize
  cmake --build --preset sanitize --parallel "$(nproc)"
  cmake --preset aarch64
  cmake --build --preset aarch64 --parallel "$(nproc)"
}

consumer() { # a module of somebody else that uses this one
  scripts/test-consumer.sh
}

oracles() { # programs in Python are formatted and clean
  .venv/bin/ruff format --no-cache --check oracles
  .venv/bin/ruff check --no-cache oracles
  .venv/bin/ruff format --no-cache --config oracles/ruff.toml --check scripts
  .venv/bin/ruff check --no-cache --config oracles/ruff.toml scripts
}

peer() { # random models that ONNX Runtime answers: operators one by one, and whole networks
  local cases=build/peer
  rm -rf $cases
  mkdir -p $cases
  go build -o build/nacre ./cmd/nacre
  build/nacre devices --ops --json >$cases/known.json
  .venv/bin/python oracles/operators/kernels.py cmd/nacre/testdata/kernels.txt
  .venv/bin/python oracles/peer $cases --known $cases/known.json
  build/nacre conformance $cases/exact --rtol 0 --atol 0
  build/nacre conformance $cases/codes --rtol 0 --atol 1
  build/nacre conformance $cases/float32 --rtol 1e-3 --atol 1e-4
  build/nacre conformance $cases/float64 --rtol 1e-7 --atol 1e-8
}

converted() { # networks of other formats as ONNX, which ONNX Runtime answers
  rm -rf build/converted
  NACRE_CONVERTED=$PWD/build/converted go test -count=1 -run Converted ./formats/...
  .venv/bin/python oracles/formats/converted.py build/converted
  go build -o build/nacre ./cmd/nacre
  .venv/bin/python oracles/hugging/converted.py build/nacre formats/huggingface/testdata build/hugging
  .venv/bin/python oracles/formats/programs.py build/nacre "${NACRE_FIXTURES:-${NACRE_SHARED:-../shared}/fixtures}/oinf/generated/graphs" build/programs
}

networks() { # networks of others, in every way to run them; not in the list below: it downloads. Its table is build/networks.md
  scripts/fetch-networks.sh
  go build -o build/nacre ./cmd/nacre
  local way
  for way in '--isa scalar' '--isa avx2' '--threads 1' '--threads 2 --no-optimize' '--threads 2'; do
    printf '%s: ' "$way"
    # The bound, in KiB, ends a run that would fill the memory of the machine.
    # shellcheck disable=SC2086 # a way is several words
    (ulimit -v 16777216 && build/nacre conformance .cache/networks --rtol 1e-3 --atol 1e-5 --json build/networks.json $way)
  done
  .venv/bin/python oracles/networks .cache/networks --table build/networks.json >build/networks.md
}

# targets prints every fuzz target with its package.
targets() {
  local package
  sources '*_test.go' | xargs grep -l '^func Fuzz' | xargs -n 1 dirname | sort -u | while read -r package; do
    go test -list '^Fuzz' "./$package" | awk -v package="./$package" '/^Fuzz/ { print package, $1 }'
  done
}

fuzz() { # every fuzz target of every package, for a minute each; NACRE_FUZZ_TIME says otherwise
  local package target list
  list=$(targets)
  while read -r package target; do
    printf '%s %s\n' "$package" "$target"
    if ! go test "$package" -run '^$' -fuzz "^$target\$" -fuzztime "${NACRE_FUZZ_TIME:-60s}" -fuzzminimizetime 10s </dev/null |&
      tee build/fuzz.txt; then
      # go test may take the end of its own time for a failure. A failing input is written, and said to be.
      grep -qx ' *context deadline exceeded' build/fuzz.txt
      ! grep 'Failing input' build/fuzz.txt || return 1
    fi
  done <<<"$list"
}

vulnerabilities() { # no dependency has a known vulnerability that the code reaches; its database is on the internet
  if ! curl --silent --fail --max-time 20 --output /dev/null https://vuln.go.dev/index/db.json; then
    echo 'vulnerabilities: left out, because the database of vulnerabilities (vuln.go.dev) cannot be reached'
    return
  fi
  go run golang.org/x/vuln/cmd/govulncheck@v1.9.0 ./...
}

matrices() { # Vulkan on a device in software with cooperative matrices; not in the list below: it downloads a root of Debian sid, and must be root
  go build -o build/nacre ./cmd/nacre
  go test -c -o build/vulkan.test ./runtime/vulkan
  scripts/sid.sh build/nacre devices | grep 'level L3'
  scripts/sid.sh env -C "$PWD/runtime/vulkan" "$PWD/build/vulkan.test" "-test.${patience#-}"
  scripts/sid.sh build/nacre conformance "$NACRE_ONNX_DATA" --device vulkan:0 --timeout 5m >build/conformance.txt || true
  tail -n 20 build/conformance.txt
  grep -qx '1914 passed, 0 failed, 0 skipped' build/conformance.txt
}

tokenizers() { # ids, texts and chats that packages of PyPI answer
  oracles/tokenizers/compare.sh 2000
}

# Every step, and the group it belongs to.
table='
format
tidy
cold
vet
staticcheck
data
web
tests
conformance
vulkan
oracles
peer
converted
tokenizers
cross        build
android      build
library      build
ports        build
consumer     build
race         long
asan         long
ubsan        long
neon         long
js           long
wazero       long
scalar       short
levels       short
emulated     short
clang        short
netlib       short
swiftshader  short
subgroups    short
wine         full
deadlines    full
soak         full
fuzz         full
vulnerabilities full
'

# sampled prints the steps of a run without arguments. The commit, or NACRE_TEST_SEED, is the
# number that chooses in each group; the last line is the part of it that steps choose by.
sampled() {
  local seed=${NACRE_TEST_SEED:-$((16#$(git rev-parse --short=7 HEAD | cut -c1-7)))}
  awk -v seed="$seed" '
    NF == 1 { print $1 }
    NF == 2 && $2 != "full" { if (!members[$2]++) group[++groups] = $2; step[$2, members[$2] - 1] = $1 }
    END {
      for (i = 1; i <= groups; i++) {
        n = members[group[i]]
        print step[group[i], seed % n]
        seed = int(seed / n)
      }
      print seed
    }' <<<"$table"
}

unset NACRE_TEST_SAMPLE
case ${1-} in
'')
  mapfile -t steps < <(sampled)
  export NACRE_TEST_SAMPLE=${steps[-1]}
  unset 'steps[-1]'
  ;;
full) mapfile -t steps < <(awk 'NF { print $1 }' <<<"$table") ;;
*) steps=("$@") ;;
esac
[ $# -gt 0 ] || printf 'steps: %s\n' "${steps[*]}"
all=$SECONDS
for step in "${steps[@]}"; do
  printf '\n== %s\n' "$step"
  TIMEFORMAT="== $step: %0R s, of processors %0U s"
  # A subshell of its own, outside any condition, so that set -e holds in it.
  set +e
  time (set -e; "$step")
  status=$?
  set -e
  if [ $status -ne 0 ]; then
    printf '\nFAILED: step %s (scripts/test.sh %s repeats it)\n' "$step" "$step" >&2
    exit 1
  fi
done
printf '\nPASSED: %d steps in %d s\n' ${#steps[@]} $((SECONDS - all))
