// Package compile turns the sources of package shaders into SPIR-V and keeps the index
// of what was made from what.
package compile

import (
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/nacre-ml/nacre/shaders"
)

// flags are those of the compiler.
var flags = []string{"--target-env", "vulkan1.1", "--quiet", "-g0"}

// Job is a module to make.
type Job struct {
	File    string // of the module, in spv
	Source  string // path below the root
	Defines []string
}

// Jobs returns one per variant of every kernel.
func Jobs() []Job {
	var all []Job
	kernels := shaders.Kernels()
	for i := range kernels {
		k := &kernels[i]
		for j := range k.Variants {
			v := &k.Variants[j]
			all = append(all, Job{File: shaders.File(k, v), Source: k.Name + ".comp", Defines: v.Defines})
		}
	}
	return all
}

var includeLine = regexp.MustCompile(`(?m)^\s*#include\s+"([^"]+)"`)

// gather adds the text of a file below root, and of what it includes, to texts.
func gather(root, path string, texts map[string][]byte) error {
	if texts[path] != nil {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		return err
	}
	texts[path] = text
	for _, m := range includeLine.FindAllSubmatch(text, -1) {
		if err := gather(root, "include/"+string(m[1]), texts); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

// Hash returns the SHA-256 of all that a module is made from: source, includes, defines
// and flags. Root is the folder of package shaders.
func (j Job) Hash(root string) (string, error) {
	texts := map[string][]byte{}
	if err := gather(root, j.Source, texts); err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintf(h, "%q %q\n", flags, j.Defines)
	for _, path := range slices.Sorted(maps.Keys(texts)) {
		fmt.Fprintf(h, "%s %d\n", path, len(texts[path]))
		h.Write(texts[path])
	}
	return fmt.Sprintf("%x", h.Sum(nil)), nil
}

// Sum returns the SHA-256 of a module as the index has it.
func Sum(module []byte) string { return fmt.Sprintf("%x", sha256.Sum256(module)) }

// Tools returns the versions of the compiler and the optimizer, or what is missing.
func Tools() (string, error) {
	compiler, err := exec.Command("glslangValidator", "--version").Output()
	if err != nil {
		return "", fmt.Errorf("glslangValidator: %w", err)
	}
	optimizer, err := exec.Command("spirv-opt", "--version").Output()
	if err != nil {
		return "", fmt.Errorf("spirv-opt: %w", err)
	}
	version := regexp.MustCompile(`Glslang Version: \S+`).FindString(string(compiler))
	name, _, _ := strings.Cut(string(optimizer), " unknown hash")
	if version == "" {
		return "", fmt.Errorf("glslangValidator names no version")
	}
	return strings.ReplaceAll(version, "Glslang Version: ", "glslang ") + ", " + strings.TrimSpace(name), nil
}

// Compile returns the module; dir is for files on the way. It was validated.
func (j Job) Compile(root, dir string) ([]byte, error) {
	plain := filepath.Join(dir, "plain_"+j.File)
	best := filepath.Join(dir, j.File)
	args := append(slices.Clone(flags), "-I"+filepath.Join(root, "include"))
	for _, d := range j.Defines {
		args = append(args, "-D"+d)
	}
	for _, c := range [][]string{
		append(append([]string{"glslangValidator"}, args...), "-o", plain, filepath.Join(root, j.Source)),
		{"spirv-opt", "-O", plain, "-o", best},
		{"spirv-val", "--target-env", "vulkan1.1", best},
	} {
		cmd := exec.Command(c[0], c[1:]...)
		var out strings.Builder
		cmd.Stdout, cmd.Stderr = io.Writer(&out), io.Writer(&out)
		if err := cmd.Run(); err != nil {
			return nil, fmt.Errorf("%s: %s: %w\n%s", j.File, c[0], err, out.String())
		}
	}
	return os.ReadFile(best)
}
