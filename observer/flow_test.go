package observer

import "testing"

func TestFlowWords(t *testing.T) {
	var zero Flow
	if zero != Continue || zero.IsCancel() || !Cancel.IsCancel() || Flow(7).IsCancel() {
		t.Error("the zero Flow continues and only Cancel cancels")
	}
	for flow, word := range map[Flow]string{Continue: "continue", Cancel: "cancel"} {
		text, err := flow.MarshalText()
		if err != nil || string(text) != word || flow.String() != word {
			t.Errorf("%d is written %q, %v", flow, text, err)
		}
		back := Flow(7)
		if err := back.UnmarshalText([]byte(word)); err != nil || back != flow {
			t.Errorf("%q is read as %v, %v", word, back, err)
		}
	}
	if text, err := Flow(7).MarshalText(); err == nil {
		t.Errorf("7 is written %q", text)
	}
	for _, word := range []string{"", "Cancel", "cancel ", "stop", "1"} {
		flow := Cancel
		if err := flow.UnmarshalText([]byte(word)); err == nil || flow != Cancel {
			t.Errorf("%q is read as %v", word, flow)
		}
	}
}
