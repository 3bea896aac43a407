package beneath

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// blobOf returns the target of a link in a Hugging Face cache: the folder of the repository and a
// path in it. name is the link's path below root. ok is false for anything else. Such a cache keeps
// the files of a repository in the folder blobs. Its folder snapshots/REVISION has links to them. A
// link goes up to the repository and down to one blob: ../../blobs/NAME, with one ".." more per
// folder below.
//
// https://huggingface.co/docs/huggingface_hub/guides/manage-cache
func blobOf(root *os.Root, name string) (repository, blob string, ok bool) {
	link, err := root.Readlink(name)
	if err != nil {
		return "", "", false
	}
	path, err := filepath.Abs(filepath.Join(root.Name(), filepath.Dir(name)))
	if err != nil {
		return "", "", false
	}
	parts := strings.Split(filepath.ToSlash(path), "/")
	slices.Reverse(parts)
	below := slices.Index(parts, "snapshots") // number of folders below snapshots
	if below < 1 {
		return "", "", false
	}
	up := strings.Repeat("../", below+1)
	blob, ok = strings.CutPrefix(filepath.ToSlash(link), up+"blobs/")
	if !ok || blob == "" || blob == "." || blob == ".." || strings.Contains(blob, "/") {
		return "", "", false
	}
	return filepath.Join(path, filepath.FromSlash(up)), filepath.Join("blobs", blob), true
}
