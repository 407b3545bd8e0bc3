package tuitest

import (
	"errors"
	"os"
	"sync"
)

var errClosed = errors.New("the terminal is closed")

// sender writes to the program what the keyboard and the terminal itself say,
// each piece whole and in the order in which it came. Whoever hands over a piece
// never waits for a program that does not read.
type sender struct {
	to *os.File

	mu     sync.Mutex
	queue  []piece
	closed bool
	wake   chan struct{}
	done   chan struct{}
}

type piece struct {
	data []byte
	sent chan error // may be nil; has room for the one answer
}

func newSender(to *os.File) *sender {
	s := &sender{to: to, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go s.run()
	return s
}

// push puts a copy of data behind what waits. The channel gets one answer when
// it was written or will never be.
func (s *sender) push(data []byte) <-chan error {
	sent := make(chan error, 1)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		sent <- errClosed
		return sent
	}
	s.queue = append(s.queue, piece{append([]byte(nil), data...), sent})
	s.signal()
	return sent
}

func (s *sender) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// empty reports whether everything was written.
func (s *sender) empty() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.queue) == 0
}

func (s *sender) run() {
	defer close(s.done)
	for range s.wake {
		for {
			s.mu.Lock()
			if s.closed || len(s.queue) == 0 {
				s.mu.Unlock()
				break
			}
			next := s.queue[0]
			s.mu.Unlock()
			_, err := s.to.Write(next.data)
			s.mu.Lock()
			s.queue = s.queue[1:]
			s.mu.Unlock()
			next.sent <- err
		}
	}
}

// close ends the sender; what waits is dropped. Writes that hang must have been
// released before by a deadline on the file.
func (s *sender) close() {
	s.mu.Lock()
	already := s.closed
	s.closed = true
	if !already {
		close(s.wake)
	}
	s.mu.Unlock()
	<-s.done
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.queue {
		p.sent <- errClosed
	}
	s.queue = nil
}
