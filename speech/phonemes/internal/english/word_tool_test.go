package english

import (
	"bufio"
	"fmt"
	"os"
	"testing"

	"github.com/nacre-ml/nacre/speech/phonemes/internal/letters"
)

func TestToolWords(t *testing.T) {
	f, err := os.Open("/tmp/ph/words.txt")
	if err != nil {
		t.Fatal(err)
	}
	out, _ := os.Create("/tmp/ph/ours.txt")
	defer out.Close()
	s := bufio.NewScanner(f)
	for s.Scan() {
		w := s.Text()
		fmt.Fprintf(out, "%s\t%s\t", w, write(w, letters.English().Sounds(w)))
		for _, x := range letters.English().Sounds(w) {
			fmt.Fprintf(out, "%s ", x.Phone)
		}
		fmt.Fprintln(out)
	}
}
