package record_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
	"unsafe"

	"pgregory.net/rapid"

	"tillerman/core/provider"
	"tillerman/core/provider/record"
)

const version = "0.1.0"

var tools = []provider.ToolSpec{{Name: "read_file", Description: "Reads a <file> & more.", Schema: json.RawMessage(`{"type":"object"}`)}}

func request(texts ...string) provider.Request {
	req := provider.Request{Model: "m", MaxOutput: 100, System: "be kind", Tools: tools}
	for _, text := range texts {
		req.Messages = append(req.Messages, provider.Say(provider.RoleUser, text))
	}
	return req
}

func answer(text string) provider.Answer {
	read := int64(7)
	return provider.Answer{
		Parts: []provider.Part{{Kind: provider.PartText, Text: text}}, Stop: provider.StopEnd, Finish: "stop",
		Model: "m-1", Served: "leaf", Usage: &provider.Usage{Input: 1, Output: 2, CacheRead: &read},
	}
}

func encoded(t testing.TB, f *record.File) string {
	t.Helper()
	var b bytes.Buffer
	if err := f.Encode(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func decoded(t testing.TB, text string) *record.File {
	t.Helper()
	f, err := record.Decode(strings.NewReader(text), "test", version)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// sample is a recording with something in every field.
func sample() *record.File {
	b := record.NewBuilder(version, nil)
	first := b.Add("0", 1, request("goal"))
	hint := 1500 * time.Millisecond
	first.Attempts = append(first.Attempts, b.Failed(&provider.Error{
		Kind: provider.RateLimited, Provider: "leaf", Status: 429, Message: "slow\u202edown", Hint: &hint,
	}, false))
	first.Answer = b.Answer(answer("<done> & dusted"))
	b.Add("0.0", 1, request("other"))
	second := b.Add("0", 2, request("goal", "more"))
	second.Answer = b.Answer(answer("bye"))
	f := b.File()
	f.Inputs = json.RawMessage(`{"contract":{"goal":"<x>"}}`)
	f.Calls = []json.RawMessage{json.RawMessage(`{"agent":"0","step":1}`), json.RawMessage(`{}`)}
	f.Gates = []json.RawMessage{json.RawMessage(`{"passed":true}`)}
	return f
}

func TestTheFileReadsAsWritten(t *testing.T) {
	const want = `{
  "format": 1,
  "tillerman": "0.1.0",
  "inputs": {
    "contract": {
      "goal": "<x>"
    }
  },
  "tools": {
    "DIGEST": [
      {
        "name": "read_file",
        "description": "Reads a <file> & more.",
        "schema": {
          "type": "object"
        }
      }
    ]
  },
  "exchanges": [
    {
      "agent": "0",
      "step": 1,
      "request": {
        "model": "m",
        "max_output": 100,
        "system": "be kind",
        "keep": 0,
        "append": [
          {
            "role": "user",
            "parts": [
              {
                "kind": "text",
                "text": "goal"
              }
            ]
          }
        ],
        "tools": "DIGEST"
      },
      "attempts": [
        {
          "provider": "leaf",
          "kind": "rate_limited",
          "status": 429,
          "retry_after": 1500,
          "delay_ms": 0,
          "message": "slow` + "\u202e" + `down",
          "inner": false
        }
      ],
      "answer": {
        "parts": [
          {
            "kind": "text",
            "text": "<done> & dusted"
          }
        ],
        "stop": "end",
        "finish": "stop",
        "model": "m-1",
        "served": "leaf",
        "usage": {
          "input": 1,
          "output": 2,
          "cache_read": 7,
          "cache_write": null,
          "reasoning": null
        }
      }
    },
    {
      "agent": "0.0",
      "step": 1,
      "request": {
        "model": "m",
        "max_output": 100,
        "system": "be kind",
        "keep": 0,
        "append": [
          {
            "role": "user",
            "parts": [
              {
                "kind": "text",
                "text": "other"
              }
            ]
          }
        ],
        "tools": "DIGEST"
      },
      "attempts": [],
      "answer": null
    },
    {
      "agent": "0",
      "step": 2,
      "request": {
        "model": "m",
        "max_output": 100,
        "system": null,
        "keep": 1,
        "append": [
          {
            "role": "user",
            "parts": [
              {
                "kind": "text",
                "text": "more"
              }
            ]
          }
        ],
        "tools": "DIGEST"
      },
      "attempts": [],
      "answer": {
        "parts": [
          {
            "kind": "text",
            "text": "bye"
          }
        ],
        "stop": "end",
        "finish": "stop",
        "model": "m-1",
        "served": "leaf",
        "usage": {
          "input": 1,
          "output": 2,
          "cache_read": 7,
          "cache_write": null,
          "reasoning": null
        }
      }
    }
  ],
  "calls": [
    {
      "agent": "0",
      "step": 1
    },
    {}
  ],
  "gates": [
    {
      "passed": true
    }
  ],
  "checks": [],
  "decisions": [],
  "controls": []
}
`
	f := sample()
	var digest string
	for digest = range f.Tools {
	}
	got := encoded(t, f)
	if shown := strings.ReplaceAll(got, digest, "DIGEST"); shown != want {
		t.Errorf("the file is\n%s\nwant\n%s", shown, want)
	}
	again := decoded(t, got)
	if encoded(t, again) != got {
		t.Error("decoding and encoding changes the file")
	}
	if string(again.Inputs) != string(f.Inputs) {
		t.Errorf("inputs %s", again.Inputs)
	}
}

func TestARecordingWithoutInputsHasNone(t *testing.T) {
	f := decoded(t, encoded(t, record.NewBuilder(version, nil).File()))
	if f.Inputs != nil || len(f.Exchanges) != 0 {
		t.Errorf("inputs %q, %d exchanges", f.Inputs, len(f.Exchanges))
	}
}

// conversation draws requests as an agent makes them: mostly longer, sometimes cut back, sometimes with another system
// text, model or list of tools.
func conversation(t *rapid.T) []provider.Request {
	var requests []provider.Request
	req := provider.Request{}
	word := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"a", "b", "\xff", "\r\n", "<", "\u2028"}))
	for range rapid.IntRange(1, 8).Draw(t, "requests") {
		keep := rapid.IntRange(0, len(req.Messages)).Draw(t, "keep")
		if rapid.Bool().Draw(t, "all") {
			keep = len(req.Messages)
		}
		req.Messages = append([]provider.Message{}, req.Messages[:keep]...)
		for range rapid.IntRange(0, 3).Draw(t, "new") {
			req.Messages = append(req.Messages, provider.Say(provider.RoleUser, word.Draw(t, "text")))
		}
		if rapid.Bool().Draw(t, "change") {
			req.System, req.Model = word.Draw(t, "system"), word.Draw(t, "model")
			req.Tools = rapid.SampledFrom([][]provider.ToolSpec{nil, {}, tools}).Draw(t, "tools")
		}
		requests = append(requests, req)
	}
	return requests
}

