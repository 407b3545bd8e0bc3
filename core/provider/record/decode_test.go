package record_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"tillerman/core/provider/record"
)

func refusal(t *testing.T, text string) *record.FileError {
	t.Helper()
	f, err := record.Decode(strings.NewReader(text), "some.json", version)
	if err == nil {
		t.Fatalf("accepted")
	}
	if f != nil {
		t.Error("refused, and yet something was loaded")
	}
	e, ok := errors.AsType[*record.FileError](err)
	if !ok {
		t.Fatalf("the error is a %T: %v", err, err)
	}
	if e.Name != "some.json" || !strings.Contains(err.Error(), "some.json") {
		t.Errorf("the error does not name the file: %v", err)
	}
	return e
}

func TestACutFileIsRefusedWhereverItIsCut(t *testing.T) {
	text := encoded(t, sample())
	for end := range len(text) - 1 {
		if e := refusal(t, text[:end]); e.Problem != record.Cut {
			t.Fatalf("cut after %d bytes: %v", end, e)
		}
	}
	decoded(t, text[:len(text)-1]) // only the final newline is missing
	e := refusal(t, text[:strings.Index(text, `"step": 1`)])
	if e.Line != 23 || e.Column != 7 {
		t.Errorf("the cut is told at line %d, column %d", e.Line, e.Column)
	}
}

func TestAConvertedFileIsNamedAsSuch(t *testing.T) {
	text := encoded(t, sample())
	for _, converted := range []string{
		strings.ReplaceAll(text, "\n", "\r\n"),
		strings.Replace(text, "}\n", "}\r\n", 1),
		text[:len(text)-1] + "\r\n",
	} {
		e := refusal(t, converted)
		if e.Problem != record.Converted || !strings.Contains(e.Error(), "CRLF") {
			t.Errorf("%v", e)
		}
	}
	if e := refusal(t, strings.ReplaceAll(text, "\n", "\r\n")); e.Line != 1 || e.Column != 2 {
		t.Errorf("told at line %d, column %d", e.Line, e.Column)
	}
}

func TestWhatIsRefusedAndWhere(t *testing.T) {
	text := encoded(t, sample())
	replace := func(old, new string) string {
		t.Helper()
		if !strings.Contains(text, old) {
			t.Fatalf("the sample has no %q", old)
		}
		return strings.Replace(text, old, new, 1)
	}
	for name, test := range map[string]struct {
		text         string
		problem      record.Problem
		line, column int
		reason       string
	}{
		"nothing":               {"", record.Cut, 1, 1, "ends"},
		"no JSON":               {"hello", record.Malformed, 1, 1, "invalid character"},
		"no object":             {"[]", record.Malformed, 1, 1, "an object"},
		"an empty object":       {"{}", record.Malformed, 1, 3, `"format" is missing`},
		"a newer format":        {replace(`"format": 1`, `"format": 2`), record.WrongFormat, 2, 13, "format 2"},
		"a format that is text": {replace(`"format": 1`, `"format": "1"`), record.Malformed, 2, 16, "cannot unmarshal string"},
		"another series":        {replace(`"0.1.0"`, `"0.2.0"`), record.WrongSeries, 3, 16, "0.2.0"},
		"no series":             {replace(`"0.1.0"`, `null`), record.WrongSeries, 3, 16, `""`},
		"an unknown field":      {replace(`"inputs"`, `"output"`), record.Malformed, 4, 11, `"output"`},
		"a field twice":         {replace(`"calls": [`, `"gates": [`), record.Malformed, 147, 10, `"gates"`},
		"a comma missing":       {replace(`"0.1.0",`, `"0.1.0"`), record.Malformed, 4, 3, "invalid character"},
		"a comma too many":      {replace("{}\n  ]", "{},\n  ]"), record.Malformed, 146, 3, "invalid character"},
		"broken deep inside":    {replace(`"step": 1,`, `"step": 1`), record.Malformed, 24, 7, "invalid character"},
		"a step that is text":   {replace(`"step": 1,`, `"step": "1",`), record.Malformed, 23, 18, "step"},
		"an exchange's unknown": {replace(`"step": 1,`, `"steps": 1,`), record.Malformed, 21, 5, "steps"},
		"a key twice":           {replace(`"step": 1,`, `"step": 1, "step": 2,`), record.Malformed, 23, 18, `"step"`},
		"a key in other case":   {replace(`"step": 1,`, `"step": 1, "Step": 2,`), record.Malformed, 23, 18, `"step"`},
		"a key spelled oddly":   {replace(`"step": 1,`, `"step": 1, "st\u0065p": 2,`), record.Malformed, 23, 18, `"step"`},
		"a key of ours twice":   {replace(`"goal": "<x>"`, `"goal": 1, "goal": 2`), record.Malformed, 6, 18, `"goal"`},
		"tools unknown":         {replace(`"tools": {`, `"tools": {}, "x": {`), record.Malformed, 9, 19, `"x"`},
		"tools twice": {
			replace(`"exchanges"`, `"tools": {"a": [], "a": []}, "exchanges"`),
			record.Malformed, 20, 10, `"tools"`,
		},
		"keep too large":   {replace(`"keep": 1`, `"keep": 2`), record.Malformed, 97, 5, "keeps 2 messages"},
		"an unknown kind":  {replace(`"rate_limited"`, `"cross"`), record.Malformed, 21, 5, `"cross"`},
		"a null exchange":  {replace("\"exchanges\": [\n", "\"exchanges\": [ null,\n"), record.Malformed, 20, 18, "system text"},
		"more behind it":   {text + "{}", record.Malformed, 155, 2, "follows"},
		"garbage behind":   {text + "x", record.Malformed, 156, 1, "invalid character"},
		"a list of no use": {replace(`"calls": [`, `"calls": 1, "x": [`), record.Malformed, 140, 10, "a list"},
	} {
		t.Run(name, func(t *testing.T) {
			e := refusal(t, test.text)
			if e.Problem != test.problem || e.Line != test.line || e.Column != test.column || !strings.Contains(e.Reason, test.reason) {
				t.Errorf("refused as %s, line %d, column %d: %s\nwant %s, line %d, column %d: %s",
					e.Problem, e.Line, e.Column, e.Reason, test.problem, test.line, test.column, test.reason)
			}
		})
	}
}

