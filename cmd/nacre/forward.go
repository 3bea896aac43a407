package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/formats/gptrs"
	"github.com/nacre-ml/nacre/generate/tokenizer"
	"github.com/nacre-ml/nacre/internal/budget"
	"github.com/nacre-ml/nacre/internal/printable"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// forwardFlags are the flags of nacre run for decoders, and for checkpoints of gpt.rs.
type forwardFlags struct {
	tokens    string
	prompt    string
	tokenizer string
	trace     string
}

func (f *forwardFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.tokens, "tokens", "", "ids of tokens for a decoder, such as `1,2,3`")
	flags.StringVar(&f.prompt, "prompt", "", "`TEXT` for a decoder, in place of --tokens")
	flags.StringVar(&f.tokenizer, "tokenizer", "", "`FILE` or folder with the tokenizer for --prompt")
	flags.StringVar(&f.trace, "trace", "", "`FILE` (.ten) for every activation under its name; of a program of "+
		"OpenInfer, for the nodes that ran, as JSON or text (.txt)")
}

// used reports whether the output has the form of gpt.rs: with tokens or text, or for a checkpoint
// of gpt.rs.
func (f *forwardFlags) used(m *nacre.Model) bool {
	return f.given() || m.Source().Format == gptrs.Checkpoint.Name
}

// given reports whether there are tokens or text for a decoder.
func (f *forwardFlags) given() bool { return f.tokens != "" || f.prompt != "" }

// tokenizerFor loads the tokenizer at path, by the rules of gpt.rs if m is a checkpoint of gpt.rs.
func tokenizerFor(ctx context.Context, m *nacre.Model, path string) (*tokenizer.Tokenizer, error) {
	if m.Source().Format == gptrs.Checkpoint.Name {
		return tokenizer.LoadGPTRSContext(ctx, path, tokenizer.Options{})
	}
	return tokenizer.LoadContext(ctx, path, tokenizer.Options{})
}

// ids returns the tokens of --tokens or of the text as an int64 tensor of shape [1, n].
func (f *forwardFlags) ids(ctx context.Context, m *nacre.Model) (*nacre.Tensor, error) {
	var list []int64
	if f.prompt != "" {
		if f.tokenizer == "" {
			return nil, usagef("--prompt needs --tokenizer FILE; --tokens takes ids")
		}
		t, err := tokenizerFor(ctx, m, f.tokenizer)
		if err != nil {
			return nil, err
		}
		ids, err := t.EncodeContext(ctx, f.prompt, true)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			list = append(list, int64(id))
		}
		return nacre.NewTensor(list, 1, len(list))
	}
	for word := range strings.SplitSeq(f.tokens, ",") {
		n, err := strconv.ParseInt(strings.TrimSpace(word), 10, 64)
		if err != nil {
			return nil, usagef("--tokens %s: %q is no id; the form is 1,2,3", f.tokens, word)
		}
		list = append(list, n)
	}
	return nacre.NewTensor(list, 1, len(list))
}

// The input and output of decoders. Classifiers of gpt.rs have the same output.
const (
	idsInput     = "input_ids"
	logitsOutput = "logits"
)

// forward runs a decoder on tokens, or a network of gpt.rs on inputs from files. It prints the kind
// of network, the shape of the logits, and the best class of the last token or the first picture.
func (f *runFlags) forward(ctx context.Context, m *nacre.Model, stdout, stderr io.Writer) (err error) {
	o, err := f.session.options()
	if err != nil {
		return err
	}
	network, err := m.Network()
	if err != nil {
		return err
	}
	if err := f.notes(m, stderr); err != nil {
		return err
	}
	traced := f.tracedOf(network.Graph)
	if traced != nil {
		o.Outputs = append(slices.Clone(traced), namesOf(m.Outputs())...)
		slices.Sort(o.Outputs)
		o.Outputs = slices.Compact(o.Outputs)
	}
	s, err := m.NewSessionContext(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = join(err, s) }()
	start := time.Now()
	out, err := f.logits(ctx, m, s, stderr)
	if err != nil {
		return err
	}
	printable.Fprintf(stderr, "wall_s=%.3f\n", time.Since(start).Seconds())
	if err := f.answer(ctx, network.Graph.Name, out, traced, stdout); err != nil {
		return err
	}
	return f.checkFinite(ctx, m, o, asValues(out), func(s *nacre.Session) (map[string]nacre.Value, error) {
		values, err := f.logits(ctx, m, s, stderr)
		return asValues(values), err
	})
}

// notes prints the settings of the file that Nacre does not follow.
func (f *runFlags) notes(m *nacre.Model, stderr io.Writer) error {
	r, err := gptrs.RuntimeOf(m.Source())
	for _, line := range r.Unused() {
		printable.Fprintf(stderr, "%s: %s\n", m.Source().File, line)
	}
	return err
}

func namesOf(list []nacre.Info) []string {
	names := make([]string, len(list))
	for i, v := range list {
		names[i] = v.Name
	}
	return names
}

