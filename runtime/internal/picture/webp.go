package picture

import "image"

// fromVP8 makes pixels from planes with colours of half the width and height, as libwebp does. A
// colour is the mean of the four around its position, weighted 9, 3, 3 and 1, with rounding at each
// step. Beyond the borders the last colours repeat.
func (p *Picture) fromVP8(img *image.YCbCr) {
	p.Pixels = make([]byte, 3*p.Width*p.Height)
	blue, red := make([]byte, p.Width), make([]byte, p.Width)
	last := (p.Height - 1) / 2
	for y := range p.Height {
		// Odd rows are below the middle of their colours, even rows above it.
		near, far := y/2, y/2-1+y%2*2
		far = min(max(far, 0), last)
		widen(blue, img.Cb[near*img.CStride:], img.Cb[far*img.CStride:], p.Width)
		widen(red, img.Cr[near*img.CStride:], img.Cr[far*img.CStride:], p.Width)
		row := p.Pixels[3*y*p.Width:]
		for x, v := range img.Y[y*img.YStride:][:p.Width] {
			l, u, v := 19077*int(v)>>8, int(blue[x]), int(red[x])
			row[3*x] = limit6(l + 26149*v>>8 - 14234)
			row[3*x+1] = limit6(l - 6419*u>>8 - 13320*v>>8 + 8708)
			row[3*x+2] = limit6(l + 33050*u>>8 - 17685)
		}
	}
}

// widen stores n colours interpolated between the rows near and far.
func widen(dst, near, far []byte, n int) {
	ends := func(i int) byte { return byte((3*int(near[i]) + int(far[i]) + 2) >> 2) }
	dst[0] = ends(0)
	for i := 1; i <= (n-1)/2; i++ {
		a, b, c, d := int(near[i-1]), int(near[i]), int(far[i-1]), int(far[i])
		sum := a + b + c + d + 8
		dst[2*i-1] = byte(((sum+2*(b+c))>>3 + a) >> 1)
		dst[2*i] = byte(((sum+2*(a+d))>>3 + b) >> 1)
	}
	if n%2 == 0 {
		dst[n-1] = ends(n/2 - 1)
	}
}

// limit6 clamps a number with 6 binary places to a byte.
func limit6(v int) byte { return byte(min(max(v>>6, 0), 255)) }
