package soak

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/bench/operators"
	"github.com/nacre-ml/nacre/bench/side"
	"github.com/nacre-ml/nacre/generate"
	"github.com/nacre-ml/nacre/internal/topologies"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// results has the elements of a run's results, by name.
type results map[string][]byte

func resultsOf(out map[string]*nacre.Tensor) results {
	a := results{}
	for name, x := range out {
		a[name] = bytes.Clone(x.Bytes())
	}
	return a
}

// same returns an error if results are missing or differ.
func (a results) same(out map[string]*nacre.Tensor) error {
	if len(out) != len(a) {
		return fmt.Errorf("%d results, not %d", len(out), len(a))
	}
	for name, want := range a {
		if x := out[name]; x == nil || !bytes.Equal(x.Bytes(), want) {
			return fmt.Errorf("result %s is not the one of the first run", name)
		}
	}
	return nil
}

// ramps returns inputs of a session and the session's results for them.
func ramps(t *testing.T, s *nacre.Session) (map[string]*nacre.Tensor, results) {
	t.Helper()
	inputs, err := side.Ramps(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.Run(context.Background(), inputs)
	if err != nil {
		t.Fatal(err)
	}
	return inputs, resultsOf(out)
}

// opening reads a model, makes a session and runs it once.
func opening(t *testing.T, name string, file []byte) chore {
	t.Helper()
	m, s := decode(t, name, file, nacre.Options{Threads: 1})
	defer m.Close()
	defer s.Close()
	inputs, want := ramps(t, s)
	return chore{"open " + name, func(r *rand.Rand) error {
		m, err := nacre.Decode(name, file)
		if err != nil {
			return err
		}
		defer m.Close()
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		if r.IntN(4) == 0 {
			time.AfterFunc(time.Duration(r.IntN(5000))*time.Microsecond, cancel)
		}
		s, err := m.NewSessionContext(ctx, nacre.Options{Threads: 1})
		if err != nil {
			return unlessCancelled(err)
		}
		defer s.Close()
		out, err := s.Run(context.Background(), inputs)
		if err != nil {
			return err
		}
		return want.same(out)
	}}
}

func unlessCancelled(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// broken reads the beginning of a file with one byte changed. Any error but ErrInternal is right.
func broken(name string, file []byte) chore {
	return chore{"open a broken " + name, func(r *rand.Rand) error {
		data := bytes.Clone(file[:1+r.IntN(len(file))])
		data[r.IntN(min(len(data), 4096))] ^= byte(1 + r.IntN(255))
		m, err := nacre.Decode(name, data)
		if errors.Is(err, nacre.ErrInternal) {
			return err
		}
		if err != nil {
			return nil
		}
		defer m.Close()
		s, err := m.NewSession(nacre.Options{Threads: 1, MemoryLimit: 64 << 20})
		if errors.Is(err, nacre.ErrInternal) {
			return err
		}
		if err != nil {
			return nil
		}
		return s.Close()
	}}
}

func running(t *testing.T, name string, s *nacre.Session) chore {
	t.Helper()
	inputs, want := ramps(t, s)
	return chore{"run " + name, func(*rand.Rand) error {
		out, err := s.Run(context.Background(), inputs)
		if err != nil {
			return err
		}
		if err := want.same(out); err != nil {
			return err
		}
		for _, x := range out {
			x.Release()
		}
		return nil
	}}
}

func binding(t *testing.T, name string, s *nacre.Session) chore {
	t.Helper()
	inputs, want := ramps(t, s)
	return chore{"bind " + name, func(r *rand.Rand) error {
		b, err := s.Bind(context.Background(), inputs)
		if err != nil {
			return err
		}
		defer b.Close()
		for range 1 + r.IntN(4) {
			if err := b.Run(context.Background()); err != nil {
				return err
			}
			out := map[string]*nacre.Tensor{}
			for result := range want {
				out[result] = b.Output(result)
			}
			if err := want.same(out); err != nil {
				return err
			}
		}
		return nil
	}}
}

// cancelling cancels runs at random times. A run that still ends without an error has the right
// results.
func cancelling(t *testing.T, name string, s *nacre.Session) chore {
	t.Helper()
	inputs, want := ramps(t, s)
	return chore{"cancel " + name, func(r *rand.Rand) error {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		time.AfterFunc(time.Duration(r.IntN(3000))*time.Microsecond, cancel)
		out, err := s.Run(ctx, inputs)
		if err != nil {
			return unlessCancelled(err)
		}
		return want.same(out)
	}}
}

// looking makes plans and profiles, reads statistics, trims and warms up a session while others run
// it.
func looking(t *testing.T, name string, s *nacre.Session) chore {
	t.Helper()
	inputs, want := ramps(t, s)
	values := map[string]nacre.Value{}
	for input, x := range inputs {
		values[input] = x
	}
	return chore{"look at " + name, func(r *rand.Rand) error {
		switch r.IntN(4) {
		case 0:
			_, err := s.Plan(context.Background(), inputs)
			return err
		case 1:
			_, p, err := s.Profile(context.Background(), values)
			if err == nil && len(p.Steps()) == 0 {
				err = errors.New("a profile without steps")
			}
			return err
		case 2:
			if st := s.Stats(); st.Runs == 0 || st.Running < 0 || st.RunBytes < 0 || len(want) == 0 {
				return fmt.Errorf("%+v", st)
			}
			return s.Trim()
		}
		return s.Warm(context.Background())
	}}
}

// streaming runs a stream on tokens, truncates it and goes on in a fork.
func streaming(t *testing.T, s *nacre.Session) chore {
	t.Helper()
	tokens := []int64{3, 1, 41, 5, 9, 26, 5, 35, 8, 9, 7, 9}
	next := func(st *nacre.Stream, token int64) ([]byte, error) {
		x, err := nacre.NewTensor([]int64{token}, 1, 1)
		if err != nil {
			return nil, err
		}
		out, err := st.Run(context.Background(), map[string]*nacre.Tensor{"token": x})
		if err != nil {
			return nil, err
		}
		var y []byte
		for _, x := range out {
			y = append(y, x.Bytes()...)
		}
		return y, nil
	}
	var want [][]byte
	walk := func(st *nacre.Stream, from, to int) error {
		for i := from; i < to; i++ {
			y, err := next(st, tokens[i])
			if err != nil {
				return err
			}
			if i == len(want) {
				want = append(want, y)
			}
			if !bytes.Equal(y, want[i]) {
				return fmt.Errorf("the answer to token %d is not the one of the first stream", i)
			}
		}
		return nil
	}
	do := func(cut int) error {
		st, err := s.NewStream(context.Background(), nacre.StreamOptions{Room: 4})
		if err != nil {
			return err
		}
		defer st.Close()
		if err := walk(st, 0, len(tokens)); err != nil {
			return err
		}
		if err := st.Truncate(cut); err != nil {
			return err
		}
		fork, err := st.Fork()
		if err != nil {
			return err
		}
		defer fork.Close()
		if err := walk(fork, cut, len(tokens)); err != nil {
			return err
		}
		st.Reset()
		return walk(st, 0, cut)
	}
	if err := do(3); err != nil {
		t.Fatal(err)
	}
	return chore{"stream", func(r *rand.Rand) error { return do(r.IntN(len(tokens))) }}
}

// generating samples tokens with seeds. A seed gives the same tokens every time.
func generating(t *testing.T, s *nacre.Session) chore {
	t.Helper()
	g, err := generate.New(context.Background(), s, generate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	sample := func(seed int) (ids []int32, err error) {
		sampling := generate.Sampling{MaxTokens: 12, Temperature: 1, TopK: 20, Seed: uint64(seed)}
		for token, err := range g.Tokens(context.Background(), side.Ascending(5+seed), sampling) {
			if err != nil {
				return nil, err
			}
			ids = append(ids, token.ID)
		}
		return ids, nil
	}
	var want [8][]int32
	for seed := range want {
		var err error
		if want[seed], err = sample(seed); err != nil {
			t.Fatal(err)
		}
	}
	return chore{"generate", func(r *rand.Rand) error {
		seed := r.IntN(len(want))
		ids, err := sample(seed)
		if err == nil && !slices.Equal(ids, want[seed]) {
			err = fmt.Errorf("seed %d gives %v, not %v as at first", seed, ids, want[seed])
		}
		return err
	}}
}

// limited runs with a memory limit, a shared budget and no waiting, so that runs are sometimes
// refused.
func limited(t *testing.T) chore {
	t.Helper()
	file := encode(t, topologies.MobileNetV3())
	budget, err := nacre.NewMemoryBudget(24 << 20)
	if err != nil {
		t.Fatal(err)
	}
	return chore{"run in little memory", func(r *rand.Rand) error {
		m, err := nacre.Decode("limited", file)
		if err != nil {
			return err
		}
		defer m.Close()
		s, err := m.NewSession(nacre.Options{Threads: 1, MemoryLimit: 1 << (18 + r.IntN(7)), MemoryBudget: budget,
			MaxWaiting: -1})
		if err != nil {
			return unlessRefused(err)
		}
		defer s.Close()
		inputs, err := side.Ramps(s, nil)
		if err != nil {
			return err
		}
		_, err = s.Run(context.Background(), inputs)
		return unlessRefused(err)
	}}
}

func unlessRefused(err error) error {
	if errors.Is(err, nacre.ErrMemory) || errors.Is(err, nacre.ErrBusy) {
		return nil
	}
	return err
}

// prepared is a model of the table of operators, encoded, with its inputs.
type prepared struct {
	row    operators.Row
	file   []byte
	inputs map[string]nacre.Value
}

// prepare makes the small models of the table of operators: all of them with -soak, else every
// eighth row's.
func prepare(t *testing.T) (list []prepared) {
	t.Helper()
	rows, err := operators.Rows()
	if err != nil {
		t.Fatal(err)
	}
	const most = 1 << 20 // bytes
	for i, row := range rows {
		if *lasts == 0 && i%8 != 0 {
			continue
		}
		m, err := row.Build()
		if err != nil {
			t.Fatal(err)
		}
		size := 0
		for _, w := range m.Graph.Initializers {
			size += len(w.Tensor.Bytes())
		}
		for _, x := range m.Feeds {
			size += len(x.Bytes())
		}
		if size > most {
			continue
		}
		p := prepared{row: row, file: encode(t, &m.Model), inputs: map[string]nacre.Value{}}
		for i, x := range m.Feeds {
			p.inputs[m.Graph.Inputs[i].Name] = publicTensor(t, x)
		}
		list = append(list, p)
	}
	return list
}

// operating opens one of the models and runs it twice, with the same results.
func operating(list []prepared, device nacre.Device) chore {
	name := fmt.Sprintf("operators (%d)", len(list))
	if device != nil {
		name += " on " + device.Name()
	}
	return chore{name, func(r *rand.Rand) error {
		p := list[r.IntN(len(list))]
		m, err := nacre.Decode(p.row.Name, p.file)
		if err != nil {
			return fmt.Errorf("%s: %w", p.row.Name, err)
		}
		defer m.Close()
		s, err := m.NewSession(nacre.Options{Threads: 1 + r.IntN(2), Device: device})
		if err != nil {
			return fmt.Errorf("%s: %w", p.row.Name, err)
		}
		defer s.Close()
		var first map[string]nacre.Value
		for range 2 {
			out, err := s.RunValues(context.Background(), p.inputs)
			if err != nil {
				return fmt.Errorf("%s: %w", p.row.Name, err)
			}
			if first == nil {
				first = out
			}
			for result, v := range out {
				x, ok := v.(*nacre.Tensor)
				if ok && !p.row.Drawn && !bytes.Equal(x.Bytes(), first[result].(*nacre.Tensor).Bytes()) {
					return fmt.Errorf("%s: two runs give two results", p.row.Name)
				}
			}
		}
		return nil
	}}
}

// publicTensor returns a copy of a tensor in the type that programs use.
func publicTensor(t *testing.T, x *tensor.Tensor) *nacre.Tensor {
	t.Helper()
	var y *nacre.Tensor
	var err error
	if x.DType() == tensor.String {
		y, err = nacre.Strings(slices.Clone(x.Strings()), x.Shape()...)
	} else {
		var d nacre.DType
		if d, err = nacre.ParseDType(x.DType().String()); err != nil {
			t.Fatal(err)
		}
		y, err = nacre.FromBytes(d, bytes.Clone(x.Bytes()), x.Shape()...)
	}
	if err != nil {
		t.Fatal(err)
	}
	return y
}
