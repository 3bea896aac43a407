package letters

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"io"
	"slices"
)

// A file of a model is compressed by flate. Its parts are stretches of bytes, each after its
// length: classes (the number of phones of each, then the phones), trees (features, then values of
// the nodes in order, the branch Yes first), words (for each the letters that it shares with the
// word before, the number of its other letters, and the number of its patches; all letters; all
// patches' letters; all patches' classes).

// maxPart bounds the parts of a file, so that a broken one takes no memory.
const maxPart = 4 << 20

var errFile = errors.New("not a model of letters")

// Encode returns the file of a model.
func Encode(m *Model) ([]byte, error) {
	var classes, features, values, shape, letters, places, patched []byte
	for _, phones := range m.Classes {
		classes = append(classes, byte(len(phones)))
		for _, p := range phones {
			classes = append(classes, byte(p))
		}
	}
	for _, n := range m.Nodes {
		features, values = append(features, n.Feature), append(values, n.Value)
	}
	var before []byte
	for i := range m.Words.Len() {
		word := m.Words.word(i)
		shared := 0
		for shared < min(len(before), len(word)) && before[shared] == word[shared] {
			shared++
		}
		patches := m.Words.Patches[m.Words.Firsts[i]:m.Words.Firsts[i+1]]
		shape = append(shape, byte(shared), byte(len(word)-shared), byte(len(patches)/2))
		letters = append(letters, word[shared:]...)
		for k := 0; k < len(patches); k += 2 {
			places, patched = append(places, patches[k]), append(patched, patches[k+1])
		}
		before = word
	}
	var out bytes.Buffer
	w, err := flate.NewWriter(&out, flate.BestCompression)
	if err != nil {
		return nil, err
	}
	for _, part := range [][]byte{classes, features, values, shape, letters, places, patched} {
		if _, err := w.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(part)))); err != nil {
			return nil, err
		}
		if _, err := w.Write(part); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// Decode reads the file of a model.
func Decode(data []byte) (*Model, error) {
	r := flate.NewReader(bytes.NewReader(data))
	var parts [7][]byte
	for i := range parts {
		var size [4]byte
		if _, err := io.ReadFull(r, size[:]); err != nil {
			return nil, errFile
		}
		n := binary.LittleEndian.Uint32(size[:])
		if n > maxPart {
			return nil, errFile
		}
		parts[i] = make([]byte, n)
		if _, err := io.ReadFull(r, parts[i]); err != nil {
			return nil, errFile
		}
	}
	if n, err := r.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		return nil, errFile
	}
	m := &Model{}
	if !m.classes(parts[0]) || !m.trees(parts[1], parts[2]) || !m.words(parts[3], parts[4], parts[5], parts[6]) {
		return nil, errFile
	}
	return m, nil
}

func (m *Model) classes(b []byte) bool {
	for len(b) > 0 {
		n := int(b[0])
		if len(b) < 1+n || n > 2 {
			return false
		}
		phones := make([]Phone, n)
		for i := range phones {
			if phones[i] = Phone(b[1+i]); phones[i] >= Phones {
				return false
			}
		}
		m.Classes, b = append(m.Classes, phones), b[1+n:]
	}
	return len(m.Classes) > 0
}

// trees links nodes in the order of a walk, Yes before No. There is a tree for each letter.
func (m *Model) trees(features, values []byte) bool {
	if len(features) != len(values) {
		return false
	}
	m.Nodes = make([]Node, len(features))
	var open []int // nodes that wait for their branch No
	tree := 1
	for i := range m.Nodes {
		m.Nodes[i] = Node{Feature: features[i], Value: values[i]}
		if len(open) == 0 && (i == 0 || m.Nodes[i-1].Feature == Leaf) {
			if tree == Alphabet {
				return false
			}
			m.Roots[tree] = uint32(i)
			tree++
		} else if i > 0 && m.Nodes[i-1].Feature == Leaf {
			m.Nodes[open[len(open)-1]].No = uint32(i)
			open = open[:len(open)-1]
		}
		switch {
		case features[i] == Leaf && int(values[i]) >= len(m.Classes):
			return false
		case features[i] == Leaf:
		case features[i] >= Features:
			return false
		default:
			open = append(open, i)
		}
	}
	return len(open) == 0 && tree == Alphabet
}

func (m *Model) words(shape, letters, places, patched []byte) bool {
	if len(shape)%3 != 0 || len(places) != len(patched) {
		return false
	}
	w := &m.Words
	var word []byte
	for i := 0; i < len(shape); i += 3 {
		shared, more, patches := int(shape[i]), int(shape[i+1]), int(shape[i+2])
		if shared > len(word) || more > len(letters) || patches > len(places) {
			return false
		}
		word = append(word[:shared], letters[:more]...)
		w.Starts, w.Firsts = append(w.Starts, uint32(len(w.Text))), append(w.Firsts, uint32(len(w.Patches)))
		w.Text = append(w.Text, word...)
		for k := range patches {
			if int(patched[k]) >= len(m.Classes) {
				return false
			}
			w.Patches = append(w.Patches, places[k], patched[k])
		}
		letters, places, patched = letters[more:], places[patches:], patched[patches:]
	}
	w.Starts, w.Firsts = append(w.Starts, uint32(len(w.Text))), append(w.Firsts, uint32(len(w.Patches)))
	w.Text, w.Patches = slices.Clip(w.Text), slices.Clip(w.Patches)
	return len(letters) == 0 && len(places) == 0
}
