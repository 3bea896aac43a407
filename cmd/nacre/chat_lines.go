package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
)

// chatLines are the lines that a chat answers.
type chatLines interface {
	// next returns the next line, or io.EOF.
	next() (string, error)
	// person reports whether a person at a terminal writes them.
	person() bool
}

// newChatLines returns lines that a person edits, if standard input and standard error are a terminal,
// else the lines as they come.
func newChatLines(ctx context.Context, stdin io.Reader, stderr io.Writer, s *stops) chatLines {
	f, ok := stdin.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return newPlainLines(stdin, false)
	}
	if !terminal(stderr) {
		return newPlainLines(stdin, true)
	}
	e := &editor{ctx: ctx, file: f, stops: s, keys: keys{r: f}, shown: asIs(stderr)}
	e.terminal = term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{&e.keys, e.shown}, "> ")
	return e
}

// plainLines are lines of a file, a pipe, or a terminal that edits them itself.
type plainLines struct {
	*bufio.Scanner
	atTerminal bool
}

func newPlainLines(r io.Reader, atTerminal bool) *plainLines {
	s := bufio.NewScanner(r)
	s.Buffer(nil, maxPrompt)
	return &plainLines{s, atTerminal}
}

func (p *plainLines) next() (string, error) {
	switch {
	case p.Scan():
		return p.Text(), nil
	case errors.Is(p.Err(), bufio.ErrTooLong):
		return "", fmt.Errorf("standard input: a line of more than %d bytes, which is no message", maxPrompt)
	case p.Err() != nil:
		return "", fmt.Errorf("standard input: %w", p.Err())
	}
	return "", io.EOF
}

func (p *plainLines) person() bool { return p.atTerminal }

// editor has a person edit lines at a terminal.
type editor struct {
	ctx      context.Context
	file     *os.File
	stops    *stops
	keys     keys
	shown    io.Writer
	terminal *term.Terminal
}

func (e *editor) person() bool { return true }

// next returns the next line. If ^C ends it, the error is a signalError.
func (e *editor) next() (string, error) {
	fd := int(e.file.Fd())
	before, err := term.MakeRaw(fd)
	if err != nil {
		return "", err
	}
	restore := func() { _ = term.Restore(fd, before) }
	e.stops.before(restore)
	defer e.stops.before(nil)
	defer restore()
	defer context.AfterFunc(e.ctx, restore)()
	if width, height, err := term.GetSize(fd); err == nil && width > 0 {
		_ = e.terminal.SetSize(width, height)
	}
	line, err := e.terminal.ReadLine()
	if errors.Is(err, io.EOF) {
		_, _ = io.WriteString(e.shown, "\r\n")
		if e.keys.interrupt {
			err = signalError{os.Interrupt}
		}
	}
	return line, err
}

// keys passes on what is typed. It notes whether ^C was, which a terminal in raw mode makes no signal
// of.
type keys struct {
	r         io.Reader
	interrupt bool
}

func (k *keys) Read(b []byte) (int, error) {
	const interrupt = 3
	n, err := k.r.Read(b)
	k.interrupt = k.interrupt || bytes.IndexByte(b[:n], interrupt) >= 0
	return n, err
}
