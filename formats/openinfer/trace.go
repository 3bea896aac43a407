package openinfer

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nacre-ml/nacre/runtime/graph"
)

// event records that a node of a program was lowered.
type event struct {
	id        int // 0 for a node without graph nodes
	block     string
	node      *node
	body      *[]*event // of a loop, or of the block that a branch runs
	otherwise *[]*event // for a branch with a condition: the other block
	looped    bool      // the number of iterations is known at run time
}

// note adds the event of a node to the scope's events.
func (s *scope) note(n *node) *event {
	e := &event{block: s.block, node: n}
	*s.events = append(*s.events, e)
	return e
}

// label names the graph nodes, from index first on, that were made for an event. The name begins
// with the block and the index.
func (s *scope) label(e *event, first int) {
	k := e.node.kind
	if _, ok := k.(loopNode); ok && !e.looped {
		return // its nodes have names of their own
	}
	if b, ok := k.(branchNode); ok && b.cond == "" {
		return
	}
	for i, n := range s.b.Graph().Nodes[min(first, len(s.b.Graph().Nodes)):] {
		if e.id == 0 {
			e.id = s.network.ids()
		}
		n.Name = fmt.Sprintf("%s.%d %s #%d", e.block, e.node.index, short(k.text()), e.id)
		if i > 0 {
			n.Name += "." + strconv.Itoa(i)
		}
	}
}

// ids returns the next number of an event.
func (n *network) ids() int {
	n.lastEvent++
	return n.lastEvent
}

// Step is one step of a run of a lowered program.
type Step struct {
	Node   string // name of the graph node
	Within string // enclosing nodes, as NODE.ATTRIBUTE joined by " > "
	Nanos  int64
}

// Event is one executed node of a program, in the form of OpenInfer's traces.
type Event struct {
	Block  string   `json:"block_name"`
	Index  int64    `json:"node_index"`
	ID     string   `json:"node_uuid"`
	Kind   string   `json:"kind"`
	Params []string `json:"params"`
	Output []string `json:"output"`
	Micros [3]int64 `json:"micros"` // milliseconds, microseconds and nanoseconds
	Text   string   `json:"-"`      // the node, in the text language
}

// String returns the line of a trace.
func (e Event) String() string {
	return fmt.Sprintf("%d %s [%s] -- %s -- (%dms %dus %dns)", e.Index, e.ID, e.Block, e.Text, e.Micros[0], e.Micros[1], e.Micros[2])
}

// Trace returns the events of a run of a lowered program, given the steps of the run in order. It
// returns nil for other models.
func Trace(m *graph.Model, steps []Step) []Event {
	l, ok := m.Source.(*stepSource)
	if !ok {
		return nil
	}
	t := &tracer{}
	t.add(l.events, steps, "")
	return t.list
}

// tracer gathers the events of a run.
type tracer struct{ list []Event }

// add adds events. steps are the steps of their graph and of graphs nested in its nodes.
func (t *tracer) add(events []*event, steps []Step, within string) {
	for _, e := range events {
		at := len(t.list)
		t.list = append(t.list, eventOf(e))
		var own int64
		if e.id > 0 {
			own = timeOf(e.id, steps, within)
		}
		t.list[at].set(own)
		switch {
		case e.otherwise != nil:
			t.branch(e, steps, within)
		case e.looped:
			t.iterations(e, steps, within)
		case e.body != nil:
			t.add(*e.body, steps, within)
		}
	}
}

// branch adds the events of the block that ran.
func (t *tracer) branch(e *event, steps []Step, within string) {
	for i, attr := range []string{"then_branch", "else_branch"} {
		inner, path := inside(e.id, attr, steps, within)
		if path == "" {
			continue
		}
		t.add(*[]*[]*event{e.body, e.otherwise}[i], inner, path)
		return
	}
}

// iterations adds the events of each iteration of a loop. One begins whenever the first step of the
// loop repeats.
func (t *tracer) iterations(e *event, steps []Step, within string) {
	inner, path := inside(e.id, "body", steps, within)
	for len(inner) > 0 {
		end := 1
		for end < len(inner) && (inner[end].Within != path || inner[end].Node != inner[0].Node) {
			end++
		}
		t.add(*e.body, inner[:end], path)
		inner = inner[end:]
	}
}

// inside returns the steps of a nested graph of an event's node, and the path of that graph. Both
// are empty if there are no such steps.
func inside(id int, attr string, steps []Step, within string) (list []Step, path string) {
	for _, s := range steps {
		rest, ok := below(s.Within, within)
		if !ok {
			continue
		}
		node, _, _ := strings.Cut(rest, " > ")
		if name, found := strings.CutSuffix(node, "."+attr); found && idIn(name) == id {
			list = append(list, s)
			path = strings.TrimPrefix(within+" > "+node, " > ")
		}
	}
	return list, path
}

// below returns the rest of a path after a prefix.
func below(path, prefix string) (string, bool) {
	if prefix == "" {
		return path, path != ""
	}
	return strings.CutPrefix(path, prefix+" > ")
}

// idIn returns the event number in the name of a node; 0 for none.
func idIn(name string) int {
	i := strings.LastIndex(name, " #")
	if i < 0 {
		return 0
	}
	number, _, _ := strings.Cut(name[i+2:], ".")
	n, err := strconv.Atoi(number)
	if err != nil {
		return 0
	}
	return n
}

// timeOf adds up the times of an event's steps in a graph.
func timeOf(id int, steps []Step, within string) (sum int64) {
	for _, s := range steps {
		if s.Within == within && idIn(s.Node) == id {
			sum += s.Nanos
		}
	}
	return sum
}

func (e *Event) set(nanos int64) {
	e.Micros = [3]int64{nanos / 1e6, nanos / 1e3 % 1e3, nanos % 1e3}
}

// eventOf describes a node, without its time.
func eventOf(e *event) Event {
	kind, params, output := "", []string{}, []string{}
	switch k := e.node.kind.(type) {
	case assignNode:
		kind, output = "Assign", []string{k.name}
	case opNode:
		kind, params, output = "OpExecute", slices.Clone(k.inputs), []string{k.output}
	case branchNode:
		kind = "Branch"
		for _, s := range []string{k.cond, k.then, k.otherwise} {
			if s != "" {
				params = append(params, s)
			}
		}
	case loopNode:
		kind, params = "Loop", []string{k.index, k.start, k.end}
	case readNode:
		kind, params, output = "CacheRead", []string{k.src.String()}, []string{k.dst}
	case writeNode:
		kind, params, output = "CacheWrite", []string{k.src}, []string{k.dst.String()}
	case countNode:
		kind, params, output = "CacheIncrement", []string{fmt.Sprint(k.amount)}, []string{k.target}
		if k.down {
			kind = "CacheDecrement"
		}
	case resetNode:
		kind, output = "CacheReset", []string{k.target.String()}
	case transferNode:
		kind, params, output = "Transfer", []string{k.src}, []string{k.dst}
	case yieldNode:
		kind, params = "Yield", slices.Clone(k.vars)
	case awaitNode:
		kind, output = "Await", slices.Clone(k.vars)
	case depNode:
		kind, params = "Dep", []string{k.after, k.before}
	case barrierNode:
		kind = "Barrier"
	default:
		kind = "Return"
	}
	return Event{Block: e.block, Index: e.node.index, ID: e.node.uuid, Kind: kind, Params: params, Output: output, Text: e.node.kind.text()}
}
