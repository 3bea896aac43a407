package vision

import (
	"errors"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/picture"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// imageDecoder decodes a picture file, a vector of bytes, to pixels [height,width,channels]. As the
// standard requires, bytes that are no valid picture give [0,0,channels]. A picture that other
// programs could read is an error.
type imageDecoder struct{ format string }

func newImageDecoder(n *op.Node) (op.Op, error) {
	o := &imageDecoder{n.Str("pixel_format", "RGB")}
	switch o.format {
	case "RGB", "BGR", "Grayscale":
		return o, nil
	}
	return nil, graph.Errorf(graph.ErrFormat, "pixel_format is %q; it takes RGB, BGR or Grayscale", o.format)
}

func (o *imageDecoder) channels() int {
	if o.format == "Grayscale" {
		return 1
	}
	return 3
}

// Infer leaves height and width unknown.
func (o *imageDecoder) Infer(c *op.Infer) error {
	if rank, ok := c.In[0].Rank(); ok && rank != 1 {
		return graph.Errorf(graph.ErrShape, "the file is %v, not a vector", c.In[0].Type)
	}
	c.Set(0, tensor.U8, graph.Dims{graph.Unknown(), graph.Unknown(), graph.Known(o.channels())})
	return nil
}

// Run decodes the picture.
func (o *imageDecoder) Run(c *op.Run) (err error) {
	file, err := picture.Open(c.In[0].Bytes())
	if err != nil {
		return o.refuse(c, err)
	}
	if err := c.Mem.Reserve(file.Memory); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Mem.Reserve(-file.Memory)) }()
	p, err := file.Decode()
	if err != nil {
		return o.refuse(c, err)
	}
	out, err := c.Output(0, tensor.U8, tensor.Shape{p.Height, p.Width, o.channels()})
	if err != nil {
		return err
	}
	if o.channels() == 1 {
		p.Grey(out.Bytes())
	} else {
		p.Convert(out.Bytes(), o.format == "BGR")
	}
	return nil
}

// refuse sets the empty output, or returns an error if other programs could read the picture.
func (o *imageDecoder) refuse(c *op.Run, err error) error {
	if errors.Is(err, picture.ErrUnsupported) {
		return graph.Errorf(graph.ErrUnsupported, "%w", err)
	}
	_, err = c.Output(0, tensor.U8, tensor.Shape{0, 0, o.channels()})
	return err
}

var imageRows = []op.Row{
	{Name: "ImageDecoder", Since: []int{20}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: op.Types{tensor.U8}, New: newImageDecoder},
}
