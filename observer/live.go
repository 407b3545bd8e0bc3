package observer

// Live is what an Observer may also be: it then gets text while it comes into being. That text is decoration. Pieces may
// be missing, it is never stored, and whoever shows it drops it when the event with the result arrives.
//
// Both methods are called concurrently, also for one agent, and must return at once.
type Live interface {
	// Delta is a piece of a model's answer. kind says what it is a part of: text, thinking or a call.
	Delta(runID int64, step int, agent string, kind string, text string)
	// Output is a piece of what the call at position of a step prints. It may end within a character, and the bytes
	// belong to the caller again when Output returns.
	Output(runID int64, step, position int, agent string, chunk []byte)
}

// LiveOf returns o's Live side, or one that drops everything when o has none.
func LiveOf(o Observer) Live {
	if live, ok := o.(Live); ok {
		return live
	}
	return noLive{}
}

type noLive struct{}

func (noLive) Delta(int64, int, string, string, string) {}
func (noLive) Output(int64, int, int, string, []byte)   {}
