package observer

import (
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"testing"
)

func TestOutcomeTable(t *testing.T) {
	type row struct {
		status    string
		success   bool
		exit      int
		continues string
	}
	want := map[string]row{
		"success":                {"completed", true, 0, ""},
		"step_cap_reached":       {"completed", false, 1, "steps"},
		"time_budget_exceeded":   {"completed", false, 1, "time"},
		"cost_budget_exceeded":   {"completed", false, 1, "tokens or money"},
		"denied":                 {"completed", false, 1, ""},
		"stalled":                {"completed", false, 1, ""},
		"escalated_retryable":    {"completed", false, 1, ""},
		"escalated_terminal":     {"completed", false, 1, ""},
		"budget_ceiling_reached": {"completed", false, 1, "tree"},
		"refused":                {"completed", false, 1, ""},
		"cancelled":              {"completed", false, 130, ""},
		"killed":                 {"completed", false, 130, ""},
		"awaiting_approval":      {"paused", false, 3, ""},
		"awaiting_budget":        {"paused", false, 3, ""},
		"needs_operator":         {"paused", false, 3, ""},
		"paused_by_operator":     {"paused", false, 3, ""},
	}
	words := make(map[string]Outcome)
	for _, r := range Outcomes() {
		if got := (row{r.Status, r.Success, r.Exit, r.Continues}); got != want[string(r.Outcome)] {
			t.Errorf("%s: %+v", r.Outcome, got)
		}
		if found, ok := r.Outcome.Row(); !ok || found != r {
			t.Errorf("%s: looked up as %+v", r.Outcome, found)
		}
		if other, dup := words[r.Words]; dup || r.Words == "" || len(r.Words) > 48 {
			t.Errorf("%s: words %q, also of %q", r.Outcome, r.Words, other)
		}
		words[r.Words] = r.Outcome
	}
	if len(Outcomes()) != len(want) {
		t.Errorf("%d rows, want %d", len(Outcomes()), len(want))
	}
}

func TestEveryOutcomeConstantHasARow(t *testing.T) {
	var constants, rows []string
	for _, file := range parsePackage(t) {
		ast.Inspect(file, func(n ast.Node) bool {
			decl, ok := n.(*ast.GenDecl)
			if !ok || decl.Tok != token.CONST {
				return true
			}
			for _, spec := range decl.Specs {
				v := spec.(*ast.ValueSpec)
				if name, ok := v.Type.(*ast.Ident); !ok || name.Name != "Outcome" {
					continue
				}
				word, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				constants = append(constants, word)
			}
			return true
		})
	}
	for _, r := range Outcomes() {
		rows = append(rows, string(r.Outcome))
	}
	slices.Sort(constants)
	slices.Sort(rows)
	if !slices.Equal(constants, rows) {
		t.Errorf("constants %v\n    rows %v", constants, rows)
	}
}

func TestOutcomesCannotBeChanged(t *testing.T) {
	Outcomes()[0].Exit = 7
	if row, _ := OutcomeSuccess.Row(); row.Exit != 0 {
		t.Error("the table was changed from outside")
	}
}

func TestUnknownOutcome(t *testing.T) {
	for _, o := range []Outcome{"", "Success", "running", "failed"} {
		if row, ok := o.Row(); ok || row != (OutcomeRow{}) {
			t.Errorf("%q has the row %+v", o, row)
		}
	}
}
