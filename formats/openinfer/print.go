package openinfer

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/nacre-ml/nacre/internal/guard"
)

// WriteText writes the program in the text language. It omits the indices and identities of nodes;
// Parse numbers nodes by their order.
func (p *Program) WriteText(w io.Writer) (err error) {
	defer guard.At("").End(&err)
	b := bufio.NewWriter(w)
	for at := 0; at < len(p.vars); {
		m, gap := p.vars[at].memory, ""
		if at > 0 {
			gap = "\n"
		}
		fmt.Fprintf(b, "%s%v {\n", gap, m)
		for at < len(p.vars) && p.vars[at].memory == m {
			fmt.Fprintf(b, "  %s;\n", p.vars[at].text())
			at++
		}
		fmt.Fprintln(b, "}")
	}
	for i, blk := range p.blocks {
		if i > 0 || len(p.vars) > 0 {
			fmt.Fprintln(b)
		}
		fmt.Fprintf(b, "block %s {\n", blk.name)
		writeNodes(b, blk.nodes, "  ")
		fmt.Fprintln(b, "}")
	}
	return b.Flush()
}

func writeNodes(b *bufio.Writer, nodes []*node, indent string) {
	for _, n := range nodes {
		if l, ok := n.kind.(loopNode); ok {
			fmt.Fprintf(b, "%s%s {\n", indent, l.text())
			writeNodes(b, l.body, indent+"  ")
			fmt.Fprintf(b, "%s}\n", indent)
			continue
		}
		fmt.Fprintf(b, "%s%s;\n", indent, n.kind.text())
	}
}

// text returns a declaration without the semicolon.
func (v *decl) text() string {
	var b strings.Builder
	b.WriteString(v.name)
	if len(v.indices) > 0 {
		fmt.Fprintf(&b, "(%s)", strings.Join(v.indices, ", "))
	}
	fmt.Fprintf(&b, ": %v%s", v.dtype, dimsText(v.dims))
	if v.init != nil {
		fmt.Fprintf(&b, " @init(%s)", scalarText(v.dtype, v.init))
	}
	if v.ref != "" {
		fmt.Fprintf(&b, " @ref(%s)", strconv.Quote(v.ref))
	}
	if v.pattern != "" {
		fmt.Fprintf(&b, " @pattern(%s)", strconv.Quote(v.pattern))
	}
	if v.table {
		b.WriteString(" @table")
	}
	if len(v.auto) > 0 {
		fmt.Fprintf(&b, " @auto_dim(%s)", strings.Join(v.auto, ", "))
	}
	if len(v.fixed) > 0 {
		list := make([]string, len(v.fixed))
		for i, f := range v.fixed {
			list[i] = fmt.Sprintf("%s=%d", f.name, f.size)
		}
		fmt.Fprintf(&b, " @fixed(%s)", strings.Join(list, ", "))
	}
	return b.String()
}
