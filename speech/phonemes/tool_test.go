package phonemes

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"testing"
)

func TestToolText(t *testing.T) {
	name := os.Getenv("TEXT")
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	out, _ := os.Create(name + ".ours")
	defer out.Close()
	var e Converter
	var their *os.File
	if os.Getenv("THEIRS") != "" {
		e, _ = Espeak("en-us")
		their, _ = os.Create(name + ".theirs")
	}
	s := bufio.NewScanner(f)
	for s.Scan() {
		p, _ := English().Phonemes(context.Background(), s.Text())
		fmt.Fprintln(out, p)
		if e != nil {
			p, err := e.Phonemes(context.Background(), s.Text())
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintln(their, p)
		}
	}
}
