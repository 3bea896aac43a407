package openinfer

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/internal/budget"
	"github.com/nacre-ml/nacre/internal/pieces"
)

// jsonValue is a part of a JSON text with its place.
type jsonValue struct {
	raw  json.RawMessage
	path string         // e.g. blocks.entry.nodes[2]
	in   *budget.Budget // the reader's budget
}

// jsonObject holds the members of an object in order. Readers take members one by one; done reports
// the members left over.
type jsonObject struct {
	path string
	in   *budget.Budget
	keys []string
	vals map[string]json.RawMessage
}

func (v jsonValue) errorf(format string, args ...any) error {
	path := v.path
	if path == "" {
		path = "the top level"
	}
	return fmt.Errorf("%s: %w", path, fmt.Errorf(format, args...))
}

// isNull reports whether the value is null or missing.
func (v jsonValue) isNull() bool {
	t := bytes.TrimSpace(v.raw)
	return len(t) == 0 || string(t) == "null"
}

// memberBytes is the memory of a member or a list item in bytes, without its text.
const memberBytes = 128

// object reads an object. A repeated member is an error.
func (v jsonValue) object() (*jsonObject, error) {
	o := &jsonObject{path: v.path, in: v.in, vals: map[string]json.RawMessage{}}
	d := json.NewDecoder(pieces.Reader(v.in, bytes.NewReader(v.raw)))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, v.errorf("an object is needed")
	}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, v.errorf("%w", err)
		}
		key, _ := t.(string)
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return nil, v.errorf("%w", err)
		}
		if err := container.Take(v.in, memberBytes+len(raw)); err != nil {
			return nil, v.errorf("%w", err)
		}
		if _, twice := o.vals[key]; twice {
			return nil, v.errorf("%q is there twice", key)
		}
		o.keys = append(o.keys, key)
		o.vals[key] = raw
	}
	return o, nil
}

// list reads an array with at most most values.
func (v jsonValue) list(most int) ([]jsonValue, error) {
	var raw []json.RawMessage
	d := json.NewDecoder(pieces.Reader(v.in, bytes.NewReader(v.raw)))
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return nil, v.errorf("a list is needed")
	}
	for d.More() {
		var item json.RawMessage
		if err := d.Decode(&item); err != nil {
			return nil, v.errorf("%w", err)
		}
		if err := container.Take(v.in, memberBytes+len(item)); err != nil {
			return nil, v.errorf("%w", err)
		}
		if raw = append(raw, item); len(raw) > most {
			return nil, v.errorf("the list has more than %d values", most)
		}
	}
	list := make([]jsonValue, len(raw))
	for i, r := range raw {
		list[i] = jsonValue{r, fmt.Sprintf("%s[%d]", v.path, i), v.in}
	}
	return list, nil
}

// variant reads a value of an enumeration: a word, or an object with one member named by the word.
func (v jsonValue) variant() (word string, inner jsonValue, err error) {
	if json.Unmarshal(v.raw, &word) == nil && !v.isNull() {
		return word, jsonValue{nil, v.path + "." + word, v.in}, nil
	}
	errOther := v.errorf("a word, or an object with one member, is needed")
	if raw := bytes.TrimSpace(v.raw); len(raw) == 0 || raw[0] != '{' {
		return "", inner, errOther
	}
	o, err := v.object()
	if err == nil && len(o.keys) != 1 {
		err = errOther
	}
	if err != nil {
		return "", inner, err
	}
	return o.keys[0], jsonValue{o.vals[o.keys[0]], v.path + "." + o.keys[0], v.in}, nil
}

// take removes a member; ok is false if it is missing.
func (o *jsonObject) take(key string) (v jsonValue, ok bool) {
	raw, ok := o.vals[key]
	delete(o.vals, key)
	path := key
	if o.path != "" {
		path = o.path + "." + key
	}
	return jsonValue{raw, path, o.in}, ok
}

// need removes a member; a missing one is an error.
func (o *jsonObject) need(key string) (jsonValue, error) {
	v, ok := o.take(key)
	if !ok {
		return v, jsonValue{path: o.path}.errorf("%q is missing", key)
	}
	return v, nil
}

// done returns an error if a member was not taken.
func (o *jsonObject) done() error {
	for _, key := range o.keys {
		if _, left := o.vals[key]; left {
			return jsonValue{path: o.path}.errorf("%q is not known", key)
		}
	}
	return nil
}

// scalarOf reads a value of a Go type other than a struct.
func scalarOf[T any](v jsonValue) (x T, err error) {
	if v.isNull() {
		return x, v.errorf("null is no %T", x)
	}
	if err := json.Unmarshal(v.raw, &x); err != nil {
		return x, v.errorf("%s is no %T", clip(v.raw), x)
	}
	return x, nil
}

// needs removes and reads a member; a missing one is an error.
func needs[T any](o *jsonObject, key string) (x T, err error) {
	v, err := o.need(key)
	if err != nil {
		return x, err
	}
	return scalarOf[T](v)
}

// may removes and reads a member. If it is missing or null, the result is zero.
func may[T any](o *jsonObject, key string) (x T, err error) {
	v, ok := o.take(key)
	if !ok || v.isNull() {
		return x, nil
	}
	return scalarOf[T](v)
}

func clip(raw []byte) string {
	if len(raw) > 40 {
		return string(raw[:40]) + "…"
	}
	return string(raw)
}
