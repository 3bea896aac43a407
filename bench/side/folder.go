package side

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/formats/onnx"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Folders is a process that opens one model after the other, and answers as peers/folders.py does.
type Folders struct {
	model   *nacre.Model
	session *nacre.Session
	inputs  map[string]*nacre.Tensor
}

// Serve answers requests until the input ends. The answer to a request that fails is "error" and
// the reason.
func (f *Folders) Serve(in io.Reader, out io.Writer) error {
	defer f.close()
	fmt.Fprintln(out, "ready 0")
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		answer, err := f.answer(lines.Text())
		if err != nil {
			answer = "error " + strings.Join(strings.Fields(err.Error()), " ")
		}
		fmt.Fprintln(out, answer)
	}
	return lines.Err()
}

func (f *Folders) close() {
	if f.session != nil {
		f.session.Close()
		f.model.Close()
	}
	*f = Folders{}
}

func (f *Folders) answer(line string) (string, error) {
	request, argument, _ := strings.Cut(line, " ")
	switch request {
	case "folder":
		return "opened", f.folder(argument)
	case "answers":
		return "written", f.answers(argument)
	case "open", "first":
		return opened(argument, request == "first")
	case "run":
		n, err := strconv.Atoi(argument)
		if err != nil {
			return "", err
		}
		return mean(n, f.run)
	}
	return "", fmt.Errorf("no request %q", line)
}

// folder opens the model of a folder, and reads its inputs.
func (f *Folders) folder(path string) (err error) {
	f.close()
	if f.model, err = nacre.Open(filepath.Join(path, "model.onnx")); err != nil {
		return err
	}
	if f.session, err = f.model.NewSession(nacre.Options{Threads: 1}); err != nil {
		f.model.Close()
		return err
	}
	f.inputs = map[string]*nacre.Tensor{}
	for i, in := range f.session.Inputs() {
		data, err := os.ReadFile(filepath.Join(path, "test_data_set_0", fmt.Sprintf("input_%d.pb", i)))
		if err != nil {
			return err
		}
		_, t, err := onnx.ReadTensor(data)
		if err != nil {
			return err
		}
		if f.inputs[in.Name], err = shown(t); err != nil {
			return err
		}
	}
	return nil
}

// shown returns a tensor as programs see it.
func shown(t *tensor.Tensor) (*nacre.Tensor, error) {
	if t.DType() == tensor.String {
		return nacre.Strings(t.Strings(), t.Shape()...)
	}
	return nacre.FromBytes(nacre.DType(t.DType()), t.Bytes(), t.Shape()...)
}

func (f *Folders) values() map[string]nacre.Value {
	list := map[string]nacre.Value{}
	for name, t := range f.inputs {
		list[name] = t
	}
	return list
}

// run runs the model, and releases its results.
func (f *Folders) run() error {
	out, err := f.session.RunValues(context.Background(), f.values())
	for _, v := range out {
		walk(v, (*nacre.Tensor).Release)
	}
	return err
}

// answers writes the tensors of a run's results to files with numbers after path.
func (f *Folders) answers(path string) error {
	out, err := f.session.RunValues(context.Background(), f.values())
	if err != nil {
		return err
	}
	number := 0
	for _, v := range f.session.Outputs() {
		var list []*nacre.Tensor
		walk(out[v.Name], func(t *nacre.Tensor) { list = append(list, t) })
		for _, t := range list {
			if err := written(fmt.Sprintf("%s_%d.pb", path, number), t); err != nil {
				return err
			}
			number++
		}
	}
	return nil
}

// written writes a tensor as a TensorProto.
func written(path string, t *nacre.Tensor) error {
	var hidden *tensor.Tensor
	var err error
	if t.DType() == nacre.String {
		hidden, err = tensor.FromStrings(t.Strings(), t.Shape()...)
	} else {
		hidden, err = tensor.FromBytes(tensor.DType(t.DType()), t.Shape(), t.Bytes())
	}
	if err != nil {
		return err
	}
	data, err := onnx.WriteTensor(nil, "", hidden)
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o666)
}

// walk calls f with every tensor of a value. A map gives its keys, then its values.
func walk(v nacre.Value, f func(t *nacre.Tensor)) {
	switch v := v.(type) {
	case *nacre.Tensor:
		f(v)
	case *nacre.Sequence:
		for _, item := range v.Items {
			walk(item, f)
		}
	case *nacre.Optional:
		if v.Item != nil {
			walk(v.Item, f)
		}
	case *nacre.Map:
		f(v.Keys)
		f(v.Values)
	}
}

// opened returns the seconds until a session of a model is made or, if run is set, until its first
// run has ended.
func opened(path string, run bool) (string, error) {
	start := time.Now()
	m, err := nacre.Open(path)
	if err != nil {
		return "", err
	}
	defer m.Close()
	s, err := m.NewSession(nacre.Options{Threads: 1})
	if err != nil {
		return "", err
	}
	defer s.Close()
	took := time.Since(start)
	if run {
		inputs, err := Ramps(s, nil)
		if err != nil {
			return "", err
		}
		start = time.Now()
		if _, err = s.Run(context.Background(), inputs); err != nil {
			return "", err
		}
		took += time.Since(start)
	}
	return fmt.Sprint(took.Seconds()), nil
}
