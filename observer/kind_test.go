package observer

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// wireOf pins the tag and the fields of every kind, in order. A line that has to change breaks readers elsewhere.
var wireOf = map[string]string{
	"Started":           `"event":"started","goal":"make the tests pass","provider":"anthropic"`,
	"Step":              `"event":"step","decision":"wrote a.go","tool_call":"write_file:{\"path\":\"a.go\"}","tokens":412,"changed":true,"measured":true`,
	"ToolCall":          `"event":"tool_call","name":"read_file","target":"a.go"`,
	"Refused":           `"event":"refused","act":"write","target":".env","rule":".env","layer":"secrets"`,
	"ApprovalRequested": `"event":"approval_requested","act":"exec","target":"make"`,
	"ApprovalDecided":   `"event":"approval_decided","act":"exec","target":"make","decision":"approve"`,
	"SpendDraw":         `"event":"spend_draw","tokens":300,"remaining":700`,
	"Retry":             `"event":"retry","kind":"server (HTTP 503)","attempt":1,"delay_ms":500`,
	"FellBackTo":        `"event":"fell_back_to","provider":"local"`,
	"Replan":            `"event":"replan","window":3`,
	"Stalled":           `"event":"stalled"`,
	"Spawned":           `"event":"spawned","child_run_id":9,"goal":"read the docs"`,
	"SpawnRefused":      `"event":"spawn_refused","cap":"depth"`,
	"MemoryWrote":       `"event":"memory_wrote","key":"build"`,
	"Sandbox":           `"event":"sandbox","kind":"create","backend":"namespaces"`,
	"MCP":               `"event":"mcp","server":"files","tool":"mcp__files__ls","ok":true,"millis":12`,
	"Finished":          `"event":"finished","outcome":"success","steps":7,"tokens":9120`,
	"ModelCall": `"event":"model_call","provider":"anthropic","asked_model":"large","answered_model":"large-2","finish":"end_turn",` +
		`"input":900,"output":80,"cache_read":600,"cache_write":200,"reasoning":30,"measured":true,"cost_micros":5400,` +
		`"first_ms":350,"latency_ms":2100,"failure":"timeout","attempt":3`,
	"ModelAsked":      `"event":"model_asked","provider":"anthropic","model":"large","attempt":3`,
	"ToolBegan":       `"event":"tool_began","name":"read_file","target":"a.go","position":1,"again":true`,
	"ToolResult":      `"event":"tool_result","name":"read_file","target":"a.go","position":1,"ok":true,"changed":true,"millis":4`,
	"Gate":            `"event":"gate","phase":"verify","target":"go test ./...","state":"passed","millis":5200`,
	"Endpoint":        `"event":"endpoint_checked","host":"api.example.com:443","effect":"allow","rule":"api.example.com","layer":"provider"`,
	"CancelRequested": `"event":"cancel_requested","kind":"cancel","by":"ann","through":"console"`,
	"Paused":          `"event":"paused","by":"ann","reason":"lunch"`,
	"Continued":       `"event":"continued","by":"ann"`,
	"Told":            `"event":"told","by":"ann","text":"leave the docs alone"`,
	"BudgetChanged":   `"event":"budget_changed","by":"ann","budget":"tokens","limit":50000`,
	"Compacted":       `"event":"compacted","before_tokens":90000,"after_tokens":54000,"stubs":12`,
	"Recovery":        `"event":"recovery","name":"exec","target":"make deploy","key":"4/0/3/1","decision":"done"`,
}

// emptyOf pins what a kind's zero value looks like where it has optional fields: null, never left out.
var emptyOf = map[string]string{
	"Refused":       `"act":"","target":"","rule":null,"layer":null`,
	"SpendDraw":     `"tokens":0,"remaining":null`,
	"Sandbox":       `"kind":"","backend":null`,
	"MCP":           `"server":"","tool":null,"ok":null,"millis":null`,
	"Gate":          `"phase":"","target":"","state":"","millis":null`,
	"Endpoint":      `"host":"","effect":"","rule":null,"layer":null`,
	"BudgetChanged": `"by":"","budget":"","limit":null`,
	"ModelCall": `"provider":"","asked_model":"","answered_model":null,"finish":null,"input":null,"output":null,` +
		`"cache_read":null,"cache_write":null,"reasoning":null,"measured":false,"cost_micros":null,"first_ms":null,` +
		`"latency_ms":0,"failure":null,"attempt":0`,
}

func kindName(k Kind) string { return reflect.TypeOf(k).Name() }

