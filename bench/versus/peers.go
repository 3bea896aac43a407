package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/nacre-ml/nacre/bench/side"
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// peer is a runtime or a library beside Nacre.
type peer struct {
	name    string
	takes   func(r *row) bool
	command func(r *row, model string, threads int) *exec.Cmd
	request func(r *row) string
}

const onnxRuntime = "ONNX Runtime"

// peers returns the installed peers, and names the others with the cause.
func peers(o options) (found []peer, names, missing []string) {
	if version, err := exec.Command(o.Python, "-c",
		"import onnxruntime; print(onnxruntime.__version__)").Output(); err != nil {
		missing = append(missing, fmt.Sprintf("%s: %s: %v", onnxRuntime, o.Python, err))
	} else {
		found = append(found, runtimePeer(o.Python))
		names = append(names, onnxRuntime+" "+strings.TrimSpace(string(version)))
	}
	for _, library := range []struct {
		name, program string
		types         []tensor.DType
	}{
		{"oneDNN", "onednn", []tensor.DType{tensor.F32, tensor.U8}},
		{"OpenBLAS", "openblas", []tensor.DType{tensor.F32, tensor.F64}},
	} {
		program := filepath.Join(o.programs, library.program)
		version, err := os.ReadFile(program + ".version")
		if err == nil {
			_, err = os.Stat(program)
		}
		if err != nil {
			missing = append(missing, fmt.Sprintf("%s: %v", library.name, err))
			continue
		}
		found = append(found, libraryPeer(library.name, program, library.types))
		names = append(names, library.name+" "+strings.TrimSpace(string(version)))
	}
	return found, names, missing
}

// runtimePeer runs the model itself.
func runtimePeer(python string) peer {
	return peer{
		name:  onnxRuntime,
		takes: func(*row) bool { return true },
		command: func(r *row, model string, threads int) *exec.Cmd {
			args := []string{filepath.Join("bench", "peers", "onnxruntime.py"), model, strconv.Itoa(threads)}
			return exec.Command(python, append(append(args, r.sizes...), r.peerSizes...)...)
		},
		request: func(r *row) string { return r.peer },
	}
}

// libraryPeer runs a program of peers/ on products with elements of the types.
func libraryPeer(name, program string, types []tensor.DType) peer {
	return peer{
		name:  name,
		takes: func(r *row) bool { return r.product != nil && slices.Contains(types, r.product.left) },
		command: func(r *row, _ string, threads int) *exec.Cmd {
			cmd := exec.Command(program, append([]string{strconv.Itoa(threads)}, r.product.args()...)...)
			cmd.Env = append(libraryEnv(), fmt.Sprint("OMP_NUM_THREADS=", threads))
			return cmd
		},
		request: func(*row) string { return "run" },
	}
}

// libraryEnv returns the environment with the kernels that OpenBLAS shall take, unless the
// environment names them. Releases that do not know a CPU yet take it for a very old one.
func libraryEnv() []string {
	const variable = "OPENBLAS_CORETYPE"
	if os.Getenv(variable) != "" {
		return os.Environ()
	}
	env := os.Environ()
	for _, level := range []struct{ isa, core string }{{"avx512", "SkylakeX"}, {"avx2", "Haswell"}} {
		if mask, err := bindings.ParseISA(level.isa); err == nil && mask&^bindings.DetectISA() == 0 {
			return append(env, variable+"="+level.core)
		}
	}
	return env
}

// nacrePeer is this program. Words start it.
func nacrePeer(words ...string) peer {
	return peer{
		name:  "Nacre",
		takes: func(*row) bool { return true },
		command: func(r *row, model string, threads int) *exec.Cmd {
			args := append(slices.Clone(words[1:]), side.ServeWord, model, strconv.Itoa(threads))
			return exec.Command(words[0], append(args, r.sizes...)...)
		},
		request: func(r *row) string { return r.request },
	}
}

// started is a peer's process for a row.
type started struct {
	*side.Process
	name    string
	request string
}

// start starts a peer.
func (p peer) start(r *row, model string, threads int) (*started, error) {
	process, err := side.Start(p.command(r, model, threads))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.name, err)
	}
	return &started{process, p.name, p.request(r)}, nil
}
