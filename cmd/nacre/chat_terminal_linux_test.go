package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nacre-ml/nacre/internal/testenv"
)

// terminalPair returns the two ends of a terminal: the person's, and the program's.
func terminalPair(t *testing.T) (person, program *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		testenv.Skip(t, "no terminals here: ", err)
	}
	t.Cleanup(func() { person.Close() })
	testenv.Need(t, unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	testenv.Need(t, err)
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	testenv.Need(t, err)
	return person, program
}

// TestChatTerminal chats at a terminal: a person edits a line, brings it back, stops an answer by ^C
// and ends the chat by ^C or ^D. The terminal is then as it was.
func TestChatTerminal(t *testing.T) {
	dir := chatFolder(t, chatTemplates[0])
	for _, tt := range []struct {
		key  string
		code int
	}{{"\x03", 128 + int(syscall.SIGINT)}, {"\x04", exitDone}} {
		file := filepath.Join(t.TempDir(), "chat.json")
		person, program := terminalPair(t)
		before, err := unix.IoctlGetTermios(int(program.Fd()), unix.TCGETS)
		testenv.Need(t, err)
		child := exec.Command(os.Args[0], "-test.run=^TestChatSignals$")
		child.Env = append(os.Environ(), chatting+"="+dir)
		child.Stdin, child.Stdout, child.Stderr = program, program, program
		child.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
		testenv.Need(t, child.Start())
		screen := &watched{}
		go func() { _, _ = io.Copy(screen, person) }()
		ended := make(chan struct{})
		go func() { child.Wait(); close(ended) }()
		until := func(what string, done func(text string) bool) {
			t.Helper()
			for start := time.Now(); !done(screen.String()); time.Sleep(5 * time.Millisecond) {
				select {
				case <-ended:
					t.Fatalf("the chat ended before %s: %q", what, screen)
				default:
				}
				if time.Since(start) > time.Minute {
					t.Fatalf("no %s: %q", what, screen)
				}
			}
		}
		types := func(text string) {
			t.Helper()
			_, err := io.WriteString(person, text)
			testenv.Need(t, err)
		}
		shows := func(text string, times int) func(string) bool {
			return func(screen string) bool { return strings.Count(screen, text) >= times }
		}
		until("prompt", shows("> ", 1))
		types("Hello ther\x7fre\r") // with a letter taken back
		for n := range 2 {
			from := len(screen.String())
			until("answer", func(text string) bool { return len(text) > from+200 })
			types("\x03")
			until("stop", shows("stopped\r\n> ", n+1))
			if n == 0 {
				types("\x1b[A!\r") // the line before, and a letter more
			}
		}
		types("/save " + file + "\r")
		until("file", shows("saved to", 1))
		list := savedChat(t, file)
		if len(list) != 4 || list[0].Content != "Hello there" || list[2].Content != "Hello there!" {
			t.Errorf("chat %.200q", fmt.Sprint(list))
		}
		until("prompt", func(text string) bool { return strings.HasSuffix(text, "\r\n> ") })
		types(tt.key)
		<-ended
		if code := child.ProcessState.ExitCode(); code != tt.code {
			t.Errorf("key %q: exit code %d, want %d", tt.key, code, tt.code)
		}
		after, err := unix.IoctlGetTermios(int(program.Fd()), unix.TCGETS)
		if err != nil || *after != *before {
			t.Errorf("key %q leaves the terminal as %v, not %v; %v", tt.key, after, before, err)
		}
		program.Close()
	}
}
