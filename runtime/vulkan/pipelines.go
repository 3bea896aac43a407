package vulkan

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	vk "github.com/nacre-ml/nacre/bindings/vulkan"
	"github.com/nacre-ml/nacre/shaders"
)

// pipeline is a compiled kernel, or the error that compiling it gave.
type pipeline struct {
	once   sync.Once
	kernel *kernel
	made   *vk.Pipeline
	err    error
	isDone atomic.Bool // made or err is set
}

// pipeline returns the pipeline of a kernel. The first call for a key compiles it; calls for other
// keys do not wait.
func (d *Device) pipeline(k *kernel) (*vk.Pipeline, error) {
	p := d.slot(k.key())
	p.once.Do(func() {
		p.kernel = k
		subgroup := 0
		if k.module.Variant.Needs&shaders.CoopMatrix != 0 {
			subgroup = d.info.Caps.SubgroupSize
		}
		p.made, p.err = d.dev.NewPipeline(k.module.Code, k.constants, k.module.Kernel.Operands,
			4*k.module.Kernel.Push, subgroup)
		if p.err != nil {
			p.err = failure(fmt.Errorf("shader %s/%s: %w", k.Op(), k.Variant(), p.err))
		}
		p.isDone.Store(true)
	})
	return p.made, p.err
}

// slot returns the place of the pipeline with that key.
func (d *Device) slot(key string) *pipeline {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.pipelines[key] == nil {
		d.pipelines[key] = &pipeline{}
	}
	return d.pipelines[key]
}

// mostCompilers is the most goroutines that compile at a time.
const mostCompilers = 16

// worthSaving is the time that compiling must have taken for the file of pipelines to be written.
const worthSaving = 20 * time.Millisecond

// compile makes the missing pipelines of kernels, several at a time.
func (d *Device) compile(list []*kernel) error {
	missing := d.missing(list)
	if len(missing) == 0 {
		return nil
	}
	begin := time.Now()
	next, results := make(chan *kernel), make(chan error)
	for range min(len(missing), runtime.GOMAXPROCS(0), mostCompilers) {
		go func() {
			for k := range next {
				_, err := d.pipeline(k)
				results <- err
			}
		}()
	}
	go func() {
		for _, k := range missing {
			next <- k
		}
		close(next)
	}()
	var all error
	for done := range missing {
		all = errors.Join(all, <-results)
		if d.options.Compiled != nil {
			d.reports.Lock()
			d.options.Compiled(done+1, len(missing))
			d.reports.Unlock()
		}
	}
	if all == nil && time.Since(begin) > worthSaving {
		d.savePipelines()
	}
	return all
}

// missing returns a kernel for each key that has no pipeline.
func (d *Device) missing(list []*kernel) (missing []*kernel) {
	d.mu.Lock()
	defer d.mu.Unlock()
	seen := map[string]bool{}
	for _, k := range list {
		if key := k.key(); !seen[key] && d.pipelines[key] == nil {
			seen[key] = true
			missing = append(missing, k)
		}
	}
	return missing
}

// savePipelines writes the file of pipelines. The file only saves time: an error leaves the one
// before.
func (d *Device) savePipelines() {
	if d.file.path == "" {
		return
	}
	d.reports.Lock()
	defer d.reports.Unlock()
	if data, err := d.dev.PipelineData(); err == nil {
		d.file.write(data)
	}
}
