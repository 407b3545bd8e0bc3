// Package themes holds the palettes that ship with the program and their loader.
package themes

import (
	"bytes"
	"embed"
	"fmt"
	"image/color"
	"io/fs"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

//go:embed *.toml
var files embed.FS

// Theme is one palette. Colours have meanings, not names: blue is the model, violet a tool, amber a person and waiting,
// red refusal and failure, green success and checks, accent the one thing that is selected or ours.
type Theme struct {
	Name string
	Dark bool

	Ground, Panel, Selection, Line color.Color // grounds, and thin lines
	Text, Dim, Soft                color.Color // dim is for Ground only
	Accent, Amber, Red, Green      color.Color
	Blue, Violet                   color.Color
	KeyCap, Added, Removed         color.Color // grounds of key caps and of changed lines
}

// document is a theme file.
type document struct {
	Name      string `toml:"name"`
	Dark      bool   `toml:"dark"`
	Ground    string `toml:"ground"`
	Panel     string `toml:"panel"`
	Selection string `toml:"selection"`
	Line      string `toml:"line"`
	Text      string `toml:"text"`
	Dim       string `toml:"dim"`
	Soft      string `toml:"soft"`
	Accent    string `toml:"accent"`
	Amber     string `toml:"amber"`
	Red       string `toml:"red"`
	Green     string `toml:"green"`
	Blue      string `toml:"blue"`
	Violet    string `toml:"violet"`
	KeyCap    string `toml:"keycap"`
	Added     string `toml:"added"`
	Removed   string `toml:"removed"`
}

// Names lists the shipped themes.
func Names() []string {
	found, err := fs.Glob(files, "*.toml")
	if err != nil {
		return nil
	}
	for i, f := range found {
		found[i] = strings.TrimSuffix(f, ".toml")
	}
	return found
}

// Load reads a shipped theme by name.
func Load(name string) (Theme, error) {
	body, err := files.ReadFile(name + ".toml")
	if err != nil {
		return Theme{}, fmt.Errorf("there is no theme %q; choose one of %s", name, strings.Join(Names(), ", "))
	}
	return Parse(name+".toml", body)
}

// Parse reads a theme file. Every colour has to be set as #rrggbb; what is not understood is an error.
func Parse(file string, body []byte) (Theme, error) {
	var d document
	dec := toml.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&d); err != nil {
		return Theme{}, fmt.Errorf("theme %s: %w", file, err)
	}
	t := Theme{Name: d.Name, Dark: d.Dark}
	for _, c := range []struct {
		name, hex string
		to        *color.Color
	}{
		{"ground", d.Ground, &t.Ground},
		{"panel", d.Panel, &t.Panel},
		{"selection", d.Selection, &t.Selection},
		{"line", d.Line, &t.Line},
		{"text", d.Text, &t.Text},
		{"dim", d.Dim, &t.Dim},
		{"soft", d.Soft, &t.Soft},
		{"accent", d.Accent, &t.Accent},
		{"amber", d.Amber, &t.Amber},
		{"red", d.Red, &t.Red},
		{"green", d.Green, &t.Green},
		{"blue", d.Blue, &t.Blue},
		{"violet", d.Violet, &t.Violet},
		{"keycap", d.KeyCap, &t.KeyCap},
		{"added", d.Added, &t.Added},
		{"removed", d.Removed, &t.Removed},
	} {
		rgb, err := parseColor(c.hex)
		if err != nil {
			return Theme{}, fmt.Errorf("theme %s: %s: %w", file, c.name, err)
		}
		*c.to = rgb
	}
	return t, nil
}

func parseColor(s string) (color.Color, error) {
	n, err := strconv.ParseUint(strings.TrimPrefix(s, "#"), 16, 32)
	if err != nil || len(s) != 7 || s[0] != '#' {
		return nil, fmt.Errorf("%q is no colour; write it as #rrggbb", s)
	}
	return color.RGBA{R: uint8(n >> 16), G: uint8(n >> 8), B: uint8(n), A: 0xff}, nil
}
