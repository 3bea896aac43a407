package onnx

import (
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/formats/internal/binio"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// outside builds a model of float32[2] constants in external files. Each entry gives the
// external_data of a constant as key=value.
func outside(entries ...string) []byte {
	return modelBytes(func(e *encoder) {
		for i, text := range entries {
			e.message(5, func(e *encoder) {
				e.int(1, 2)
				e.int(2, 1)
				e.entry(8, fmt.Sprint("w", i))
				for _, s := range strings.Fields(text) {
					key, value, _ := strings.Cut(s, "=")
					e.pairs(13, []graph.Pair{{Key: key, Value: value}})
				}
				e.int(14, 1)
			})
		}
	})
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
}

func openPath(path string) (*graph.Model, error) {
	f, err := binio.Open(path)
	if err != nil {
		return nil, err
	}
	m, err := Open(nil, f)
	if err != nil {
		f.Close()
	}
	return m, err
}

func TestExternal(t *testing.T) {
	dir := t.TempDir()
	model := filepath.Join(dir, "model")
	data := filled(tensor.F32, 4).Bytes()
	write(t, filepath.Join(model, "w.data"), data)
	write(t, filepath.Join(model, "sub", "deep", "w.data"), data)
	write(t, filepath.Join(dir, "secret"), data)
	write(t, filepath.Join(model, "hard"), data)
	if err := os.Link(filepath.Join(model, "hard"), filepath.Join(dir, "hard2")); err != nil {
		testenv.Skip(t, err)
	}
	for name, target := range map[string]string{
		"link": "w.data", "linkout": "../secret", "linkdir": "sub", "linkup": "..", "linkabs": dir,
		"linklink": "linkdir/../link", "linkround": "../model/w.data", "loop": "loop", "linknix": "nix", "linkpipe": "pipe",
	} {
		if err := os.Symlink(target, filepath.Join(model, name)); err != nil {
			testenv.Skip(t, err)
		}
	}
	makePipe(t, filepath.Join(model, "pipe"))
	cases := []struct {
		name    string
		entries string
		want    string // empty if it must open
	}{
		{"whole", "location=w.data offset=0 length=8", ""},
		{"from the middle", "location=w.data offset=8 length=8", ""},
		{"misaligned", "location=w.data offset=3 length=8", ""},
		{"no length", "location=w.data offset=8", ""},
		{"no offset", "location=w.data length=8", ""},
		{"dot", "location=./w.data", ""},
		{"in a folder", "location=sub/deep/w.data", ""},
		{"other keys", "location=w.data basepath=/etc checksum=00", ""},

		{"no location", "offset=0", "no location"},
		{"location empty", "location=", "no location"},
		{"location is the folder", "location=.", "names no file"},
		{"nowhere", "location=nix", "no such file"},
		{"nowhere, folder", "location=nix/w.data", "no such file"},
		{"above", "location=../secret", "no path beneath"},
		{"above by a detour", "location=sub/../../secret", "no path beneath"},
		{"dots that stay", "location=sub/../w.data", `a ".."`},
		{"absolute", "location=" + filepath.Join(dir, "secret"), "no path beneath"},
		{"absolute within", "location=" + filepath.Join(model, "w.data"), "no path beneath"},
		{"zero byte", "location=w.data\x00", "no path beneath"},
		{"memory marker", "location=*/_ORT_MEM_ADDR_/*", "no such file"},
		{"link", "location=link", ""},
		{"link out", "location=linkout", "leaves the model's folder"},
		{"linked folder", "location=linkdir/deep/w.data", ""},
		{"link to a link", "location=linklink", ""},
		{"link that goes out and in", "location=linkround", "leaves the model's folder"},
		{"link to itself", "location=loop", "loop"},
		{"link to nothing", "location=linknix", "no such file"},
		{"link to a pipe", "location=linkpipe", "no regular file"},
		{"linked folder above", "location=linkup/secret", "leaves the model's folder"},
		{"linked folder elsewhere", "location=linkabs/secret", "leaves the model's folder"},
		{"hard link", "location=hard", ""},
		{"folder", "location=sub", "no regular file"},
		{"pipe", "location=pipe", "no regular file"},
		{"file as folder", "location=w.data/x", "not a directory"},
		{"offset negative", "location=w.data offset=-1", `offset "-1"`},
		{"offset huge", "location=w.data offset=9223372036854775807", "too few"},
		{"offset beyond 64 bits", "location=w.data offset=99999999999999999999", "offset"},
		{"offset no number", "location=w.data offset=0x10", `offset "0x10"`},
		{"offset empty", "location=w.data offset=", `offset ""`},
		{"offset near the end", "location=w.data offset=9", "16 bytes, too few for 8 from byte 9 on"},
		{"length negative", "location=w.data length=-8", `length "-8"`},
		{"length short", "location=w.data length=4", "external data of 4 bytes where float32[2] takes 8"},
		{"length long", "location=w.data length=16", "external data of 16 bytes"},
		{"length huge", "location=w.data length=9223372036854775807", "external data of"},
		{"key unknown", "location=w.data __class__=x", `unknown key "__class__"`},
		{"key twice", "location=w.data location=secret", "twice"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(model, "model.onnx")
			write(t, path, outside(c.entries))
			m, err := openPath(path)
			checkRefused(t, err)
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %v, want %q", err, c.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := m.Graph.Initializers[0].Tensor.Bytes(); !bytes.Contains(data, got) || len(got) != 8 {
				t.Errorf("wrong bytes %v", got)
			}
			if err := m.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestExternalShared reads constants of one file. They share its map and may overlap.
func TestExternalShared(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "w.data"), make([]byte, 16))
	path := filepath.Join(dir, "model.onnx")
	write(t, path, outside("location=w.data", "location=./w.data offset=4", "location=w.data offset=4"))
	m, err := openPath(path)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	at := func(i int) uintptr { return uintptr(m.Graph.Initializers[i].Tensor.Pointer()) }
	if at(1) != at(0)+4 || at(2) != at(1) {
		t.Error("the file is mapped more than once")
	}
}

func TestExternalFiles(t *testing.T) {
	dir := t.TempDir()
	var entries []string
	for i := range 5 {
		write(t, filepath.Join(dir, fmt.Sprint(i)), make([]byte, 8))
		entries = append(entries, fmt.Sprint("location=", i))
	}
	write(t, filepath.Join(dir, "model.onnx"), outside(entries...))
	f := must(binio.Open(filepath.Join(dir, "model.onnx")))
	defer f.Close()
	d := newDecoder(nil, f.Path, f.Data)
	d.ext = newExternal(beside(f.Path), 4)
	if _, err := d.opened(); err == nil || !strings.Contains(err.Error(), "more than 4 files") {
		t.Errorf("got %v", err)
	}
}

func TestVerify(t *testing.T) {
	dir := t.TempDir()
	data := make([]byte, 8)
	sum := sha1.Sum(data)
	good := hex.EncodeToString(sum[:])
	write(t, filepath.Join(dir, "w.data"), data)
	verify := func(model []byte) []error {
		path := filepath.Join(dir, "model.onnx")
		write(t, path, model)
		f := must(binio.Open(path))
		defer f.Close()
		return Verify(nil, f)
	}
	if got := verify(outside("location=w.data checksum=" + strings.ToUpper(good))); len(got) != 0 {
		t.Errorf("sound model: %v", got)
	}
	got := verify(outside("location=w.data checksum="+strings.Repeat("0", 40), "location=nix", "location=w.data", "location=w.data offset=1"))
	for i, want := range []string{"does not have the checksum", "no such file", "too few"} {
		if len(got) != 3 || !strings.Contains(got[i].Error(), want) || !strings.Contains(got[i].Error(), "at byte") {
			t.Fatalf("got %v, want %q as number %d", got, want, i)
		}
	}

	many := modelBytes(func(e *encoder) {
		e.message(1, func(e *encoder) { e.entry(1, "nix"); e.entry(2, "y"); e.entry(4, "Neg") })
		e.message(1, func(e *encoder) { e.entry(2, "z"); e.entry(4, "Op"); e.entry(7, "ai.onnx.ml") })
		e.message(1, func(e *encoder) {
			e.entry(2, "a")
			e.entry(4, "Constant")
			e.message(5, func(e *encoder) { e.entry(1, "value"); e.bytes(5, tensorBytes(99, nil, raw(1))) })
		})
		e.message(12, func(e *encoder) { e.entry(1, "q") })
	}, func(e *encoder) { e.message(8, func(e *encoder) { e.int(2, 99) }) }, func(e *encoder) {
		e.message(25, func(e *encoder) { e.entry(1, "f"); e.message(7, func(e *encoder) { e.entry(2, "y") }) })
	})
	var text []string
	for _, err := range verify(many) {
		checkRefused(t, err)
		text = append(text, err.Error())
	}
	all := strings.Join(text, "\n")
	for _, want := range []string{
		"operator set 99 is newer", `domain "ai.onnx.ml" is used`, `node "a" (Constant): element type 99`, "node has no operator",
		`input "nix" is defined nowhere`, `output "q" is computed by no node`,
	} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is not among\n%s", want, all)
		}
	}
	whole := written(t, everything())
	for n := range whole {
		if len(verify(whole[:n])) == 0 && n < len(whole)-200 {
			t.Fatalf("no problem in %d of %d bytes", n, len(whole))
		}
		if n > 100 {
			break // each costs a file
		}
	}
}

