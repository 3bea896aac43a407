// Package compile turns the sources of package shaders into SPIR-V and keeps the index, which has
// the source of each module.
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

// flags are the compiler's.
var flags = []string{"--target-env", "vulkan1.1", "--quiet", "-g0"}

// lock pins the compiler of matrix modules; its path is below the root.
const lock = "../scripts/glslang/Cargo.lock"

// Job is a module to make.
type Job struct {
	File    string // of the module, below spv
	Source  string // path below the root
	Defines []string
	// Matrices says that the module uses cooperative matrices, which take a newer compiler
	// than the others, and are not optimized: optimizers have broken such modules.
	Matrices bool
}

// Emulated is the folder in spv of modules with emulated matrices, by which tests run shaders on
// devices without cooperative matrices. Programs do not embed folders with such names.
const Emulated = "_emulated"

// Jobs returns one per variant of every kernel, and one with emulated matrices per variant that
// includes matrix.glsl.
func Jobs() []Job {
	var all []Job
	kernels := shaders.Kernels()
	for i := range kernels {
		k := &kernels[i]
		for j := range k.Variants {
			v := &k.Variants[j]
			j := Job{File: shaders.File(k, v), Source: k.Name + ".comp", Defines: v.Defines,
				Matrices: v.Needs&shaders.CoopMatrix != 0}
			all = append(all, j)
			if j.Matrices && !strings.HasPrefix(k.Name, "probe/") {
				all = append(all, Job{File: Emulated + "/" + j.File, Source: j.Source,
					Defines: append(slices.Clone(v.Defines), "EMULATED")})
			}
		}
	}
	return all
}

var includeLine = regexp.MustCompile(`(?m)^\s*#include\s+"([^"]+)"`)

// gather adds the text of a file below root, and of every file that it includes, to texts.
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

// Hash returns the SHA-256 of everything that a module is made from: source, includes, defines,
// flags, and the file that pins the compiler. Root is the folder of package shaders.
func (j Job) Hash(root string) (string, error) {
	texts := map[string][]byte{}
	if err := gather(root, j.Source, texts); err != nil {
		return "", err
	}
	if j.Matrices {
		if err := gather(root, lock, texts); err != nil {
			return "", err
		}
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

// Tools is the programs that make modules, and their versions.
type Tools struct {
	compiler, optimizer, validator string // no optimizer: none is run
	Version                        string
}

// Find returns the tools of the job. If one is missing, the error names it. Matrix modules use the
// tools that scripts/glslang/build.sh built.
func (j Job) Find(root string) (*Tools, error) {
	t := &Tools{compiler: "glslangValidator", optimizer: "spirv-opt", validator: "spirv-val"}
	if j.Matrices {
		built := filepath.Join(root, "..", "build", "glslang")
		t = &Tools{compiler: filepath.Join(built, "compiler", "StandAlone", "glslang"),
			validator: filepath.Join(built, "validator", "tools", "spirv-val")}
	}
	compiler, err := exec.Command(t.compiler, "--version").Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.compiler, err)
	}
	version := regexp.MustCompile(`Glslang Version: \S+`).FindString(string(compiler))
	if version == "" {
		return nil, fmt.Errorf("%s names no version", t.compiler)
	}
	t.Version = strings.ReplaceAll(version, "Glslang Version: ", "glslang ")
	if t.optimizer == "" {
		return t, nil
	}
	optimizer, err := exec.Command(t.optimizer, "--version").Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.optimizer, err)
	}
	name, _, _ := strings.Cut(string(optimizer), " unknown hash")
	t.Version += ", " + strings.TrimSpace(name)
	return t, nil
}

// Compile returns the module; dir is for files on the way. It was validated.
func (j Job) Compile(t *Tools, root, dir string) ([]byte, error) {
	made := filepath.Join(dir, strings.ReplaceAll(j.File, "/", "_"))
	args := append(slices.Clone(flags), "-I"+filepath.Join(root, "include"))
	for _, d := range j.Defines {
		args = append(args, "-D"+d)
	}
	steps := [][]string{append(append([]string{t.compiler}, args...), "-o", made, filepath.Join(root, j.Source))}
	if t.optimizer != "" {
		steps = append(steps, []string{t.optimizer, "-O", made, "-o", made})
	}
	steps = append(steps, []string{t.validator, "--target-env", "vulkan1.1", made})
	for _, c := range steps {
		cmd := exec.Command(c[0], c[1:]...)
		var out strings.Builder
		cmd.Stdout, cmd.Stderr = io.Writer(&out), io.Writer(&out)
		if err := cmd.Run(); err != nil {
			return nil, fmt.Errorf("%s: %s: %w\n%s", j.File, c[0], err, out.String())
		}
	}
	return os.ReadFile(made)
}