func TestWireOfEveryKind(t *testing.T) {
	for _, k := range Kinds() {
		want, pinned := wireOf[kindName(k)]
		if !pinned {
			t.Errorf("the wire of %s is not pinned", kindName(k))
			continue
		}
		e := Event{
			RunID: 4, Step: 2, Depth: 1, Kind: k,
			Seq: 7, Cursor: 90, At: 1700000000123, Drive: 3, Agent: "0.2", RequestID: new(int64(5)),
		}
		want = `{"run_id":4,"step":2,"depth":1,` + want +
			`,"seq":7,"cursor":90,"at":1700000000123,"drive":3,"agent":"0.2","request_id":5}`
		if got := mustMarshal(t, e); got != want {
			t.Errorf("%s\n got %s\nwant %s", kindName(k), got, want)
		}
	}
	if len(wireOf) != len(Kinds()) {
		t.Errorf("%d kinds are pinned, there are %d", len(wireOf), len(Kinds()))
	}
}

func TestAbsentIsNull(t *testing.T) {
	for _, k := range Kinds() {
		typ := reflect.TypeOf(k)
		zero := reflect.Zero(typ).Interface().(Kind)
		got := mustMarshal(t, Event{Kind: zero})
		if !strings.HasSuffix(got, `"seq":0,"cursor":0,"at":0,"drive":0,"agent":"","request_id":null}`) {
			t.Errorf("%s ends without its whole envelope: %s", typ.Name(), got)
		}
		want, pinned := emptyOf[typ.Name()]
		if pinned != hasPointer(typ) {
			t.Errorf("%s: optional fields and emptyOf disagree", typ.Name())
		}
		if pinned && !strings.Contains(got, `"event":"`+k.Tag()+`",`+want+`,"seq":`) {
			t.Errorf("%s\n got %s\nwant %s", typ.Name(), got, want)
		}
	}
}

func TestExamplesSetEveryField(t *testing.T) {
	for _, k := range Kinds() {
		v := reflect.ValueOf(k)
		for i := range v.NumField() {
			if v.Field(i).IsZero() {
				t.Errorf("the example of %s leaves %s unset", kindName(k), v.Type().Field(i).Name)
			}
		}
	}
}

func hasPointer(t reflect.Type) bool {
	for i := range t.NumField() {
		if t.Field(i).Type.Kind() == reflect.Pointer {
			return true
		}
	}
	return false
}

func TestTagsAreDistinct(t *testing.T) {
	seen := make(map[string]string)
	for _, k := range Kinds() {
		if other, dup := seen[k.Tag()]; dup {
			t.Errorf("%s and %s share the tag %q", other, kindName(k), k.Tag())
		}
		seen[k.Tag()] = kindName(k)
	}
}

func TestNoFieldUsesAnEnvelopeName(t *testing.T) {
	envelope := []string{"run_id", "step", "depth", "event", "seq", "cursor", "at", "drive", "agent", "request_id"}
	for _, k := range Kinds() {
		typ := reflect.TypeOf(k)
		for i := range typ.NumField() {
			f := typ.Field(i)
			name := f.Tag.Get("json")
			if name == "" || strings.Contains(name, ",") {
				t.Errorf("%s.%s: json tag %q; every field has a plain name and is never left out", typ.Name(), f.Name, name)
			}
			if slices.ContainsFunc(envelope, func(own string) bool { return strings.EqualFold(own, name) }) {
				t.Errorf("%s.%s uses the envelope's name %q", typ.Name(), f.Name, name)
			}
		}
	}
}

func TestKindsListsEveryKindOfThePackage(t *testing.T) {
	listed := []string{"Unknown"} // stands for the kinds that this build does not know
	for _, k := range Kinds() {
		listed = append(listed, kindName(k))
	}
	slices.Sort(listed)
	found := receiversOf(t, "Tag")
	slices.Sort(found)
	if !slices.Equal(listed, found) {
		t.Errorf("Kinds() and the package differ\nlisted %v\n found %v", listed, found)
	}
}

// receiversOf returns the types in this package's source that have the method.
func receiversOf(t *testing.T, method string) []string {
	var types []string
	for _, file := range parsePackage(t) {
		for _, decl := range file.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || fn.Recv == nil || fn.Name.Name != method {
				continue
			}
			recv := fn.Recv.List[0].Type
			if star, ok := recv.(*ast.StarExpr); ok {
				recv = star.X
			}
			types = append(types, fmt.Sprint(recv))
		}
	}
	return types
}

func parsePackage(t *testing.T) []*ast.File {
	t.Helper()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, entry := range entries {
		name := entry.Name()
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	if len(files) == 0 {
		t.Fatal("no source found")
	}
	return files
}
