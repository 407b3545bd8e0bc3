package policy

import (
	"bytes"
	"encoding/binary"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Bounds of the search for submodules; what lies beyond them is taken to run something.
const (
	maxGitIndex   = 256 << 20 // bytes
	maxGitModules = 1000
	maxGitEntries = 50_000 // files and directories that are looked at below .git/modules
	maxGitName    = 4096   // bytes of a file's name; Linux opens no longer one
)

// gitModules lists the submodules of a place, those within submodules too, and the repositories that it keeps for them.
// Git looks whether they are changed for a status, a diff or a commit by running itself in each of them, by their
// settings. It is false when they cannot be found out.
func gitModules(place gitPlace) ([]gitPlace, bool) {
	var places []gitPlace
	todo := []gitPlace{place}
	for len(todo) > 0 {
		outer := todo[0]
		todo = todo[1:]
		names, ok := gitlinks(outer)
		if !ok || len(places)+len(names) > maxGitModules {
			return nil, false
		}
		for _, name := range names {
			if inner, ok := placeAt(filepath.Join(outer.at, name)); ok && !slices.Contains(places, inner) {
				places = append(places, inner)
				todo = append(todo, inner)
			}
		}
		if outer == place && len(names) > 0 {
			kept, ok := keptModules(place)
			if !ok {
				return nil, false
			}
			places = append(places, kept...)
		}
	}
	return places, true
}

// keptModules lists the repositories in .git/modules, which become those of submodules when these are checked out.
func keptModules(place gitPlace) ([]gitPlace, bool) {
	var places []gitPlace
	left := maxGitEntries
	_ = filepath.WalkDir(filepath.Join(place.common(), "modules"), func(path string, entry fs.DirEntry, err error) error {
		if left--; left < 0 {
			return fs.SkipAll
		}
		switch {
		case err != nil:
		case entry.IsDir() && (entry.Name() == "objects" || entry.Name() == "refs" || entry.Name() == "logs"):
			return fs.SkipDir
		case !entry.IsDir() && entry.Name() == "config":
			places = append(places, gitPlace{place.at, filepath.Dir(path)})
		}
		return nil
	})
	return places, left >= 0
}

// gitlinks lists the submodules in the index of a place, and of a split index in its other part.
func gitlinks(place gitPlace) ([]string, bool) {
	indexes := []string{filepath.Join(place.repository, "index")}
	entries, _ := os.ReadDir(place.repository)
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), "sharedindex.") {
			indexes = append(indexes, filepath.Join(place.repository, entry.Name()))
		}
	}
	var names []string
	for _, index := range indexes {
		data, ok := readGitFile(index, maxGitIndex)
		if !ok {
			return nil, false
		}
		if !bytes.Contains(data, binary.BigEndian.AppendUint32(nil, gitlinkMode)) {
			continue // as in most repositories: a mode is never compressed
		}
		found, ok := indexGitlinks(data, hashSize(place))
		if !ok {
			return nil, false
		}
		names = append(names, found...)
	}
	return names, true
}

// hashSize is the length of the names of a repository's objects.
func hashSize(place gitPlace) int {
	text, _ := readSmall(filepath.Join(place.common(), "config"))
	entries, _ := gitEntries(text)
	if slices.ContainsFunc(entries, func(e gitEntry) bool {
		return e.key == "extensions.objectformat" && strings.EqualFold(e.value, "sha256")
	}) {
		return 32
	}
	return 20
}

// gitlinkMode is the mode of an entry that is a repository of its own.
const gitlinkMode = 0o160000

// indexGitlinks returns the names of the submodules in an index (gitformat-index(5)); false when it is none.
func indexGitlinks(data []byte, hash int) (names []string, ok bool) {
	const header, stat, modeAt, extended = 12, 40, 24, 0x4000
	if len(data) < header || string(data[:4]) != "DIRC" {
		return nil, false
	}
	version, count := binary.BigEndian.Uint32(data[4:]), binary.BigEndian.Uint32(data[8:])
	name := ""
	data = data[header:]
	for range count {
		at := stat + hash + 2
		if len(data) < at {
			return nil, false
		}
		mode := binary.BigEndian.Uint32(data[modeAt:])
		if version >= 3 && binary.BigEndian.Uint16(data[at-2:])&extended != 0 {
			at += 2
		}
		if version < 4 {
			name = ""
		} else { // what the name has in common with the one before is left out
			drop, n := indexVarint(data[min(at, len(data)):])
			if n == 0 || drop > len(name) {
				return nil, false
			}
			name, at = name[:len(name)-drop], at+n
		}
		length := bytes.IndexByte(data[min(at, len(data)):], 0)
		if length < 0 || len(name)+length > maxGitName {
			return nil, false
		}
		name += string(data[at : at+length])
		at += length + 1
		if version < 4 {
			at = (at + 7) &^ 7
		}
		if mode == gitlinkMode {
			if name == "" { // of a split index: the name stands in the other part
				return nil, false
			}
			names = append(names, name)
		}
		data = data[min(at, len(data)):]
	}
	return names, true
}

// indexVarint reads a number as an index of version 4 holds it, and how many bytes it has; none for no number.
func indexVarint(data []byte) (value, n int) {
	for i, c := range data[:min(4, len(data))] {
		value = value<<7 | int(c&0x7f)
		if c&0x80 == 0 {
			return value, i + 1
		}
		value++
	}
	return 0, 0
}
