//go:build !cgo && !js

package wazero

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/bindings/internal/hosted"
	"github.com/nacre-ml/nacre/bindings/internal/wasm"
)

// detect is a function of the module without parameters.
const detect = "nacre_wasm_detect"

// begin starts the kernels with a cache in a folder of the test.
func begin(t *testing.T, cache string, functions ...string) (hosted.Instance, error) {
	t.Helper()
	for _, name := range []string{"XDG_CACHE_HOME", "LocalAppData", "HOME"} {
		t.Setenv(name, cache)
	}
	size, table, err := wasm.Sizes(wasm.Kernels)
	if err != nil {
		t.Fatal(err)
	}
	x, err := start(wasm.Kernels, hosted.Layout{Data: 1 << 20, Table: table, Functions: functions}, size)
	if err == nil {
		t.Cleanup(x.(*instance).end)
	}
	return x, err
}

// TestStart starts the kernels without a cache, and from it.
func TestStart(t *testing.T) {
	cache := t.TempDir()
	for range 2 {
		x, err := begin(t, cache, detect)
		if err != nil {
			t.Fatal(err)
		}
		if levels := x.Call(0, nil); levels == 0 {
			t.Error("the module has no level")
		}
	}
	folder, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	if list, err := os.ReadDir(filepath.Join(folder, "nacre", "wazero")); len(list) != 1 {
		t.Errorf("the cache has %v, %v", list, err)
	}
}

// TestStartWithoutCache starts the kernels where no cache can be.
func TestStartWithoutCache(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := begin(t, file, detect); err != nil {
		t.Error(err)
	}
}

func TestStartFails(t *testing.T) {
	if _, err := begin(t, t.TempDir(), "other"); err == nil || !strings.Contains(err.Error(), "no function other") {
		t.Errorf("a function that does not exist: %v", err)
	}
	if x, err := start([]byte("\x00asm\x01\x00\x00\x00\xff"), hosted.Layout{Data: 1 << 20}, 1); err == nil {
		t.Errorf("another module became %v", x)
	}
}

// TestCommit writes the first and the last byte of committed memory, and expects released memory to be
// usable again.
func TestCommit(t *testing.T) {
	r, err := reserveMost(100)
	if err != nil {
		t.Fatal(err)
	}
	defer r.end()
	part := r.all[3<<20+5 : 4<<20+7]
	for range 2 {
		if !r.Commit(part) {
			t.Fatal("there is no memory")
		}
		part[0], part[len(part)-1] = 1, 2
		r.Release(part)
		if part[0] != 1 || part[len(part)-1] != 2 {
			t.Error("memory beside whole pages was lost")
		}
		part[len(part)/2] = 3
	}
}
