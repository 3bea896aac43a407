// Package demo holds a small network for handwritten digits, and pictures to try it on. Beside this
// file, train.py trained the network and draw.py drew the pictures.
package demo

import (
	"bytes"
	"embed"
	"errors"
	"image"
	"image/color"
	_ "image/jpeg" // the formats that Decode reads
	"image/png"
	"io"
	"strings"
)

// Model is the network as an ONNX file. Its input "image" takes float32 counts of shape
// [batch,1,8,8]; its output "probabilities" has shape [batch,10].
//
//go:embed digits.onnx
var Model []byte

//go:embed pictures/*.png
var files embed.FS

// Side is the width and height of the network's input.
const Side = 8

// Picture is a drawn digit.
type Picture struct {
	Name  string
	Digit int // the drawn digit; negative if unknown
	Grey  *image.Gray
}

// Pictures returns the embedded pictures, sorted by name.
func Pictures() ([]Picture, error) {
	entries, err := files.ReadDir("pictures")
	if err != nil {
		return nil, err
	}
	list := make([]Picture, 0, len(entries))
	for _, e := range entries {
		data, err := files.ReadFile("pictures/" + e.Name())
		if err != nil {
			return nil, err
		}
		img, err := png.Decode(bytes.NewReader(data))
		if err != nil {
			return nil, err
		}
		name := strings.TrimSuffix(e.Name(), ".png")
		list = append(list, Picture{Name: name, Digit: int(name[0] - '0'), Grey: Grey(img)})
	}
	return list, nil
}

// Decode reads a PNG or JPEG picture of one digit. The Digit of the result is negative.
func Decode(name string, r io.Reader) (Picture, error) {
	img, _, err := image.Decode(r)
	if err != nil {
		return Picture{}, err
	}
	return Picture{Name: name, Digit: -1, Grey: Grey(img)}, nil
}

// Grey returns the picture in grey, with light ink on a dark ground. If the mean of the border is
// light, it inverts the picture.
func Grey(img image.Image) *image.Gray {
	b := img.Bounds()
	g := image.NewGray(image.Rect(0, 0, b.Dx(), b.Dy()))
	border, sum := 0, 0
	for y := range b.Dy() {
		for x := range b.Dx() {
			v := color.GrayModel.Convert(img.At(b.Min.X+x, b.Min.Y+y)).(color.Gray)
			g.SetGray(x, y, v)
			if x == 0 || y == 0 || x == b.Dx()-1 || y == b.Dy()-1 {
				border, sum = border+1, sum+int(v.Y)
			}
		}
	}
	if sum > 127*border {
		for i := range g.Pix {
			g.Pix[i] = 255 - g.Pix[i]
		}
	}
	return g
}

// Counts returns the network's input for a picture, made as the training data were: the square
// around the ink becomes a bitmap of 32x32 dots, and each element, 0 to 16, counts the ink in 4x4
// dots. A picture without ink is an error.
func Counts(g *image.Gray) ([]float32, error) {
	const dots = 4 * Side
	ink := inkBounds(g)
	if ink.Empty() {
		return nil, errors.New("the picture is empty: nothing stands out from its ground")
	}
	side := max(ink.Dx(), ink.Dy())
	left, top := ink.Min.X-(side-ink.Dx())/2, ink.Min.Y-(side-ink.Dy())/2
	counts := make([]float32, Side*Side)
	for y := range dots {
		for x := range dots {
			px, py := left+(2*x+1)*side/(2*dots), top+(2*y+1)*side/(2*dots)
			if isInk(g, px, py) {
				counts[y/4*Side+x/4]++
			}
		}
	}
	return counts, nil
}

func isInk(g *image.Gray, x, y int) bool {
	return image.Pt(x, y).In(g.Rect) && g.GrayAt(x, y).Y > 127
}

func inkBounds(g *image.Gray) image.Rectangle {
	var r image.Rectangle
	for y := range g.Rect.Dy() {
		for x := range g.Rect.Dx() {
			if isInk(g, x, y) {
				r = r.Union(image.Rect(x, y, x+1, y+1))
			}
		}
	}
	return r
}
