package onnx

import (
	"strings"

	"github.com/nacre-ml/nacre/runtime/graph"
)

// inner lists the domains of operators that no file may use. Only passes and the readers of other
// formats put them into graphs.
var inner = []string{"nacre", "openinfer"}

// domain returns the name of a domain as graphs spell it.
func domain(name string) string {
	if name == "ai.onnx" {
		return ""
	}
	return name
}

// standard returns the name of a domain as messages spell it.
func standard(name string) string {
	if name == "" {
		return "ai.onnx"
	}
	return name
}

// scope says which version of each domain's operators applies.
type scope struct {
	imports map[string]int
	outer   *scope // the model's, around a function's
}

func newScope(sets []graph.Opset, outer *scope) *scope {
	s := &scope{imports: make(map[string]int, len(sets)), outer: outer}
	for _, o := range sets {
		s.imports[o.Domain] = o.Version
	}
	return s
}

// version returns the version of a domain, or 0 if the domain must be imported and is not. Domains
// outside the ONNX standard need no import, because exporters leave it out. Their version is then
// 1.
func (s *scope) version(domain string) int {
	for ; s != nil; s = s.outer {
		if v, ok := s.imports[domain]; ok {
			return v
		}
	}
	if domain == "" || strings.HasPrefix(domain, "ai.onnx.") {
		return 0
	}
	return 1
}

// opset reads an OperatorSetIdProto and adds it to the list. If a domain is imported twice, the
// later import counts, as in ONNX Runtime. The standard domain has two names.
func (d *decoder) opset(m message, list []graph.Opset) []graph.Opset {
	var o graph.Opset
	at, version := m.start, int64(0)
	for m.next() {
		switch m.num {
		case 1:
			o.Domain = domain(m.name())
		case 2:
			version = m.int()
		}
	}
	switch {
	case d.err != nil:
		return list
	case version < 1 || version > 1<<30:
		d.bad(at, "version %d of operator set %q", version, standard(o.Domain))
		return list
	case o.Domain == "" && version > maxOpset:
		d.fail(at, graph.ErrUnsupported, "operator set %d is newer than %d, the latest that is known", version, maxOpset)
		return list
	}
	o.Version = int(version)
	for i, x := range list {
		if x.Domain == o.Domain {
			if x.Version == o.Version {
				d.warn(at, "operator set %q is imported twice", standard(o.Domain))
			} else {
				d.warn(at, "operator set %q is imported twice, as version %d and as version %d, which counts",
					standard(o.Domain), x.Version, o.Version)
			}
			list[i] = o
			return list
		}
	}
	if len(list) == maxDomains {
		d.bad(at, "operator sets of more than %d domains", maxDomains)
	}
	return append(list, o)
}
