package runtime_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// allowed is the import lattice of the module: inside the module, a package of the left column may
// import the packages on its right. Do not relax a row to fix a build: a missing edge means that
// code is in the wrong place. An edge that no file needs is an error, too.
const allowed = `
packed                   :
csrc                     :
internal/beneath         :
internal/budget          :
internal/jsonobject      :
internal/pieces          :
internal/printable       :
internal/resample        : internal/pieces
internal/testenv         :
internal/stages          :
internal/topologies      : runtime/graph runtime/tensor
shaders                  :
shaders/internal/compile : shaders
shaders/internal/generate : shaders/internal/compile
internal/mapped          :
internal/output          : internal/mapped
internal/guard           : internal/mapped runtime/graph
formats/internal/binio   : internal/beneath internal/mapped internal/pieces
csrc/FAMILY              : csrc
bindings/internal/families : csrc/FAMILY
bindings/internal/heap   :
bindings/internal/hosted :
bindings/internal/wasm   :
bindings                 : csrc bindings/internal/families bindings/internal/heap bindings/internal/hosted bindings/internal/wasm
bindings/wazero          : bindings/internal/hosted
bindings/vulkan          : csrc/FAMILY
runtime/tensor           : packed internal/mapped internal/printable
internal/elements        : packed runtime/tensor
runtime/graph            : runtime/tensor internal/printable
runtime/internal/picture/jpeg :
runtime/internal/picture/jpeg2000 :
runtime/internal/picture : runtime/internal/picture/jpeg runtime/internal/picture/jpeg2000
runtime/op               : internal/elements internal/guard runtime/graph runtime/tensor
runtime/internal/ops/kit           : internal/elements internal/guard runtime/graph runtime/op runtime/tensor
runtime/internal/ops/array         : internal/elements runtime/graph runtime/internal/ops/kit runtime/op runtime/tensor packed
runtime/internal/ops/arith         : internal/elements runtime/graph runtime/internal/ops/kit runtime/op runtime/tensor packed
runtime/internal/ops/nn            : internal/elements runtime/graph runtime/internal/ops/kit runtime/op runtime/internal/ops/arith runtime/tensor
runtime/internal/ops/attention     : runtime/graph runtime/internal/ops/kit runtime/op runtime/internal/ops/nn runtime/tensor
runtime/internal/ops/quant         : internal/elements internal/guard runtime/graph runtime/internal/ops/kit runtime/op runtime/internal/ops/arith runtime/internal/ops/array runtime/internal/ops/attention runtime/internal/ops/nn runtime/tensor packed
runtime/internal/ops/moe           : runtime/graph runtime/internal/ops/kit runtime/op runtime/internal/ops/quant runtime/tensor
runtime/internal/ops/control       : runtime/graph runtime/internal/ops/kit runtime/op runtime/internal/ops/array runtime/tensor
runtime/internal/ops/ml            : internal/elements runtime/graph runtime/internal/ops/kit runtime/op runtime/tensor
runtime/internal/ops/text          : runtime/graph runtime/internal/ops/kit runtime/op runtime/tensor
runtime/internal/ops/signal        : runtime/graph runtime/internal/ops/kit runtime/op runtime/tensor
runtime/internal/ops/vision        : internal/elements runtime/graph runtime/internal/ops/kit runtime/op runtime/tensor runtime/internal/picture
runtime/internal/ops/openinfer     : internal/elements runtime/graph runtime/internal/ops/kit runtime/op runtime/tensor packed
runtime/op/standard      : runtime/op runtime/internal/ops/arith runtime/internal/ops/array runtime/internal/ops/attention runtime/internal/ops/control runtime/internal/ops/ml runtime/internal/ops/moe runtime/internal/ops/nn runtime/internal/ops/openinfer runtime/internal/ops/quant runtime/internal/ops/signal runtime/internal/ops/text runtime/internal/ops/vision
runtime/internal/fold             : runtime/graph runtime/op runtime/tensor
runtime/internal/optimize         : internal/elements internal/budget internal/stages runtime/graph runtime/internal/fold runtime/internal/ops/kit runtime/op runtime/tensor
runtime/internal/device           : internal/guard runtime/graph runtime/internal/ops/kit runtime/op runtime/tensor
runtime/internal/lower            : runtime/internal/device runtime/graph runtime/internal/ops/kit runtime/op runtime/internal/ops/arith runtime/internal/ops/array runtime/internal/ops/attention runtime/internal/ops/nn runtime/internal/ops/quant runtime/internal/ops/vision runtime/tensor
runtime/internal/cpu              : internal/elements internal/budget internal/guard internal/stages runtime/internal/device runtime/internal/lower runtime/graph runtime/internal/ops/kit runtime/op runtime/internal/ops/arith runtime/internal/ops/array runtime/internal/ops/attention runtime/internal/ops/ml runtime/internal/ops/moe runtime/internal/ops/nn runtime/internal/ops/openinfer runtime/internal/ops/quant runtime/internal/ops/vision runtime/tensor packed bindings internal/mapped
runtime/vulkan           : internal/elements internal/guard bindings/vulkan shaders runtime/internal/device runtime/internal/lower runtime/graph runtime/internal/ops/kit runtime/op runtime/internal/ops/arith runtime/internal/ops/array runtime/internal/ops/attention runtime/internal/ops/nn runtime/internal/ops/openinfer runtime/internal/ops/quant runtime/internal/ops/signal runtime/internal/ops/text runtime/internal/ops/vision runtime/tensor packed
runtime/internal/plan             : internal/guard internal/stages runtime/internal/device runtime/internal/fold runtime/graph runtime/internal/ops/kit runtime/op runtime/tensor internal/printable
runtime/internal/exec             : internal/guard runtime/internal/device runtime/internal/plan runtime/internal/ops/kit runtime/op runtime/graph runtime/tensor internal/printable
runtime/internal/optest/nets : runtime/graph runtime/tensor
runtime/internal/optest/cases : internal/guard runtime/graph runtime/internal/ops/kit runtime/op runtime/tensor packed
runtime/internal/optest/bodies : runtime/graph runtime/tensor runtime/internal/ops/kit
runtime/internal/optest/array : runtime/graph runtime/tensor runtime/internal/optest/cases packed
runtime/internal/optest/arith : runtime/graph runtime/tensor runtime/internal/optest/cases packed
runtime/internal/optest/nn : runtime/graph runtime/tensor runtime/internal/optest/cases runtime/internal/optest/arith
runtime/internal/optest/attention : runtime/graph runtime/tensor runtime/internal/optest/cases
runtime/internal/optest/quant : runtime/graph runtime/tensor runtime/internal/optest/cases runtime/internal/optest/arith runtime/internal/optest/attention runtime/internal/optest/nn packed
runtime/internal/optest/moe : runtime/graph runtime/tensor runtime/internal/optest/cases runtime/internal/optest/quant packed
runtime/internal/optest/ml : runtime/graph runtime/tensor runtime/internal/optest/cases
runtime/internal/optest/text : runtime/graph runtime/tensor runtime/internal/optest/cases
runtime/internal/optest/signal : runtime/graph runtime/tensor runtime/internal/optest/cases
runtime/internal/optest/vision : runtime/graph runtime/tensor runtime/internal/optest/cases
runtime/internal/optest/openinfer : runtime/graph runtime/tensor runtime/internal/optest/cases
runtime/internal/optest  : runtime/internal/cpu runtime/internal/device runtime/graph runtime/op runtime/op/standard runtime/internal/optest/arith runtime/internal/optest/array runtime/internal/optest/attention runtime/internal/optest/cases runtime/internal/optest/ml runtime/internal/optest/moe runtime/internal/optest/nn runtime/internal/optest/openinfer runtime/internal/optest/quant runtime/internal/optest/signal runtime/internal/optest/text runtime/internal/optest/vision bindings internal/testenv
internal/byname          : runtime runtime/graph runtime/tensor
runtime                  : internal/elements internal/budget internal/stages runtime/internal/cpu runtime/internal/device runtime/graph runtime/internal/ops/kit runtime/op runtime/op/standard runtime/internal/optimize runtime/internal/plan runtime/internal/exec runtime/tensor bindings
formats/internal/fixtures : internal/testenv
formats/internal/container : internal/elements internal/budget internal/guard runtime/graph runtime/tensor packed formats/internal/binio internal/output internal/mapped internal/pieces
formats/internal/converted : . formats formats/onnx runtime/tensor
formats/internal/decoder : runtime/graph runtime/tensor
formats/onnx             : internal/budget internal/guard internal/mapped runtime/graph runtime/tensor formats/internal/binio formats/internal/container internal/output internal/pieces packed
formats/safetensors      : internal/budget internal/guard internal/output internal/pieces runtime/graph runtime/tensor formats/internal/binio formats/internal/container
formats/internal/exchange : internal/guard runtime/graph runtime/tensor formats/internal/container formats/gguf
formats/huggingface      : internal/guard runtime/graph runtime/tensor formats/gguf formats/internal/container formats/internal/decoder formats/internal/exchange
formats/oinf             : internal/budget internal/guard internal/pieces runtime/graph runtime/tensor formats/internal/binio formats/internal/container
formats/openinfer        : internal/elements formats/internal/container internal/budget internal/guard internal/jsonobject internal/pieces runtime/graph runtime/tensor packed
formats/gptrs            : internal/budget internal/guard runtime/graph runtime/tensor formats/internal/binio formats/internal/container formats/internal/decoder internal/printable
formats/gguf             : internal/budget internal/guard internal/pieces runtime/graph runtime/tensor packed formats/internal/binio formats/internal/container formats/internal/decoder
formats/hnw              : internal/budget internal/guard internal/pieces runtime/graph runtime/tensor formats/internal/binio formats/internal/container
formats/loom             : internal/budget internal/guard runtime/graph runtime/tensor packed formats/internal/binio formats/internal/container internal/mapped
formats/chelis           : internal/elements internal/guard runtime/graph runtime/tensor formats/hnw
generate/tokenizer/internal/jinja : internal/budget
generate/tokenizer       : internal/guard generate/tokenizer/internal/jinja internal/beneath internal/budget runtime/graph runtime/tensor
formats                  : internal/budget internal/guard internal/pieces formats/huggingface formats/onnx formats/safetensors formats/oinf formats/gguf formats/gptrs formats/hnw formats/loom formats/openinfer runtime/graph formats/internal/binio formats/internal/container formats/internal/exchange
.                        : internal/budget internal/guard internal/pieces internal/printable internal/resample internal/stages formats formats/onnx packed runtime runtime/graph runtime/op runtime/tensor
npy                      : . formats internal/budget internal/guard internal/pieces runtime/graph runtime/tensor
internal/invent          : . internal/pieces packed runtime/graph
internal/outline         : internal/printable runtime runtime/graph runtime/op runtime/op/standard runtime/tensor
internal/diagram         : internal/outline runtime/graph runtime/tensor
internal/diagram/page    : internal/diagram
web                      : speech
web/engine               : . bindings internal/diagram internal/invent speech
generate                 : . generate/tokenizer internal/beneath internal/guard
speech                   : . generate generate/tokenizer internal/beneath internal/guard npy packed runtime/graph speech/phonemes
text                     : . formats generate/tokenizer internal/beneath internal/guard runtime/graph
quantize                 : . bindings formats formats/gguf formats/loom internal/elements internal/guard internal/mapped packed runtime/graph runtime/tensor
cmd                      : . bindings bindings/wazero formats formats/chelis formats/gguf formats/gptrs formats/hnw generate generate/tokenizer internal/beneath internal/budget internal/diagram internal/diagram/page internal/elements internal/invent internal/jsonobject internal/outline internal/output internal/pieces internal/printable internal/stages npy quantize runtime runtime/graph runtime/op runtime/op/standard runtime/tensor runtime/vulkan speech web
bench                    : . bindings formats formats/onnx generate internal/elements internal/invent internal/topologies packed runtime/graph runtime/tensor runtime/vulkan
speech/phonemes/internal/letters :
speech/phonemes/internal/spoken  :
speech/phonemes/internal/english : speech/phonemes/internal/letters speech/phonemes/internal/spoken
speech/phonemes/internal/japanese :
speech/phonemes/internal/train   : speech/phonemes/internal/letters
speech/phonemes          : speech/phonemes/internal/english speech/phonemes/internal/japanese speech/phonemes/internal/spoken
examples/chat            : generate generate/tokenizer
examples/device          : . runtime/vulkan
examples/forest          : .
examples/hello           : .
examples/images          : .
examples/operator        : . runtime/op runtime/op/standard runtime/tensor
examples/search          : text
examples/static          : . bindings/wazero cmd
examples/voice           : . speech
scripts/sbom             :
`

