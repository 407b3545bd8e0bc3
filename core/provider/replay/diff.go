package replay

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"tillerman/core/provider"
)

// mostLines bounds how many differences a miss shows.
const mostLines = 4

// differences says in which fields two requests differ and how, a line for each, the first few only.
func differences(recorded, asked provider.Request) []string {
	var lines []string
	if recorded.Model != asked.Model {
		lines = append(lines, "model: "+versus(recorded.Model, asked.Model))
	}
	if recorded.MaxOutput != asked.MaxOutput {
		lines = append(lines, fmt.Sprintf("max_output: recorded %d, asked %d", recorded.MaxOutput, asked.MaxOutput))
	}
	if recorded.System != asked.System {
		lines = append(lines, "system, "+line(recorded.System, asked.System))
	}
	lines = append(lines, tools(recorded.Tools, asked.Tools)...)
	if m := messages(recorded.Messages, asked.Messages); m != "" {
		lines = append(lines, m)
	}
	if more := len(lines) - mostLines; more > 0 {
		lines = append(lines[:mostLines], fmt.Sprintf("and %d more fields", more))
	}
	return lines
}

func tools(recorded, asked []provider.ToolSpec) []string {
	offered := map[string]provider.ToolSpec{}
	for _, t := range asked {
		offered[t.Name] = t
	}
	var lines []string
	known := map[string]bool{}
	for _, t := range recorded {
		known[t.Name] = true
		now, ok := offered[t.Name]
		switch {
		case !ok:
			lines = append(lines, fmt.Sprintf("tool %s: recorded, not asked with", excerpt(t.Name, 0)))
		case t.Description != now.Description:
			lines = append(lines, fmt.Sprintf("tool %s, description, %s", excerpt(t.Name, 0), line(t.Description, now.Description)))
		case string(t.Schema) != string(now.Schema):
			lines = append(lines, fmt.Sprintf("tool %s, schema: %s", excerpt(t.Name, 0), versus(string(t.Schema), string(now.Schema))))
		}
	}
	for _, t := range asked {
		if !known[t.Name] {
			lines = append(lines, fmt.Sprintf("tool %s: asked with, not recorded", excerpt(t.Name, 0)))
		}
	}
	if len(lines) > 0 {
		return lines
	}
	// The same tools, so only their number (one offered twice) or their order can differ.
	if len(recorded) != len(asked) {
		return []string{fmt.Sprintf("tools: recorded %d, asked %d", len(recorded), len(asked))}
	}
	for i := range recorded {
		if recorded[i].Name != asked[i].Name {
			return []string{fmt.Sprintf("tools, order, place %d: %s", i+1, versus(recorded[i].Name, asked[i].Name))}
		}
	}
	return nil
}

// messages tells the first message in which two conversations differ, messages counted from 1.
func messages(recorded, asked []provider.Message) string {
	i := provider.Common(recorded, asked)
	switch {
	case i == len(recorded) && i == len(asked):
		return ""
	case i == len(recorded):
		return fmt.Sprintf("message %d (%s): asked with, not recorded: %s", i+1, asked[i].Role, whole(asked[i]))
	case i == len(asked):
		return fmt.Sprintf("message %d (%s): recorded, not asked with: %s", i+1, recorded[i].Role, whole(recorded[i]))
	}
	a, b := recorded[i], asked[i]
	if a.Role != b.Role {
		return fmt.Sprintf("message %d: role: %s", i+1, versus(string(a.Role), string(b.Role)))
	}
	for n := range min(len(a.Parts), len(b.Parts)) {
		if a.Parts[n] != b.Parts[n] {
			return fmt.Sprintf("message %d (%s), part %d: %s", i+1, a.Role, n+1, parts(a.Parts[n], b.Parts[n]))
		}
	}
	return fmt.Sprintf("message %d (%s): recorded %d parts, asked %d", i+1, a.Role, len(a.Parts), len(b.Parts))
}

// parts tells the first field in which two parts differ.
func parts(recorded, asked provider.Part) string {
	for _, f := range []struct {
		name            string
		recorded, asked string
	}{
		{"kind", string(recorded.Kind), string(asked.Kind)},
		{"tool", recorded.Name, asked.Name},
		{"text", recorded.Text, asked.Text},
		{"arguments", recorded.Arguments, asked.Arguments},
		{"failed", strconv.FormatBool(recorded.Failed), strconv.FormatBool(asked.Failed)},
		{"id", recorded.ID, asked.ID},
		{"signature", recorded.Signature, asked.Signature},
		{"data", recorded.Data, asked.Data},
	} {
		if f.recorded != f.asked {
			where := f.name
			if recorded.Name != "" && recorded.Name == asked.Name {
				where = fmt.Sprintf("%s of %s, %s", recorded.Kind, excerpt(recorded.Name, 0), f.name)
			}
			return where + ", " + line(f.recorded, f.asked)
		}
	}
	return "no difference"
}

func whole(m provider.Message) string {
	if len(m.Parts) == 0 {
		return "no parts"
	}
	p := m.Parts[0]
	return excerpt(strings.Join(strings.Fields(string(p.Kind)+" "+p.Name+" "+p.Text+" "+p.Arguments), " "), 0)
}

// line tells the first line in which two texts differ, lines counted from 1.
func line(recorded, asked string) string {
	a, b := strings.Split(recorded, "\n"), strings.Split(asked, "\n")
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	switch {
	case i == len(a):
		return fmt.Sprintf("line %d: asked with, not recorded: %s", i+1, excerpt(b[i], 0))
	case i == len(b):
		return fmt.Sprintf("line %d: recorded, not asked with: %s", i+1, excerpt(a[i], 0))
	}
	return fmt.Sprintf("line %d: %s", i+1, versus(a[i], b[i]))
}

// versus shows two texts side by side, each from a little before they part.
func versus(recorded, asked string) string {
	same := 0
	for same < len(recorded) && same < len(asked) && recorded[same] == asked[same] {
		same++
	}
	from := same - 20
	if from < 8 { // not worth leaving out
		from = 0
	}
	return fmt.Sprintf("recorded %s, asked %s", excerpt(recorded, from), excerpt(asked, from))
}

// excerpt quotes at most 60 bytes of a text from a place on, with an ellipsis where something is left out. Quoting
// escapes whatever could disturb a terminal.
func excerpt(text string, from int) string {
	const most = 60
	before, after := "", ""
	if from > 0 {
		for from > 0 && from < len(text) && !utf8.RuneStart(text[from]) {
			from--
		}
		before, text = "…", text[min(from, len(text)):]
	}
	if len(text) > most {
		end := most
		for end > 0 && !utf8.RuneStart(text[end]) {
			end--
		}
		after, text = "…", text[:end]
	}
	return before + strconv.Quote(text) + after
}
