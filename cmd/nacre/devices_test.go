package main

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rivo/uniseg"
)

func TestDevices(t *testing.T) {
	code, stdout, stderr := call("devices", "--json")
	if code != 0 {
		t.Fatal(stderr)
	}
	var c cpuReport
	if err := json.Unmarshal([]byte(stdout), &c); err != nil {
		t.Fatal(err)
	}
	if c.Threads < 1 || len(c.Levels) == 0 || len(c.Kernels) == 0 {
		t.Errorf("got %+v", c)
	}
	for _, k := range c.Kernels {
		if len(k.Variants) == 0 || !slices.Contains(k.Variants, k.InUse) {
			t.Errorf("kernel %s has variants %v, and %q is in use", k.Op, k.Variants, k.InUse)
		}
	}
	for _, width := range []string{"40", "80"} {
		t.Setenv("COLUMNS", width)
		most, _ := strconv.Atoi(width)
		code, short, stderr := call("devices")
		if lines := strings.Count(short, "\n"); code != exitDone || most == 80 && lines > 24 {
			t.Errorf("exit code %d, %d lines, %s", code, lines, stderr)
		}
		code, long, stderr := call("devices", "--kernels")
		if code != exitDone || !strings.Contains(long, c.Kernels[0].Op+" ") || strings.Contains(short, c.Kernels[0].Op) {
			t.Errorf("exit code %d, %s%s", code, long, stderr)
		}
		for line := range strings.Lines(short + long) {
			if len(strings.Fields(line)) > 2 && uniseg.StringWidth(strings.TrimSpace(line)) > most {
				t.Errorf("wider than %d columns: %s", most, line)
			}
		}
	}
	code, stdout, stderr = call("devices", "--ops", "--markdown")
	if code != 0 || !strings.Contains(stdout, "| ai.onnx | Conv |") {
		t.Errorf("exit code %d, %s%s", code, stdout, stderr)
	}
}
