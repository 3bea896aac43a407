package wasm

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/internal/testenv"
)

// sizeBound is the most bytes of the module when it is compressed, as pages send it.
const sizeBound = 275 << 10

func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}

// sources returns the files that reach the module, as the function of this name in scripts/wasm.sh
// does.
func sources(t *testing.T, root string) []string {
	t.Helper()
	families, err := filepath.Glob(filepath.Join(root, "csrc", "*", "kernels.inc"))
	if err != nil || len(families) == 0 {
		t.Fatalf("no families of kernels: %v", err)
	}
	list := []string{"scripts/wasm.sh", "scripts/wasm/binaryen.sh", "scripts/wasm/relocations.py", "csrc/wasm.c"}
	for _, rows := range append(families, filepath.Join(root, "csrc", "core", "kernels.inc")) {
		err := filepath.WalkDir(filepath.Dir(rows), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			name, err := filepath.Rel(root, path)
			if slices.Contains([]string{".c", ".h", ".inc"}, filepath.Ext(path)) {
				list = append(list, filepath.ToSlash(name))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	list = slices.DeleteFunc(list, func(name string) bool {
		return slices.ContainsFunc([]string{"x86", "avx", "amx", "neon"}, func(other string) bool {
			return strings.Contains(name, other)
		})
	})
	slices.Sort(list)
	return list
}

// TestSums compares the sums in kernels.sum with the module and its sources.
func TestSums(t *testing.T) {
	root := testenv.Root(t)
	var all bytes.Buffer
	for _, name := range sources(t, root) {
		data, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&all, "%s  %s\n", sum(data), name)
	}
	want := fmt.Sprintf("%s  kernels.wasm\n%s  sources\n", sum(Kernels), sum(all.Bytes()))
	got, err := os.ReadFile("kernels.sum")
	if err != nil {
		t.Fatal(err)
	}
	if _, sums, _ := strings.Cut(string(got), "\n"); sums != want {
		t.Errorf("kernels.sum has\n%s\nwant\n%s\nrun scripts/wasm.sh", sums, want)
	}
}

// TestCompiled compiles the module again, and expects the same bytes.
func TestCompiled(t *testing.T) {
	if !testenv.Complete() {
		t.Skip("complete runs alone compile all kernels again; TestSums compares the sums of module and sources")
	}
	_, err := testenv.FindPython(t, "ziglang")
	testenv.Need(t, err)
	_, err = exec.LookPath("npm")
	testenv.Need(t, err)
	folder := t.TempDir()
	script := filepath.Join(testenv.Root(t), "scripts", "wasm.sh")
	if out, err := exec.Command(script, folder).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range []string{"kernels.wasm", "kernels.sum"} {
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s differs from a new build", name)
		}
	}
}

// section returns the contents of a section of the module.
func section(t *testing.T, id byte) *bytes.Reader {
	t.Helper()
	if !bytes.HasPrefix(Kernels, []byte("\x00asm\x01\x00\x00\x00")) {
		t.Fatal("kernels.wasm is no module of WebAssembly 1")
	}
	for r := bytes.NewReader(Kernels[8:]); r.Len() > 0; {
		at, _ := r.ReadByte()
		body := make([]byte, number(t, r))
		if _, err := io.ReadFull(r, body); err != nil {
			t.Fatal(err)
		}
		if at == id {
			return bytes.NewReader(body)
		}
	}
	t.Fatalf("the module has no section %d", id)
	return nil
}

func number(t *testing.T, r *bytes.Reader) uint64 {
	t.Helper()
	n, err := binary.ReadUvarint(r)
	if err != nil || n > uint64(len(Kernels)) {
		t.Fatalf("number %d: %v", n, err)
	}
	return n
}

func text(t *testing.T, r *bytes.Reader) string {
	t.Helper()
	b := make([]byte, number(t, r))
	if _, err := io.ReadFull(r, b); err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestImports expects no imports besides memory, a table, the module's places in them, and the function
// that yields.
func TestImports(t *testing.T) {
	const function, table, memory, global = 0, 1, 2, 3
	var got []string
	r := section(t, 2)
	for range number(t, r) {
		name := text(t, r) + "." + text(t, r)
		kind, _ := r.ReadByte()
		switch kind {
		case function:
			number(t, r)
			name += " function"
		case table, memory:
			if kind == table {
				r.ReadByte() // the type of elements
			}
			flags, _ := r.ReadByte()
			for range 1 + flags&1 {
				number(t, r)
			}
		case global:
			r.ReadByte()
			r.ReadByte()
		default:
			t.Fatalf("%s is of kind %d", name, kind)
		}
		got = append(got, name)
	}
	slices.Sort(got)
	want := []string{"env.__indirect_function_table", "env.__memory_base", "env.__stack_pointer", "env.__table_base",
		"env.memory", "host.yield function"}
	if !slices.Equal(got, want) {
		t.Errorf("imports are %q, want %q", got, want)
	}
}

// TestExports expects the functions of csrc/wasm.c, and the one that moves the data to its place.
func TestExports(t *testing.T) {
	var got []string
	r := section(t, 7)
	for range number(t, r) {
		got = append(got, text(t, r))
		if kind, _ := r.ReadByte(); kind != 0 {
			t.Errorf("%s is of kind %d", got[len(got)-1], kind)
		}
		number(t, r)
	}
	slices.Sort(got)
	want := []string{"__wasm_apply_data_relocs", "nacre_probe_read", "nacre_run", "nacre_wasm_detect",
		"nacre_wasm_failure", "nacre_wasm_fits", "nacre_wasm_level", "nacre_wasm_pack", "nacre_wasm_packed",
		"nacre_wasm_rate", "nacre_wasm_row", "nacre_wasm_scratch", "nacre_wasm_search", "nacre_wasm_whole"}
	if !slices.Equal(got, want) {
		t.Errorf("exports are %q, want %q", got, want)
	}
}

// TestSize bounds the bytes that a page loads.
func TestSize(t *testing.T) {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(Kernels); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes, %d compressed", len(Kernels), out.Len())
	if out.Len() > sizeBound {
		t.Errorf("the module has %d bytes when compressed, want at most %d", out.Len(), sizeBound)
	}
}
