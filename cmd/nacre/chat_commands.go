package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/nacre-ml/nacre/internal/output"
	"github.com/nacre-ml/nacre/internal/printable"
)

// errQuit ends a chat.
var errQuit = errors.New("quit")

// chatCommandRow is a command of a chat. It takes an argument if it names one.
type chatCommandRow struct {
	name, argument, about string
	run                   func(c *chat, argument string) error
}

// chatCommands returns the commands of a chat.
func chatCommands() []chatCommandRow {
	return []chatCommandRow{
		{"/reset", "", "begin anew; the system's message stays", (*chat).reset},
		{"/save", "FILE", "write the chat, for --messages of this command and of nacre generate", (*chat).save},
		{"/help", "", "list the commands", (*chat).help},
		{"/quit", "", "end; so does the end of the input", func(*chat, string) error { return errQuit }},
	}
}

// chatHelp lists the commands of a chat.
func chatHelp() string {
	var b strings.Builder
	for _, row := range chatCommands() {
		printable.Fprintf(&b, "  %-12s %s\n", strings.TrimSpace(row.name+" "+row.argument), row.about)
	}
	printable.Fprintf(&b, "  %-12s %s\n", "//TEXT", "say /TEXT")
	return b.String()
}

// chatSummary names the commands of a chat in a sentence.
func chatSummary() string {
	var list []string
	for _, row := range chatCommands() {
		list = append(list, strings.TrimSpace(row.name+" "+row.argument)+" ("+row.about+")")
	}
	return strings.Join(append(list, "//TEXT (say /TEXT)"), ", ")
}

// command runs the command in a line.
func (c *chat) command(line string) error {
	name, argument, _ := strings.Cut(line, " ")
	argument = strings.TrimSpace(argument)
	for _, row := range chatCommands() {
		switch {
		case row.name != name:
			continue
		case (argument == "") != (row.argument == ""):
			return fmt.Errorf("%s: the form of the command is %q", printable.Text(line), strings.TrimSpace(name+" "+row.argument))
		}
		return row.run(c, argument)
	}
	return fmt.Errorf("%s: no such command; /help lists them, and //TEXT says /TEXT", printable.Text(name))
}

func (c *chat) help(string) error {
	_, err := io.WriteString(c.stderr, chatHelp())
	return err
}

func (c *chat) reset(string) error {
	c.forget()
	c.messages = c.system
	return nil
}

// save writes the messages as JSON, as --messages reads them.
func (c *chat) save(path string) error {
	if len(c.messages) == 0 {
		return errors.New("/save: the chat has no messages yet")
	}
	list := make([]message, len(c.messages))
	for i, m := range c.messages {
		list[i] = message{m.Role, m.Content}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(list); err != nil {
		return err
	}
	f, err := output.Create(path)
	if err != nil {
		return err
	}
	defer f.Discard()
	if _, err := f.Write(b.Bytes()); err != nil {
		return err
	}
	if err := f.Commit(); err != nil {
		return err
	}
	printable.Fprintf(c.stderr, "%s saved to %s\n", plural(len(list), "message"), path)
	return nil
}
