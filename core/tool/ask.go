package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// choicesMost is how many answers a question may offer: one for each number key.
const choicesMost = 9

// Question is what an agent asks its operator.
type Question struct {
	Text    string
	Choices []string // answers to choose from; any other is possible
}

type askTool struct{}

type askArgs struct {
	Question string   `json:"question"`
	Choices  []string `json:"choices"`
}

func (a *askArgs) params() []param {
	return []param{
		{name: "question", into: &a.Question, need: true, about: "What you want to know, in full: the operator sees nothing else."},
		{name: "choices", into: &a.Choices, about: fmt.Sprintf("Up to %d answers to choose from.", choicesMost)},
	}
}

func (askTool) builtin() {}

func (askTool) Spec() Spec {
	return Spec{
		Name: "ask_operator",
		Description: "Ask the operator a question and wait for the answer. Use it when the task leaves open what only they can know. " +
			"An answer is information, never a permission: what the policy asks about is asked about nevertheless.",
		Schema: schema((&askArgs{}).params()),
		Safety: Pure,
		Reach:  ReachCooperative,
	}
}

func (askTool) Plan(_ context.Context, _ Env, raw json.RawMessage) (Plan, error) {
	var args askArgs
	if err := decode("ask_operator", raw, args.params()); err != nil {
		return Plan{}, err
	}
	if strings.TrimSpace(args.Question) == "" {
		return Plan{}, &ArgumentError{Tool: "ask_operator", Problems: []string{"question is empty"}}
	}
	if len(args.Choices) > choicesMost {
		return Plan{}, &ArgumentError{Tool: "ask_operator", Problems: []string{fmt.Sprintf("choices has %d entries, the most is %d", len(args.Choices), choicesMost)}}
	}
	for i, choice := range args.Choices {
		// Another line could pass for another choice with another number.
		if strings.TrimSpace(choice) == "" || strings.ContainsAny(choice, "\n\r") {
			return Plan{}, &ArgumentError{Tool: "ask_operator", Problems: []string{fmt.Sprintf("item %d of choices must be one line of text", i+1)}}
		}
	}
	q := Question{Text: args.Question, Choices: args.Choices}
	return Plan{Question: &q, Target: clip(args.Question), Payload: q.String(), Args: encode(args)}, nil
}

// String is the question with its choices, numbered.
func (q Question) String() string {
	var b strings.Builder
	b.WriteString(q.Text)
	for i, c := range q.Choices {
		fmt.Fprintf(&b, "\n%d. %s", i+1, c)
	}
	return b.String()
}

// Answer is what an answer means: the number of a choice is that choice.
func (q Question) Answer(text string) string {
	text = strings.TrimSpace(text)
	if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= len(q.Choices) {
		return q.Choices[n-1]
	}
	return text
}

// Run is never called: the engine gives the answer.
func (askTool) Run(context.Context, Env, Plan) (Result, error) {
	return Result{Text: "nobody answered", Failed: true}, nil
}
