package wiretest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// Server is a local endpoint that gives every request the same stream.
type Server struct {
	URL string

	mu     sync.Mutex
	bodies [][]byte
}

// Serve starts a server that sends the response in pieces of size bytes, each flushed; the test's end stops it.
func Serve(t *testing.T, response string, size int) *Server {
	t.Helper()
	s := &Server{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		s.mu.Lock()
		s.bodies = append(s.bodies, sent)
		s.mu.Unlock()
		w.Header().Set("Content-Type", "text/event-stream")
		for rest := response; rest != ""; {
			n := min(size, len(rest))
			if _, err := io.WriteString(w, rest[:n]); err != nil {
				return
			}
			_ = http.NewResponseController(w).Flush()
			rest = rest[n:]
		}
	}))
	t.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

// Bodies are the request bodies so far.
func (s *Server) Bodies() [][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([][]byte(nil), s.bodies...)
}
