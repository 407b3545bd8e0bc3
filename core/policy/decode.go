package policy

import (
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

func (d *decoder) policy(root *value, others []string) *Policy {
	d.known(root, "the policy", append([]string{"defaults", "layer"}, others...)...)
	p := &Policy{Defaults: standard}
	if v := root.get("defaults"); v != nil && d.table(v, "defaults") {
		d.defaults(v, &p.Defaults)
	}
	var names []string
	for _, table := range d.tables(root.get("layer"), "layer", "layer") {
		layer := d.layer(table, names)
		names = append(names, layer.Name)
		p.Layers = append(p.Layers, layer)
	}
	return p
}

func (d *decoder) defaults(table *value, defaults *Defaults) {
	d.known(table, "defaults", string(Read), string(Write), string(Exec), string(Net))
	for _, e := range table.keys {
		if !Act(e.key).valid() {
			continue
		}
		switch {
		case e.value.kind != unstable.String:
			d.fail(e.value.offset, "the default of "+e.key+" is not a string", adviseEffect)
		case !Effect(e.value.text).valid():
			d.fail(e.value.offset, quoted(e.value.text)+" is no effect", adviseEffect)
		default:
			defaults.set(Act(e.key), Effect(e.value.text))
		}
	}
}

func (d *decoder) layer(table *value, taken []string) Layer {
	d.known(table, "a layer", "name", "rule")
	name, at := d.word(table, "name", "write name = \"…\" below [[layer]]")
	if at != nil {
		switch {
		case strings.TrimSpace(name) == "":
			d.fail(at.offset, "the layer's name is empty", "give it a name that says where its rules come from")
		case slices.Contains(reserved, name):
			d.fail(at.offset, "the layer name "+quoted(name)+" is reserved", "choose another name")
		case slices.Contains(taken, name):
			d.fail(at.offset, "two layers are named "+quoted(name), "choose another name, or put the rules into one layer")
		}
	}
	layer := Layer{Name: name}
	for _, rule := range d.tables(table.get("rule"), "rule", "layer.rule") {
		layer.Rules = append(layer.Rules, d.rule(rule))
	}
	return layer
}

func (d *decoder) rule(table *value) Rule {
	d.known(table, "a rule", "act", "effect", "match", "repeat")
	line, _ := place(d.data, table.offset)
	r := Rule{line: line}
	act, at := d.word(table, "act", adviseAct)
	if r.Act = Act(act); at != nil && !r.Act.valid() {
		d.fail(at.offset, quoted(act)+" is no act", adviseAct)
	}
	effect, at := d.word(table, "effect", adviseEffect)
	if r.Effect = Effect(effect); at != nil && !r.Effect.valid() {
		d.fail(at.offset, quoted(effect)+" is no effect", adviseEffect)
	}
	r.Match = d.match(table, r.Act)
	if table.get("repeat") == nil {
		return r
	}
	repeat, at := d.word(table, "repeat", adviseRepeat)
	r.Repeat = repeat
	switch {
	case at == nil:
	case repeat != Safe:
		d.fail(at.offset, quoted(repeat)+" is no value of repeat", adviseRepeat)
	case r.Act.valid() && r.Act != Exec:
		d.fail(at.offset, "repeat is for exec rules only", "leave it out of this "+act+" rule")
	}
	return r
}

// match reads a string or a list of strings and checks that it can match something.
func (d *decoder) match(table *value, act Act) []string {
	v := table.get("match")
	advice := "write a string or a list of strings: words for exec, patterns else"
	if v == nil {
		d.fail(table.offset, "match is missing, so the rule matches nothing", advice)
		return nil
	}
	entries := []*value{v}
	if v.kind == unstable.Array {
		entries = v.items
	}
	var match []string
	for _, e := range entries {
		if e.kind != unstable.String {
			d.fail(e.offset, "match holds something that is not a string", advice)
			return nil
		}
		match = append(match, e.text)
	}
	normal := Rule{Act: act, Match: match}.normal().Match
	if !act.valid() {
		return normal
	}
	if len(normal) == 0 && len(match) > 0 {
		d.fail(entries[0].offset, "match has no words, so the rule matches nothing", "write the program and its arguments")
		return normal
	}
	if at, err := checkMatch(act, normal); err != nil {
		offset := v.offset
		if len(entries) > 0 {
			offset = entries[min(at, len(entries)-1)].offset
		}
		d.flawed(offset, err)
	}
	return normal
}
