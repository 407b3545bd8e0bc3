package tuitest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestScenarios(t *testing.T) {
	RunDir(t, filepath.Join("testdata", "scenarios"), Options{Cmd: teaProgram()})
}

// The tour leaves no step of the language out, and the package's comment none.
func TestEveryStepIsToured(t *testing.T) {
	tour, err := os.ReadFile(filepath.Join("testdata", "scenarios", "tour.txt"))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range verbs {
		for text, where := range map[string]string{"\n" + name: string(tour), "\n//\t" + name: string(doc)} {
			if !strings.Contains(where, text+" ") && !strings.Contains(where, text+"\n") {
				t.Errorf("%q does not occur", text)
			}
			if v.not != nil && !strings.Contains(where, strings.Replace(text, name, "! "+name, 1)) {
				t.Errorf("the opposite of %q does not occur", text)
			}
		}
	}
}

func TestFaultsInScenariosNameTheLine(t *testing.T) {
	for text, want := range map[string]string{
		"":                                   "s.txt: no steps",
		"# nothing\n":                        "s.txt: no steps",
		"start\n\nfly away\n":                `s.txt:3: no step is named "fly"`,
		"wait x\n":                           `s.txt:1: "wait" needs a program that was started`,
		"start\nsize 1x1\n":                  `s.txt:2: "size" comes before start`,
		"start\nstart\n":                     `s.txt:2: "start" comes before start`,
		"start\nterminal b\npress a\n":       `s.txt:3: "press" needs a program`,
		"size big\n":                         `s.txt:1: size: "big" is no size`,
		"size 80x-1\n":                       `"80x-1" is no size`,
		"size 30000x30000\n":                 `is no size`,
		"profile sepia\n":                    `"sepia" is not truecolor`,
		"light on\n":                         `takes nothing, not "on"`,
		"env =x\n":                           `"=x" is not KEY=VALUE`,
		"terminal ../x\n":                    `"../x" is no name`,
		"start\ngolden ../x\n":               `s.txt:2: golden: "../x" is no name`,
		"start \"a\n":                        "has no end",
		"start \"a\"b\n":                     "no space behind",
		"start\nwait\n":                      "a text is missing",
		"start\nwait \"a\" b\n":              "is not one string in quotes",
		"start\npress\n":                     "a key is missing",
		"start\npress a hyper+x\n":           `s.txt:2: press: no key is named "hyper+x"`,
		"start\nsplit 1s a\n":                "needs a span of time and two parts",
		"start\nsplit soon a b\n":            `"soon" is no span of time`,
		"pace -1s\n":                         `"-1s" is no span of time`,
		"start\nexit\n":                      `"" is no exit code`,
		"start\nexit 256\n":                  `"256" is no exit code`,
		"start\nsignal 15\n":                 `"15" is no signal`,
		"sh\n":                               "a command is missing",
		"mask\n":                             "a mask is missing",
		"mask faces\n":                       `no mask is named "faces"`,
		"mask /(/\n":                         "missing closing",
		"start\n! wait x\n":                  `"wait" has no opposite`,
		"start\n-- ../x --\n":                `"../x" is no place inside the working directory`,
		"start\n-- a --\nwait x\n-- /b --\n": `s.txt:4: "/b" is no place`,
	} {
		_, err := parse("s.txt", text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, not %q", text, err, want)
		}
	}
}

func TestScenariosThatFailNameTheStep(t *testing.T) {
	t.Parallel()
	play := func(tb testing.TB, script, text string) {
		path := filepath.Join(t.TempDir(), "s.txt")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		Run(tb, path, Options{Cmd: shell(script), Timeout: 5 * time.Second})
	}
	for text, want := range map[string]string{
		"timeout 100ms\nstart\nwait now\n":        "s.txt:3: wait now\n",
		"start\nidle\nexpect now\n":               "s.txt:3: expect now\n",
		"start\nidle\nabsent here\n":              "s.txt:3: absent here\n",
		"start\nidle\ntimeout 100ms\ngone here\n": `"here" is off the screen: not within`,
		"start\nidle\ntitle x\n":                  `the title is ""`,
		"start\nidle\ngolden none\n":              "s.txt:3: golden none\nno golden file",
		"start\nidle\npress enter\nexit 1\n":      "exit code 0",
		"start\nidle\nraw \"x\\n\"\nexit 0\n":     "left on: alternate screen",
		"sh exit 1\n":                             "exit status 1",
		"! sh echo fine\n":                        "exit status 0, having printed\nfine",
		"timeout 100ms\nsh sleep 1000\n":          "not within 100ms",
		"sh echo a\nout b\n":                      "s.txt:2: out b\nthe last command printed\na",
		"sh echo a\n! out a\n":                    "the last command printed\na",
		"size nothing\n":                          "s.txt:1: size",
	} {
		t.Run(strings.ReplaceAll(text, "\n", ";"), func(t *testing.T) {
			t.Parallel()
			if Updating() && strings.Contains(text, "golden") {
				t.Skip("with -update there is no golden that fails")
			}
			expectFailure(t, func(tb testing.TB) {
				play(tb, `echo here; read x; if [ "$x" ]; then printf '\033[?1049h'; fi`, text)
			}, want)
		})
	}
	expectFailure(t, func(tb testing.TB) { Run(tb, "testdata/none.txt", Options{}) }, "no such file")
}

func FuzzScenario(f *testing.F) {
	for _, seed := range []string{
		"size 120x40\nstart demo --fast\nwait Approve?\npress a\nidle\ngolden x\nexpect \"refused\"\nexit 0\n",
		"start \"a\\x00\" b\ntype é\npaste \"\\n\"\nraw \"\\x1b\"\n", "sh $TILLERMAN approve\nout \"…\"\n! out x\n", "-- a --\nx\n-- b/c --\n", "mask /a/ clocks\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := parse("s.txt", text)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "s.txt:") {
				t.Errorf("%q: the error names no place: %v", text, err)
			}
			return
		}
		for _, step := range s.steps {
			if step.do == nil || step.line < 1 || step.text == "" {
				t.Errorf("%q: %+v", text, step)
			}
		}
		for _, f := range s.files {
			if !filepath.IsLocal(f.name) {
				t.Errorf("%q: a file %q", text, f.name)
			}
		}
	})
}
