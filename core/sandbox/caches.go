package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
)

// cacheVariables are where tools keep what they can make or fetch again, below a workspace's cache.
var cacheVariables = map[string]string{
	"GOCACHE":          "go-build",
	"XDG_CACHE_HOME":   "xdg",
	"NPM_CONFIG_CACHE": "npm",
	"PIP_CACHE_DIR":    "pip",
	"CARGO_HOME":       "cargo",
}

// toolchains are where version managers keep compilers and interpreters, below the operator's home. With a private
// home the programs in PATH would not find them.
var toolchains = map[string]string{
	"RUSTUP_HOME": ".rustup",
	"PYENV_ROOT":  ".pyenv",
	"RBENV_ROOT":  ".rbenv",
}

// cacheDir is the cache of one workspace. The name says whose it is to a person, the digest makes it its own.
func cacheDir(caches, workspace string) string {
	sum := sha256.Sum256([]byte(workspace))
	return filepath.Join(caches, filepath.Base(workspace)+"-"+hex.EncodeToString(sum[:6]))
}

// cacheEnvironment points tools at dir, which it makes, and at what the operator's own tools have fetched already.
func cacheEnvironment(dir string, operator environment) (environment, error) {
	set := environment{}
	for name, below := range cacheVariables {
		set[name] = filepath.Join(dir, below)
		if err := os.MkdirAll(set[name], 0o700); err != nil {
			return nil, fmt.Errorf("make cache: %w", err)
		}
	}
	modules := moduleCache(operator)
	if modules == "" {
		modules = filepath.Join(dir, "go-mod")
	}
	set["GOMODCACHE"] = modules
	for name, below := range toolchains {
		root := operator[name]
		if root == "" && operator["HOME"] != "" {
			root = filepath.Join(operator["HOME"], below)
		}
		if isDir(root) {
			set[name] = root
		}
	}
	return set, nil
}

// moduleCache finds the operator's Go module cache as the go command would, "" when there is none yet.
func moduleCache(operator environment) string {
	for _, dir := range []string{
		operator["GOMODCACHE"],
		firstPath(operator["GOPATH"], "pkg/mod"),
		firstPath(operator["HOME"], "go/pkg/mod"),
	} {
		if isDir(dir) {
			return dir
		}
	}
	return ""
}

func firstPath(list, below string) string {
	dirs := filepath.SplitList(list)
	if len(dirs) == 0 || dirs[0] == "" {
		return ""
	}
	return filepath.Join(dirs[0], below)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return path != "" && err == nil && info.IsDir()
}
