package cpu

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/internal/ops/nn"
)

type convCase struct {
	name                             string
	images, groups, channels, filter int
	in, kernel, stride, dilation     []int
	before, behind                   []int
	noBias                           bool
}

func ones(n int) []int { return slices.Repeat([]int{1}, n) }

func convCases() []convCase {
	list := []convCase{
		{name: "pointwise", images: 2, groups: 1, channels: 33, filter: 19, in: []int{5, 9}, kernel: []int{1, 1}},
		{name: "pointwise with few filters", images: 2, groups: 1, channels: 21, filter: 3, in: []int{5, 30}, kernel: []int{1, 1}},
		{name: "3x3 with many filters", images: 1, groups: 1, channels: 32, filter: 128, in: []int{15, 16}, kernel: []int{3, 3}, before: []int{1, 1}, behind: []int{1, 1}},
		{name: "a single pixel", images: 2, groups: 1, channels: 40, filter: 23, in: []int{1, 1}, kernel: []int{1, 1}},
		{name: "pointwise by steps", images: 1, groups: 1, channels: 8, filter: 5, in: []int{7, 8}, kernel: []int{1, 1}, stride: []int{2, 3}},
		{name: "pointwise in groups", images: 2, groups: 3, channels: 4, filter: 5, in: []int{6, 6}, kernel: []int{1, 1}},
		{name: "3x3", images: 1, groups: 1, channels: 7, filter: 17, in: []int{13, 40}, kernel: []int{3, 3}, before: []int{1, 1}, behind: []int{1, 1}},
		{name: "3x3 on a small map", images: 2, groups: 1, channels: 70, filter: 16, in: []int{7, 7}, kernel: []int{3, 3}, before: []int{1, 1}, behind: []int{1, 1}},
		{name: "3x3 without padding", images: 1, groups: 1, channels: 3, filter: 4, in: []int{9, 6}, kernel: []int{3, 3}, noBias: true},
		{name: "7x7 by two", images: 1, groups: 1, channels: 3, filter: 8, in: []int{31, 29}, kernel: []int{7, 7}, stride: []int{2, 2}, before: []int{3, 3}, behind: []int{3, 3}},
		{name: "uneven", images: 1, groups: 2, channels: 3, filter: 2, in: []int{10, 11}, kernel: []int{2, 5}, stride: []int{3, 2}, dilation: []int{2, 1}, before: []int{0, 4}, behind: []int{3, 1}},
		{name: "dilated", images: 1, groups: 1, channels: 2, filter: 3, in: []int{12, 20}, kernel: []int{3, 3}, dilation: []int{2, 3}, before: []int{2, 3}, behind: []int{2, 3}},
		{name: "more padding than value", images: 1, groups: 1, channels: 2, filter: 2, in: []int{2, 3}, kernel: []int{3, 2}, before: []int{4, 5}, behind: []int{3, 6}},
		{name: "one axis", images: 2, groups: 1, channels: 5, filter: 6, in: []int{50}, kernel: []int{5}, stride: []int{2}, before: []int{2}, behind: []int{1}},
		{name: "three axes", images: 1, groups: 1, channels: 3, filter: 4, in: []int{5, 6, 7}, kernel: []int{2, 3, 3}, stride: []int{1, 2, 1}, before: []int{1, 0, 1}, behind: []int{0, 1, 1}},
		{name: "four axes", images: 1, groups: 2, channels: 2, filter: 2, in: []int{3, 4, 3, 5}, kernel: []int{2, 1, 2, 2}, stride: ones(4)},
		{name: "many channels", images: 1, groups: 1, channels: 200, filter: 30, in: []int{4, 5}, kernel: []int{3, 3}, before: []int{1, 1}, behind: []int{1, 1}},
		{name: "depthwise 3x3", images: 2, groups: 5, channels: 1, filter: 1, in: []int{9, 35}, kernel: []int{3, 3}, before: []int{1, 1}, behind: []int{1, 1}},
		{name: "depthwise 3x3 by two", images: 1, groups: 6, channels: 1, filter: 1, in: []int{15, 40}, kernel: []int{3, 3}, stride: []int{2, 2}, before: []int{0, 1}, behind: []int{1, 0}},
		{name: "depthwise 5x5, two filters", images: 1, groups: 3, channels: 1, filter: 2, in: []int{14, 14}, kernel: []int{5, 5}, before: []int{2, 2}, behind: []int{2, 2}},
		{name: "depthwise, dilated by three", images: 1, groups: 2, channels: 1, filter: 1, in: []int{20, 70}, kernel: []int{3, 4}, stride: []int{1, 3}, dilation: []int{3, 2}, before: []int{3, 7}, behind: []int{3, 0}},
		{name: "depthwise, a large map", images: 1, groups: 2, channels: 1, filter: 1, in: []int{150, 300}, kernel: []int{3, 3}, before: []int{1, 1}, behind: []int{1, 1}},
		{name: "depthwise, one axis", images: 2, groups: 4, channels: 1, filter: 1, in: []int{33}, kernel: []int{4}, before: []int{3}, behind: []int{0}},
		{name: "depthwise 5x5 by two", images: 1, groups: 3, channels: 1, filter: 1, in: []int{23, 37}, kernel: []int{5, 5}, stride: []int{2, 2}, before: []int{2, 1}, behind: []int{2, 2}},
		{name: "depthwise 7x7", images: 1, groups: 70, channels: 1, filter: 1, in: []int{7, 7}, kernel: []int{7, 7}, before: []int{3, 3}, behind: []int{3, 3}},
		{name: "depthwise 7x7 by two, in bands", images: 1, groups: 2, channels: 1, filter: 1, in: []int{101, 120}, kernel: []int{7, 7}, stride: []int{2, 2}, before: []int{3, 3}, behind: []int{3, 3}},
		{name: "depthwise 3x3, dilated and by two", images: 1, groups: 3, channels: 1, filter: 1, in: []int{30, 31}, kernel: []int{3, 3}, stride: []int{2, 1}, dilation: []int{2, 2}, before: []int{2, 2}, behind: []int{2, 2}},
		{name: "depthwise 3x9, dilated by half the stride", images: 1, groups: 2, channels: 1, filter: 1, in: []int{31, 66}, kernel: []int{3, 9}, stride: []int{4, 1}, dilation: []int{2, 3}, before: []int{1, 11}, behind: []int{2, 12}},
		{name: "depthwise, three axes", images: 1, groups: 3, channels: 1, filter: 1, in: []int{4, 5, 6}, kernel: []int{2, 2, 2}},
		{name: "depthwise, more padding than value", images: 1, groups: 2, channels: 1, filter: 1, in: []int{1, 2}, kernel: []int{2, 2}, stride: []int{1, 3}, before: []int{5, 9}, behind: []int{5, 9}},
		{name: "no image", images: 0, groups: 1, channels: 2, filter: 2, in: []int{4, 4}, kernel: []int{2, 2}},
		{name: "no channel", images: 1, groups: 1, channels: 0, filter: 2, in: []int{4, 4}, kernel: []int{2, 2}},
		{name: "no filter", images: 1, groups: 1, channels: 2, filter: 0, in: []int{4, 4}, kernel: []int{2, 2}},
	}
	for i := range list {
		c := &list[i]
		n := len(c.in)
		for _, l := range []*[]int{&c.stride, &c.dilation} {
			if *l == nil {
				*l = ones(n)
			}
		}
		for _, l := range []*[]int{&c.before, &c.behind} {
			if *l == nil {
				*l = make([]int, n)
			}
		}
	}
	return list
}

func (c *convCase) shape() *nn.ConvShape {
	s := &nn.ConvShape{
		Images: c.images, Groups: c.groups, Channels: c.channels, Filters: c.filter,
		In: c.in, Kernel: c.kernel, Stride: c.stride, Dilation: c.dilation, Pad: c.before,
	}
	for d, n := range c.in {
		s.Out = append(s.Out, (n+c.before[d]+c.behind[d]-(c.kernel[d]-1)*c.dilation[d]-1)/c.stride[d]+1)
	}
	return s
}

// transposed returns the shape of the transposed convolution of the case's input. Its result may
// end in elements that no position of the kernel reaches.
func (c *convCase) transposed() *nn.ConvShape {
	s := c.shape()
	s.Out = nil
	for d, n := range c.in {
		s.Out = append(s.Out, max(0, (n-1)*c.stride[d]+(c.kernel[d]-1)*c.dilation[d]+1-c.before[d]-c.behind[d]+c.stride[d]-1))
	}
	return s
}
