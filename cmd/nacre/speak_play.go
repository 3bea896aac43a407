package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/nacre-ml/nacre/speech"
)

// player is a program that plays sound.
type player struct {
	name string
	args []string
	// files is set for a program that plays files alone, which are sentences then. Others read a WAV
	// file from standard input.
	files bool
}

// players lists the programs that --play looks for.
var players = []player{
	{name: "aplay", args: []string{"-q", "-"}},
	{name: "pw-play", files: true},
	{name: "paplay", files: true},
	{name: "ffplay", args: []string{"-nodisp", "-autoexit", "-loglevel", "error", "-i", "-"}},
	{name: "afplay", files: true},
}

// playerNames lists the programs in messages.
func playerNames() string {
	var list []string
	for _, p := range players {
		list = append(list, p.name)
	}
	return strings.Join(list[:len(list)-1], ", ") + " or " + list[len(list)-1]
}

// newPlayer starts the first program that is installed. It ends with ctx.
func newPlayer(ctx context.Context, rate int) (sink, error) {
	for _, p := range players {
		path, err := exec.LookPath(p.name)
		if err != nil {
			continue
		}
		if p.files {
			return newFilePlayer(ctx, p, path, rate)
		}
		return newPipePlayer(ctx, p, path, rate)
	}
	return nil, fmt.Errorf("--play: no program that plays sound is installed; install %s, or write a file with -o", playerNames())
}

// ended returns the error of a player, with the first line that it has printed.
func ended(p player, err error, printed *bytes.Buffer) error {
	line, _, _ := strings.Cut(strings.TrimSpace(printed.String()), "\n")
	if line == "" {
		line = err.Error()
	}
	return fmt.Errorf("--play: %s cannot play the sound, is there a device for it? It says: %s", p.name, line)
}

// pipePlayer is a player that reads standard input.
type pipePlayer struct {
	player
	cmd     *exec.Cmd
	in      io.WriteCloser
	wav     *speech.WAVWriter
	printed bytes.Buffer
}

func newPipePlayer(ctx context.Context, p player, path string, rate int) (sink, error) {
	s := &pipePlayer{player: p, cmd: exec.CommandContext(ctx, path, p.args...)}
	s.cmd.Stderr = &s.printed
	var err error
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("--play: %w", err)
	}
	if s.wav, err = speech.NewWAVWriter(s.in, rate); err != nil {
		return nil, s.failed(err)
	}
	return s, nil
}

// failed waits for a player that no longer reads.
func (s *pipePlayer) failed(err error) error {
	s.in.Close()
	if e := s.cmd.Wait(); e != nil {
		err = e
	}
	return ended(s.player, err, &s.printed)
}

func (s *pipePlayer) write(samples []float32) error {
	if err := s.wav.Write(samples); err != nil {
		return s.failed(err)
	}
	return nil
}

func (s *pipePlayer) finish() error {
	s.in.Close()
	if err := s.cmd.Wait(); err != nil {
		return ended(s.player, err, &s.printed)
	}
	return nil
}

func (s *pipePlayer) discard() {
	s.in.Close()
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// filePlayer is a player that plays files. It plays a sentence while the next is computed.
type filePlayer struct {
	player
	ctx    context.Context
	cancel context.CancelFunc
	path   string
	rate   int
	folder string
	played chan error // of the sentence that is being played; nil if there is none
}

func newFilePlayer(ctx context.Context, p player, path string, rate int) (sink, error) {
	folder, err := os.MkdirTemp("", "nacre-speak-")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	return &filePlayer{player: p, ctx: ctx, cancel: cancel, path: path, rate: rate, folder: folder}, nil
}

func (s *filePlayer) write(samples []float32) error {
	if err := s.wait(); err != nil || len(samples) == 0 {
		return err
	}
	file := filepath.Join(s.folder, "sentence.wav")
	var b bytes.Buffer
	if err := speech.WriteWAV(&b, speech.Sound{Rate: s.rate, Samples: samples}); err != nil {
		return err
	}
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		return err
	}
	s.played = make(chan error, 1)
	go func() {
		var printed bytes.Buffer
		cmd := exec.CommandContext(s.ctx, s.path, append(s.args[:len(s.args):len(s.args)], file)...)
		cmd.Stderr = &printed
		err := cmd.Run()
		if err != nil {
			err = ended(s.player, err, &printed)
		}
		s.played <- err
	}()
	return nil
}

// wait waits until a sentence has been played.
func (s *filePlayer) wait() error {
	if s.played == nil {
		return nil
	}
	err := <-s.played
	s.played = nil
	return err
}

func (s *filePlayer) finish() error {
	defer s.cancel()
	return errors.Join(s.wait(), os.RemoveAll(s.folder))
}

func (s *filePlayer) discard() {
	s.cancel()
	_ = s.finish()
}
