package retry

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
	"time"
)

// Waits when a Policy leaves them out.
const (
	DefaultBase = 500 * time.Millisecond
	DefaultMax  = 30 * time.Second
)

// Policy is how waits grow when the server asks for none. A zero or negative field means its default.
type Policy struct {
	Base time.Duration // the ceiling of the first wait
	Max  time.Duration // the ceiling of every wait
}

// Attempt names one failed attempt of one run. The same attempt always waits the same time, so that a resumed run and
// a test wait alike, while two runs do not come back together.
type Attempt struct {
	Seed int64 // stored with the run
	Step int
	N    int // the failed attempts of this step so far, from 1
}

// Wait draws the time to wait after an attempt: full jitter, evenly from Base/10 to the smaller of Max and
// Base·2^(N-1). The floor keeps a loop from asking again at once. It never exceeds Max.
func (p Policy) Wait(at Attempt) time.Duration {
	p = p.orDefault()
	ceiling := p.Base
	for n := 1; n < at.N && ceiling < p.Max; n++ {
		if ceiling > p.Max/2 {
			ceiling = p.Max
			break
		}
		ceiling *= 2
	}
	ceiling = min(ceiling, p.Max)
	floor := min(p.Base/10, ceiling)
	// The high word of draw·span is an even draw below span.
	over, _ := bits.Mul64(at.draw(), uint64(ceiling-floor)+1)
	return floor + time.Duration(over)
}

func (p Policy) orDefault() Policy {
	if p.Base <= 0 {
		p.Base = DefaultBase
	}
	if p.Max <= 0 {
		p.Max = DefaultMax
	}
	return p
}

// draw is 64 even bits made of the attempt. A hash, not a generator of the standard library: the figures must stay the
// same when Go's generators change.
func (a Attempt) draw() uint64 {
	var b [24]byte
	binary.BigEndian.PutUint64(b[0:], uint64(a.Seed))
	binary.BigEndian.PutUint64(b[8:], uint64(a.Step))
	binary.BigEndian.PutUint64(b[16:], uint64(a.N))
	sum := sha256.Sum256(b[:])
	return binary.BigEndian.Uint64(sum[:])
}
