package text

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/generate/tokenizer"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// Options are for opening a model. The zero value does what its files say.
type Options struct {
	// Session is for the session of the network: threads, device, limits of memory. Outputs and
	// Lowering.Batches are set by this package.
	Session nacre.Options
	// Tokenizer has the limits of the tokenizer.
	Tokenizer tokenizer.Options
	// File is the network's file in the folder, such as onnx/model_quantized.onnx. "" is model.onnx,
	// onnx/model.onnx, or the folder's safetensors files.
	File string
	// MaxTokens is the most tokens of a text or a pair, with special tokens; longer ones are cut. 0 is
	// the number of the model's files. It must not exceed the positions of the network.
	MaxTokens int
	// Batch is the most texts that run together; 0 is 32.
	Batch int
	// Prompt is the name of a prompt of config_sentence_transformers.json, which an Embedder puts
	// before texts. "" is the default of the file.
	Prompt string
}

// defaultBatch is the texts that run together unless options say otherwise.
const defaultBatch = 32

// The names of inputs.
const (
	inputIDs      = "input_ids"
	inputMask     = "attention_mask"
	inputTypes    = "token_type_ids"
	inputPosition = "position_ids"
)

// A network is an open model with its tokenizer.
type network struct {
	folder folder
	config *config
	tokens *tokenizer.Tokenizer
	model  *nacre.Model

	session *nacre.Session
	inputs  map[string]nacre.Info
	output  string
	rank    int // axes of the output
	batch   int
	max     int // the most tokens; 0 for no bound
	pad     int32
	padType int32
	lower   bool // texts become lower case first
}

// wanted says which output a task needs: the names that it may have, the best first, and else the
// number of axes.
type wanted struct {
	names []string
	rank  int
	what  string
	not   string // the name of an output of another task; "" for none
}

// open opens the network of a folder.
func open(f folder, o Options, want wanted) (_ *network, err error) {
	switch {
	case o.MaxTokens < 0 || o.Batch < 0:
		return nil, errorf(nacre.ErrOption,
			"%s: options MaxTokens and Batch are %d and %d; they must not be negative", f.path, o.MaxTokens, o.Batch)
	case len(o.Session.Outputs) > 0:
		return nil, errorf(nacre.ErrOption, "%s: option Session.Outputs is %q; this package chooses the output",
			f.path, o.Session.Outputs)
	}
	n := &network{folder: f, batch: o.Batch}
	if n.batch == 0 {
		n.batch = defaultBatch
	}
	if n.config, err = readConfig(f); err != nil {
		return nil, err
	}
	if n.tokens, err = tokenizer.LoadContext(context.Background(), f.path, o.Tokenizer); err != nil {
		return nil, err
	}
	n.pad = n.config.pad()
	if p := n.tokens.Padding(); p != nil {
		n.pad, n.padType = p.ID, p.TypeID
	}
	var s sentenceConfig
	if _, err := f.json(sentenceFile, &s); err != nil {
		return nil, err
	}
	n.lower = s.Lower
	truncation := 0
	if t := n.tokens.Truncation(); t != nil {
		truncation = t.Max
	}
	if n.max, err = n.config.maxTokens(f, o, s, truncation); err != nil {
		return nil, err
	}
	return n, n.start(o, want)
}

// start opens the network's file and makes the session.
func (n *network) start(o Options, want wanted) (err error) {
	path, err := n.folder.network(o.File)
	if err != nil {
		return err
	}
	if n.model, err = nacre.Open(path); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = n.Close()
		}
	}()
	so := o.Session
	so.Lowering.Batches = true
	network, err := formats.Network(n.model.Source(), so.Lowering)
	if err != nil {
		return err
	}
	var outputs []nacre.Info
	for _, v := range network.Graph.Outputs {
		outputs = append(outputs, nacre.Info{Name: v.Name, Kind: nacre.TensorKind, DType: nacre.DType(v.Type.DType),
			Shape: dimsOf(v.Type.Dims)})
	}
	if err := n.choose(outputs, want); err != nil {
		return err
	}
	so.Outputs = []string{n.output}
	if n.session, err = n.model.NewSession(so); err != nil {
		return err
	}
	return n.check()
}

