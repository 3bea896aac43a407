package exec_test

import (
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime/cpu"
	"github.com/nacre-ml/nacre/runtime/device"
)

// testDevice is the CPU without vector kernels.
func testDevice(t testing.TB) device.Device {
	testenv.Need(t, bindings.Available())
	packs := cpu.NewPacks()
	t.Cleanup(packs.Close)
	d, err := cpu.New(0, nil, 1, packs)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
