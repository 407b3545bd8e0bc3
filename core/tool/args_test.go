package tool

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
)

type sampleArgs struct {
	Text  string
	Count int
	Words []string
}

func (a *sampleArgs) params() []param {
	a.Count = 7
	return []param{
		{name: "text", into: &a.Text, need: true, about: "Some text."},
		{name: "count", into: &a.Count, min: 1, max: 10, about: "A number."},
		{name: "words", into: &a.Words, about: "Words.", hint: "; use a list"},
	}
}

func TestDecode(t *testing.T) {
	for raw, want := range map[string]sampleArgs{
		`{"text":"a"}`: {"a", 7, nil},
		` { "text" : "" , "count" : 3 , "words" : [ ] } `:  {"", 3, []string{}},
		`{"words":["x","y"],"text":"\ud83d\ude00\u00e9"}`:  {"😀é", 7, []string{"x", "y"}},
		`{"text":"a","count":1e1}`:                         {"a", 10, nil},
		`{"text":"a\\ud800","count":4.0}`:                  {`a\ud800`, 4, nil},
		`{"text":"\u0000"}`:                                {"\x00", 7, nil},
		`{"text":"x","count": 2 ,"words": [ "a" , "b" ] }`: {"x", 2, []string{"a", "b"}},
	} {
		var got sampleArgs
		if err := decode("sample", json.RawMessage(raw), got.params()); err != nil {
			t.Errorf("%s: %v", raw, err)
		} else if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, want %+v", raw, got, want)
		}
	}
}

func TestDecodeSaysWhatIsWrong(t *testing.T) {
	for raw, want := range map[string]string{
		``:                         `sample: "text" is missing`,
		`{}`:                       `sample: "text" is missing`,
		`[]`:                       `sample: the arguments must be one JSON object`,
		`"text"`:                   `sample: the arguments must be one JSON object`,
		`null`:                     `sample: the arguments must be one JSON object`,
		`{"text":"a"`:              `sample: the arguments are not valid JSON`,
		`{"text":"a"} {}`:          `sample: something follows the JSON object of the arguments`,
		`{"text":"a"} x`:           `sample: something follows the JSON object of the arguments`,
		`{"text":1}`:               `sample: "text" must be a string, not the number 1`,
		`{"text":null}`:            `sample: "text" must be a string, not null`,
		`{"text":"a","count":"3"}`: `sample: "count" must be a whole number, not a string`,
		`{"text":"a","count":1.5}`: `sample: "count" must be a whole number, not the number 1.5`,
		`{"text":"a","count":0}`:   `sample: "count" must be from 1 to 10`,
		`{"text":"a","count":99999999999999999999}`: `sample: "count" must be a whole number, not the number`,
		`{"text":"a","count":null}`:                 `sample: "count" must be a whole number, not null (leave it out for the default)`,
		`{"text":"a","words":"x"}`:                  `sample: "words" must be a list of strings, not a string; use a list`,
		`{"text":"a","words":["x",{}]}`:             `sample: "words" must be a list of strings, but item 2 is an object`,
		`{"Text":"a"}`:                              `sample: there is no argument "Text" (there are: text, count, words); "text" is missing`,
		`{"text":"a","text":"b"}`:                   `sample: "text" is given twice`,
		`{"text":"a\ud83d"}`:                        `sample: the arguments hold half of a surrogate pair`,
		`{"text":"a\ude00\ud83d"}`:                  `sample: the arguments hold half of a surrogate pair`,
		"{\"text\":\"a\xff\"}":                      `sample: the arguments are not valid UTF-8`,
	} {
		var got sampleArgs
		err := decode("sample", json.RawMessage(raw), got.params())
		var typed *ArgumentError
		if !errors.As(err, &typed) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", raw, err, want)
		}
	}
}

func TestDecodeTellsEveryProblemAtOnce(t *testing.T) {
	var got sampleArgs
	err := decode("sample", json.RawMessage(`{"x":1,"count":true}`), got.params())
	want := `sample: there is no argument "x" (there are: text, count, words); "count" must be a whole number, not a truth value; "text" is missing`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestSchemaIsMadeOfTheSameTable(t *testing.T) {
	want := `{"additionalProperties":false,"properties":{"count":{"default":7,"description":"A number.","maximum":10,"minimum":1,` +
		`"type":"integer"},"text":{"description":"Some text.","type":"string"},"words":{"description":"Words.","items":{"type":"string"},` +
		`"minItems":1,"type":"array"}},"required":["text"],"type":"object"}`
	if got := string(schema((&sampleArgs{}).params())); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{`{"text":"a","count":3,"words":["x"]}`, `{"text":"\ud83d\ude00"}`, `{"text":"\ud83d"}`, `{"a":{"b":[1,2]}}`, `[`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var got sampleArgs
		if decode("sample", raw, got.params()) != nil {
			return
		}
		// What was taken is what encoding/json sees, and nothing in it was replaced.
		var loose struct {
			Text  string
			Count *int
			Words []string
		}
		if err := json.Unmarshal(raw, &loose); err == nil && (loose.Text != got.Text || (loose.Count != nil && *loose.Count != got.Count)) {
			t.Errorf("%q: got %+v, encoding/json sees %+v", raw, got, loose)
		}
		if strings.Contains(got.Text, "\ufffd") && !strings.Contains(string(raw), "\ufffd") && !strings.Contains(strings.ToLower(string(raw)), `\ufffd`) {
			t.Errorf("%q: text was replaced: %q", raw, got.Text)
		}
	})
}
