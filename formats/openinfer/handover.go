package openinfer

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// handover is the variables that a block has yielded and not awaited yet.
type handover struct {
	away    map[string]bool
	results map[string]string // by variable: its value after the block that changed it
	owners  map[string]string // the block that changed each variable
}

func (h *handover) clone() *handover {
	return &handover{maps.Clone(h.away), maps.Clone(h.results), maps.Clone(h.owners)}
}

// consumers returns the blocks that entry starts when it yields, by name.
func (n *network) consumers() (list []*block) {
	for _, b := range n.Program.blocks {
		if b.name != "entry" && !n.targets[b.name] {
			list = append(list, b)
		}
	}
	slices.SortFunc(list, func(a, b *block) int { return strings.Compare(a.name, b.name) })
	return list
}

// yield lowers the blocks that consume yielded variables. Each starts with the current values.
func (s *scope) yield(k yieldNode) error {
	if s.block != "entry" {
		return nil // the end of a block that entry started
	}
	if len(s.handed.away) > 0 {
		return fmt.Errorf("%v are yielded already; they must be awaited before more is yielded", sortedKeys(s.handed.away))
	}
	for _, name := range k.vars {
		if _, err := s.get(name); err != nil {
			return err
		}
	}
	h := &handover{map[string]bool{}, map[string]string{}, map[string]string{}}
	for _, name := range k.vars {
		h.away[name] = true
	}
	for _, b := range s.consumers() {
		if err := s.consume(b, k.vars, h); err != nil {
			return err
		}
	}
	s.handed = h
	return nil
}

// consume lowers a block that consumes yielded variables, and records its changes.
func (s *scope) consume(b *block, yielded []string, h *handover) error {
	for _, n := range b.nodes {
		if k, ok := n.kind.(awaitNode); ok {
			for _, name := range k.vars {
				if !slices.Contains(yielded, name) {
					return &nodeError{describe(b.name, n, fmt.Errorf("%q is awaited, and entry yields %v", name, yielded))}
				}
			}
		}
	}
	c := *s
	c.values, c.changed, c.handed = maps.Clone(s.values), map[string]bool{}, &handover{}
	if err := c.call(b.name); err != nil {
		return err
	}
	for _, name := range sortedKeys(c.changed) {
		if other, ok := h.owners[name]; ok {
			return fmt.Errorf("blocks %q and %q both change %q, which is yielded to both; one may", other, b.name, name)
		}
		h.owners[name], h.results[name] = b.name, c.values[name]
	}
	return nil
}

// await takes over the changes of the blocks.
func (s *scope) await(k awaitNode) error {
	if s.block != "entry" {
		return nil // the values are already the yielded ones
	}
	for _, name := range k.vars {
		if !s.handed.away[name] {
			return fmt.Errorf("%q is not yielded; %v are", name, sortedKeys(s.handed.away))
		}
	}
	for _, name := range k.vars {
		delete(s.handed.away, name)
	}
	return s.take()
}

// take makes the results of the blocks the current values.
func (s *scope) take() error {
	for _, name := range sortedKeys(s.handed.results) {
		s.values[name] = s.handed.results[name]
		s.changed[name] = true
	}
	s.handed.results = nil
	return nil
}

// join ends all yields that were not awaited.
func (s *scope) join() error {
	s.handed.away = nil
	return s.take()
}
