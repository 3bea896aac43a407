package vulkan_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/nacre-ml/nacre/internal/testenv"
)

// TestLayout compares the structs and numbers of the helper with the system's header.
func TestLayout(t *testing.T) {
	cc := os.Getenv("CC")
	if cc == "" {
		cc = "cc"
	}
	header := exec.Command(cc, "-E", "-include", "vulkan/vulkan_core.h", "-x", "c", os.DevNull, "-o", os.DevNull)
	testenv.Need(t, header.Run())
	if text, err := exec.Command(cc, "-std=c11", "-D_DEFAULT_SOURCE", "-fsyntax-only", "-I..",
		"testdata/layout.c").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
}
