package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/rivo/uniseg"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"
)

// Columns of help: the most that it takes, and the least that flags can be wrapped to.
const maxColumns, minColumns = 100, 40

// subjects lists the sections of flags in the order of help, with the flags of each. A flag in none
// is the command's own and comes first.
var subjects = []struct{ title, flags string }{
	{"Input", "input input-key random dim tokens prompt prompt-file chat messages tokenizer model weights"},
	{"Pictures as input", "image-scale image-mean image-std image-layout image-fit image-shorter image-fill " +
		"image-bgr image-as-stored"},
	{"Choice of tokens", "greedy temperature top-k top-p min-p repetition-penalty presence-penalty " +
		"frequency-penalty stop max-tokens beams length-penalty"},
	{"Comparison", "test-data against rtol atol separately"},
	{"Run", "threads device isa accuracy no-optimize direct-conv quirks seed steps context window cache no-cache"},
	{"Output", "out output json markdown html picture check-finite profile trace save export-weights"},
	{"Limits", "timeout memory-limit weight-budget"},
}

// subject returns the index of a flag's section; -1 for none.
func subject(flag string) int {
	for i, s := range subjects {
		if slices.Contains(strings.Fields(s.flags), flag) {
			return i
		}
	}
	return -1
}

// columns returns the columns of help on w: the terminal's, else those that the environment variable
// COLUMNS says, within minColumns and maxColumns.
func columns(w io.Writer) int {
	n := 0
	if terminal(w) {
		n, _, _ = term.GetSize(int(fileOf(w).Fd()))
	}
	if n == 0 {
		n, _ = strconv.Atoi(os.Getenv("COLUMNS"))
	}
	return max(min(cmp.Or(max(n, 0), maxColumns), maxColumns), minColumns)
}

// help prints the help of a command: what it does, its form, examples, commands below it, and flags by
// subject.
func help(cmd *cobra.Command, _ []string) {
	w := cmd.OutOrStdout()
	width := columns(w)
	paragraphs := strings.Split(strings.TrimRight(cmp.Or(cmd.Long, cmd.Short), "\n"), "\n\n")
	for i, p := range paragraphs {
		paragraphs[i] = reflow(p, width)
	}
	var b strings.Builder
	b.WriteString(strings.Join(paragraphs, "\n\n") + "\n")
	if cmd.Runnable() {
		b.WriteString("\nUsage:\n" + fold(strings.Fields(cmd.UseLine()), width, "  ", "    ", "") + "\n")
	} else {
		b.WriteString("\nUsage:\n  " + cmd.CommandPath() + " COMMAND\n")
	}
	if cmd.Example != "" {
		b.WriteString("\nExamples:\n" + examples(cmd.Example, width))
	}
	b.WriteString(commandList(cmd, width))
	b.WriteString(flagList(cmd.LocalFlags(), width))
	if cmd.HasAvailableSubCommands() {
		b.WriteString("\n" + reflow(strings.ReplaceAll("% COMMAND --help says more of a command, % man DIR writes pages for man, and "+
			"% completion SHELL prints the completions of bash, zsh, fish or powershell.", "%", cmd.CommandPath()), width) + "\n")
	}
	_, _ = io.WriteString(w, b.String()) // results keeps the error
}

// commandList returns the section of the commands below cmd; "" if there are none.
func commandList(cmd *cobra.Command, width int) string {
	if !cmd.HasAvailableSubCommands() {
		return ""
	}
	var b strings.Builder
	b.WriteString("\nCommands:\n")
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			name := fmt.Sprintf("  %-*s  ", cmd.NamePadding(), c.Name())
			b.WriteString(fold(strings.Fields(c.Short), width, name, strings.Repeat(" ", len(name)), "") + "\n")
		}
	}
	return b.String()
}

// flagList returns the sections of the flags in set, except --help.
func flagList(set *pflag.FlagSet, width int) string {
	sections := make([]*pflag.FlagSet, len(subjects)+1)
	for i := range sections {
		sections[i] = pflag.NewFlagSet("", pflag.ContinueOnError)
		sections[i].SortFlags = false
	}
	set.VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" {
			sections[subject(f.Name)+1].AddFlag(f)
		}
	})
	var b strings.Builder
	for i, s := range sections {
		if !s.HasAvailableFlags() {
			continue
		}
		title := "Flags"
		if i > 0 {
			title = subjects[i-1].title
		}
		b.WriteString("\n" + title + ":\n" + s.FlagUsagesWrapped(width))
	}
	return b.String()
}

// examples breaks the lines of examples that are longer than width, with a backslash at each break.
func examples(text string, width int) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(fold(pairs(quoted(line), width), width, "  ", "      ", ` \`) + "\n")
	}
	return b.String()
}

// pairs joins flags with the words after them, so that lines break before flags. A pair takes at most
// half of width.
func pairs(words []string, width int) (list []string) {
	for i, w := range words {
		if i > 0 && strings.HasPrefix(words[i-1], "-") && !strings.HasPrefix(w, "-") && len(words[i-1])+len(w) < width/2 {
			list[len(list)-1] += " " + w
		} else {
			list = append(list, w)
		}
	}
	return list
}

// quoted returns the words of a command line. Text in quotation marks is part of one word.
func quoted(line string) []string {
	var mark rune
	return strings.FieldsFunc(line, func(r rune) bool {
		switch {
		case mark == 0 && (r == '"' || r == '\''):
			mark = r
		case r == mark:
			mark = 0
		}
		return mark == 0 && unicode.IsSpace(r)
	})
}

// reflow breaks a paragraph into lines of at most width columns. A paragraph with indented lines stays.
func reflow(p string, width int) string {
	if strings.HasPrefix(p, " ") || strings.Contains(p, "\n ") {
		return p
	}
	return fold(strings.Fields(p), width, "", "", "")
}

// fold joins words into lines of at most width columns, or of one longer word. The first line begins
// with first, the others with next. Lines before others end with end.
func fold(words []string, width int, first, next, end string) string {
	var b strings.Builder
	b.WriteString(first)
	at := uniseg.StringWidth(first)
	for i, w := range words {
		n, spare := uniseg.StringWidth(w), len(end)
		if i == len(words)-1 {
			spare = 0
		}
		switch {
		case i == 0:
		case at+1+n+spare > width:
			b.WriteString(end + "\n" + next)
			at = len(next)
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(w)
		at += n
	}
	return b.String()
}
