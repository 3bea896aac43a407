package main

import (
	"context"
	"path/filepath"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/internal/diagram"
	"github.com/nacre-ml/nacre/internal/diagram/page"
	"github.com/nacre-ml/nacre/internal/output"
	"github.com/nacre-ml/nacre/internal/pieces"
)

// inspectHTML writes a page with a picture of a model's graph.
func inspectHTML(ctx context.Context, path string, m *nacre.Model) error {
	d, err := diagram.Draw(ctx, m.Source())
	if err != nil {
		return err
	}
	f, err := output.Create(path)
	if err != nil {
		return err
	}
	defer f.Discard()
	if err := page.Write(pieces.Writer(ctx, f), filepath.Base(m.Source().File), d); err != nil {
		return err
	}
	return f.Commit()
}
