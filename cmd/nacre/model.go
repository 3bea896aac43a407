package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	goruntime "runtime"
	"strings"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/pflag"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/runtime/vulkan"
)

// sessionFlags are the flags of every command that runs a model.
type sessionFlags struct {
	threads    int
	isa        string
	device     string
	noOptimize bool
	directConv bool
	accuracy   accuracy
	memory     size
	weights    size
	quirks     bool
	seed       uint64
	context    int
	everything bool // a device computes every node that it can
}

func (f *sessionFlags) add(flags *pflag.FlagSet) {
	flags.IntVar(&f.threads, "threads", 0, "threads that one run may use; 0 takes one per CPU")
	flags.StringVar(&f.isa, "isa", "", `instruction-set levels that kernels may use, such as "avx2" or "scalar"`)
	flags.StringVar(&f.device, "device", "cpu", "device to run on: cpu, vulkan for the first GPU, vulkan:NUMBER, "+
		"vulkan:NAME, or auto for a GPU if there is one; /L0 to /L3 after the name limits the features that shaders use")
	flags.Var(&f.memory, "memory-limit", `memory that one run may take beside weights and inputs, such as "512MiB" (default most of the machine's)`)
	flags.Var(&f.weights, "weight-budget",
		"weights that may be in memory at a time; others are read from the file when they are needed (default all)")
	flags.BoolVar(&f.noOptimize, "no-optimize", false, "run the graph as the file has it")
	flags.BoolVar(&f.directConv, "direct-conv", false,
		"compute convolutions without the transforms that save products (Winograd)")
	flags.Var(&f.accuracy, "accuracy", `whether products with quantised weights round activations to 8-bit integers: "exact" for none, `+
		`"fast" for all (default as the model says)`)
	flags.BoolVar(&f.quirks, "quirks", false,
		"compute the same results as the file's own program, even surprising or wrong ones (Loom)")
	flags.IntVar(&f.context, "context", 0, "most tokens of a text (decoders of GGUF and Hugging Face); long factors of a rope then apply from "+
		"the first token or not at all, as in llama.cpp (default any number, and factors by the tokens so far)")
	flags.Uint64Var(&f.seed, "seed", 0, "seed of weights that the file leaves to chance (architectures of Loom)")
}

// options checks the flags and opens the device.
func (f *sessionFlags) options() (nacre.Options, error) {
	o := nacre.Options{Threads: f.threads, ISA: f.isa, NoOptimize: f.noOptimize, DirectConv: f.directConv, Accuracy: nacre.Accuracy(f.accuracy),
		MemoryLimit: int(f.memory), WeightBudget: int(f.weights), Lowering: formats.Lowering{Quirks: f.quirks, Seed: f.seed, Context: f.context}}
	if err := o.Validate(); err != nil {
		return o, usageError{err}
	}
	var err error
	o.Device, err = openDevice(f.device, f.everything)
	return o, err
}

// devices has the open devices. They stay open until the process ends.
var devices = struct {
	sync.Mutex
	open map[deviceKey]nacre.Device
}{open: map[deviceKey]nacre.Device{}}

// deviceKey is a value of --device, and whether the device computes every node that it can.
type deviceKey struct {
	name       string
	everything bool
}

// openDevice returns the device beside the CPU for a value of --device, or nil for none.
func openDevice(name string, everything bool) (nacre.Device, error) {
	device, profile := vulkan.CutProfile(name)
	device, level := vulkan.CutLevel(device)
	kind, which, _ := strings.Cut(device, ":")
	if name == "cpu" {
		return nil, nil
	}
	if kind != "vulkan" && device != "auto" {
		return nil, usagef("--device %s is no device; have cpu, vulkan, vulkan:NUMBER, vulkan:NAME, auto", name)
	}
	devices.Lock()
	defer devices.Unlock()
	key := deviceKey{name, everything}
	if d := devices.open[key]; d != nil {
		return d, nil
	}
	d, err := vulkan.Open(which, vulkan.Options{Progress: deviceBar(os.Stderr, "weights", true),
		Compiled: deviceBar(os.Stderr, "shaders", false), Level: level, Profile: profile, Everything: everything})
	switch {
	case err == nil:
		devices.open[key] = d
		return d, nil
	case device == "auto":
		return nil, nil
	}
	return nil, fmt.Errorf("--device %s: %w; --device cpu runs every model", name, err)
}

// deviceBar returns a function that shows how many things, or bytes of them, a device has, or nil if
// w is not a terminal.
func deviceBar(w io.Writer, things string, bytes bool) func(done, total int) {
	if !terminal(w) {
		return nil
	}
	var bar *progressbar.ProgressBar
	return func(done, total int) {
		if bar == nil || bar.GetMax() != total {
			bar = progressbar.NewOptions(total, progressbar.OptionSetWriter(w), progressbar.OptionSetDescription(things),
				progressbar.OptionShowBytes(bytes),
				progressbar.OptionClearOnFinish(), progressbar.OptionThrottle(100*time.Millisecond))
		}
		_ = bar.Set(done)
		if done == total {
			_ = bar.Finish()
			bar = nil
		}
	}
}

// count returns the number of threads for a run.
func (f *sessionFlags) count() int {
	if f.threads == 0 {
		return goruntime.GOMAXPROCS(0)
	}
	return f.threads
}

// session opens a model file and makes a session of it.
func session(ctx context.Context, path string, o nacre.Options) (*nacre.Model, *nacre.Session, error) {
	m, err := nacre.OpenContext(ctx, path)
	if err != nil {
		return nil, nil, err
	}
	s, err := m.NewSessionContext(ctx, o)
	if err != nil {
		return nil, nil, errors.Join(err, m.Close())
	}
	return m, s, nil
}

// join closes the closers in order and returns err joined with their errors.
func join(err error, closers ...interface{ Close() error }) error {
	for _, c := range closers {
		err = errors.Join(err, c.Close())
	}
	return err
}
