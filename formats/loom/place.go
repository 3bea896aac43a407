package loom

import (
	"fmt"
	"strings"
)

// place stores a blob where its path says. Of two blobs with one path the later stays.
func (r *reader) place(b *Blob, root, rest string, cells map[int]*Layer) error {
	if root == "transformer" {
		b.Name = rest
		if err := b.fitGlobal(r.net.Transformer); err != nil {
			return err
		}
		r.net.Globals = replaced(r.net.Globals, b)
		return nil
	}
	cell, rest, _ := strings.Cut(rest, ".")
	i, ok := index(cell)
	l := cells[i]
	if !ok || l == nil {
		return fmt.Errorf("there is no layer %q", brief(cell))
	}
	l, rest, err := l.inside(rest)
	if err != nil {
		return err
	}
	if b.Name = rest; rest != "" {
		if err := b.fitExtra(l); err != nil {
			return err
		}
		l.Extra = replaced(l.Extra, b)
		return nil
	}
	if b.Kind != "" {
		return fmt.Errorf("%s is no dtype of a store", b.Kind)
	}
	if !b.Native && b.DType != Float32 {
		return fmt.Errorf("a store of %v that is not native cannot be: plain weights are float32", b.DType)
	}
	if err := b.fit(l); err != nil {
		return err
	}
	l.Weights = b
	return nil
}

// inside follows a path into a layer. It returns the layer where the path ends, and the rest of the
// path.
func (l *Layer) inside(path string) (*Layer, string, error) {
	for {
		word, rest, _ := strings.Cut(path, ".")
		var list []*Layer
		switch word {
		case branches:
			list = l.Branches
		case steps:
			list = l.Steps
		case observed:
			if l.Observed == nil {
				return nil, "", fmt.Errorf("the layer observes none")
			}
			l, path = l.Observed, rest
			continue
		default:
			return l, path, nil
		}
		at, rest, _ := strings.Cut(rest, ".")
		i, ok := index(at)
		if !ok || i >= len(list) {
			return nil, "", fmt.Errorf("there is no %s %q", word, brief(at))
		}
		l, path = list[i], rest
	}
}

// replaced returns the list with b in place of the blob of the same name, or appended.
func replaced(list []*Blob, b *Blob) []*Blob {
	for i := range list {
		if list[i].Name == b.Name {
			list[i] = b
			return list
		}
	}
	return append(list, b)
}
