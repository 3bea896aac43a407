package loom

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"io"
	"math"
	"strconv"
)

// emitter writes JSON as Go's encoder does: in lines indented by two spaces, or without white
// space. The writer reports errors at the end.
type emitter struct {
	w      *bufio.Writer
	indent bool
	depth  int
	empty  bool // nothing was written since the last bracket
}

func newEmitter(w io.Writer, indent bool) *emitter {
	return &emitter{w: bufio.NewWriterSize(w, 1<<16), indent: indent}
}

// within writes the brackets and, between them, the output of f.
func (e *emitter) within(brackets string, f func()) {
	e.w.WriteByte(brackets[0])
	e.depth++
	e.empty = true
	f()
	e.depth--
	if !e.empty {
		e.line()
	}
	e.empty = false
	e.w.WriteByte(brackets[1])
}

func (e *emitter) line() {
	if e.indent {
		e.w.WriteByte('\n')
		for range e.depth {
			e.w.WriteString("  ")
		}
	}
}

// item begins the next element of an array.
func (e *emitter) item() {
	if !e.empty {
		e.w.WriteByte(',')
	}
	e.empty = false
	e.line()
}

// key begins the next member of an object.
func (e *emitter) key(k string) {
	e.item()
	e.text(k)
	e.w.WriteByte(':')
	if e.indent {
		e.w.WriteByte(' ')
	}
}

// member writes a member with a number, truth value, text or name. If always is false, it skips
// zero values.
func (e *emitter) member(key string, always bool, v any) {
	text := ""
	quoted := false
	switch v := v.(type) {
	case *int:
		text = strconv.Itoa(*v)
	case *uint64:
		text = strconv.FormatUint(*v, 10)
	case softmaxNumber:
		text = strconv.Itoa(int(*v.at))
	case *bool:
		if text = "false"; *v {
			text = "true"
		}
	case *float64:
		text = float(*v, 64)
	case *float32:
		text = float(float64(*v), 32)
	case *string:
		text, quoted = *v, true
	case *LayerType:
		text, quoted = v.String(), true
	case *Activation:
		text, quoted = v.String(), true
	case *DType:
		text, quoted = v.String(), true
	case *SoftmaxType:
		text, quoted = v.String(), true
	}
	if !always && (text == "" || !quoted && (text == "0" || text == "-0" || text == "false")) {
		return
	}
	e.key(key)
	if quoted {
		e.text(text)
	} else {
		e.w.WriteString(text)
	}
}

func (e *emitter) text(s string) {
	b, _ := json.Marshal(s) // no string fails
	e.w.Write(b)
}

// base64 writes bytes as a string.
func (e *emitter) base64(b []byte) {
	e.w.WriteByte('"')
	enc := base64.NewEncoder(base64.StdEncoding, e.w)
	enc.Write(b)
	enc.Close()
	e.w.WriteByte('"')
}

// float returns the shortest decimal that parses to the same number of this many bits: plain
// between 1e-6 and 1e21, else with an exponent without a leading zero.
func float(f float64, bits int) string {
	format := byte('f')
	if a := math.Abs(f); a != 0 && (bits == 64 && (a < 1e-6 || a >= 1e21) || bits == 32 && (float32(a) < 1e-6 || float32(a) >= 1e21)) {
		format = 'e'
	}
	s := strconv.FormatFloat(f, format, -1, bits)
	if n := len(s); format == 'e' && n >= 4 && s[n-4:n-1] == "e-0" {
		s = s[:n-2] + s[n-1:]
	}
	return s
}

// network writes the object of a network.
func (e *emitter) network(n *Network, in kinds, store func(*Layer)) {
	e.within("{}", func() {
		id := "network"
		e.member("id", true, &id)
		e.member("depth", true, &n.Depth)
		e.member("rows", true, &n.Rows)
		e.member("cols", true, &n.Cols)
		e.member("layers_per_cell", true, &n.LayersPerCell)
		e.key("layers")
		e.layers(n.Layers, in, store)
	})
}

func (e *emitter) layers(list []*Layer, in kinds, store func(*Layer)) {
	e.within("[]", func() {
		for _, l := range list {
			e.item()
			e.layer(l, in, store)
		}
	})
}

// layer writes the object of a layer. store writes the members of its weights. If store is nil,
// layer omits them, and SeqLength where ENTITY files omit it.
func (e *emitter) layer(l *Layer, in kinds, store func(*Layer)) {
	l = l.unfilled()
	if store != nil && l.Weights != nil {
		l.DType = l.Weights.DType
	}
	if store == nil && l.SeqLength == 1 && !l.recurs() {
		l.SeqLength = 0
	}
	e.within("{}", func() {
		for i := range fields {
			f := &fields[i]
			if f.in&in == 0 {
				continue
			}
			switch at := f.at(l).(type) {
			case nil:
			case **Blob:
				if *at != nil && store != nil {
					store(l)
				}
			case *[]*Layer:
				if len(*at) > 0 {
					e.key(f.key)
					e.layers(*at, in, store)
				}
			case **Layer:
				if *at != nil {
					e.key(f.key)
					e.layer(*at, in, store)
				}
			case *[]Rule:
				e.rules(f.key, *at)
			case *[]bool:
				list(e, f.key, *at, func(v bool) string { return strconv.FormatBool(v) })
			case *[]int:
				list(e, f.key, *at, strconv.Itoa)
			default:
				e.member(f.key, f.always, at)
			}
		}
	})
}

func list[T any](e *emitter, key string, values []T, text func(T) string) {
	if len(values) == 0 {
		return
	}
	e.key(key)
	e.within("[]", func() {
		for _, v := range values {
			e.item()
			e.w.WriteString(text(v))
		}
	})
}

func (e *emitter) rules(key string, rules []Rule) {
	if len(rules) == 0 {
		return
	}
	e.key(key)
	e.within("[]", func() {
		for i := range rules {
			e.item()
			e.within("{}", func() {
				for _, m := range rules[i].fields() {
					e.member(m.key, true, m.at)
				}
			})
		}
	})
}