func TestKeysThatDifferInCaseAreTwoInsideForeignContent(t *testing.T) {
	decoded(t, strings.Replace(encoded(t, sample()), `"goal": "<x>"`, `"goal": 1, "Goal": 2`, 1))
	decoded(t, strings.Replace(encoded(t, sample()), `"type": "object"`, `"type": 1, "Type": 2`, 1))
}

func TestTheSeriesIsMajorAndMinor(t *testing.T) {
	for _, test := range []struct {
		running string
		ok      bool
	}{{"0.1.0", true}, {"0.1.7", true}, {"0.1", true}, {"0.1.0-dev", true}, {"0.10.0", false}, {"1.1.0", false}, {"", false}} {
		_, err := record.Decode(strings.NewReader(encoded(t, sample())), "x", test.running)
		if (err == nil) != test.ok {
			t.Errorf("running %q: %v", test.running, err)
		}
	}
}

func TestFieldsMayStandInAnyOrder(t *testing.T) {
	text := encoded(t, sample())
	i, j := strings.Index(text, `  "tools": {`), strings.Index(text, `  "exchanges"`)
	moved := text[:i] + text[j:len(text)-2]
	moved = strings.TrimSuffix(moved, "\n") + ",\n" + strings.TrimSuffix(text[i:j], ",\n") + "\n}\n"
	if encoded(t, decoded(t, moved)) != text {
		t.Error("another order of fields gives another recording")
	}
	e := refusal(t, strings.Replace(moved, `"tools": {`, `"tools": {"x": []}, "y": {`, 1))
	if e.Problem != record.Malformed {
		t.Errorf("%v", e)
	}
	// Exchanges before the tools that they name, which then do not come: told at the exchange.
	k := strings.LastIndex(moved, `  "tools": {`)
	e = refusal(t, moved[:k]+"  \"tools\": {}\n}\n")
	if e.Line != 10 || e.Column != 5 || !strings.Contains(e.Reason, "no tools") {
		t.Errorf("%v", e)
	}
}

func TestAReaderThatFailsIsNotACutFile(t *testing.T) {
	broken := errors.New("disk on fire")
	text := encoded(t, sample())
	_, err := record.Decode(iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader(text))), "x", version)
	if e, ok := errors.AsType[*record.FileError](err); !ok || e.Problem != record.Unreadable || !errors.Is(err, iotest.ErrTimeout) {
		t.Errorf("%v", err)
	}
	_, err = record.Decode(iotest.ErrReader(broken), "x", version)
	if !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	if _, err := record.Decode(iotest.OneByteReader(strings.NewReader(text)), "x", version); err != nil {
		t.Errorf("byte by byte: %v", err)
	}
}

func TestALongReasonIsBounded(t *testing.T) {
	e := refusal(t, `{"format": 1, "tillerman": "`+strings.Repeat("9", 100_000)+`"`)
	if len(e.Reason) > 400 {
		t.Errorf("a reason of %d bytes", len(e.Reason))
	}
}

func TestAFileThatIsNotThere(t *testing.T) {
	if _, err := record.Load(t.TempDir()+"/none.json", version); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

func FuzzDecode(f *testing.F) {
	text := encoded(f, sample())
	f.Add(text)
	f.Add(text[:len(text)/2])
	f.Add(strings.ReplaceAll(text, "\n", "\r\n"))
	f.Add(`{"format":1,"tillerman":"0.1.0","inputs":null,"tools":{},"exchanges":[],"calls":[],"gates":[],"checks":[],"decisions":[],"controls":[]}`)
	f.Add(`{"format":1,"exchanges":[{"agent":"0","step":1,"request":{"keep":0,"append":[{"parts":[null]}]}},`)
	f.Fuzz(func(t *testing.T, text string) {
		file, err := record.Decode(strings.NewReader(text), "fuzz", version)
		if err != nil {
			e, ok := errors.AsType[*record.FileError](err)
			if !ok || file != nil || e.Line < 1 || e.Column < 1 {
				t.Fatalf("refused badly: %v", err)
			}
			return
		}
		if _, err := file.Expand(); err != nil {
			t.Fatalf("accepted, but does not expand: %v", err)
		}
		once := encoded(t, file)
		if twice := encoded(t, decoded(t, once)); twice != once {
			t.Fatalf("does not settle:\n%s\n%s", once, twice)
		}
	})
}
