package chelis

import (
	"fmt"
	"regexp"
	"strings"
)

// outputs returns the last expression of forward and its type.
func (e *emitter) outputs() (tail string, result []field, err error) {
	for _, v := range e.m.Graph.Outputs {
		f := e.facts[v.Name]
		if f == nil {
			return "", nil, fmt.Errorf("%w: nothing computes the output %q", ErrInternalInconsistency, v.Name)
		}
		kind, err := e.kind(f.Type, "output", v.Name)
		if err != nil {
			return "", nil, err
		}
		result = append(result, field{kind: kind})
	}
	if len(result) == 0 {
		return "", nil, fmt.Errorf("%w: the model has no output", ErrInternalInconsistency)
	}
	if len(result) == 1 {
		tail = e.code[e.m.Graph.Outputs[0].Name]
		if n := len(e.lines); n > 0 && e.lines[n-1].id == tail {
			tail = e.lines[n-1].expr
			e.lines = e.lines[:n-1]
		}
		return tail, result, nil
	}
	var parts []string
	taken := map[string]bool{}
	for i, v := range e.m.Graph.Outputs {
		code := e.code[v.Name]
		if id := code; plain.MatchString(id) && !strings.ContainsAny(id, ".(") && !taken[id] {
			result[i].id = id
		} else {
			result[i].id = e.ids.Of(v.Name)
		}
		taken[result[i].id] = true
		if code != result[i].id {
			code = result[i].id + ": " + code
		}
		parts = append(parts, code)
	}
	return "ForwardOutputs { " + strings.Join(parts, ", ") + " }", result, nil
}

var identifiers = regexp.MustCompile(`[a-z_][a-z0-9_]*`)

// needed returns the lines that the last expression of forward needs, last first, and the
// identifiers in them.
func (e *emitter) needed(tail string) (lines []string, used map[string]bool) {
	used = map[string]bool{}
	use := func(expr string) {
		for _, id := range identifiers.FindAllString(expr, -1) {
			used[id] = true
		}
	}
	use(tail)
	for i := len(e.lines) - 1; i >= 0; i-- {
		if l := e.lines[i]; used[l.id] {
			use(l.expr)
			lines = append(lines, "  "+l.id+" = "+l.expr+"\n")
		}
	}
	return lines, used
}

// text writes the module without unused definitions and lines.
func (e *emitter) text(inputs []field, tail string, outputs []field) (string, error) {
	lines, used := e.needed(tail)
	for id := range e.missing {
		if used[id] {
			return "", e.missing[id]
		}
	}
	stored, fields, err := e.archived(used)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	loader := e.head(&b, len(inputs) > 1, len(outputs) > 1, stored)
	parameters, result := e.signature(&b, inputs, outputs)
	if len(stored) > 0 {
		parameters = append(parameters, e.bundle+": "+e.record(&b, "ForwardWeights", fields))
		e.reading(&b, loader, stored, fields)
	}
	for _, w := range e.order {
		if !used[w.id] || w.archived {
			continue
		}
		if err := e.weight(&b, w); err != nil {
			return "", err
		}
	}
	variables := ""
	if len(e.dims) > 0 {
		variables = "[" + strings.Join(e.dims, ", ") + "]"
	}
	fmt.Fprintf(&b, "def forward%s(%s) -> %s = ", variables, strings.Join(parameters, ", "), result)
	if len(lines) == 0 {
		return b.String() + tail + "\n", nil
	}
	b.WriteString("{\n")
	for i := len(lines) - 1; i >= 0; i-- {
		b.WriteString(lines[i])
	}
	return b.String() + "  " + tail + "\n}\n", nil
}

// head writes the lines before the declarations. It returns the name of the definition that reads
// stored weights.
func (e *emitter) head(b *strings.Builder, manyInputs, manyOutputs bool, stored []*weight) (loader string) {
	exports := "forward"
	if manyInputs {
		exports += ", ForwardInputs"
	}
	if manyOutputs {
		exports += ", ForwardOutputs"
	}
	if len(stored) > 0 {
		loader = e.ids.Of("stored")
		exports += ", " + loader + ", ForwardWeights"
	}
	fmt.Fprintf(b, "module %s\nexport (%s)\n", e.o.Module, exports)
	if len(stored) > 0 {
		b.WriteString(imports(stored))
	}
	return loader
}

// signature writes the records of forward, and returns its parameters and its result type.
func (e *emitter) signature(b *strings.Builder, inputs, outputs []field) (parameters []string, result string) {
	switch len(inputs) {
	case 0:
	case 1:
		parameters = []string{inputs[0].id + ": " + inputs[0].kind}
	default:
		parameters = []string{"inputs: " + e.record(b, "ForwardInputs", inputs)}
	}
	if len(outputs) > 1 {
		return parameters, e.record(b, "ForwardOutputs", outputs)
	}
	return parameters, outputs[0].kind
}

// record writes the type of a record. It returns the name with the dimension variables that the
// fields use.
func (e *emitter) record(b *strings.Builder, name string, fields []field) string {
	parts := make([]string, len(fields))
	has := map[string]bool{}
	for i, f := range fields {
		parts[i] = f.id + ": " + f.kind
		for _, id := range identifiers.FindAllString(f.kind, -1) {
			has[id] = true
		}
	}
	var variables []string
	for _, d := range e.dims {
		if has[d] {
			variables = append(variables, d)
		}
	}
	list := ""
	if len(variables) > 0 {
		list = "[" + strings.Join(variables, ", ") + "]"
	}
	fmt.Fprintf(b, "type %s%s =\n  | %s { %s }\n", name, list, name, strings.Join(parts, ", "))
	return name + list
}

// weight writes the definition of a weight.
func (e *emitter) weight(b *strings.Builder, w *weight) error {
	t := w.tensor
	kind, err := e.weightKind(w)
	if err != nil {
		return err
	}
	text := ""
	if e.o.Placeholder {
		text = fmt.Sprintf("reshape(expand(to_tensor([%s]), 0i32, %di64), %s)", number(t.DType(), 0), t.Len(), numbers(t.Shape()))
	} else {
		if t.Len() > e.o.MaxElements {
			return fmt.Errorf("%w: %w: weight %q has %d elements, and at most %d are written (--max-elements); --weights placeholder leaves values out", ErrWeightConversion, ErrWeightTooLarge, w.name, t.Len(), e.o.MaxElements)
		}
		if text, err = literal(t); err != nil {
			return fmt.Errorf("%w: weight %q: %w", ErrWeightConversion, w.name, err)
		}
	}
	fmt.Fprintf(b, "def %s() -> %s = %s\n", w.id, kind, text)
	return nil
}

// numbers returns a list of extents.
func numbers(list []int) string {
	parts := make([]string, len(list))
	for i, n := range list {
		parts[i] = fmt.Sprintf("%di64", n)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}
