// Command forest predicts the rows of a table with a model such as a forest of trees or a
// regression, which scikit-learn's exporter writes.
//
//	forest model.onnx table.csv > predictions.csv
//
// The first line of the table names its columns. The columns are numbers, as many as the model takes,
// in the model's order. Each line of the predictions has the outputs of a row.
package main

import (
	"bufio"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"strconv"
	"strings"

	"github.com/nacre-ml/nacre"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: forest model.onnx table.csv")
	}
	table, err := os.Open(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	out := bufio.NewWriter(os.Stdout)
	if err := errors.Join(predict(out, os.Args[1], table), out.Flush()); err != nil {
		log.Fatal(err)
	}
}

// batch is the most rows of a run.
const batch = 1024

func predict(w io.Writer, file string, table io.Reader) error {
	model, err := nacre.Open(file)
	if err != nil {
		return err
	}
	defer model.Close()
	session, err := model.NewSession(nacre.Options{})
	if err != nil {
		return err
	}
	defer session.Close()
	lines := csv.NewReader(table)
	header, err := lines.Read()
	if err != nil {
		return fmt.Errorf("the table has no header: %w", err)
	}
	out := csv.NewWriter(w)
	var names []string
	for _, info := range session.Outputs() {
		names = append(names, info.Name)
	}
	out.Write(names)
	for more := true; more; {
		rows, err := read(lines, batch)
		if err != nil && err != io.EOF {
			return err
		}
		more = err == nil
		if err := predictRows(out, session, rows, len(header)); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// read returns the numbers of at most n lines. At the end of the table the error is io.EOF.
func read(lines *csv.Reader, n int) (rows []float32, err error) {
	for range n {
		cells, err := lines.Read()
		if err != nil {
			return rows, err
		}
		for i, cell := range cells {
			x, err := strconv.ParseFloat(cell, 32)
			if err != nil {
				line, column := lines.FieldPos(i)
				return nil, fmt.Errorf("line %d, column %d: %q is no number", line, column, cell)
			}
			rows = append(rows, float32(x))
		}
	}
	return rows, nil
}

// predictRows writes a line for each row.
func predictRows(out *csv.Writer, session *nacre.Session, rows []float32, columns int) error {
	n := len(rows) / columns
	if n == 0 {
		return nil
	}
	x, err := nacre.NewTensor(rows, n, columns)
	if err != nil {
		return err
	}
	values, err := session.RunValues(context.Background(), map[string]nacre.Value{session.Inputs()[0].Name: x})
	if err != nil {
		return err
	}
	for i := range n {
		var cells []string
		for _, info := range session.Outputs() {
			cells = append(cells, cell(values[info.Name], i, n))
		}
		out.Write(cells)
	}
	return nil
}

// cell returns what an output has for row i of n: its numbers, or its classes with theirs.
func cell(v nacre.Value, i, n int) string {
	switch v := v.(type) {
	case *nacre.Sequence:
		return cell(v.Items[i], 0, 1)
	case *nacre.Map:
		var text []string
		for j := range v.Keys.Len() {
			text = append(text, v.Keys.Text(j)+"="+v.Values.Text(j))
		}
		return strings.Join(text, " ")
	case *nacre.Tensor:
		var text []string
		for j := i * v.Len() / n; j < (i+1)*v.Len()/n; j++ {
			text = append(text, v.Text(j))
		}
		return strings.Join(text, " ")
	}
	return fmt.Sprint(v)
}
