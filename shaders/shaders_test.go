package shaders_test

import (
	"math/bits"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/shaders"
	"github.com/nacre-ml/nacre/shaders/internal/compile"
)

// each calls f for every module of the table.
func each(t *testing.T, f func(t *testing.T, m *shaders.Module)) {
	for _, k := range shaders.Kernels() {
		for _, v := range k.Variants {
			t.Run(k.Name+"/"+v.Name, func(t *testing.T) {
				m, err := shaders.Find(k.Name, v.Name)
				if err != nil {
					t.Fatal(err)
				}
				f(t, m)
			})
		}
	}
}

func index(t *testing.T) map[string]compile.Entry {
	text, err := shaders.Index()
	if err != nil {
		t.Fatal(err)
	}
	all, err := compile.ParseIndex(text)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestRows checks that rows are whole and that no two share a name.
func TestRows(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range shaders.Kernels() {
		if len(k.Variants) == 0 || k.Operands == 0 || k.Push > shaders.MaxPush {
			t.Errorf("%s: %d variants, %d operands, %d words of push constants", k.Name, len(k.Variants), k.Operands, k.Push)
		}
		if k.Writes == 0 || bits.Len32(k.Writes) > k.Operands {
			t.Errorf("%s writes operands %b of %d", k.Name, k.Writes, k.Operands)
		}
		for _, v := range k.Variants {
			if file := shaders.File(&k, &v); seen[file] {
				t.Errorf("%s is made twice", file)
			} else {
				seen[file] = true
			}
		}
	}
}

// TestFresh checks that each module was built from the present sources.
func TestFresh(t *testing.T) {
	entries := index(t)
	if len(entries) != len(compile.Jobs()) {
		t.Errorf("the index has %d modules, the table %d", len(entries), len(compile.Jobs()))
	}
	for _, j := range compile.Jobs() {
		hash, err := j.Hash(".")
		if err != nil {
			t.Fatal(err)
		}
		module, err := os.ReadFile("spv/" + j.File)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := shaders.Bytes(j.File); (err != nil) != strings.HasPrefix(j.File, compile.Emulated) {
			t.Errorf("%s is read from the program: %v", j.File, err)
		}
		if e := entries[j.File]; e.Source != hash || e.Module != compile.Sum(module) {
			t.Errorf("%s is not of these sources: run make shaders", j.File)
		}
	}
}

// TestSame compiles modules again, a few in a short run, and compares the bytes. Those with
// matrices are left out where their compiler was not built, which takes minutes and downloads:
// TestFresh says that they are of these sources.
func TestSame(t *testing.T) {
	dir := t.TempDir()
	entries := index(t)
	tools := map[bool]*compile.Tools{}
	left := 0
	for i, j := range compile.Jobs() {
		if testing.Short() && i%10 != 0 {
			continue
		}
		if _, ok := tools[j.Matrices]; !ok {
			found, err := j.Find(".")
			if !j.Matrices {
				testenv.Need(t, err)
			} else if err != nil {
				t.Log("modules with matrices are not compiled again, scripts/glslang/build.sh builds the compiler: ", err)
			}
			tools[j.Matrices] = found
		}
		with := tools[j.Matrices]
		if with == nil {
			left++
			continue
		}
		t.Run(strings.TrimSuffix(j.File, ".spv"), func(t *testing.T) {
			t.Parallel()
			if made := entries[j.File].Tools; made != with.Version {
				testenv.Skip(t, "made by ", made, ", here is ", with.Version)
			}
			code, err := j.Compile(with, ".", dir)
			if err != nil {
				t.Fatal(err)
			}
			if compile.Sum(code) != entries[j.File].Module {
				t.Error("other bytes than the module's")
			}
		})
	}
	t.Logf("%d modules with matrices were left out", left)
}

func TestFindUnknown(t *testing.T) {
	for _, name := range [][2]string{{"eltwise/none", "f32"}, {"eltwise/unary", "none"}} {
		if _, err := shaders.Find(name[0], name[1]); err == nil {
			t.Errorf("%v was found", name)
		}
	}
}

func TestNumber(t *testing.T) {
	if n, ok := shaders.Number("unary", "exp"); !ok || n != 18 {
		t.Errorf("exp is %d, %v", n, ok)
	}
	for _, name := range [][2]string{{"unary", "none"}, {"none", "exp"}} {
		if n, ok := shaders.Number(name[0], name[1]); ok {
			t.Errorf("%v is %d", name, n)
		}
	}
}

// TestNumbersDiffer checks that no include gives two functions one number.
func TestNumbersDiffer(t *testing.T) {
	define := regexp.MustCompile(`(?m)^#define F_(\w+) `)
	for _, include := range []string{"unary", "binary", "compare"} {
		text, err := os.ReadFile("include/" + include + ".glsl")
		if err != nil {
			t.Fatal(err)
		}
		seen := map[uint32]string{}
		for _, m := range define.FindAllStringSubmatch(string(text), -1) {
			n, ok := shaders.Number(include, m[1])
			if !ok || seen[n] != "" {
				t.Errorf("%s: %s is %d, %v, and so is %q", include, m[1], n, ok, seen[n])
			}
			seen[n] = m[1]
		}
		if len(seen) == 0 {
			t.Errorf("%s has no functions", include)
		}
	}
}

// TestModules compares the declarations of each module with its row.
func TestModules(t *testing.T) {
	used := map[*shaders.Kernel]uint32{} // operands of any variant
	each(t, func(t *testing.T, m *shaders.Module) {
		b := parse(t, m.Code)
		if b.version != 0x00010300 {
			t.Errorf("version %#x", b.version)
		}
		for _, c := range b.capabilities {
			need, known := capabilities[c]
			if !known || m.Variant.Needs&need != need {
				t.Errorf("capability %d is not among the needs %b", c, m.Variant.Needs)
			}
		}
		if most := uint32(len(m.Kernel.Constants)); len(b.constants) == 0 || b.constants[0] != 0 ||
			slices.Max(b.constants) > most {
			t.Errorf("specialization constants %v, in the row 0 to %d", b.constants, most)
		}
		if !slices.IsSorted(b.bindings) || slices.Max(b.bindings) >= uint32(m.Kernel.Operands) {
			t.Errorf("bindings %v, of %d operands", b.bindings, m.Kernel.Operands)
		}
		for _, k := range b.bindings {
			used[m.Kernel] |= 1 << k
		}
		if b.push != 4*m.Kernel.Push {
			t.Errorf("%d bytes of push constants, in the row %d words", b.push, m.Kernel.Push)
		}
	})
	for k, mask := range used {
		if mask != 1<<k.Operands-1 {
			t.Errorf("%s: operands %b are used by some variant, of %d", k.Name, mask, k.Operands)
		}
	}
}
