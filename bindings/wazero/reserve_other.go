//go:build !cgo && !js && !unix && !windows

package wazero

import (
	"fmt"
	"runtime"
)

type reservation struct{ all []byte }

func reserve(int) (reservation, error) {
	return reservation{}, fmt.Errorf("%s/%s does not reserve memory as kernels need it; build with CGO_ENABLED=1 and a C "+
		"compiler", runtime.GOOS, runtime.GOARCH)
}

func (*reservation) Commit([]byte) bool { return false }
func (*reservation) Release([]byte)     {}
func (*reservation) end()               {}
