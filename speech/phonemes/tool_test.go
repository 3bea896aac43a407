package phonemes

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"testing"
)

func TestToolText(t *testing.T) {
	f, err := os.Open("/tmp/ph/text.txt")
	if err != nil {
		t.Fatal(err)
	}
	out, _ := os.Create("/tmp/ph/text.ours")
	defer out.Close()
	s := bufio.NewScanner(f)
	for s.Scan() {
		p, _ := English().Phonemes(context.Background(), s.Text())
		fmt.Fprintln(out, p)
	}
}
