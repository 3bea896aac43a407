package gguf

import (
	"fmt"
	"math"
	"slices"

	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

const (
	architectureKey = "general.architecture"
	typeKey         = "general.type"
)

// maxSize bounds the sizes in metadata.
const maxSize = 1 << 24

// settings reads the metadata of an architecture. After the first problem it returns defaults.
type settings struct {
	architecture string // and the prefix of keys
	pairs        map[string]*graph.Pair
	err          error
}

func settingsOf(m *graph.Model) *settings {
	s := &settings{pairs: make(map[string]*graph.Pair, len(m.Meta))}
	for i := range m.Meta {
		s.pairs[m.Meta[i].Key] = &m.Meta[i]
	}
	if p := s.pairs[architectureKey]; p != nil {
		s.architecture = p.Value
	}
	return s
}

// find returns the pair of a key of the architecture, nil if there is none.
func (s *settings) find(key string) *graph.Pair { return s.pairs[s.architecture+"."+key] }

// has reports whether the architecture has a key.
func (s *settings) has(key string) bool { return s.find(key) != nil }

// wrong records a problem with a key.
func (s *settings) wrong(kind error, key, format string, args ...any) {
	if s.err == nil {
		s.err = graph.Errorf(kind, "metadata %s.%s %s", s.architecture, key, fmt.Sprintf(format, args...))
	}
}

// size returns a size above 0, or otherwise if the key is missing. If otherwise is 0, the key must
// be there.
func (s *settings) size(key string, otherwise int) int {
	p := s.find(key)
	if p == nil {
		if otherwise == 0 {
			s.wrong(graph.ErrFormat, key, "is missing")
			return 1
		}
		return otherwise
	}
	v, ok := integer(p)
	if !ok || v < 1 || v > maxSize {
		s.wrong(graph.ErrFormat, key, "is no number from 1 to %d", maxSize)
		return 1
	}
	return int(v)
}

// sizes returns a size per layer, from one number or from a list. Numbers of a list are from least.
func (s *settings) sizes(key string, layers, otherwise, least int) []int {
	p := s.find(key)
	if p == nil || p.Data == nil || len(p.Data.Shape()) == 0 {
		return slices.Repeat([]int{s.size(key, otherwise)}, layers)
	}
	list := make([]int, layers)
	if p.Data.Len() != layers || !p.Data.DType().IsInteger() {
		s.wrong(graph.ErrFormat, key, "is %v, and there are %d layers", p.Data, layers)
		return slices.Repeat([]int{1}, layers)
	}
	at := tensor.Numbers(p.Data)
	for i := range list {
		v := at(i)
		if !(v >= float64(least)) || v > maxSize {
			s.wrong(graph.ErrUnsupported, key, "is %v for layer %d, and takes numbers from %d to %d", v, i, least, maxSize)
			v = 1
		}
		list[i] = int(v)
	}
	return list
}

// float returns a finite number, or otherwise if the key is missing.
func (s *settings) float(key string, otherwise float64) float64 {
	p := s.find(key)
	if p == nil {
		return otherwise
	}
	if p.Data == nil || len(p.Data.Shape()) != 0 || !p.Data.DType().IsFloat() && !p.Data.DType().IsInteger() {
		s.wrong(graph.ErrFormat, key, "is no number")
		return otherwise
	}
	v := tensor.Numbers(p.Data)(0)
	if math.IsNaN(v) || math.IsInf(v, 0) {
		s.wrong(graph.ErrFormat, key, "is %v", v)
		return otherwise
	}
	return v
}

// positive is float for numbers above 0. If otherwise is 0, the key must be there.
func (s *settings) positive(key string, otherwise float64) float64 {
	v := s.float(key, otherwise)
	if !s.has(key) && otherwise == 0 {
		s.wrong(graph.ErrFormat, key, "is missing")
		return 1
	}
	if v <= 0 {
		s.wrong(graph.ErrFormat, key, "is %v, and must be above 0", v)
		return 1
	}
	return v
}

// truth returns a boolean, or otherwise if the key is missing.
func (s *settings) truth(key string, otherwise bool) bool {
	p := s.find(key)
	if p == nil {
		return otherwise
	}
	if p.Data == nil || p.Data.DType() != tensor.Bool || len(p.Data.Shape()) != 0 {
		s.wrong(graph.ErrFormat, key, "is no boolean")
		return otherwise
	}
	return p.Data.Bytes()[0] != 0
}

// text returns a text, or "" if the key is missing.
func (s *settings) text(key string) string {
	if p := s.find(key); p != nil {
		return p.Value
	}
	return ""
}

// locals reports which layers have a window, by the key for the pattern: in each period all but the
// last, or those of a list.
func (s *settings) locals(layers, period int) []bool {
	const key = "attention.sliding_window_pattern"
	list := make([]bool, layers)
	if p := s.find(key); p != nil && p.Data != nil && len(p.Data.Shape()) == 1 {
		if p.Data.Len() != layers || p.Data.DType() != tensor.Bool {
			s.wrong(graph.ErrFormat, key, "is %v, and there are %d layers", p.Data, layers)
			return list
		}
		for i, b := range p.Data.Bytes() {
			list[i] = b != 0
		}
		return list
	}
	period = s.size(key, period)
	for i := range list {
		list[i] = i%period < period-1
	}
	return list
}

// loadError returns an error of lowering a model.
func loadError(m *graph.Model, err error) error {
	return &graph.Error{Stage: "load", File: m.File, Offset: -1, Err: container.Memory(err)}
}