// above lists packages that tests of a package import though they import the package themselves.
// Other tests import packages below and beside their own.
const above = `
.                        : generate speech text
formats/gguf             : . formats formats/internal/converted
formats/gptrs            : . formats formats/internal/converted
formats/hnw              : .
formats/huggingface      : . formats
formats/loom             : . formats formats/internal/converted
formats/openinfer        : . formats
runtime                  : internal/byname
runtime/internal/exec             : internal/byname runtime
runtime/internal/optimize         : internal/byname runtime
runtime/internal/plan             : internal/byname runtime
shaders                  : shaders/internal/compile
`

const module = "github.com/nacre-ml/nacre"

// lattice reads a table of packages and their imports.
func lattice(t *testing.T, table string) map[string][]string {
	t.Helper()
	edges := map[string][]string{}
	for line := range strings.Lines(strings.TrimSpace(table)) {
		from, to, ok := strings.Cut(line, ":")
		if !ok {
			t.Fatalf("no colon in %q", line)
		}
		edges[strings.TrimSpace(from)] = strings.Fields(to)
	}
	return edges
}

// rowOf returns the row of the table for a folder of the module.
func rowOf(folder string) string {
	switch top, family, _ := strings.Cut(folder, "/"); {
	case folder == "":
		return "."
	case top == "cmd" || top == "bench":
		return top
	case top == "csrc" && family != "":
		return "csrc/FAMILY"
	}
	return folder
}

