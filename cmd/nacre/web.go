package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/nacre-ml/nacre/internal/printable"
	"github.com/nacre-ml/nacre/web"
)

func webCommand() *cobra.Command {
	var listen, voices string
	cmd := &cobra.Command{
		Use:   "web [DIR]",
		Short: "Serve the page that speaks and looks into models",
		Long: `Serve a page that speaks texts and looks into models. All work is done in the
browser: the page is files, which any other server can serve as well.

A command that make build made carries the page. Another one takes the folder of
scripts/web.sh: nacre web build/web.

With --voices the page offers what a folder holds: voices of Piper, each a file
VOICE.onnx with VOICE.onnx.json, folders of Chatterbox turbo and Kokoro, and
other models.

SIGINT and SIGTERM end the command, after answers that are under way.`,
		Example: `nacre web
nacre web --listen :8080 --voices voices
nacre web build/web`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("%s given; the form is nacre web [DIR]", plural(len(args), "argument"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return serveWeb(cmd, args, listen, voices)
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:8080", "`ADDRESS` to listen on; only this machine can reach "+
		"127.0.0.1, and :8080 is every address of it")
	cmd.Flags().StringVar(&voices, "voices", "", "`DIR` of voices and models that the page offers")
	return cmd
}

// serveWeb serves the page until a signal ends it.
func serveWeb(cmd *cobra.Command, args []string, listen, voices string) (err error) {
	files, err := pageFiles(args)
	if err != nil {
		return err
	}
	var root *os.Root
	if voices != "" {
		if root, err = os.OpenRoot(voices); err != nil {
			return fmt.Errorf("--voices: %w", err)
		}
		defer func() { err = join(err, root) }()
	}
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return fmt.Errorf("%w (--listen takes another address)", err)
	}
	ctx, release := untilSignal(cmd.Context())
	defer release()
	server := &http.Server{
		Handler: web.Handler(files, root), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute,
		ErrorLog: log.New(&printable.Writer{W: cmd.ErrOrStderr()}, "", 0),
	}
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	printable.Fprintf(cmd.OutOrStdout(), "http://%s/\n", l.Addr())
	if f, ok := cmd.OutOrStdout().(*printable.Writer); ok {
		if err := f.Flush(); err != nil {
			return errors.Join(err, server.Close())
		}
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	const patience = 3 * time.Second // for answers under way
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	if err := server.Shutdown(ending); err != nil {
		err = server.Close()
		return errors.Join(err, context.Cause(ctx))
	}
	return context.Cause(ctx)
}

// pageFiles returns the files of the page: of a folder, or the ones that the command carries.
func pageFiles(args []string) (fs.FS, error) {
	if len(args) == 0 {
		if files, ok := web.Built(); ok {
			return files, nil
		}
		return nil, errors.New("this command was built without the page. Either make build makes one with it, or, in the " +
			"checkout:\n  scripts/web.sh\n  nacre web build/web")
	}
	root, err := os.OpenRoot(args[0])
	if err != nil {
		return nil, err
	}
	if _, err := root.Stat("index.html"); err != nil {
		return nil, fmt.Errorf("%w; scripts/web.sh makes the folder %s", join(err, root), filepath.Join("build", "web"))
	}
	return root.FS(), nil
}
