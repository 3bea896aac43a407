package main

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/nacre-ml/nacre/internal/testenv"
)

// TestStatic builds the command as README.md says for an empty container, and runs a network with
// it in a root folder without other files.
func TestStatic(t *testing.T) {
	if !testenv.Complete() {
		t.Skip("a second build of the command")
	}
	readme, err := os.ReadFile(filepath.Join(testenv.Root(t), "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	recipe := regexp.MustCompile(`(?m)^ +(CGO_ENABLED=1 go build .*-static.*) -o nacre \./cmd/nacre$`).FindSubmatch(readme)
	if recipe == nil {
		t.Fatal("README.md has no static build")
	}
	root := t.TempDir()
	build := exec.Command("sh", "-c", string(recipe[1])+` -o "$0" .`, filepath.Join(root, "nacre"))
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	checkStatic(t, filepath.Join(root, "nacre"))

	run := exec.Command("/nacre", "demo")
	run.Dir, run.Env = "/", []string{}
	run.SysProcAttr = &syscall.SysProcAttr{
		Chroot:      root,
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	if os.Getuid() == 0 {
		run.SysProcAttr = &syscall.SysProcAttr{Chroot: root}
	}
	out, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !strings.Contains(string(out), "30 of 30 read right") {
		t.Errorf("the demo went wrong:\n%s", out)
	}
}

// checkStatic checks that a program needs no dynamic linker and no library.
func checkStatic(t *testing.T, program string) {
	t.Helper()
	f, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			t.Error("the program has a dynamic linker")
		}
	}
	if list, _ := f.ImportedLibraries(); len(list) > 0 {
		t.Errorf("the program needs %v", list)
	}
}
