package openinfer

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/internal/budget"
	"github.com/nacre-ml/nacre/internal/guard"
)

// Parse reads a program from the text language:
//
//	graph   = { section }
//	section = ("dynamic"|"volatile"|"constant"|"persistent") "{" { var } "}" | "block" NAME "{" { node } "}"
//	var     = NAME [ "(" NAME {"," NAME} ")" ] ":" TYPE [ "[" extent {"," extent} "]" ] { attr } ";"
//	extent  = atom | atom "*" atom            atom = NAME | INT
//	attr    = "@init(" value ")" | "@ref(" name ")" | "@pattern(" text ")" | "@table"
//	        | "@auto_dim(" NAME {"," NAME} ")" | "@fixed(" NAME "=" INT {"," NAME "=" INT} ")"
//	node    = "assign" NAME ":" TYPE [extents] ";"
//	        | "op" NAME "(" {input} {NAME "=" value} ")" ">>" NAME ";"
//	        | "branch" [NAME] NAME [NAME] ";" | "return" ";" | "barrier" ";"
//	        | "loop" NAME "(" NAME "in" bound ".." bound ")" "{" { node } "}"
//	        | "cache.read" access ">>" NAME ";" | "cache.write" NAME ">>" access ";"
//	        | "cache.increment" [INT] NAME ";" | "cache.decrement" [INT] NAME ";" | "cache.reset" access ";"
//	        | "dep" "after" "(" NAME ")" "before" "(" NAME ")" ";" | "transfer" NAME ">>" NAME ";"
//	        | "yield" NAME {"," NAME} ";" | "await" NAME {"," NAME} ";"
//
// Commas between the items of a list may be left out. The error is a TextError.
func Parse(text string) (_ *Program, err error) {
	defer guard.At("").End(&err)
	return parseText(nil, text)
}

// parseText is Parse, but takes memory within b, and stops if b's context is done.
func parseText(b *budget.Budget, text string) (*Program, error) {
	p := &parser{text: text, budget: b, program: &Program{}}
	if err := p.parse(); err != nil {
		return nil, err
	}
	return p.program, nil
}

// parser reads a program token by token.
type parser struct {
	text    string
	budget  *budget.Budget
	tok     token // the next token
	end     int   // offset of its end
	program *Program
	count   int // number of nodes
}

func (p *parser) parse() error {
	switch {
	case len(p.text) > maxBytes:
		return placed(p.text, 0, "the program is of %d bytes; at most %d are read", len(p.text), maxBytes)
	case !utf8.ValidString(p.text):
		return placed(p.text, 0, "the program is no text of UTF-8")
	}
	if err := p.advance(); err != nil {
		return err
	}
	for p.tok.kind != tokEnd {
		if err := p.section(); err != nil {
			return err
		}
	}
	p.program.next = int64(p.count)
	return nil
}

// partBytes is the memory of a variable or a node in bytes.
const partBytes = 512

// advance reads the next token.
func (p *parser) advance() (err error) {
	if err := container.Take(p.budget, 0); err != nil {
		return err
	}
	p.tok, p.end, err = lex(p.text, p.end)
	return err
}

// errorf returns an error at the next token.
func (p *parser) errorf(format string, args ...any) error {
	return placed(p.text, p.tok.at, format, args...)
}

// is reports whether the next token is this word or mark.
func (p *parser) is(text string) bool {
	return (p.tok.kind == tokName || p.tok.kind == tokMark) && p.tok.text == text
}

// skip consumes the next token if it is this word or mark.
func (p *parser) skip(text string) (bool, error) {
	if !p.is(text) {
		return false, nil
	}
	return true, p.advance()
}

// expect consumes these words or marks, or fails.
func (p *parser) expect(list ...string) error {
	for _, text := range list {
		if ok, err := p.skip(text); !ok || err != nil {
			if err != nil {
				return err
			}
			return p.errorf("%v stands where %q is needed", p.tok, text)
		}
	}
	return nil
}

// name consumes a name.
func (p *parser) name(what string) (string, error) {
	if p.tok.kind != tokName {
		return "", p.errorf("%v stands where %s is needed", p.tok, what)
	}
	s := p.tok.text
	return s, p.advance()
}

func (p *parser) section() error {
	at := p.tok
	word, err := p.name("a section (dynamic, volatile, constant, persistent or block)")
	if err != nil {
		return err
	}
	if word == "block" {
		return p.block()
	}
	i := slices.Index(memories[:], word)
	if i < 0 {
		return placed(p.text, at.at, "%v is no section; there are dynamic, volatile, constant, persistent and block", at)
	}
	if err := p.expect("{"); err != nil {
		return err
	}
	for !p.is("}") {
		if err := container.Take(p.budget, partBytes); err != nil {
			return err
		}
		if err := p.declaration(memory(i)); err != nil {
			return err
		}
	}
	return p.advance()
}

func (p *parser) block() error {
	at := p.tok.at
	name, err := p.name("the name of a block")
	if err != nil {
		return err
	}
	if p.program.block(name) != nil {
		return placed(p.text, at, "block %q is there twice", name)
	}
	if err := p.expect("{"); err != nil {
		return err
	}
	b := &block{name: name}
	p.program.blocks = append(p.program.blocks, b)
	b.nodes, err = p.nodes(name, 0)
	return err
}

// nodes reads nodes up to the closing brace.
func (p *parser) nodes(block string, depth int) ([]*node, error) {
	if depth > maxNesting {
		return nil, p.errorf("loops are nested more than %d deep", maxNesting)
	}
	var list []*node
	for !p.is("}") {
		if p.count >= maxNodes {
			return nil, p.errorf("the program has more than %d nodes", maxNodes)
		}
		if err := container.Take(p.budget, partBytes); err != nil {
			return nil, err
		}
		kind, err := p.node(block, depth)
		if err != nil {
			return nil, err
		}
		list = append(list, &node{index: int64(p.count), uuid: idOf(block, p.count), kind: kind})
		p.count++
	}
	return list, p.advance()
}

// idOf returns the identity of a node read from text: a UUID made of its block and index.
func idOf(block string, index int) string {
	h := sha256.Sum256(fmt.Appendf(nil, "%s %d", block, index))
	h[6], h[8] = h[6]&15|0x80, h[8]&63|0x80 // version 8, the common variant
	return fmt.Sprintf("%x-%x-%x-%x-%x", h[:4], h[4:6], h[6:8], h[8:10], h[10:16])
}

// list reads items up to a mark. Commas between them are optional.
func (p *parser) list(end string, item func() error) error {
	for n := 0; !p.is(end); n++ {
		if n > 0 {
			if _, err := p.skip(","); err != nil {
				return err
			}
		}
		if n > maxIndices {
			return p.errorf("the list has more than %d items", maxIndices)
		}
		if err := item(); err != nil {
			return err
		}
	}
	return p.advance()
}

// names reads a list of names up to a mark.
func (p *parser) names(what, end string) (list []string, err error) {
	err = p.list(end, func() error {
		s, err := p.name(what)
		list = append(list, s)
		return err
	})
	return list, err
}

// integer reads an integer with an optional minus sign.
func (p *parser) integer(what string) (int64, error) {
	at := p.tok.at
	minus, err := p.skip("-")
	if err != nil {
		return 0, err
	}
	if p.tok.kind != tokInt {
		return 0, p.errorf("%v stands where %s is needed", p.tok, what)
	}
	text := p.tok.text
	if minus {
		text = "-" + text
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, placed(p.text, at, "%s takes more than 64 bits", text)
	}
	return n, p.advance()
}
