package bench

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// BenchmarkConvert converts a checkpoint of 2 GB (NACRE_BENCH_BYTES for another size) to every
// other container, in turn with cp of the same file. Both are on disk when the clock stops.
// "cp-ratio" is the median time of cp over the conversion's. "anon-MB" is the most memory that the
// conversion took beside the files that it maps.
func BenchmarkConvert(b *testing.B) {
	size := 2 << 30
	if s := os.Getenv("NACRE_BENCH_BYTES"); s != "" {
		var err error
		if size, err = strconv.Atoi(s); err != nil {
			b.Fatal(err)
		}
	}
	dir := b.TempDir()
	program := filepath.Join(dir, "nacre")
	if out, err := exec.Command("go", "build", "-o", program, "../cmd/nacre").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	in := filepath.Join(dir, "in.safetensors")
	checkpoint(b, in, size)
	for _, f := range containers(b) {
		b.Run("to="+f.Name, func(b *testing.B) {
			out, copied := filepath.Join(dir, "out"+f.Extensions[0]), filepath.Join(dir, "copy")
			var ours, theirs []float64
			most := 0
			for b.Loop() {
				for _, path := range []string{out, out + ".data", copied} {
					os.Remove(path)
				}
				start := time.Now()
				most = max(most, watched(b, exec.Command(program, "convert", in, out)))
				ours = append(ours, time.Since(start).Seconds())
				start = time.Now()
				if msg, err := exec.Command("sh", "-c", `cp "$1" "$2" && sync "$2"`, "sh", in, copied).CombinedOutput(); err != nil {
					b.Fatalf("%v\n%s", err, msg)
				}
				theirs = append(theirs, time.Since(start).Seconds())
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(median(theirs)/median(ours), "cp-ratio")
			b.ReportMetric(float64(size)/1e6/median(ours), "MB/s")
			b.ReportMetric(float64(most)/1e6, "anon-MB")
		})
	}
}

// containers lists the formats that hold the tensors of any model.
func containers(b *testing.B) (list []formats.Format) {
	one := &graph.Initializer{Name: "one", Tensor: tensor.New(tensor.F32, 1)}
	for _, f := range formats.Formats {
		m := &graph.Model{Graph: &graph.Graph{Initializers: []*graph.Initializer{one}}}
		switch err := formats.SaveAs(filepath.Join(b.TempDir(), "one"), f.Name, m, formats.Options{}); {
		case err == nil:
			list = append(list, f)
		case !errors.Is(err, graph.ErrUnsupported):
			b.Fatal(err)
		}
	}
	return list
}

// watched runs a program and returns the most anonymous memory that it had.
func watched(b *testing.B, cmd *exec.Cmd) (most int) {
	b.Helper()
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for {
		select {
		case err := <-done:
			if err != nil {
				b.Fatalf("%v\n%s", err, stderr.String())
			}
			return most
		case <-time.After(5 * time.Millisecond):
			most = max(most, anonymous(cmd.Process.Pid))
		}
	}
}

// anonymous returns the bytes of a process's memory that belong to no file; 0 if the system does
// not tell.
func anonymous(pid int) int {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "RssAnon:")
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return 0
	}
	kb, _ := strconv.Atoi(fields[0])
	return kb << 10
}

// checkpoint writes a safetensors file of size bytes in tensors of 64 MB and a smaller last one.
func checkpoint(b *testing.B, path string, size int) {
	b.Helper()
	const part = 64 << 20
	type entry struct {
		DType   string `json:"dtype"`
		Shape   []int  `json:"shape"`
		Offsets []int  `json:"data_offsets"`
	}
	header := map[string]entry{}
	for at := 0; at < size; at += part {
		end := min(at+part, size&^3)
		header[fmt.Sprintf("blocks.%03d.weight", at/part)] = entry{"F32", []int{(end - at) / 4}, []int{at, end}}
	}
	text, err := json.Marshal(header)
	if err != nil {
		b.Fatal(err)
	}
	for len(text)%8 != 0 {
		text = append(text, ' ')
	}
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	fmt.Fprintf(w, "%s%s", binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text)
	r := rand.New(rand.NewPCG(1, 2))
	var number [4]byte
	for range size / 4 {
		binary.LittleEndian.PutUint32(number[:], r.Uint32()&^(1<<30))
		w.Write(number[:])
	}
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
}
