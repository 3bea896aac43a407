package demo

import (
	"image"
	"image/color"
	"testing"
)

func TestPictures(t *testing.T) {
	list, err := Pictures()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]int{}
	for _, p := range list {
		seen[p.Digit]++
		counts, err := Counts(p.Grey)
		if err != nil {
			t.Fatalf("%s: %v", p.Name, err)
		}
		var sum float32
		for _, c := range counts {
			if c < 0 || c > 16 {
				t.Errorf("%s: count %v", p.Name, c)
			}
			sum += c
		}
		if sum < 100 {
			t.Errorf("%s: %v dots of ink", p.Name, sum)
		}
	}
	for d := range 10 {
		if seen[d] == 0 {
			t.Errorf("no picture of %d", d)
		}
	}
}

func TestCounts(t *testing.T) {
	// The ink is half as wide as high, in the middle of the square around it.
	draw := func(ground, ink uint8) *image.Gray {
		g := image.NewGray(image.Rect(0, 0, 100, 90))
		for y := range 90 {
			for x := range 100 {
				v := ground
				if x >= 20 && x < 52 && y >= 10 && y < 74 {
					v = ink
				}
				g.SetGray(x, y, color.Gray{Y: v})
			}
		}
		return g
	}
	cases := []struct {
		name        string
		ground, ink uint8
	}{
		{"light on dark", 0, 255},
		{"dark on light", 255, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			counts, err := Counts(Grey(draw(c.ground, c.ink)))
			if err != nil {
				t.Fatal(err)
			}
			for i, n := range counts {
				want := float32(0)
				if x := i % Side; x >= 2 && x < 6 {
					want = 16
				}
				if n != want {
					t.Errorf("count %d is %v, want %v", i, n, want)
				}
			}
		})
	}
	if _, err := Counts(image.NewGray(image.Rect(0, 0, 8, 8))); err == nil {
		t.Error("an empty picture gave counts")
	}
}
