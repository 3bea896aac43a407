package nacre

import "github.com/nacre-ml/nacre/internal/guard"

// door guards an exported function that reads a file or runs a model:
//
//	defer enter(file).end(&err)
//
// A panic becomes an error of kind ErrInternal.
type door struct {
	guard.Guard
	none string // what to call instead, if the receiver is nil or its zero value
}

func enter(file string) door { return door{Guard: guard.At(file)} }

// end ends the guard of a function, which defers it. A method of a zero value fails at the
// first field that it lacks; the error says that the value was never made.
func (d door) end(err *error) {
	*err = d.Caught(recover(), *err)
	if d.none != "" {
		*err = markf(ErrClosed, "the value was never made; %s makes one", d.none)
	}
}

func (m *Model) enter() door {
	if !m.made() {
		return door{Guard: guard.At(""), none: "Open"}
	}
	return enter(m.source.File)
}

func (s *Session) enter() door {
	if !s.made() {
		return door{Guard: guard.At(""), none: "Model.NewSession"}
	}
	return enter(s.model.source.File)
}

func (s *Stream) enter() door {
	if !s.made() {
		return door{Guard: guard.At(""), none: "Session.NewStream"}
	}
	return enter(s.session.model.source.File)
}

func (b *Bound) enter() door {
	if !b.made() {
		return door{Guard: guard.At(""), none: "Session.Bind"}
	}
	return enter(b.session.model.source.File)
}

func (b *Batcher) enter() door {
	if !b.made() {
		return door{Guard: guard.At(""), none: "NewBatcher"}
	}
	return enter(b.s.model.source.File)
}

func (p *Plan) enter() door {
	if !p.made() {
		return door{Guard: guard.At(""), none: "Session.Plan"}
	}
	return enter(p.p.Program.File)
}

func (p *Profile) enter() door {
	if !p.made() {
		return door{Guard: guard.At(""), none: "Session.Profile"}
	}
	return enter("")
}

// made reports whether a value is neither nil nor its zero value.

func (m *Model) made() bool        { return m != nil && m.source != nil }
func (s *Session) made() bool      { return s != nil && s.model.made() }
func (s *Stream) made() bool       { return s != nil && s.session.made() }
func (b *Bound) made() bool        { return b != nil && b.session.made() }
func (b *Batcher) made() bool      { return b != nil && b.s.made() }
func (p *Plan) made() bool         { return p != nil && p.p != nil }
func (p *Profile) made() bool      { return p != nil && p.p != nil }
func (b *MemoryBudget) made() bool { return b != nil && b.memory != nil }
