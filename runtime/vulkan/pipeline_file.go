package vulkan

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	vk "github.com/nacre-ml/nacre/bindings/vulkan"
)

// pipelineFile is a file with the compiled shaders of a device. It begins with pipelineMagic, the
// numbers of the device and its driver, and the SHA-256 of the driver's data, which follows.
type pipelineFile struct {
	path string // empty for none
	info *vk.Info
}

// pipelineMagic begins a file. Its number changes with the form of the file.
const pipelineMagic = "nacre vulkan pipelines 1\n"

// Bounds of the driver's data in bytes. A header alone is shorter than the least, and drivers that
// compile nothing ahead give no more.
const (
	leastPipelineData = 64
	mostPipelineData  = 256 << 20
)

// pipelinePath returns the file for a device; empty for none.
func (o *Options) pipelinePath(info *vk.Info) string {
	if o.NoPipelineCache {
		return ""
	}
	folder := o.PipelineCache
	if folder == "" {
		all, err := os.UserCacheDir()
		if err != nil {
			return ""
		}
		folder = filepath.Join(all, "nacre", "vulkan")
	}
	return filepath.Join(folder, fmt.Sprintf("%08x-%08x.pipelines", info.VendorID, info.DeviceID))
}

// head returns the bytes of the file before the driver's data.
func (f *pipelineFile) head(data []byte) []byte {
	b := []byte(pipelineMagic)
	for _, n := range []uint32{f.info.VendorID, f.info.DeviceID, f.info.DriverVersion} {
		b = binary.LittleEndian.AppendUint32(b, n)
	}
	b = append(b, f.info.CacheID[:]...)
	version, sum := sha256.Sum256([]byte(f.info.Driver+"\n"+f.info.Version)), sha256.Sum256(data)
	return append(append(b, version[:]...), sum[:]...)
}

// read returns the driver's data. If the file is missing, of another device or driver, or not as it
// was written, it returns nil.
func (f *pipelineFile) read() []byte {
	if f.path == "" {
		return nil
	}
	if stat, err := os.Stat(f.path); err != nil || !stat.Mode().IsRegular() {
		return nil
	}
	file, err := os.Open(f.path)
	if err != nil {
		return nil
	}
	defer file.Close()
	n := len(f.head(nil))
	all, err := io.ReadAll(io.LimitReader(file, int64(n+mostPipelineData+1)))
	if err != nil || len(all) < n+leastPipelineData || len(all) > n+mostPipelineData {
		return nil
	}
	if data := all[n:]; slices.Equal(all[:n], f.head(data)) {
		return data
	}
	return nil
}

// write replaces the file. Its readers see the one before or all of the new one. The user alone may
// read or write it, because a driver trusts the data.
func (f *pipelineFile) write(data []byte) error {
	if len(data) < leastPipelineData || len(data) > mostPipelineData {
		return nil
	}
	folder := filepath.Dir(f.path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	t, err := os.CreateTemp(folder, filepath.Base(f.path)+".*")
	if err != nil {
		return err
	}
	_, err = t.Write(append(f.head(data), data...))
	if failed := t.Close(); err == nil {
		err = failed
	}
	if err == nil {
		err = os.Rename(t.Name(), f.path)
	}
	if err != nil {
		os.Remove(t.Name())
	}
	return err
}
