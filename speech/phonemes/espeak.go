//go:build !js && !wasip1

package phonemes

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"time"
)

// programs are names of the program, the newer one first.
var programs = []string{"espeak-ng", "espeak"}

// errProgram says how to get the program.
var errProgram = errors.New("the program espeak-ng is not installed (apt-get install espeak-ng, " +
	"dnf install espeak-ng, brew install espeak-ng, or winget install eSpeak-NG.eSpeak-NG)")

// Espeak returns a converter that runs the program espeak-ng, or espeak, which must be installed.
// The language is one of the program's voices, such as en-us, de or pt-br.
func Espeak(language string) (Converter, error) {
	if !languageName.MatchString(language) {
		return nil, fmt.Errorf("%q is not the name of a language such as en-us", language)
	}
	for _, name := range programs {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		e := &espeak{path, language}
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if _, err := e.run(ctx, ""); err != nil {
			return nil, fmt.Errorf("language %q: %w (%s --voices lists the languages)", language, err, name)
		}
		return e, nil
	}
	return nil, fmt.Errorf("language %q: %w", language, errProgram)
}

var languageName = regexp.MustCompile(`^[A-Za-z]{2,8}([-_][A-Za-z0-9]{1,12}){0,3}$`)

// espeak runs the program.
type espeak struct{ path, language string }

// Phonemes implements Converter. The program drops marks, so it gets clauses, and the marks come
// back between their phonemes.
func (e *espeak) Phonemes(ctx context.Context, text string) (string, error) {
	if err := check(ctx, text); err != nil {
		return "", err
	}
	list := clauses(text)
	texts := make([]string, len(list))
	for i, c := range list {
		texts[i] = c.text
	}
	spoken, err := e.clauses(ctx, texts)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for i, s := range spoken {
		if s == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(s)
		b.WriteString(list[i].mark)
	}
	return b.String(), nil
}

// clauses returns the phonemes of clauses, by one run of the program. If it does not write one line
// for each, by a run for each.
func (e *espeak) clauses(ctx context.Context, texts []string) ([]string, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	out, err := e.run(ctx, strings.Join(texts, "\n\n"))
	if err != nil {
		return nil, err
	}
	if len(out) == len(texts) {
		return out, nil
	}
	list := make([]string, len(texts))
	for i, text := range texts {
		out, err := e.run(ctx, text)
		if err != nil {
			return nil, err
		}
		list[i] = strings.Join(out, " ")
	}
	return list, nil
}

// switches are the names of other languages that the program puts in front of foreign words.
var switches = regexp.MustCompile(`\([a-z]{2,3}(-[a-z0-9-]+)?\)`)

// run returns the lines that the program writes of a text.
func (e *espeak) run(ctx context.Context, text string) ([]string, error) {
	asked := ctx
	ctx, stop := context.WithCancel(asked)
	defer stop()
	cmd := exec.CommandContext(ctx, e.path, "-q", "--ipa", "-b", "1", "-v", e.language, "--stdin")
	cmd.WaitDelay = time.Second
	cmd.Stdin = strings.NewReader(text)
	out := bounded{left: 1<<16 + 64*len(text), full: stop}
	said := bounded{left: 1 << 12, full: stop}
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		if asked.Err() != nil {
			return nil, asked.Err()
		}
		if out.left < 0 || said.left < 0 {
			err = errBounded
		}
		return nil, fmt.Errorf("%s: %w: %s", e.path, err, strings.TrimSpace(string(said.data)))
	}
	var lines []string
	for line := range strings.Lines(switches.ReplaceAllString(string(out.data), "")) {
		if s := strings.Join(strings.Fields(line), " "); s != "" {
			lines = append(lines, s)
		}
	}
	return lines, nil
}

// bounded keeps so many bytes. More of them call full, which ends the program.
type bounded struct {
	data []byte
	left int
	full func()
}

var errBounded = errors.New("the program writes too much")

// Write implements io.Writer.
func (b *bounded) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		b.full()
		return 0, errBounded
	}
	b.data = append(b.data, p...)
	return len(p), nil
}