// dimsOf returns the extents of a value, with names for open ones.
func dimsOf(dims graph.Dims) []nacre.Dim {
	list := make([]nacre.Dim, len(dims))
	for i, d := range dims {
		n, known := d.Value()
		switch {
		case known:
			list[i] = nacre.Dim{Size: n}
		case d.IsUnknown():
			list[i] = nacre.Dim{Size: -1}
		default:
			list[i] = nacre.Dim{Size: -1, Symbol: d.String()}
		}
	}
	return list
}

// choose finds the output of a task.
func (n *network) choose(outputs []nacre.Info, want wanted) error {
	fits := func(o nacre.Info) bool {
		return (want.not == "" || o.Name != want.not) && o.DType.IsFloat() && (len(o.Shape) == want.rank || want.rank == 0 && len(o.Shape) >= 2)
	}
	for _, name := range want.names {
		if i := slices.IndexFunc(outputs, func(o nacre.Info) bool { return o.Name == name && fits(o) }); i >= 0 {
			n.output, n.rank = name, len(outputs[i].Shape)
			return nil
		}
	}
	if i := slices.IndexFunc(outputs, fits); i >= 0 {
		n.output, n.rank = outputs[i].Name, len(outputs[i].Shape)
		return nil
	}
	return errorf(nacre.ErrUnsupported, "%s: the network has no output of %s (%v); export it for this task", n.file(),
		want.what, outputs)
}

// check looks at the inputs of the network.
func (n *network) check() error {
	n.inputs = map[string]nacre.Info{}
	for _, in := range n.session.Inputs() {
		switch in.Name {
		case inputIDs, inputMask, inputTypes, inputPosition:
			if in.DType != nacre.Int64 && in.DType != nacre.Int32 || len(in.Shape) != 2 {
				return errorf(nacre.ErrUnsupported, "%s: input %v must be of int64 or int32, with two axes", n.file(), in)
			}
			n.inputs[in.Name] = in
		default:
			if in.Required {
				return errorf(nacre.ErrUnsupported,
					"%s: input %v is none of an encoder of texts, which takes %s, %s, %s and %s", n.file(), in,
					inputIDs, inputMask, inputTypes, inputPosition)
			}
		}
	}
	ids, ok := n.inputs[inputIDs]
	if !ok {
		return errorf(nacre.ErrUnsupported, "%s: the network has no input %s", n.file(), inputIDs)
	}
	if b := ids.Shape[0]; !b.Open() {
		n.batch = b.Size
	}
	if s := ids.Shape[1]; !s.Open() && (n.max == 0 || n.max > s.Size) {
		n.max = s.Size
	}
	return nil
}

// file returns the network's file.
func (n *network) file() string { return n.model.Source().File }

// made reports whether open has returned the network.
func (n *network) made() bool { return n != nil && n.session != nil }

// Close frees the memory of the session and the model.
func (n *network) Close() error {
	if n == nil {
		return nil
	}
	var errs []error
	if n.session != nil {
		errs = append(errs, n.session.Close())
	}
	if n.model != nil {
		errs = append(errs, n.model.Close())
	}
	return errors.Join(errs...)
}

// encode returns encodings without padding, cut by a strategy.
func (n *network) encode(
	ctx context.Context, in []tokenizer.Input, strategy tokenizer.Strategy,
) ([]*tokenizer.Encoding, error) {
	return n.tokens.EncodeInputs(ctx, in, tokenizer.EncodingOptions{
		Truncation: &tokenizer.Truncation{Max: n.max, Strategy: strategy}, Padding: &tokenizer.Padding{},
	})
}

// errShape reports a result with another shape than one for each text or token.
func (n *network) errShape(got []int) error {
	return errorf(nacre.ErrUnsupported, "%s: output %s is %v, and not one row for each text or token", n.file(),
		n.output, got)
}

// named puts the folder before an error.
func (n *network) named(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", n.folder.path, err)
}
