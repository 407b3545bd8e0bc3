package endpoint_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"tillerman/core/provider"
	"tillerman/core/provider/endpoint"
	"tillerman/core/provider/internal/wiretest"
	"tillerman/core/provider/stream"
)

// serve answers one connection with raw bytes and closes it.
func serve(t *testing.T, answer string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
			_, _ = io.WriteString(conn, answer)
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return "http://" + l.Addr().String()
}

func TestSocketEndings(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
	for _, c := range []struct {
		name, answer string
		whole        bool
		want         string // the answer's text, or part of the message
		kind         provider.Kind
	}{
		{"chunked, whole", head + "Transfer-Encoding: chunked\r\n\r\n9\r\ndata: a\n\n\r\n0\r\n\r\n", true, "a", ""},
		{"chunked, cut after a chunk", head + "Transfer-Encoding: chunked\r\n\r\n9\r\ndata: a\n\n\r\n", true, "stream ended early", provider.Transport},
		{"chunked, cut inside a chunk", head + "Transfer-Encoding: chunked\r\n\r\n99\r\ndata: a\n\n", true, "stream ended early", provider.Transport},
		{"length too long", head + "Content-Length: 99\r\n\r\ndata: a\n\n", true, "stream ended early", provider.Transport},
		{"length too long, but closed", head + "Content-Length: 99\r\n\r\ndata: a\n\ndata: end\n\n", false, "a", ""},
		{"no length", head + "Connection: close\r\n\r\ndata: a\n\n", true, "a", ""},
		{"no length, not whole", head + "Connection: close\r\n\r\ndata: a\n\n", false, "stream ended early", provider.Transport},
		{"no answer", "", true, "EOF", provider.Transport},
		{"not HTTP", "SSH-2.0-x\r\n", true, "malformed", provider.Transport},
		{"endless header", "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 2<<20), true, "", provider.Transport},
	} {
		t.Run(c.name, func(t *testing.T) {
			answer, err := ask(t, endpoint.Config{BaseURL: serve(t, c.answer)}, &echo{whole: c.whole})
			if c.kind == "" {
				if err != nil || answer.Text() != c.want {
					t.Fatalf("%q, %v", answer.Text(), err)
				}
				return
			}
			if failed, ok := provider.As(err); !ok || failed.Kind != c.kind || !strings.Contains(failed.Message, c.want) {
				t.Fatalf("got %v", err)
			}
		})
	}
}

func TestSocketNobodyThere(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	_, err = ask(t, endpoint.Config{BaseURL: "http://" + l.Addr().String()}, &echo{})
	if failed, ok := provider.As(err); !ok || failed.Kind != provider.Transport {
		t.Errorf("got %v", err)
	}
}

// silent is a server that sends start and then nothing. arrived is closed when a request is there.
func silent(t *testing.T, start string) (url string, arrived chan struct{}) {
	t.Helper()
	arrived = make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if start != "" {
			_, _ = io.WriteString(w, start)
			_ = http.NewResponseController(w).Flush()
		}
		close(arrived)
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	return server.URL, arrived
}

func TestSocketCancel(t *testing.T) {
	cause := errors.New("operator left")
	t.Run("while connecting", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(context.Background())
		transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			cancel(cause)
			<-ctx.Done()
			return nil, ctx.Err()
		}}
		_, _, err := askOf(t, ctx, endpoint.Config{Transport: transport}, &echo{})
		abandoned(t, err, cause)
	})
	for name, start := range map[string]string{"before the first byte": "", "in the middle": "data: a\n\ndata: b"} {
		t.Run(name, func(t *testing.T) {
			url, arrived := silent(t, start)
			ctx, cancel := context.WithCancelCause(context.Background())
			go func() {
				<-arrived
				cancel(cause)
			}()
			_, _, err := askOf(t, ctx, endpoint.Config{BaseURL: url}, &echo{})
			abandoned(t, err, cause)
		})
	}
	t.Run("deadline", func(t *testing.T) {
		url, _ := silent(t, "data: a\n\n")
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		defer cancel()
		_, _, err := askOf(t, ctx, endpoint.Config{BaseURL: url}, &echo{})
		abandoned(t, err, context.DeadlineExceeded)
	})
}

func abandoned(t *testing.T, err, cause error) {
	t.Helper()
	if _, ok := provider.As(err); ok || !errors.Is(err, cause) {
		t.Errorf("got %v, want one that wraps %v", err, cause)
	}
}

func TestSocketStall(t *testing.T) {
	for start, want := range map[string]string{"": "no content", "data: a\n\n": "stalled"} {
		url, arrived := silent(t, start)
		clock := wiretest.NewClock()
		seen := make(chan struct{}, 1)
		go func() {
			<-arrived
			if start != "" {
				<-seen
			}
			// The decoder's event is counted after it is seen: both limits pass, whichever is on.
			clock.Advance(stream.FirstContent)
			clock.Advance(stream.FirstContent)
		}()
		_, err := ask(t, endpoint.Config{BaseURL: url, Clock: clock}, &echo{seen: func(string) { seen <- struct{}{} }})
		failed, ok := provider.As(err)
		if !ok || failed.Kind != provider.Timeout || (start == "" && !strings.Contains(failed.Message, want)) {
			t.Errorf("%q: %v, want %q", start, err, want)
		}
	}
}
