package standard_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op/standard"
)

// namingFolders hold code that is about operators: networks and cases made of nodes, files that name
// operators of their own, and weights that become nodes.
var namingFolders = []string{
	"runtime/internal/optest", "internal/topologies", "bench/gpu", "bench/operators", "formats", "quantize",
}

// isNaming reports whether the files of a folder may name operators: families do, what they share
// does not.
func isNaming(folder string) bool {
	parent, name := filepath.Split(folder)
	return slices.Contains(namingFolders, folder) || parent == "runtime/internal/ops/" && name != "kit"
}

// patternFolder holds passes. Functions there match and write operators by name; variables do not
// list operators.
const patternFolder = "runtime/internal/optimize"

// namingFiles are the other places with names of operators. Do not add one to fix this test: a fact
// about operators is a column of op.Row.
var namingFiles = map[string][]string{
	"bench/versus/work.go":             {"Gather"},                        // a table is no weight
	"cmd/nacre/options.go":             {"Mean", "Sampling", "Tokenizer"}, // options of these names
	"generate/options.go":              {"TopK"},                          // an option of that name
	"generate/tokenizer/json_split.go": {"Split"},                         // a word of tokenizer files
	"internal/diagram/level.go":        {"Identity"},                      // its result is the value that it names
	"speech/chatterbox_codes.go":       {"DynamicQuantizeLinear"},         // a row of its results depends on all rows
	"speech/piper.go":                  {"Gather"},                        // the table of phonemes
	"text/modules.go":                  {"Identity", "Sigmoid", "Tanh"},   // functions of sentence-transformers' Dense
	"runtime/infer.go":                 {"Cast"},                          // conversions of tensors are this operator
	"runtime/graph/build.go":           {"Constant", "Identity"},          // nodes of every network
	"runtime/internal/optimize/expand_composed.go": { // the pass's table: what expands to other operators
		"Affine", "EngramGate", "Hardmax", "ImageScaler", "LinearAttentionGate", "MatMulFpQ4", "MatMulInteger16",
		"MeanVarianceNormalization", "ParametricSoftplus",
		"Scale", "ScaledSiLU", "ScaledTanh", "SoftmaxCrossEntropyLoss", "Softplus", "Tanh", "WordConvEmbedding",
	},
	"runtime/internal/optimize/fuse_quantized.go": {"DequantizeLinear", "QuantizeLinear"},    // parts of patterns
	"runtime/internal/optimize/fuse_residual.go":  {"Conv", "Gemm", "MatMul"},                // parts of patterns
	"runtime/internal/optimize/pattern.go":        {"Div", "Mul", "Pow"},                     // parts of patterns
	"runtime/internal/ops/kit/derivative.go":      {"Expand", "Reshape", "Shape", "SumLike"}, // nodes that derivatives add
	"runtime/internal/ops/kit/activation.go":      append(activationNames(), "Mul", "Sub"),   // the table, and nodes that derivatives add
}

// activationNames lists the table of activations.
func activationNames() (list []string) {
	for _, a := range kit.Activations() {
		list = append(list, a.Name)
	}
	return list
}

// TestOperatorNames finds lists of operators by name outside the places above. Names in lower case
// are the kernels' and not looked for.
func TestOperatorNames(t *testing.T) {
	names := map[string]bool{}
	for _, row := range standard.Registry().Rows() {
		names[row.Name] = unicode.IsUpper(rune(row.Name[0]))
	}
	const root = "../../.."
	found := map[string]map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel := strings.TrimPrefix(filepath.ToSlash(path), root+"/")
		if d.IsDir() {
			hidden := strings.HasPrefix(d.Name(), ".") && d.Name() != ".."
			if hidden || slices.Contains([]string{"testdata", "build", "vendor"}, d.Name()) || isNaming(rel) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(rel, ".go") || strings.HasSuffix(rel, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		patterns := strings.HasPrefix(rel, patternFolder+"/")
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BlockStmt:
				return !patterns
			case *ast.BasicLit:
				if name, err := strconv.Unquote(n.Value); err == nil && names[name] {
					if found[rel] == nil {
						found[rel] = map[string]bool{}
					}
					found[rel][name] = true
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for file, set := range found {
		for name := range set {
			if !slices.Contains(namingFiles[file], name) {
				t.Errorf("%s names the operator %s; make the fact a column of op.Row", file, name)
			}
		}
	}
	for file, list := range namingFiles {
		for _, name := range list {
			if !found[file][name] {
				t.Errorf("%s names %s no more; take it off the list", file, name)
			}
		}
	}
}
