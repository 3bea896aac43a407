package vulkan_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/nacre-ml/nacre/internal/testenv"
)

// compiler returns the name of the C compiler.
func compiler() string {
	if cc := os.Getenv("CC"); cc != "" {
		return cc
	}
	return "cc"
}

// TestUnits runs a program that asks for the multiprocessors of devices with several extensions.
func TestUnits(t *testing.T) {
	cc, program := compiler(), filepath.Join(t.TempDir(), "units")
	testenv.Need(t, exec.Command(cc, "--version").Run())
	if text, err := exec.Command(cc, "-std=c11", "-D_DEFAULT_SOURCE", "-fsanitize=address,undefined", "-I..", "-o", program,
		"testdata/units.c", "-ldl", "-lpthread").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if text, err := exec.Command(program).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
}

// TestLayout compares the structs and numbers of the helper with the system's header.
func TestLayout(t *testing.T) {
	cc := compiler()
	header := exec.Command(cc, "-E", "-include", "vulkan/vulkan_core.h", "-x", "c", os.DevNull, "-o", os.DevNull)
	testenv.Need(t, header.Run())
	if text, err := exec.Command(cc, "-std=c11", "-D_DEFAULT_SOURCE", "-fsyntax-only", "-I..",
		"testdata/layout.c").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
}
