// Command generate compiles the shaders that changed, removes modules without a row, and
// writes spv/index. Its argument is the folder of package shaders.
package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/nacre-ml/nacre/shaders/internal/compile"
)

func main() {
	root := "shaders"
	if len(os.Args) > 1 {
		root = os.Args[1]
	}
	if err := generate(root); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func generate(root string) error {
	text, err := os.ReadFile(filepath.Join(root, "spv", "index"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	old, err := compile.ParseIndex(string(text))
	if err != nil {
		old = nil // an index that cannot be read: everything is compiled
	}
	dir, err := os.MkdirTemp("", "shaders")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.MkdirAll(filepath.Join(root, "spv", compile.Emulated), 0o755); err != nil {
		return err
	}
	index, err := compileAll(root, dir, old)
	if err != nil {
		return err
	}
	if err := removeStale(root, index); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, "spv", "index"), []byte(compile.FormatIndex(index)), 0o644)
}

// compileAll makes the modules that old has no equal entry for, as many at a time as
// there are processors.
func compileAll(root, dir string, old map[string]compile.Entry) (map[string]compile.Entry, error) {
	var (
		index = map[string]compile.Entry{}
		errs  []error
		mu    sync.Mutex
		wg    sync.WaitGroup
		slots = make(chan struct{}, runtime.GOMAXPROCS(0))
	)
	for _, j := range compile.Jobs() {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			entry, err := makeOne(root, dir, j, old[j.File])
			mu.Lock()
			defer mu.Unlock()
			index[j.File] = entry
			errs = append(errs, err)
		})
	}
	wg.Wait()
	return index, errors.Join(errs...)
}

func makeOne(root, dir string, j compile.Job, old compile.Entry) (compile.Entry, error) {
	hash, err := j.Hash(root)
	if err != nil {
		return compile.Entry{}, err
	}
	path := filepath.Join(root, "spv", j.File)
	have, err := os.ReadFile(path)
	same := err == nil && old.Source == hash && compile.Sum(have) == old.Module
	if same && j.Matrices {
		return old, nil // the hash is of the compiler too
	}
	tools, err := find(root, j)
	if err != nil {
		return compile.Entry{}, err
	}
	if same && old.Tools == tools.Version {
		return old, nil
	}
	code, err := j.Compile(tools, root, dir)
	if err != nil {
		return compile.Entry{}, err
	}
	fmt.Println(j.File)
	return compile.Entry{Source: hash, Module: compile.Sum(code), Tools: tools.Version}, os.WriteFile(path, code, 0o644)
}

// found has the tools of matrix modules and of the others.
var found [2]struct {
	once  sync.Once
	tools *compile.Tools
	err   error
}

// find returns the tools of a job. The compiler of matrix modules is built where it is not
// there yet.
func find(root string, j compile.Job) (*compile.Tools, error) {
	f := &found[0]
	if j.Matrices {
		f = &found[1]
	}
	f.once.Do(func() {
		if j.Matrices {
			c := exec.Command("scripts/glslang/build.sh")
			c.Stdout, c.Stderr = os.Stderr, os.Stderr
			if f.err = c.Run(); f.err != nil {
				return
			}
		}
		f.tools, f.err = j.Find(root)
	})
	return f.tools, f.err
}

func removeStale(root string, index map[string]compile.Entry) error {
	for _, pattern := range []string{"*.spv", compile.Emulated + "/*.spv"} {
		files, err := fs.Glob(os.DirFS(filepath.Join(root, "spv")), pattern)
		if err != nil {
			return err
		}
		for _, file := range files {
			if _, ok := index[file]; ok {
				continue
			}
			if err := os.Remove(filepath.Join(root, "spv", file)); err != nil {
				return err
			}
		}
	}
	return nil
}
