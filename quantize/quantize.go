package quantize

import (
	"context"
	"errors"
	"regexp"
	goruntime "runtime"
	"slices"

	"github.com/nacre-ml/nacre/formats/loom"
	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Options say how weights are quantised. Type must be set.
type Options struct {
	// Type is the type that weights get.
	Type Type
	// Format is the format of the file that the result is for. If it is empty, the result is for a
	// file of the model's format.
	Format string
	// Layers are types for some weights. The first rule that matches a weight's name applies.
	Layers []Rule
	// Block is the number of elements that share a scale, for nbits and linear: a power of two from
	// 16 on. 0 is 32 for nbits, int4 and uint4, and a scale for each channel for int8 and uint8.
	Block int
	// Asymmetric gives nbits zero points. uint4 and uint8 have them always.
	Asymmetric bool
	// Pure gives all weights the type of blocks itself, without a mix.
	Pure bool
	// Requantize quantises weights that are quantised already, from their numbers. Without it they
	// are an error.
	Requantize bool
	// KeepAbove leaves weights as they are if their error is above it. 0 is no limit.
	KeepAbove float64
	// Importance weighs the errors of columns. It may be nil.
	Importance *Importance
	// Compensate changes later columns of a weight so that they compensate the errors of earlier ones
	// (GPTQ), for nbits and blocks. In blocks, columns compensate the blocks before them. Importance
	// must be of MeasureProducts. The report then has the errors of products.
	Compensate bool
	// Ranges makes convolutions and products whose weights become int8 compute on codes of 8 bits, as
	// MeasureRanges chose them: values become uint8 codes between QuantizeLinear and DequantizeLinear,
	// and biases int32. Type must be int8, with a scale for each channel.
	Ranges *Ranges
	// SignedActivations gives values codes of int8 in place of uint8, for Ranges.
	SignedActivations bool
	// ReduceRange gives weights of int8 codes of 7 bits, so that two products of codes fit in 16 bits.
	ReduceRange bool
	// Scratch is a folder for the results. If it is set, large results are kept in unnamed files there,
	// in place of memory, until the model that Model returns is closed. If the system cannot map files,
	// results are in memory.
	Scratch string
	// Threads is the number of goroutines that quantise. 0 is one for each CPU.
	Threads int
	// Progress is called with the elements that are done and their total. It may be nil.
	Progress func(done, total int64)
}

// Rule gives a type to weights by their names. Weights of a folder of Hugging Face that becomes a GGUF
// file match by their names in either.
type Rule struct {
	Pattern *regexp.Regexp
	Type    Type
}

// Report lists the weights of a model with their new types and errors.
type Report struct {
	Type   string  `json:"type"`
	Layers []Layer `json:"layers"`
	// Activations are the values that became codes, with their ranges.
	Activations []Activation `json:"activations,omitempty"`
	// Bytes and Before are the bytes of all constants of the model now and before.
	Bytes  int64 `json:"bytes"`
	Before int64 `json:"before"`
	// Error is the error of all weights that changed, as of one.
	Error float64 `json:"error"`
	// Divergence is the divergence of the results from the original's. If they were not compared, it
	// is nil.
	Divergence *Divergence `json:"divergence,omitempty"`
	// Warnings are for people.
	Warnings []string `json:"warnings"`
}

// Layer is one weight with its new type and its errors.
type Layer struct {
	Name   string  `json:"name"`
	Source string  `json:"source,omitempty"` // the name in the file that the model was made from, if it is another
	Shape  []int   `json:"shape"`
	From   string  `json:"from"`
	To     string  `json:"to"`
	Bits   float64 `json:"bits"` // for each element, with scales
	Bytes  int64   `json:"bytes"`
	Before int64   `json:"before"`
	Error  float64 `json:"error"`
	Note   string  `json:"note,omitempty"` // why the type is not the one that was asked for
}

// Model returns the model with quantised weights, and a report. It shares the other parts with m,
// which stays as it is, and must be closed after the result is used. If ctx ends, Model returns its
// error.
func Model(ctx context.Context, m *graph.Model, o Options) (_ *graph.Model, _ *Report, err error) {
	defer guard.At(m.File).End(&err)
	if o.Format == "" {
		o.Format = m.Format
	}
	if o.Threads <= 0 {
		o.Threads = goruntime.GOMAXPROCS(0)
	}
	if err := o.complete(); err != nil {
		return nil, nil, err
	}
	j := &job{Options: o, ctx: ctx, source: m, report: &Report{Type: o.Type.name}}
	out, g := *m, *m.Graph
	out.Graph, j.graph = &g, &g
	defer func() {
		if err != nil {
			err = errors.Join(err, j.close())
		} else if len(j.unmaps) > 0 {
			out.Closer = &scratch{j.unmaps, m.Closer}
		}
	}()
	switch {
	case o.Format == "onnx":
		if len(g.Nodes) == 0 {
			return nil, nil, graph.Errorf(graph.ErrUnsupported, "%s has no nodes, and a file of onnx holds weights of "+
				"%s in nodes; quantise for gguf or oinf, or convert the model to onnx first", m.File, o.Type)
		}
		err = j.nodes(&out)
	case o.Format == loom.EntityName:
		err = j.stores(&out)
	case len(g.Nodes) > 0:
		return nil, nil, graph.Errorf(graph.ErrUnsupported,
			"%s has nodes, which a file of %s does not hold; quantise for onnx by q4, q8 or int8", m.File, o.Format)
	default:
		err = j.tensors(&out)
	}
	if err != nil {
		return nil, nil, err
	}
	j.report.finish(m.Graph, &g, j.lost, j.power)
	return &out, j.report, nil
}

// complete checks the options, and replaces types by those that the format holds.
func (o *Options) complete() (err error) {
	if o.Type.name == "" {
		return graph.Errorf(graph.ErrUnsupported, "no type of weights is given; have %s", typeNames())
	}
	if o.Type, err = o.Type.in(o.Format); err != nil {
		return err
	}
	o.Layers = append([]Rule(nil), o.Layers...)
	for i := range o.Layers {
		if o.Layers[i].Type, err = o.Layers[i].Type.in(o.Format); err != nil {
			return err
		}
	}
	if o.Compensate && (o.Type.bits == 0 && o.Type.blocks == nil || o.Importance == nil || o.Importance.products == nil) {
		return graph.Errorf(graph.ErrUnsupported, "errors are compensated for q2, q4, q8 and types of blocks, by calibration data; the type is %s", o.Type)
	}
	if o.Ranges != nil && (!o.Type.linear || o.Type.dtype != tensor.I8 || o.Block != 0) {
		return graph.Errorf(graph.ErrUnsupported, "values become codes with weights of int8 that have a scale for each channel; the type is %s, in blocks of %d",
			o.Type, o.Block)
	}
	if b := o.Block; b != 0 && (b < 16 || b&(b-1) != 0 || b > 1<<20) {
		return graph.Errorf(graph.ErrUnsupported, "blocks of %d elements; a power of two from 16 on is needed", b)
	}
	return nil
}

// wanted returns the type for a weight with these names, and whether a rule gives it. An empty name is
// none.
func (o *Options) wanted(names ...string) (t Type, ruled bool) {
	for _, r := range o.Layers {
		if slices.ContainsFunc(names, func(name string) bool { return name != "" && r.Pattern.MatchString(name) }) {
			return r.Type, true
		}
	}
	return o.Type, false
}

// sourceName returns the name that a weight has in its file, if it is another; else an empty name.
func sourceName(x *graph.Initializer) string {
	if x.Stored == nil || x.Stored.Name == x.Name {
		return ""
	}
	return x.Stored.Name
}

// job is the quantisation of a model.
type job struct {
	Options
	ctx         context.Context
	source      *graph.Model
	graph       *graph.Graph // of the result
	report      *Report
	done, total int64
	lost, power float64        // sums over all weights
	unmaps      []func() error // of results in Scratch
}

// add adds a weight that changed to the report.
func (j *job) add(l Layer, s sums) {
	l.Error = s.error()
	if l.To != l.From {
		j.lost += s.lost
		j.power += s.power
	}
	j.report.Layers = append(j.report.Layers, l)
}

// advance tells how many elements are done.
func (j *job) advance(n int) {
	j.done += int64(n)
	if j.Progress != nil {
		j.Progress(min(j.done, j.total), j.total)
	}
}

// finish sets the parts of a report that are about all weights.
func (r *Report) finish(before, after *graph.Graph, lost, power float64) {
	size := func(g *graph.Graph) (n int64) {
		for _, x := range g.Initializers {
			n += int64(x.Tensor.Size())
		}
		return n
	}
	r.Before, r.Bytes = size(before), size(after)
	r.Error = sums{lost, power}.error()
}
