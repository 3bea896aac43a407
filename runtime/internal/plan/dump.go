package plan

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/nacre-ml/nacre/internal/printable"
)

// String returns the plan's listing as text.
func (pl *Plan) String() string {
	var b strings.Builder
	_ = pl.Listing().WriteText(&b) // a Builder does not fail
	return b.String()
}

// WriteText writes every step with its operator, device and kernels, followed by a line per operand
// with name, type, bytes and place. Graphs of nodes follow their node, indented. Then come the
// nodes that are planned during the run, and the memory of a run. An accelerator may join the
// commands of several steps when it records them: a profile has the kernels that ran.
func (l *Listing) WriteText(w io.Writer) error {
	t := &listingText{}
	t.listing(l, "")
	if l.Memory.Device > 0 {
		t.WriteString("the device may join commands of several steps; a profile has the kernels that run\n")
	}
	t.memory(&l.Memory)
	_, err := io.WriteString(w, t.String())
	return err
}

// listingText builds the text of a listing.
type listingText struct{ strings.Builder }

func (t *listingText) listing(l *Listing, margin string) {
	for i := range l.Steps {
		t.step(i, &l.Steps[i], margin)
	}
	for _, n := range l.Left {
		printable.Fprintf(t, "%slater  %s  %s  waits for %s\n", margin, n.Op, n.Node, n.waits())
	}
}

func (n *LeftNode) waits() string {
	var parts []string
	if n.Extents != nil {
		parts = append(parts, "the extents of "+strings.Join(n.Extents, ", "))
	}
	if n.Elements != nil {
		parts = append(parts, "the elements of "+strings.Join(n.Elements, ", "))
	}
	return strings.Join(parts, " and ")
}

func (t *listingText) step(i int, s *ListedStep, margin string) {
	printable.Fprintf(t, "%s%5d  %-20s  %-28s  [%s]\n", margin, i, s.Op, s.Node, s.How)
	tw := tabwriter.NewWriter(t, 0, 0, 2, ' ', 0)
	for _, o := range s.Inputs {
		fmt.Fprintf(tw, "%s       in\t%d\t%s\n", margin, o.Index, o.text())
	}
	for _, o := range s.Outputs {
		fmt.Fprintf(tw, "%s       out\t%d\t%s\n", margin, o.Index, o.text())
	}
	_ = tw.Flush() // a Builder does not fail
	if s.Stays != "" {
		printable.Fprintf(t, "%s       stays  %s\n", margin, s.Stays)
	}
	if s.Scratch > 0 {
		printable.Fprintf(t, "%s       scratch  %d bytes\n", margin, s.Scratch)
	}
	for _, b := range s.Bodies {
		t.body(&b, margin+"       ")
	}
}

// text returns the columns of an operand with unprintable characters replaced.
func (o *ListedOperand) text() string {
	bytes := "?"
	if o.Bytes != nil {
		bytes = fmt.Sprint(*o.Bytes)
	}
	place := o.Place
	switch {
	case o.Offset != nil:
		place = fmt.Sprintf("%s %d+%s", o.Place, *o.Offset, bytes)
	case o.View != "":
		place = "view of " + o.View
	case o.Packed > 0:
		place += fmt.Sprintf(", packed in %d bytes", o.Packed)
	}
	if o.Room > 0 {
		place += fmt.Sprintf(", room %d", o.Room)
	}
	if o.Over != "" {
		place += ", over " + o.Over
	}
	typ := o.Type
	if o.Layout != "" {
		typ += " " + o.Layout
	}
	return fmt.Sprintf("%s\t%s\t%s bytes\t%s", printable.Text(o.Name), printable.Text(typ), bytes, printable.Text(place))
}

func (t *listingText) body(b *ListedBody, margin string) {
	printable.Fprintf(t, "%s%s", margin, b.Name)
	if b.First {
		t.WriteString(", first iteration")
	}
	switch {
	case b.Plan == nil:
		printable.Fprintf(t, ": planned while running: %s\n", b.Why)
		return
	case len(b.Plan.Steps) == 0 && len(b.Plan.Left) == 0:
		t.WriteString(": no steps\n")
		return
	}
	if b.Assumed != "" {
		printable.Fprintf(t, ", with %s", b.Assumed)
	}
	t.WriteString(":\n")
	for _, s := range b.States {
		printable.Fprintf(t, "%s       state  %s > %s  %s", margin, s.Input, s.Output, s.Place)
		if s.Room > 0 {
			printable.Fprintf(t, ", room %d", s.Room)
		}
		t.WriteString("\n")
	}
	t.listing(b.Plan, margin)
}

func (t *listingText) memory(m *Memory) {
	printable.Fprintf(t, "arena %d bytes (%d without sharing), scratch %d, results %d, ", m.Arena, m.Unshared, m.Scratch,
		m.Results)
	if m.Device > 0 {
		printable.Fprintf(t, "device memory %d, ", m.Device)
	}
	if m.Bodies > 0 {
		printable.Fprintf(t, "graphs of nodes %d, ", m.Bodies)
	}
	printable.Fprintf(t, "packed constants %d: %d bytes in all\n", m.Packed, m.Peak)
}
