// Package shaders holds the compute shaders of the Vulkan device, as SPIR-V. It is no API for Go
// programs: package runtime/vulkan alone uses it.
//
// A kernel is one GLSL source, <family>/<name>.comp, and a row in the table of its
// family's Go file. Its variants differ by defines: in element types, capabilities or
// bindings. Each is a module in spv/, which scripts/shaders.sh writes and the repository
// keeps; users need no shader compiler.
//
// Every module follows the same conventions:
//   - operand k is the storage buffer at binding k of set 0; a variant may have no use for some
//   - parameters are push constants, at most 32 words of 4 bytes
//   - specialization constant 0 is the size of a group along x; Kernel.Constants names those
//     from 1 on
//   - invocations are counted along x and y of the grid
//
// To add a kernel, write the source and the row and run make shaders.
package shaders

import (
	"embed"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Feature is a set of features of devices.
type Feature uint32

const (
	Storage16          Feature = 1 << iota // 16-bit elements in buffers
	Storage8                               // 8-bit elements in buffers
	Int64                                  // 64-bit integers
	Float64                                // 64-bit floats
	Float16                                // arithmetic on 16-bit floats
	Int16                                  // arithmetic on 16-bit integers
	Int8                                   // arithmetic on 8-bit integers
	IntDot                                 // dot products of packed integers
	CoopMatrix                             // cooperative matrices
	CoopBF16                               // cooperative matrices of bfloat16
	Subgroup                               // subgroups
	SubgroupArithmetic                     // sums and maxima over subgroups
	SubgroupShuffle                        // shuffles in subgroups
	Clock                                  // the clock of subgroups
)

var featureNames = []string{
	"16-bit storage", "8-bit storage", "64-bit integers", "64-bit floats", "arithmetic on 16-bit " +
		"floats", "arithmetic on 16-bit integers",
	"arithmetic on 8-bit integers", "integer dot products", "cooperative matrices", "cooperative matrices of " +
		"bfloat16", "subgroups", "sums over subgroups", "shuffles in subgroups", "the clock of subgroups",
}

// String lists the features.
func (f Feature) String() string {
	var list []string
	for i, name := range featureNames {
		if f>>i&1 != 0 {
			list = append(list, name)
		}
	}
	return strings.Join(list, ", ")
}

// MaxPush is the number of words that every device takes as push constants.
const MaxPush = 32

// Kernel is a shader source with its operands, parameters and variants.
type Kernel struct {
	Name      string    // family and file, as in "eltwise/unary"
	Operands  int       // number of storage buffers
	Push      int       // words of push constants
	Writes    uint32    // bit k: operand k is written
	Constants []string  // names of the specialization constants from 1 on
	Variants  []Variant // at least one
}

// Variant is one way to compile a kernel.
type Variant struct {
	Name    string   // as in "f32"
	Defines []string // macros, as in "TYPE_F32" or "WIDTH=4"
	Needs   Feature  // the features that the device must have
}

// Module is a compiled variant. Modules are shared: callers do not change them.
type Module struct {
	Kernel  *Kernel
	Variant *Variant
	Code    []uint32 // SPIR-V
}

// files has no spv/_emulated: folders with such names are not embedded.
//
//go:embed spv include
var files embed.FS

// table is every kernel, by family. It is not changed.
var table = slices.Concat(
	attentionKernels,
	convKernels,
	copyKernels,
	countKernels,
	eltwiseKernels,
	gatherKernels,
	generateKernels,
	lossKernels,
	matmulKernels,
	normKernels,
	poolKernels,
	probeKernels,
	quantKernels,
	randomKernels,
	reduceKernels,
	resizeKernels,
	rnnKernels,
	scatterKernels,
	signalKernels,
	textKernels,
	visionKernels,
)

// Kernels returns the table. Callers do not change it.
func Kernels() []Kernel { return table }

// File returns the name of a variant's module, as in "eltwise_unary_f32.spv".
func File(k *Kernel, v *Variant) string {
	return strings.ReplaceAll(k.Name, "/", "_") + "_" + v.Name + ".spv"
}

// Index returns the text of spv/index.
func Index() (string, error) {
	data, err := files.ReadFile("spv/index")
	return string(data), err
}

// Bytes returns the content of a file that File names.
func Bytes(file string) ([]byte, error) { return files.ReadFile("spv/" + file) }

type moduleName struct{ kernel, variant string }

// cache holds the modules that were asked for, by moduleName.
var cache sync.Map

// Find returns the module of a kernel's variant.
func Find(kernel, variant string) (*Module, error) {
	name := moduleName{kernel, variant}
	if m, ok := cache.Load(name); ok {
		return m.(*Module), nil
	}
	k, v, err := row(kernel, variant)
	if err != nil {
		return nil, err
	}
	data, err := Bytes(File(k, v))
	if err != nil {
		return nil, fmt.Errorf("shaders: %w", err)
	}
	m, err := NewModule(k, v, data)
	if err != nil {
		return nil, err
	}
	found, _ := cache.LoadOrStore(name, m)
	return found.(*Module), nil
}

// NewModule returns a module of the bytes of a file.
func NewModule(k *Kernel, v *Variant, data []byte) (*Module, error) {
	if len(data)%4 != 0 {
		return nil, fmt.Errorf("shaders: %s has %d bytes, not whole words", File(k, v), len(data))
	}
	m := &Module{Kernel: k, Variant: v, Code: make([]uint32, len(data)/4)}
	for i := range m.Code {
		m.Code[i] = binary.LittleEndian.Uint32(data[4*i:])
	}
	return m, nil
}

// ErrVariant is the error of Find for a kernel without the variant.
var ErrVariant = errors.New("has no variant")

func row(kernel, variant string) (*Kernel, *Variant, error) {
	i := slices.IndexFunc(table, func(k Kernel) bool { return k.Name == kernel })
	if i < 0 {
		return nil, nil, fmt.Errorf("shaders: no kernel %s", kernel)
	}
	k := &table[i]
	j := slices.IndexFunc(k.Variants, func(v Variant) bool { return v.Name == variant })
	if j < 0 {
		return nil, nil, fmt.Errorf("shaders: kernel %s %w %s", kernel, ErrVariant, variant)
	}
	return k, &k.Variants[j], nil
}

// numbers holds the defines F_ of the includes that were asked for, by include.
var numbers sync.Map

// Number returns the value of F_<name> in include/<include>.glsl: Number("unary", "exp")
// is the function that computes exponentials in eltwise/unary.
func Number(include, name string) (uint32, bool) {
	all, ok := numbers.Load(include)
	if !ok {
		text, err := files.ReadFile("include/" + include + ".glsl")
		if err != nil {
			return 0, false
		}
		all, _ = numbers.LoadOrStore(include, defines(string(text)))
	}
	n, ok := all.(map[string]uint32)[name]
	return n, ok
}

func defines(text string) map[string]uint32 {
	all := map[string]uint32{}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) != 3 || f[0] != "#define" || !strings.HasPrefix(f[1], "F_") {
			continue
		}
		if n, err := strconv.ParseUint(f[2], 10, 32); err == nil {
			all[f[1][len("F_"):]] = uint32(n)
		}
	}
	return all
}
