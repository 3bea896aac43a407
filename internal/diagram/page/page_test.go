package page_test

import (
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/internal/diagram"
	"github.com/nacre-ml/nacre/internal/diagram/page"
)

// TestWrite writes a page with names that would end its parts.
func TestWrite(t *testing.T) {
	d := &diagram.Drawing{Graphs: []*diagram.Graph{{Name: "</script><b>"}}}
	var html strings.Builder
	if err := page.Write(&html, "<title>&", d); err != nil {
		t.Fatal(err)
	}
	text := html.String()
	for part, n := range map[string]int{"</script>": 2, "</style>": 1, "<b>": 0, "<title>": 1, "class Viewer": 1, "--accent": -1} {
		if got := strings.Count(text, part); got != n && (n >= 0 || got == 0) {
			t.Errorf("%d times %s in the page", got, part)
		}
	}
}

// TestWriteProfile writes a page of a profile with names that would end its parts.
func TestWriteProfile(t *testing.T) {
	d := &diagram.Drawing{Graphs: []*diagram.Graph{{Name: "</script><b>"}}}
	p := &page.Profile{Facts: []string{"</style>"}, Steps: []page.ProfileStep{{Node: "</script><i>", Layer: []string{"<u>"}, Time: 2, Own: 1}}}
	var html strings.Builder
	if err := page.WriteProfile(&html, "<title>&", p, d); err != nil {
		t.Fatal(err)
	}
	text := html.String()
	for part, n := range map[string]int{"</script>": 3, "</style>": 1, "<b>": 0, "<i>": 0, "<u>": 0, "class Timeline": 1, "class Viewer": 1} {
		if got := strings.Count(text, part); got != n {
			t.Errorf("%d times %s in the page, want %d", got, part, n)
		}
	}
	if len(d.Steps) != 1 || *d.Steps[0].MS != 2 {
		t.Errorf("the steps of the drawing are %+v", d.Steps)
	}
}