// tracedOf returns the names of the values to trace: every value of a node with a name of its own,
// except caches. Without --trace it returns nil.
func (f *runFlags) tracedOf(g *graph.Graph) []string {
	if f.forwards.trace == "" {
		return nil
	}
	caches := map[string]bool{}
	for _, s := range graph.FindStates(g) {
		caches[s.Output] = true
	}
	var list []string
	for _, n := range g.Nodes {
		for _, name := range n.Outputs {
			if name != "" && !strings.HasPrefix(name, "_") && !caches[name] {
				list = append(list, name)
			}
		}
	}
	return list
}

// logits runs the network: a decoder on tokens after an empty past, any other on the inputs from
// files. With tokens, results lose their first axis if it is 1, the batch.
func (f *runFlags) logits(
	ctx context.Context, m *nacre.Model, s *nacre.Session, stderr io.Writer,
) (map[string]*nacre.Tensor, error) {
	decoder := find(s.Inputs(), idsInput).Name != ""
	if !f.forwards.given() && decoder && len(f.input.files) == 0 && !f.random {
		return nil, usagef("%s is a decoder; --tokens 1,2,3 gives it tokens", m.Source().File)
	}
	if !f.forwards.given() {
		inputs, err := f.inputs(ctx, s, stderr)
		if err != nil {
			return nil, err
		}
		return s.Run(ctx, inputs)
	}
	if !decoder {
		return nil, graph.Errorf(graph.ErrMissing,
			"%s: --tokens and --prompt are for decoders, which take %s; this model takes %s", m.Source().File, idsInput,
			valueList(s.Inputs()))
	}
	ids, err := f.forwards.ids(ctx, m)
	if err != nil {
		return nil, err
	}
	inputs := map[string]*nacre.Tensor{idsInput: ids}
	out, err := decode(ctx, m, s, inputs)
	if err != nil {
		return nil, err
	}
	for name, t := range out {
		if shape := t.Shape(); len(shape) > 1 && shape[0] == 1 {
			if out[name], err = t.Reshape(shape[1:]...); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// decode runs a decoder after an empty past.
func decode(
	ctx context.Context, m *nacre.Model, s *nacre.Session, inputs map[string]*nacre.Tensor,
) (map[string]*nacre.Tensor, error) {
	if len(m.States()) == 0 {
		return s.Run(ctx, inputs)
	}
	st, err := s.NewStream(ctx, nacre.StreamOptions{})
	if err != nil {
		return nil, err
	}
	defer st.Close()
	return st.Run(ctx, inputs)
}

// answer prints the shape and the best class of the logits, and stores the logits with --out and
// the traced values with --trace.
func (f *runFlags) answer(
	ctx context.Context, kind string, out map[string]*nacre.Tensor, traced []string, stdout io.Writer,
) error {
	logits := out[logitsOutput]
	if logits == nil || logits.DType() != nacre.Float32 || logits.Len() == 0 {
		return graph.Errorf(graph.ErrUnsupported,
			"the model gives no %s of float32; without --tokens its outputs are shown", logitsOutput)
	}
	shape := logits.Shape()
	text := make([]string, len(shape))
	for i, n := range shape {
		text[i] = strconv.Itoa(n)
	}
	printable.Fprintf(stdout, "model=%s output_shape=[%s]\n", kind, strings.Join(text, ", "))
	if len(shape) == 2 {
		v, err := nacre.Data[float32](logits)
		if err != nil {
			return err
		}
		row := 0
		if f.forwards.given() {
			row = shape[0] - 1
		}
		v = v[row*shape[1]:][:shape[1]]
		best := slices.Index(v, slices.Max(v))
		printable.Fprintf(stdout, "top1=%d logit=%.6f\n", max(best, 0), v[max(best, 0)])
	}
	if f.out != "" {
		if err := writeArchive(ctx, f.out, out, []string{logitsOutput}); err != nil {
			return err
		}
	}
	if traced == nil {
		return nil
	}
	return writeArchive(ctx, f.forwards.trace, out, traced)
}

// writeArchive saves the named tensors as an archive of gpt.rs.
func writeArchive(ctx context.Context, path string, values map[string]*nacre.Tensor, names []string) error {
	m := &graph.Model{Graph: &graph.Graph{}}
	for _, name := range names {
		m.Graph.Initializers = append(m.Graph.Initializers, &graph.Initializer{Name: name, Tensor: plainTensor(values[name])})
	}
	return formats.SaveAs(path, gptrs.Archive.Name, m, formats.Options{}.Within(ctx))
}

// archived returns the tensor key of an archive of gpt.rs. If the archive has one tensor, key does
// not matter.
func archived(ctx context.Context, path string, data []byte, key string) (*nacre.Tensor, error) {
	m, err := gptrs.Archive.Read(budget.New(ctx, budget.Limits{}), path, data)
	if err != nil {
		return nil, err
	}
	var names []string
	var found *tensor.Tensor
	for _, init := range m.Graph.Initializers {
		names = append(names, strconv.Quote(init.Name))
		if init.Name == key || len(m.Graph.Initializers) == 1 {
			found = init.Tensor
		}
	}
	if found == nil {
		return nil, fmt.Errorf("the archive has no tensor %q (--input-key names one); it has %s", key,
			strings.Join(names, ", "))
	}
	return tensorOf(found)
}
