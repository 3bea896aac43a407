package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// WriteTables writes measurements to a folder, as NAME.json, and as tables in NAME.txt. It makes
// the folder if there is none, and prints the names of the files.
func WriteTables(folder, name string, measured any, tables string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	base := filepath.Join(folder, name)
	if err := writeJSON(base+".json", measured); err != nil {
		return err
	}
	if err := WriteFile(base+".txt", []byte(tables)); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "written: %s.json, %s.txt\n", base, base)
	return nil
}

func writeJSON(path string, v any) error {
	data, err := json.MarshalIndent(v, "", "\t")
	if err != nil {
		return err
	}
	return WriteFile(path, append(data, '\n'))
}

// WriteFile writes a file as a whole or not at all.
func WriteFile(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".report")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Chmod(0o644), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}