func TestSave(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "model.onnx")
	m := everything()
	m.Graph.Initializers = append(m.Graph.Initializers, &graph.Initializer{Name: "long", Tensor: filled(tensor.F32, 5000)})
	read := func() (a, b []byte) {
		for _, data := range must(filepath.Glob(path + ".*.data")) {
			b = append(b, must(os.ReadFile(data))...)
		}
		return must(os.ReadFile(path)), b
	}
	for _, external := range []int{WhenNeeded, Never, 1, 1000} {
		if err := Save(path, m, SaveOptions{External: external}); err != nil {
			t.Fatal(err)
		}
		first, side := read()
		if (len(side) > 0) != (external > 0) {
			t.Errorf("external %d: %d bytes beside the model", external, len(side))
		}
		again, err := openPath(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := Save(path, again, SaveOptions{External: external}); err != nil {
			t.Fatal(err)
		}
		second, side2 := read()
		if !bytes.Equal(first, second) || !bytes.Equal(side, side2) {
			t.Errorf("external %d: the second writing gives other bytes", external)
		}
		want := *m
		want.File, want.Closer = path, again.Closer
		if !reflect.DeepEqual(&want, unplaced(again)) {
			t.Errorf("external %d: the model changed", external)
		}
		if err := again.Close(); err != nil {
			t.Error(err)
		}
	}
	files := must(os.ReadDir(dir))
	if len(files) != 2 {
		t.Errorf("left over: %v", files)
	}
	if err := Save(filepath.Join(dir, "nix", "model.onnx"), m, SaveOptions{External: 1}); err == nil {
		t.Error("saved in a folder that is not there")
	}
	if err := Save(filepath.Join(dir, "other.onnx"), &graph.Model{}, SaveOptions{}); err == nil {
		t.Error("saved a model without a graph")
	}
	if len(must(os.ReadDir(dir))) != 2 {
		t.Error("files are left over from a failure")
	}
}

// TestSaveTooLong saves a model longer than protobuf allows. Its constants go to a file beside it.
func TestSaveTooLong(t *testing.T) {
	if testing.Short() || runtime.GOARCH == "386" || runtime.GOARCH == "arm" {
		t.Skip("writes 2 GiB: not in short runs, nor with 32-bit addresses")
	}
	m := small()
	huge := tensor.New(tensor.U8, maxMessage)
	m.Graph.Initializers = append(m.Graph.Initializers, &graph.Initializer{Name: "huge", Tensor: huge})
	_, _, err := encode(t.Context(), m, "", Never)
	if err == nil || !strings.Contains(err.Error(), "save constants outside it") {
		t.Errorf("got %v", err)
	}
	e, side, err := encode(t.Context(), m, "w", WhenNeeded)
	if err != nil || len(side.parts) != 1 || e.len() > 1000 {
		t.Errorf("%v, %d bytes in the model", err, e.len())
	}
}