func TestRequestsSurviveTheFile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := record.NewBuilder(version, nil)
		var want []provider.Request
		threads := map[string][]provider.Request{"0": conversation(t), "0.1": conversation(t)}
		for len(threads["0"])+len(threads["0.1"]) > 0 {
			agent := rapid.SampledFrom([]string{"0", "0.1"}).Draw(t, "agent")
			if len(threads[agent]) == 0 {
				continue
			}
			req := threads[agent][0]
			threads[agent] = threads[agent][1:]
			b.Add(agent, len(want)+1, req)
			want = append(want, req)
		}
		var file bytes.Buffer
		if err := b.File().Encode(&file); err != nil {
			t.Fatal(err)
		}
		f, err := record.Decode(&file, "test", version)
		if err != nil {
			t.Fatal(err)
		}
		got, err := f.Expand()
		if err != nil {
			t.Fatal(err)
		}
		for i, req := range want {
			if a, b := canonical(got[i]), canonical(req); a != b {
				t.Fatalf("request %d is %s, was %s", i, a, b)
			}
		}
	})
}

// canonical counts no messages and no tools as empty lists.
func canonical(req provider.Request) string {
	req.Messages = append([]provider.Message{}, req.Messages...)
	req.Tools = append([]provider.ToolSpec{}, req.Tools...)
	return string(req.Canonical())
}

func TestWhoeverAppendsToARequestDisturbsNoOther(t *testing.T) {
	b := record.NewBuilder(version, nil)
	texts := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	for i := range texts {
		b.Add("0", i+1, request(texts[:i+1]...))
	}
	got, err := b.File().Expand()
	if err != nil {
		t.Fatal(err)
	}
	for _, req := range got {
		_ = append(req.Messages, provider.Say(provider.RoleUser, "x"))
	}
	for i, req := range got {
		if text := req.Messages[i].Text(); text != texts[i] {
			t.Errorf("request %d ends with %q", i, text)
		}
	}
}

