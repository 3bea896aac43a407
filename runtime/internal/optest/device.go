package optest

import (
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/testenv"
	cpudevice "github.com/nacre-ml/nacre/runtime/internal/cpu"
	"github.com/nacre-ml/nacre/runtime/internal/device"
)

// Device returns the CPU without vector kernels, on the caller's thread alone.
func Device(t testing.TB) device.Device {
	t.Helper()
	testenv.Need(t, bindings.Available())
	packs := cpudevice.NewPacks()
	t.Cleanup(packs.Close)
	d, err := cpudevice.New(0, nil, 1, packs)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
