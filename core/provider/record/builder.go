package record

import (
	"maps"
	"slices"

	"tillerman/core/provider"
)

// Builder makes a File out of whole requests, added in order. It stores each message, tool list and long text once,
// however often it is sent. It is not safe for concurrent use.
type Builder struct {
	version   string
	redact    func(string) string
	tools     map[string][]provider.ToolSpec
	exchanges []*Exchange
	threads   map[string]*thread
	texts     map[string]string
}

// thread is one agent's latest request, in a copy of our own and as it was asked, that is, not redacted.
type thread struct {
	last   provider.Request
	digest string    // of last's tools, as stored
	latest *Exchange // the agent's latest exchange
}

// NewBuilder starts an empty recording. version is the running program's. redact, unless nil, is applied to every text
// before it is stored; applied twice it must change nothing more.
func NewBuilder(version string, redact func(string) string) *Builder {
	return &Builder{
		version: version, redact: redact,
		tools: map[string][]provider.ToolSpec{}, threads: map[string]*thread{}, texts: map[string]string{},
	}
}

// Add appends an exchange without outcome. The caller may set its attempts and answer until it is in a File.
func (b *Builder) Add(agent string, step int, req provider.Request) *Exchange {
	t, known := b.threads[agent]
	if !known {
		t = &thread{}
		b.threads[agent] = t
	}
	delta := Delta{
		Model: b.store(req.Model), MaxOutput: req.MaxOutput,
		Keep: provider.Common(t.last.Messages, req.Messages), Append: []provider.Message{},
	}
	if !known || t.last.System != req.System {
		system := b.store(req.System)
		delta.System = &system
	}
	if !known || !slices.EqualFunc(t.last.Tools, req.Tools, provider.ToolSpec.Equal) {
		t.last.Tools = cloneTools(req.Tools)
		t.digest = b.storeTools(req.Tools)
	}
	delta.Tools = t.digest
	t.last.Messages = t.last.Messages[:delta.Keep]
	for _, m := range req.Messages[delta.Keep:] {
		t.last.Messages = append(t.last.Messages, m.Clone())
		delta.Append = append(delta.Append, provider.Message{Role: m.Role, Parts: b.parts(m.Parts)})
	}
	t.last.Model, t.last.MaxOutput, t.last.System = req.Model, req.MaxOutput, req.System
	t.latest = &Exchange{Agent: agent, Step: step, Request: delta, Attempts: []Attempt{}}
	b.exchanges = append(b.exchanges, t.latest)
	return t.latest
}

// open is the agent's latest exchange if it asks this very request at this step and has no answer, else a new one.
func (b *Builder) open(agent string, step int, req provider.Request) *Exchange {
	if t := b.threads[agent]; t != nil && t.latest.Step == step && t.latest.Answer == nil && t.asks(req) {
		return t.latest
	}
	return b.Add(agent, step, req)
}

func (t *thread) asks(req provider.Request) bool {
	return t.last.Model == req.Model && t.last.MaxOutput == req.MaxOutput && t.last.System == req.System &&
		slices.EqualFunc(t.last.Tools, req.Tools, provider.ToolSpec.Equal) &&
		slices.EqualFunc(t.last.Messages, req.Messages, provider.Message.Equal)
}

// Answer is an answer as a recording stores it: a copy, redacted, without times.
func (b *Builder) Answer(a provider.Answer) *provider.Answer {
	return &provider.Answer{
		Parts: b.parts(a.Parts), Stop: a.Stop, Finish: b.store(a.Finish), Model: b.store(a.Model),
		Served: b.store(a.Served), Asked: b.store(a.Asked), Usage: cloneUsage(a.Usage),
	}
}

// Failed is a failure as a recording stores it.
func (b *Builder) Failed(e *provider.Error, inner bool) Attempt {
	a := Failed(e, inner)
	for _, text := range []*string{&a.Provider, &a.Message, &a.Asked, &a.Finish, &a.Model} {
		*text = b.store(*text)
	}
	return a
}

// File is what has been added so far. Later additions do not show in it.
func (b *Builder) File() *File {
	f := &File{
		Format: Format, Tillerman: b.version, Tools: maps.Clone(b.tools),
		Exchanges: make([]Exchange, len(b.exchanges)),
	}
	for i, ex := range b.exchanges {
		f.Exchanges[i] = *ex
		f.Exchanges[i].Attempts = slices.Clone(ex.Attempts)
	}
	return f
}