// below returns every package that a row imports, directly or indirectly.
func below(edges map[string][]string, row string) map[string]bool {
	found := map[string]bool{}
	var visit func(row string)
	visit = func(row string) {
		for _, dep := range edges[row] {
			if dep != row && !found[dep] {
				found[dep] = true
				visit(dep)
			}
		}
	}
	visit(row)
	return found
}

func TestLayering(t *testing.T) {
	edges, upward := lattice(t, allowed), lattice(t, above)
	beneath := map[string]map[string]bool{}
	for row := range edges {
		beneath[row] = below(edges, row)
	}
	found := map[string]bool{}
	used := map[[2]string]bool{} // imports of packages, and of tests from above
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if n := d.Name(); n != ".." && (strings.HasPrefix(n, ".") || n == "testdata" || n == "build" || n == "vendor") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		folder := filepath.ToSlash(strings.TrimPrefix(strings.TrimPrefix(filepath.Dir(path), ".."), string(os.PathSeparator)))
		row := rowOf(folder)
		to, known := edges[row]
		if !known {
			t.Errorf("%s: package %s is not in the table", path, folder)
			return nil
		}
		found[row] = true
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			name := strings.Trim(spec.Path.Value, `"`)
			if name == "C" && folder != "bindings" && row != "csrc/FAMILY" {
				t.Errorf("%s imports C; only bindings and the families of kernels may", path)
			}
			if name != module && !strings.HasPrefix(name, module+"/") {
				continue
			}
			dep := rowOf(strings.TrimPrefix(strings.TrimPrefix(name, module), "/"))
			switch {
			case !strings.HasSuffix(path, "_test.go"):
				used[[2]string{row, dep}] = true
				if dep != row && !slices.Contains(to, dep) {
					t.Errorf("%s imports %s, which the table does not allow", path, dep)
				}
			case beneath[dep][row] && dep != row:
				used[[2]string{row, dep}] = true
				if !slices.Contains(upward[row], dep) {
					t.Errorf("%s is a test of a package below %s: it belongs there", path, dep)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for row, to := range edges {
		if !found[row] {
			t.Errorf("the table has a row %s, and there is no such package", row)
		}
		for _, dep := range to {
			switch _, known := edges[dep]; {
			case !known:
				t.Errorf("the row %s allows %s, which has no row", row, dep)
			case !used[[2]string{row, dep}]:
				t.Errorf("the row %s allows %s, which no file there imports", row, dep)
			}
		}
	}
	for row, to := range upward {
		for _, dep := range to {
			if !used[[2]string{row, dep}] {
				t.Errorf("tests of %s may import %s, and none does", row, dep)
			}
		}
	}
}
