package vulkan_test

import (
	"bytes"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	vk "github.com/nacre-ml/nacre/bindings/vulkan"
	"github.com/nacre-ml/nacre/runtime/vulkan"
)

// TestPipelineFile checks that a file is read as it was written, and ignored if anything in it, the
// device or the driver has changed.
func TestPipelineFile(t *testing.T) {
	info := vk.Info{Driver: "a driver", Version: "1.3.0", VendorID: 1, DeviceID: 2, DriverVersion: 3}
	path := filepath.Join(t.TempDir(), "folder", "file")
	data := bytes.Repeat([]byte("compiled"), 100)
	f := vulkan.NewPipelineFile(path, &info)
	if got := f.Read(); got != nil {
		t.Fatalf("a missing file has %d bytes", len(got))
	}
	if err := f.Write(data); err != nil {
		t.Fatal(err)
	}
	if got := f.Read(); !bytes.Equal(got, data) {
		t.Fatalf("%d bytes are not those written", len(got))
	}
	for name, change := range map[string]func(i *vk.Info){
		"vendor":  func(i *vk.Info) { i.VendorID++ },
		"device":  func(i *vk.Info) { i.DeviceID++ },
		"driver":  func(i *vk.Info) { i.DriverVersion++ },
		"name":    func(i *vk.Info) { i.Driver += "2" },
		"version": func(i *vk.Info) { i.Version = "1.3.1" },
		"cache":   func(i *vk.Info) { i.CacheID[15]++ },
	} {
		other := info
		change(&other)
		if f := vulkan.NewPipelineFile(path, &other); f.Read() != nil {
			t.Errorf("%s: the file of another device is read", name)
		}
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; at < len(whole); at += 37 {
		hostile := bytes.Clone(whole)
		hostile[at] ^= 1
		if err := os.WriteFile(path, hostile, 0o600); err != nil {
			t.Fatal(err)
		}
		if f.Read() != nil {
			t.Errorf("a file with another byte %d is read", at)
		}
		if err := os.WriteFile(path, whole[:at], 0o600); err != nil {
			t.Fatal(err)
		}
		if f.Read() != nil {
			t.Errorf("the first %d bytes are read", at)
		}
	}
	if list, err := os.ReadDir(filepath.Dir(path)); err != nil || len(list) != 1 {
		t.Errorf("%d files in the folder, %v", len(list), err)
	}
	if f := vulkan.NewPipelineFile(filepath.Join(path, "below", "a file"), &info); f.Write(data) == nil {
		t.Error("a file below a file was written")
	}
}

// TestStalePipelines opens a device with a file of its own whose data the driver never wrote, and
// compiles as without.
func TestStalePipelines(t *testing.T) {
	folder := t.TempDir()
	info := open(t, vulkan.Options{}).Info()
	o := vulkan.Options{Everything: true, PipelineCache: folder}
	f := vulkan.NewPipelineFile(vulkan.PipelinePath(o, &info), &info)
	if err := f.Write(bytes.Repeat([]byte{7}, 4096)); err != nil {
		t.Fatal(err)
	}
	var most atomic.Int64
	o.Compiled = func(done, total int) {
		if done > total {
			t.Errorf("%d of %d pipelines", done, total)
		}
		most.Store(max(most.Load(), int64(total)))
	}
	p := newPairOn(t, open(t, o))
	p.compare(t, 5)
	if most.Load() < 3 {
		t.Errorf("%d pipelines were reported", most.Load())
	}
}
