package policy

import (
	"bytes"
	"errors"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// value is a TOML value that knows where in its file it stands. The decoder of the TOML package forgets that, and an
// error without a line is of little use.
type value struct {
	offset int
	kind   unstable.Kind
	text   string   // of a string
	items  []*value // of an array or an array of tables
	keys   []*entry // of a table, in the order of the file
}

// entry is a key with its value.
type entry struct {
	key    string
	offset int
	value  *value
}

// get returns the value of a key of a table, or nil.
func (v *value) get(key string) *value {
	for _, e := range v.keys {
		if e.key == key {
			return e.value
		}
	}
	return nil
}

func (v *value) put(key string, offset int, child *value) {
	v.keys = append(v.keys, &entry{key: key, offset: offset, value: child})
}

// readDocument parses TOML. What is not valid, keys given twice included, is a *FileError.
func readDocument(data []byte, file string) (*value, error) {
	var whole map[string]any
	if err := toml.Unmarshal(data, &whole); err != nil {
		line, column, problem := 1, 1, err.Error()
		var decode *toml.DecodeError
		if errors.As(err, &decode) {
			line, column = decode.Position()
			column = characters(data, line, column)
		}
		return nil, &FileError{File: file, Line: line, Column: column, Problem: visible(problem), Advice: "correct the TOML"}
	}
	root := &value{kind: unstable.Table}
	table := root
	var parser unstable.Parser
	parser.Reset(data)
	for parser.NextExpression() {
		switch node := parser.Expression(); node.Kind {
		case unstable.Table, unstable.ArrayTable:
			table = root.header(node)
		case unstable.KeyValue:
			table.keyValue(node)
		}
	}
	return root, parser.Error()
}

// header finds or makes the table a header opens.
func (v *value) header(node *unstable.Node) *value {
	keys := node.Key()
	for keys.Next() {
		key, offset := string(keys.Node().Data), int(keys.Node().Raw.Offset)
		next := v.get(key)
		last := keys.IsLast()
		switch {
		case last && node.Kind == unstable.ArrayTable:
			if next == nil {
				next = &value{offset: offset, kind: unstable.Array}
				v.put(key, offset, next)
			}
			next.items = append(next.items, &value{offset: offset, kind: unstable.Table})
		case next == nil:
			next = &value{offset: offset, kind: unstable.Table}
			v.put(key, offset, next)
		}
		if next.kind == unstable.Array && len(next.items) > 0 {
			next = next.items[len(next.items)-1]
		}
		v = next
	}
	return v
}

// keyValue adds a key, dotted or not, and its value.
func (v *value) keyValue(node *unstable.Node) {
	keys := node.Key()
	for keys.Next() {
		key, offset := string(keys.Node().Data), int(keys.Node().Raw.Offset)
		if keys.IsLast() {
			v.put(key, offset, readValue(node.Value(), offset))
			return
		}
		next := v.get(key)
		if next == nil {
			next = &value{offset: offset, kind: unstable.Table}
			v.put(key, offset, next)
		}
		v = next
	}
}

// readValue copies a value. Kinds that carry no place of their own stand where their key stands.
func readValue(node *unstable.Node, offset int) *value {
	if node.Raw.Length > 0 {
		offset = int(node.Raw.Offset)
	}
	out := &value{offset: offset, kind: node.Kind}
	switch node.Kind {
	case unstable.String:
		out.text = string(node.Data)
	case unstable.Array:
		items := node.Children()
		for items.Next() {
			out.items = append(out.items, readValue(items.Node(), offset))
		}
	case unstable.InlineTable:
		out.kind = unstable.Table
		pairs := node.Children()
		for pairs.Next() {
			out.keyValue(pairs.Node())
		}
	}
	return out
}

// place turns an offset into line and column.
func place(data []byte, offset int) (line, column int) {
	offset = min(offset, len(data))
	line = 1 + bytes.Count(data[:offset], []byte{'\n'})
	start := bytes.LastIndexByte(data[:offset], '\n') + 1
	return line, 1 + utf8.RuneCount(data[start:offset])
}

// characters turns a column in bytes into one in characters.
func characters(data []byte, line, column int) int {
	for ; line > 1; line-- {
		end := bytes.IndexByte(data, '\n')
		if end < 0 {
			return column
		}
		data = data[end+1:]
	}
	return 1 + utf8.RuneCount(data[:min(max(column-1, 0), len(data))])
}
