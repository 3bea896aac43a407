// Package web serves the page that speaks texts and looks into models. The page is files: a program
// for browsers, made by scripts/web.sh, and scripts that call it. They need no server of their own.
package web

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nacre-ml/nacre/speech"
)

// types lists the MIME types of files by extension. Other files are bytes.
var types = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
	".ts": "text/plain; charset=utf-8", ".wasm": "application/wasm", ".json": "application/json",
}

// Handler returns a handler of the files of a page. If a file has a copy NAME.gz, a client that
// accepts gzip gets the copy, and a file with the copy only is decompressed for the others. Folders
// are not listed. Voices is a folder of voices and models that the page offers; nil for none.
func Handler(files fs.FS, voices *os.Root) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /", page{files})
	mux.HandleFunc("GET /served.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", types[".json"])
		w.Header().Set("Cache-Control", "no-cache")
		_ = json.NewEncoder(w).Encode(servedBy(voices)) // the client is gone
	})
	if voices != nil {
		mux.Handle("GET /served/", http.StripPrefix("/served/", offered{voices}))
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		// A page by itself gets finer clocks, and may share memory between workers.
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Embedder-Policy", "require-corp")
		mux.ServeHTTP(w, r)
	})
}

// page serves the files of the page.
type page struct{ files fs.FS }

// ServeHTTP serves a file, or its compressed copy.
func (p page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(path.Clean(r.URL.Path), "/")
	if name == "" {
		name = "index.html"
	}
	if !fs.ValidPath(name) || strings.HasSuffix(name, ".gz") || strings.HasSuffix(r.URL.Path, "/") && name != "index.html" {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Vary", "Accept-Encoding")
	h.Set("Content-Type", typeOf(name))
	packed, plain := openFile(p.files, name+".gz"), openFile(p.files, name)
	defer packed.close()
	defer plain.close()
	switch {
	case packed != nil && acceptsGzip(r):
		h.Set("Content-Encoding", "gzip")
		packed.serve(w, r, "-gz")
	case plain != nil:
		plain.serve(w, r, "")
	case packed != nil:
		packed.unpack(w, r)
	default:
		h.Del("Content-Type")
		http.NotFound(w, r)
	}
}

func typeOf(name string) string {
	if t := types[path.Ext(name)]; t != "" {
		return t
	}
	return "application/octet-stream"
}

// acceptsGzip reports whether a client takes gzip.
func acceptsGzip(r *http.Request) bool {
	for _, list := range r.Header.Values("Accept-Encoding") {
		for part := range strings.SplitSeq(list, ",") {
			name, q, _ := strings.Cut(part, ";")
			q = strings.ReplaceAll(q, " ", "")
			if name = strings.TrimSpace(name); (name == "gzip" || name == "*") && q != "q=0" && !strings.HasPrefix(q, "q=0.000") {
				return true
			}
		}
	}
	return false
}

// file is an open regular file; nil is none.
type file struct {
	fs.File
	info fs.FileInfo
}

// openFile opens a regular file.
func openFile(files fs.FS, name string) *file {
	f, err := files.Open(name)
	if err != nil {
		return nil
	}
	info, err := f.Stat()
	if _, seeks := f.(io.ReadSeeker); err != nil || !info.Mode().IsRegular() || !seeks {
		_ = f.Close() // it was only read
		return nil
	}
	return &file{f, info}
}

func (f *file) close() {
	if f != nil {
		_ = f.Close() // it was only read
	}
}

// serve sends the file. Clients ask again each time, and get it if its tag is another.
func (f *file) serve(w http.ResponseWriter, r *http.Request, kind string) {
	w.Header().Set("Cache-Control", "no-cache")
	if tag, err := f.tag(); err == nil {
		w.Header().Set("ETag", `"`+tag+kind+`"`)
	}
	http.ServeContent(w, r, "", f.info.ModTime(), f.File.(io.ReadSeeker))
}

// unpack sends the contents of a compressed file.
func (f *file) unpack(w http.ResponseWriter, r *http.Request) {
	z, err := gzip.NewReader(f)
	if err != nil {
		http.Error(w, "the file on the server is damaged", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Cache-Control", "no-cache")
	if r.Method != http.MethodHead {
		_, _ = io.Copy(w, z) // the client is gone
	}
}

// served is what a server offers to the page.
type served struct {
	Voices []entry `json:"voices"`
	Models []entry `json:"models"`
}

// entry is a voice or a model of a server: a file, or a folder.
type entry struct {
	Name  string   `json:"name"`
	URL   string   `json:"url"`
	Bytes int64    `json:"bytes"`
	Files []string `json:"files,omitempty"` // of a folder, beneath URL
}

// servedBy lists the voices and the models of a folder.
func servedBy(root *os.Root) (s served) {
	s.Voices, s.Models = []entry{}, []entry{}
	if root == nil {
		return s
	}
	folders := map[string]int{} // places in s.Voices
	_ = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil // a folder that cannot be read offers nothing
		case d.IsDir() && name != "." && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		info, err := d.Info()
		if err != nil || !info.Mode().IsRegular() {
			return nil
		}
		at := "served/" + (&url.URL{Path: name}).EscapedPath()
		switch folder := voiceFolder(root, name); {
		case folder != "":
			i, known := folders[folder]
			if !known {
				i = len(s.Voices)
				folders[folder] = i
				e := entry{Name: folder, URL: "served/" + (&url.URL{Path: folder}).EscapedPath() + "/"}
				if folder == "." {
					e.Name, e.URL = filepath.Base(root.Name()), "served/"
				}
				s.Voices = append(s.Voices, e)
			}
			s.Voices[i].Bytes += info.Size()
			s.Voices[i].Files = append(s.Voices[i].Files, strings.TrimPrefix(name, folder+"/"))
		case path.Ext(name) != ".onnx":
		default:
			list := &s.Models
			if _, err := root.Stat(name + ".json"); err == nil {
				list = &s.Voices
			}
			*list = append(*list, entry{Name: strings.TrimSuffix(name, ".onnx"), URL: at, Bytes: info.Size()})
		}
		return nil
	})
	return s
}

// offers reports whether a file is offered: a model, a voice of one file with its JSON, or a file of
// a voice's folder.
func offers(root *os.Root, name string) bool {
	return path.Ext(strings.TrimSuffix(name, ".json")) == ".onnx" || voiceFolder(root, name) != ""
}

// ofVoices lists the extensions of files in folders of voices.
var ofVoices = []string{".json", ".onnx", ".npz", ".bin", ".wav", ".flac", ".mp3"}

// voiceFolder returns the folder of the voice that a file belongs to: its own, or the one above the
// folders onnx and voices. It returns "" if there is none.
func voiceFolder(root *os.Root, name string) string {
	if !slices.Contains(ofVoices, path.Ext(name)) && !strings.Contains(path.Base(name), ".onnx_data") {
		return ""
	}
	folder := path.Dir(name)
	if base := path.Base(folder); base == "onnx" || base == "voices" {
		folder = path.Dir(folder)
	}
	if speech.KindFS(root.FS(), folder) == "" {
		return ""
	}
	return folder
}

// offered serves voices and models of a folder.
type offered struct{ root *os.Root }

// ServeHTTP serves a file that is offered.
func (o offered) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f := openFile(o.root.FS(), r.URL.Path)
	defer f.close()
	if f == nil || !offers(o.root, r.URL.Path) {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", typeOf(r.URL.Path))
	f.serve(w, r, "")
}
