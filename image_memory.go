package nacre

import (
	"image"
	"image/color"
	"math"

	"github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// allows returns ErrMemory if a picture takes too much memory: decoded bytes for each of its
// pixels, and the memory of resizing and of the tensor.
func (o ImageOptions) allows(size image.Point, decoded float64, in Info, fr frame, orientation int) error {
	most := o.MemoryLimit
	switch {
	case most < 0:
		return markf(ErrOption, "option MemoryLimit is %d; it must not be negative", most)
	case most == 0:
		most = runtime.DefaultMemoryLimit()
	}
	need := decoded*float64(size.X)*float64(size.Y) + fr.memory(size, orientation) +
		float64(tensor.SizeOf(tensor.DType(in.DType), fr.shape))
	if most > 0 && need > float64(most) {
		const text = "a picture of %dx%d takes %.0f bytes as a tensor of %v, and the limit is %d bytes; option MemoryLimit sets it"
		return markf(ErrMemory, text, size.X, size.Y, math.Ceil(need), fr.shape, most)
	}
	return nil
}

// memory returns the bytes that resizing a picture of this size takes.
func (fr *frame) memory(size image.Point, orientation int) float64 {
	const pixel, line, weight = 3, 24, 16
	part, source := upright(fr.part.Size(), orientation), fr.resized
	wide, high := float64(part.X), float64(part.Y)
	bytes := pixel * wide * high
	if orientation > 1 {
		bytes *= 2
	}
	if fr.part.Dx() != fr.width || fr.part.Dy() != fr.height {
		bytes += pixel * float64(fr.width) * float64(fr.height)
	}
	// The source rows that one row of the result reads.
	source = upright(source, orientation)
	rows := 2*math.Ceil(float64(size.Y)/float64(max(source.Y, 1))) + 20
	return bytes + rows*2*pixel*(wide+8) + (line+2*weight)*(float64(size.X)+float64(size.Y)) + 3*line*(wide+high)
}

// flatten is the bytes of a pixel with red, green, blue and opacity.
const flatten = 4

// decodedBytes returns the most bytes that a pixel takes after a file of this kind is decoded
// and drawn without opacity.
func decodedBytes(data []byte, kind string, model color.Model) float64 {
	stored := 16.0
	switch model {
	case color.GrayModel:
		stored = 1
	case color.YCbCrModel:
		stored = 3
	case color.RGBAModel:
		stored = 4
	case color.NRGBAModel:
		stored = 4 + flatten
	case color.Gray16Model:
		stored = 2 + flatten
	case color.RGBA64Model, color.NRGBA64Model:
		stored = 8 + flatten
	case color.CMYKModel:
		stored = 8 + flatten
	default:
		if _, ok := model.(color.Palette); ok {
			stored = 1 + flatten
		}
	}
	switch {
	case kind == "png" && isInterlaced(data):
		stored *= 2
	case kind == "jpeg":
		components := 3.0
		switch model {
		case color.GrayModel:
			components = 1
		case color.CMYKModel:
			components = 4
		case color.RGBAModel: // made of a picture of three planes
			stored += components
		}
		if !isSequential(data) {
			stored += 4 * components // coefficients
		}
	}
	return stored
}

// isInterlaced reports whether a PNG file has passes; each pass is a picture.
func isInterlaced(png []byte) bool {
	const at = 28 // in the first chunk
	return len(png) > at && png[at] != 0
}

// isSequential reports whether a JPEG file certainly has no scans that refine others. A decoder
// keeps all coefficients for such scans.
func isSequential(jpeg []byte) bool {
	const first, last = 0xc0, 0xc1 // baseline and extended frames
	found := false
	eachSegment(jpeg, func(marker byte, _ []byte) bool {
		found = marker == first || marker == last
		// Of the markers C0 to CF, these begin no frame.
		return !found && (marker < 0xc0 || marker > 0xcf || marker == 0xc4 || marker == 0xc8 || marker == 0xcc)
	})
	return found
}
