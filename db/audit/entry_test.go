package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"math"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

// whole is an entry with every field set to something of its own.
func whole() Entry {
	return Entry{
		Seq: 7, At: 1_700_000_000_123, Action: "exec", User: "ann", Surface: "key a", Terminal: "/dev/pts/1", Host: "box", PID: 4242, RunID: 12, Agent: "0.1", Step: 3, Position: 2,
		Act: "exec", Target: "go test ./...", Rule: "go test *", Layer: "team", PolicyDigest: "0a", Model: "large-2", Digest: "0b", Decision: "approve", Reason: "looks right",
		RequestID: 5, Note: "again", Version: "0.1.0",
	}
}

// The bytes and hashes of entries are pinned: a change breaks every log that exists. They were computed by another
// program from the description of the format.
func TestGoldenVectors(t *testing.T) {
	for name, c := range map[string]struct {
		entry              Entry
		prev               string
		body, plain, keyed string // body: its bytes, or their SHA-256
	}{
		"empty": {
			Entry{},
			"",
			"53d010856f9615ecf8e30972f9bd9678734261d8c93ed8cd36c26035e4547761",
			"877144a5c53aea4ffde1534933a5947674a3419bcdc8dc231dbe6e79f7053ce6",
			"2966b1dcb7e828c48b7f8fb10ea4ea2cb2b2104658dc52d3831395398efbc183",
		},
		"whole": {
			whole(), "aa",
			"000000000000001174696c6c65726d616e20617564697420310000000000000008000000000000000700000000000000080000018bcfe5687b00000000000000" +
				"04657865630000000000000003616e6e00000000000000056b65792061000000000000000a2f6465762f7074732f310000000000000003626f78000000000000" +
				"000800000000000010920000000000000008000000000000000c0000000000000003302e31000000000000000800000000000000030000000000000008000000" +
				"0000000002000000000000000465786563000000000000000d676f2074657374202e2f2e2e2e0000000000000009676f2074657374202a000000000000000474" +
				"65616d0000000000000002306100000000000000076c617267652d32000000000000000230620000000000000007617070726f7665000000000000000b6c6f6f" +
				"6b73207269676874000000000000000800000000000000050000000000000005616761696e0000000000000005302e312e30",
			"7d3da225466047b853f00848f132f61bf350a00bf697e63e77268e319a6e26db",
			"9d39496c76bcf17426cf8da4b112ed04b4c4ec8de717f06f436f7dd4f5831243",
		},
		"negative": {
			Entry{Seq: math.MaxInt64, At: -1, Reason: "Zürich \x00|\n"},
			"aa",
			"cdb69ac7bb55c75973332d19c61174b55795f27479b4551c46c316ae486f71e6",
			"1d567882466e164bb3c11d532000459dcc0e5119e056443d1ebc76df699a7562",
			"d0c3e825a1669410fa6857eceaf72098a0ba514cd6ac04e5b1dce509be5c5a87",
		},
	} {
		body := c.entry.Canonical()
		text := hex.EncodeToString(body)
		if len(c.body) == 64 {
			sum := sha256.Sum256(body)
			text = hex.EncodeToString(sum[:])
		}
		if text != c.body {
			t.Errorf("%s: its bytes are %x", name, body)
		}
		if got := Hash(nil, c.prev, body); got != c.plain {
			t.Errorf("%s: its hash is %s, want %s", name, got, c.plain)
		}
		if got := Hash([]byte("key"), c.prev, body); got != c.keyed {
			t.Errorf("%s: its keyed hash is %s, want %s", name, got, c.keyed)
		}
	}
}

func TestParseReadsBack(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		want := anyEntry(r)
		got, err := Parse(want.Canonical())
		if err != nil || got != want {
			r.Fatalf("%+v %v, want %+v", got, err, want)
		}
	})
}

func anyEntry(r *rapid.T) Entry {
	var e Entry
	for _, f := range e.fields() {
		switch v := f.(type) {
		case *string:
			*v = string(rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(r, "text"))
		case *int64:
			*v = rapid.Int64().Draw(r, "number")
		}
	}
	return e
}

// Every field is chained: none is left out, and no two entries share their bytes.
func TestEveryFieldIsChained(t *testing.T) {
	var e Entry
	if got, want := len(e.fields()), reflect.TypeFor[Entry]().NumField(); got != want {
		t.Fatalf("%d fields are chained of %d", got, want)
	}
	base := whole()
	s := reflect.ValueOf(&base).Elem()
	seen := map[string]string{string(base.Canonical()): "none"}
	for i := range s.NumField() {
		changed := base
		f := reflect.ValueOf(&changed).Elem().Field(i)
		if f.Kind() == reflect.String {
			f.SetString(f.String() + "x")
		} else {
			f.SetInt(f.Int() + 1)
		}
		name := s.Type().Field(i).Name
		body := string(changed.Canonical())
		if other, ok := seen[body]; ok {
			t.Errorf("a change of %s has the bytes of a change of %s", name, other)
		}
		seen[body] = name
	}
	// Nor can text move from one field to the next.
	a, b := Entry{Rule: "go ", Layer: "team"}, Entry{Rule: "go", Layer: " team"}
	if string(a.Canonical()) == string(b.Canonical()) {
		t.Error("text moved between fields without a trace")
	}
}

func TestHashCoversBoth(t *testing.T) {
	body := whole().Canonical()
	seen := map[string]bool{}
	for _, h := range []string{
		Hash(nil, "", body), Hash(nil, "aa", body), Hash(nil, "aa", body[1:]), Hash([]byte("k"), "aa", body), Hash([]byte("l"), "aa", body),
		Hash(nil, "a", append([]byte("a"), body...)), // the border between the two counts
	} {
		if seen[h] || len(h) != 64 {
			t.Errorf("hash %s", h)
		}
		seen[h] = true
	}
	if Hash([]byte{}, "aa", body) != Hash(nil, "aa", body) {
		t.Error("an empty key is no key")
	}
}

func TestParseRefuses(t *testing.T) {
	body := whole().Canonical()
	for name, b := range map[string][]byte{
		"nothing": nil, "a byte": {1}, "cut": body[:len(body)-1], "cut early": body[:30], "more": append(append([]byte{}, body...), 0),
		"other format": appendField(nil, []byte("tillerman audit 2")), "only the format": appendField(nil, []byte(format)),
		"number too short": appendField(appendField(nil, []byte(format)), []byte("1234567")),
		"length beyond":    append(appendField(nil, []byte(format)), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff),
	} {
		if _, err := Parse(b); !errors.Is(err, ErrBody) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(whole().Canonical())
	f.Add(Entry{}.Canonical())
	f.Add([]byte("tillerman audit 1"))
	f.Fuzz(func(t *testing.T, body []byte) {
		e, err := Parse(body)
		if err != nil {
			if !errors.Is(err, ErrBody) {
				t.Errorf("%v", err)
			}
			return
		}
		if string(e.Canonical()) != string(body) {
			t.Errorf("%x was read as %+v, which is written otherwise", body, e)
		}
	})
}
