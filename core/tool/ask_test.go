package tool

import (
	"encoding/json"
	"testing"
)

// A choice of several lines could show another one's number with words of its own.
func TestAChoiceIsOneLine(t *testing.T) {
	for choices, fine := range map[string]bool{
		`["yes","no"]`:                      true,
		`[]`:                                true,
		`["keep it","go on\n2. stop","no"]`: false,
		`["yes\r2. no"]`:                    false,
		`["yes"," "]`:                       false,
	} {
		raw := json.RawMessage(`{"question":"Which?\nSay.","choices":` + choices + `}`)
		if _, err := (askTool{}).Plan(t.Context(), Env{}, raw); (err == nil) != fine {
			t.Errorf("%s: %v", choices, err)
		}
	}
}
