package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/internal/output"
	"github.com/nacre-ml/nacre/internal/pieces"
	"github.com/nacre-ml/nacre/internal/printable"
	"github.com/nacre-ml/nacre/npy"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// summary prints the type, the range and the first elements of an output, and the best classes if
// it is a vector of scores.
func summary(ctx context.Context, w io.Writer, name string, out *nacre.Tensor) error {
	t := plainTensor(out)
	printable.Fprintf(w, "%s %v\n", name, t)
	if t.DType() == tensor.String {
		printable.Fprintf(w, "  first %q\n", t.Strings()[:min(t.Len(), 8)])
		return nil
	}
	at := tensor.Numbers(t)
	if at == nil || t.Len() == 0 {
		return nil
	}
	lo, hi, sum := math.Inf(1), math.Inf(-1), 0.0
	err := pieces.Each(ctx, t.Len(), pieces.Elements, func(from, to int) {
		for i := from; i < to; i++ {
			v := at(i)
			lo, hi, sum = min(lo, v), max(hi, v), sum+v
		}
	})
	if err != nil {
		return err
	}
	printable.Fprintf(w, "  min %.6g  max %.6g  mean %.6g\n", lo, hi, sum/float64(t.Len()))
	first := make([]string, min(t.Len(), 8))
	for i := range first {
		first[i] = fmt.Sprintf("%.6g", at(i))
	}
	printable.Fprintf(w, "  first %s\n", strings.Join(first, " "))
	if isScores(t) {
		printable.Fprintf(w, "  best %s\n", strings.Join(best(at, t.Len(), 5), "  "))
	}
	return nil
}

// isScores reports whether the tensor is one vector of floats, of a length that is plausible for
// the scores of classes.
func isScores(t *tensor.Tensor) bool {
	n := t.Len()
	return t.DType().IsFloat() && n >= 5 && n <= 100000 && len(t.Shape()) > 0 &&
		t.Shape()[len(t.Shape())-1] == n
}

// best returns "index: value" for the k largest of n numbers, largest first.
func best(at func(int) float64, n, k int) []string {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(i, j int) bool { return at(order[i]) > at(order[j]) })
	list := make([]string, min(k, n))
	for i := range list {
		list[i] = fmt.Sprintf("%d: %.4g", order[i], at(order[i]))
	}
	return list
}

// writeOutputs stores every output in folder: a tensor as a .npy file, any other value as a .json
// file. Element types that .npy lacks are widened to a type that holds all of their values.
func writeOutputs(
	ctx context.Context, w io.Writer, folder string, values []nacre.Info, out map[string]nacre.Value,
) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	used := map[string]bool{}
	for _, v := range values {
		ending, write := ".json", func(f io.Writer) error { return writeJSON(f, asJSON(ctx, out[v.Name])) }
		if x, ok := out[v.Name].(*nacre.Tensor); ok {
			t, err := writable(ctx, plainTensor(x))
			if err != nil {
				return fmt.Errorf("output %q: %w", v.Name, err)
			}
			x, err := tensorOf(t)
			if err != nil {
				return fmt.Errorf("output %q: %w", v.Name, err)
			}
			ending, write = ".npy", func(f io.Writer) error { return npy.Write(f, x) }
		}
		name := fileName(v.Name)
		for used[name+ending] {
			name += "_"
		}
		used[name+ending] = true
		path := filepath.Join(folder, name+ending)
		if err := writeFile(ctx, path, write); err != nil {
			return err
		}
		printable.Fprintf(w, "%s %s -> %s\n", v.Name, kindAndCount(out[v.Name]), path)
	}
	return nil
}

// fileName returns the name of a value as a valid name of a file.
func fileName(name string) string {
	clean := strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\:*?"<>|`, r) || printable.Text(string(r)) != string(r) {
			return '_'
		}
		return r
	}, name)
	if strings.Trim(clean, ".") == "" {
		return "output" + clean
	}
	return clean
}

func writable(ctx context.Context, t *tensor.Tensor) (*tensor.Tensor, error) {
	if npy.Holds(nacre.DType(t.DType())) {
		return t, nil
	}
	at := tensor.Numbers(t)
	if at == nil {
		return nil, fmt.Errorf("%v has no counterpart in .npy", t.DType())
	}
	switch t.DType().Kind() {
	case tensor.Float:
		return widen[float32](ctx, t, at)
	case tensor.Signed:
		return widen[int8](ctx, t, at)
	}
	return widen[uint8](ctx, t, at)
}

func widen[T interface {
	tensor.Element
	float32 | int8 | uint8
}](ctx context.Context, t *tensor.Tensor, at func(int) float64) (*tensor.Tensor, error) {
	w := tensor.New(tensor.Of[T](), t.Shape()...)
	s := tensor.View[T](w)
	err := pieces.Each(ctx, len(s), pieces.Elements, func(from, to int) {
		for i := from; i < to; i++ {
			s[i] = T(at(i))
		}
	})
	return w, err
}

// writeFile writes a file. After an error, the error of ctx included, a regular file at path is as
// it was before.
func writeFile(ctx context.Context, path string, write func(io.Writer) error) error {
	f, err := output.Create(path)
	if err != nil {
		return err
	}
	defer f.Discard()
	if err = write(pieces.Writer(ctx, f)); err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = f.Commit()
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}
