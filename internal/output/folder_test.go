package output

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// writeFolder writes a folder of two files.
func writeFolder(path string) error {
	p, err := CreateFolder(path)
	if err != nil {
		return err
	}
	defer p.Discard()
	for _, name := range []string{"a", "b", "c/d"} {
		f, err := p.Create(name)
		if err != nil {
			return err
		}
		defer f.Discard()
		if _, err := f.Write([]byte(name)); err != nil {
			return err
		}
		if err := f.Commit(); err != nil {
			return err
		}
	}
	return p.Commit()
}

// TestWholeFolder writes a folder to a free name and over an empty folder.
func TestWholeFolder(t *testing.T) {
	for _, there := range []bool{false, true} {
		parent := t.TempDir()
		path := filepath.Join(parent, "model")
		if there {
			if err := os.Mkdir(path, 0o777); err != nil {
				t.Fatal(err)
			}
		}
		if err := writeFolder(path + "/"); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"a", "b", "c/d"} {
			if data, err := os.ReadFile(filepath.Join(path, name)); err != nil || string(data) != name {
				t.Errorf("%s has %q, %v", name, data, err)
			}
		}
		if entries, err := os.ReadDir(parent); err != nil || len(entries) != 1 {
			t.Errorf("%v are beside the folder, %v", entries, err)
		}
		if err := writeFolder(path); err == nil || !strings.Contains(err.Error(), "not empty") {
			t.Errorf("over a folder with files: %v", err)
		}
		if err := writeFolder(filepath.Join(path, "a")); err == nil || !strings.Contains(err.Error(), "a file of that name") {
			t.Errorf("over a file: %v", err)
		}
	}
}

// TestFolderFaults fails each system call in turn. Then nothing is left.
func TestFolderFaults(t *testing.T) {
	defer func() { Fault = nil }()
	broken := errors.New("broken")
	for at := 0; ; at++ {
		parent := t.TempDir()
		calls, failed := 0, ""
		Fault = func(call string) error {
			if calls++; calls-1 == at {
				failed = call
				return broken
			}
			return nil
		}
		err := writeFolder(filepath.Join(parent, "model"))
		Fault = nil
		if failed == "" {
			if err != nil || at < 8 {
				t.Errorf("%d calls, %v", at, err)
			}
			return
		}
		if !errors.Is(err, broken) {
			t.Errorf("%s fails: %v", failed, err)
		}
		if entries, err := os.ReadDir(parent); len(entries) > 0 {
			t.Errorf("%s fails: %v is left, %v", failed, entries, err)
		}
	}
}

// TestAbandonedFolder ends a process in the middle of a folder.
func TestAbandonedFolder(t *testing.T) {
	defer func() {
		pending.Lock()
		pending.abandoned = false
		pending.Unlock()
	}()
	parent := t.TempDir()
	p, err := CreateFolder(filepath.Join(parent, "model"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := p.Create("a")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Discard()
	Abandon()
	if err := p.Commit(); !errors.Is(err, ErrInterrupted) {
		t.Error(err)
	}
	if entries, err := os.ReadDir(parent); len(entries) > 0 {
		t.Errorf("%v is left, %v", entries, err)
	}
	if _, err := CreateFolder(filepath.Join(parent, "model")); !errors.Is(err, ErrInterrupted) {
		t.Error(err)
	}
}

// TestNamesOfFolder creates files with names that lead out of the folder.
func TestNamesOfFolder(t *testing.T) {
	p, err := CreateFolder(filepath.Join(t.TempDir(), "model"))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Discard()
	for _, name := range []string{"", ".", "..", "../a", "/a", "a/../../b"} {
		if f, err := p.Create(name); err == nil {
			f.Discard()
			t.Errorf("a file %q is created", name)
		}
	}
}
