package observer

// Fanout returns an Observer that passes each event to every one of observers, in their order. All of them are called
// whatever the others answer, and one Cancel is enough. Live text goes to those that implement Live. A nil observer is
// left out. A panic in one keeps the event from those after it: wrap each in Guard where that matters.
func Fanout(observers ...Observer) Observer {
	var f fanout
	for _, o := range observers {
		if o == nil {
			continue
		}
		f.observers = append(f.observers, o)
		if live, ok := o.(Live); ok {
			f.live = append(f.live, live)
		}
	}
	return f
}

type fanout struct {
	observers []Observer
	live      []Live
}

func (f fanout) Event(e *Event) Flow {
	flow := Continue
	for _, o := range f.observers {
		if o.Event(e).IsCancel() {
			flow = Cancel
		}
	}
	return flow
}

func (f fanout) Delta(runID int64, step int, agent, kind, text string) {
	for _, live := range f.live {
		live.Delta(runID, step, agent, kind, text)
	}
}

func (f fanout) Output(runID int64, step, position int, agent string, chunk []byte) {
	for _, live := range f.live {
		live.Output(runID, step, position, agent, chunk)
	}
}