func TestExpandRefusesWhatDoesNotFit(t *testing.T) {
	system := "s"
	for name, test := range map[string]struct {
		ex   record.Exchange
		want string
	}{
		"keep too large": {record.Exchange{Agent: "0", Step: 1, Request: record.Delta{System: &system, Keep: 1, Tools: "x"}}, "keeps 1 messages of a request that has 0"},
		"negative keep":  {record.Exchange{Agent: "0", Step: 1, Request: record.Delta{System: &system, Keep: -1, Tools: "x"}}, "keeps -1"},
		"no system":      {record.Exchange{Agent: "0", Step: 1, Request: record.Delta{Tools: "x"}}, "system text"},
		"no tools":       {record.Exchange{Agent: "0", Step: 1, Request: record.Delta{System: &system, Tools: "y"}}, `"y"`},
		"negative step":  {record.Exchange{Agent: "0", Step: -1, Request: record.Delta{System: &system, Tools: "x"}}, "negative"},
		"kind":           {record.Exchange{Agent: "0", Step: 1, Request: record.Delta{System: &system, Tools: "x"}, Attempts: []record.Attempt{{Kind: "odd"}}}, `"odd"`},
	} {
		t.Run(name, func(t *testing.T) {
			f := &record.File{Format: record.Format, Tools: map[string][]provider.ToolSpec{"x": nil}, Exchanges: []record.Exchange{test.ex}}
			if _, err := f.Expand(); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("Expand says %v, want something with %q", err, test.want)
			}
			if err := f.Encode(&bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("Encode says %v, want something with %q", err, test.want)
			}
		})
	}
}

func TestEncodeRefusesWhatIsNoJSON(t *testing.T) {
	f := sample()
	f.Calls = []json.RawMessage{json.RawMessage(`{`)}
	if err := f.Encode(&bytes.Buffer{}); err == nil {
		t.Error("broken JSON was written")
	}
	f = sample()
	f.Format = 2
	if err := f.Encode(&bytes.Buffer{}); err == nil {
		t.Error("an unknown format was written")
	}
}

func TestALongTextIsStoredOnce(t *testing.T) {
	long := func(c string) string { return strings.Repeat(c, 100) }
	b := record.NewBuilder(version, nil)
	b.Add("0", 1, request(long("a")))
	b.Add("0", 1, request(long("b")))
	b.Add("0", 1, request(long("a")))
	f := b.File()
	text := func(i int) string { return f.Exchanges[i].Request.Append[0].Parts[0].Text }
	if unsafe.StringData(text(0)) != unsafe.StringData(text(2)) {
		t.Error("the same text is held twice")
	}
}

func TestTheBuilderIsNotFooledByAReusedSlice(t *testing.T) {
	b := record.NewBuilder(version, nil)
	req := request("a", "b")
	b.Add("0", 1, req)
	req.Messages[0].Parts[0].Text = "c"
	b.Add("0", 2, req)
	got, err := b.File().Expand()
	if err != nil {
		t.Fatal(err)
	}
	if got[0].Messages[0].Text() != "a" || got[1].Messages[0].Text() != "c" {
		t.Errorf("got %q and %q", got[0].Messages[0].Text(), got[1].Messages[0].Text())
	}
}

func TestAFailureComesBackAsItWas(t *testing.T) {
	hint, reasoning := 2*time.Second+time.Nanosecond, int64(3)
	e := &provider.Error{
		Kind: provider.ModelRefused, Provider: "leaf", Status: 200, Message: "no", Hint: &hint, Finish: "refusal",
		Model: "m-1", Usage: &provider.Usage{Input: 5, Reasoning: &reasoning},
	}
	again := record.Failed(e, true).Err()
	if !again.Replayed {
		t.Error("not marked as replayed")
	}
	if *again.Hint != 2001*time.Millisecond {
		t.Errorf("hint %v", *again.Hint)
	}
	again.Replayed, again.Hint = false, e.Hint
	if got, want := fmt.Sprintf("%+v %+v", *again, *again.Usage.Reasoning), fmt.Sprintf("%+v %+v", *e, reasoning); len(got) != len(want) || again.Finish != e.Finish || again.Model != e.Model || again.Usage.Input != 5 {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestLarge runs when TILLERMAN_LARGE is set: a recording of 200 MB is written and read.
func TestLarge(t *testing.T) {
	if os.Getenv("TILLERMAN_LARGE") == "" {
		t.Skip("set TILLERMAN_LARGE to write and read a recording of 200 MB")
	}
	b := record.NewBuilder(version, nil)
	req := request()
	for i := range 1000 {
		req.Messages = append(req.Messages, provider.Say(provider.RoleUser, fmt.Sprint(i, strings.Repeat("text\n", 40_000))))
		b.Add("0", i+1, req).Answer = b.Answer(answer("ok"))
	}
	path := t.TempDir() + "/large.json"
	if err := b.File().Save(path); err != nil {
		t.Fatal(err)
	}
	started := time.Now()
	f, err := record.Load(path, version)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("read in %v", time.Since(started))
	if len(f.Exchanges) != 1000 {
		t.Errorf("%d exchanges", len(f.Exchanges))
	}
}
