package tool

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"tillerman/core/policy"
	"tillerman/core/redact"
)

// web is an environment with rules for hosts: effect and host each.
func web(t *testing.T, rules ...[2]string) Env {
	t.Helper()
	p, _ := policy.Starter("standard")
	layer := policy.Layer{Name: "web"}
	for _, r := range rules {
		layer.Rules = append(layer.Rules, policy.Rule{Act: policy.Net, Effect: policy.Effect(r[0]), Match: []string{r[1]}})
	}
	p.Layers = []policy.Layer{layer}
	b, err := policy.New(p, workspace(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	return Env{Root: workspace(t, nil), May: b.Explain}
}

// at answers every name with these addresses, in turn.
func at(addrs ...string) dialer {
	n := 0
	return dialer{lookup: func(context.Context, string) ([]netip.Addr, error) {
		addr := netip.MustParseAddr(addrs[min(n, len(addrs)-1)])
		n++
		return []netip.Addr{addr}, nil
	}}
}

// fetch plans and runs a call. A plan that the policy does not allow is not run: verdict says so.
func fetch(t *testing.T, d dialer, env Env, args map[string]any) (Result, policy.Verdict) {
	t.Helper()
	f := fetchTool{dialer: d}
	p := plan(t, f, env, args)
	v := env.May(p.Action)
	if v.Effect == policy.Deny {
		return Result{}, v
	}
	r, err := f.Run(context.Background(), env, p)
	if err != nil {
		t.Fatal(err)
	}
	return r, v
}

func serve(t *testing.T, handler http.HandlerFunc) (server *httptest.Server, host string) {
	t.Helper()
	server = httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server, strings.TrimPrefix(server.URL, "http://")
}

func TestFetchReadsText(t *testing.T) {
	server, host := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/latin":
			w.Header().Set("Content-Type", "text/html; charset=iso-8859-1")
			_, _ = w.Write([]byte("caf\xe9"))
		case "/broken":
			w.Header().Set("Content-Type", "text/plain")
			_, _ = w.Write([]byte("a\xffb, long enough to count as text"))
		case "/png":
			w.Header().Set("Content-Type", "image/png")
			_, _ = w.Write([]byte("\x89PNG\x00\x01"))
		case "/nul":
			w.Header().Set("Content-Type", "text/plain")
			_, _ = w.Write([]byte("a\x00b"))
		case "/none":
			http.NotFound(w, r)
		case "/long":
			_, _ = w.Write(bytes.Repeat([]byte("x"), 100))
		case "/bomb":
			w.Header().Set("Content-Encoding", "gzip")
			w.Header().Set("Content-Type", "text/plain")
			z := gzip.NewWriter(w)
			_, _ = z.Write(bytes.Repeat([]byte("y"), 64<<20))
			_ = z.Close()
		default:
			if len(r.Cookies()) > 0 || r.Header.Get("Authorization") != "" || r.Header.Get("Referer") != "" || r.Method != http.MethodGet {
				t.Errorf("%s %v", r.Method, r.Header)
			}
			http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
			fmt.Fprint(w, "hello")
		}
	})
	env := web(t, [2]string{"allow", host})
	for path, want := range map[string]string{
		"/x":      "[200 OK; text/plain; 5 bytes]\nhello",
		"/latin":  "[200 OK; text/html; 4 bytes]\ncafé",
		"/broken": "[200 OK; text/plain; 33 bytes]\na\\xffb, long enough to count as text",
		"/png":    "[200 OK; image/png; 6 bytes; not text, so it is not shown]",
		"/nul":    "[200 OK; text/plain; 3 bytes; not text, so it is not shown]",
		"/none":   "[404 Not Found; text/plain; 19 bytes]\n404 page not found\n",
		"/x#frag": "[200 OK; text/plain; 5 bytes]\nhello",
	} {
		r, _ := fetch(t, dialer{}, env, map[string]any{"url": server.URL + path})
		if r.Text != want || r.Failed != (path == "/none") {
			t.Errorf("%s: %+v", path, r)
		}
	}
	r, _ := fetch(t, dialer{}, env, map[string]any{"url": server.URL + "/long", "max_bytes": 10})
	if r.Text != "[200 OK; text/plain; the first 10 bytes of more]\nxxxxxxxxxx" {
		t.Errorf("%+v", r)
	}
	if r, _ := fetch(t, dialer{}, env, map[string]any{"url": server.URL + "/bomb"}); len(r.Text) > fetchBytes+100 || !strings.Contains(r.Text, "yyyy") {
		t.Errorf("%d bytes: %.80s", len(r.Text), r.Text)
	}
}

// Under the standard policy no host is allowed, and the plan tells the policy which host it is about.
func TestFetchIsDeniedByDefault(t *testing.T) {
	env := web(t)
	for url, host := range map[string]string{
		"https://Host.Example/x?y":      "host.example:443",
		"http://host.example.:8080":     "host.example:8080",
		"https://b%C3%BCcher.example":   "xn--bcher-kva.example:443",
		"http://127。0。0。1/":             "127.0.0.1:80",
		"http://[::ffff:10.0.0.1]:81/a": "10.0.0.1:81",
	} {
		p := plan(t, fetchTool{}, env, map[string]any{"url": url})
		if p.Action.Act != policy.Net || p.Action.Host != host || !strings.HasPrefix(p.Payload, "GET http") {
			t.Errorf("%s: %+v", url, p)
		}
		if v := env.May(p.Action); v.Effect != policy.Deny {
			t.Errorf("%s: %+v", url, v)
		}
	}
	for _, url := range []string{
		"", "host.example", "ftp://host.example", "file:///etc/passwd", "http:", "http:host.example", "https://u:p@host.example/", "https://u@host.example",
		"http://0x7f.1/", "http://2130706433/", "http://127.0.0.01/", "http://host.example:0/", "http://host.example:99999/", "http://a b/",
		"http://host.example/\x01", "gopher://x", "javascript:alert(1)", "http://" + strings.Repeat("a", 70) + ".example", "http://host.example/" + strings.Repeat("x", fetchURL),
	} {
		if _, err := (fetchTool{}).Plan(context.Background(), env, encode(map[string]any{"url": url})); err == nil {
			t.Errorf("%q was planned", url)
		}
	}
}

func TestFetchStopsWhereARedirectLeadsTooFar(t *testing.T) {
	asked := 0
	_, inner := serve(t, func(w http.ResponseWriter, r *http.Request) { asked++; fmt.Fprint(w, "secret") })
	to := ""
	server, host := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		case "/here":
			fmt.Fprint(w, "here")
		default:
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusFound)
		}
	})
	for _, c := range []struct {
		rules [][2]string
		to    string
		want  string
		asks  int
	}{
		{nil, "/here", "[302: redirected to " + server.URL + "/here]\n[200 OK; text/plain; 4 bytes]\nhere", 0},
		{nil, "http://" + inner + "/x", "stopped: the policy does not allow " + inner, 0},
		{[][2]string{{"deny", inner}}, "http://" + inner + "/x", "stopped: the policy denies " + inner, 0},
		{[][2]string{{"ask", inner}}, "http://" + inner + "/x", "stopped: the policy asks before " + inner + "; call fetch with http://" + inner + "/x", 0},
		{[][2]string{{"allow", inner}}, "http://" + inner + "/x", "secret", 1},
		{nil, "http://u:pass@" + inner + "/x", "stopped: the URL holds a user or password", 0},
		{nil, "file:///etc/passwd", "stopped: the URL begins with file:", 0},
		{nil, "http://0x7f.1/", "stopped: the URL's host", 0},
		{nil, "http://169.254.169.254/latest", "stopped: the policy does not allow 169.254.169.254:80", 0},
		{[][2]string{{"allow", "*"}}, "http://169.254.169.254/latest", "an address that is not public", 0},
		{nil, "", "stopped: status 302 without an address", 0},
		{nil, "http://[", "stopped: status 302 without an address", 0},
	} {
		to, asked = c.to, 0
		env := web(t, append([][2]string{{"allow", host}}, c.rules...)...)
		r, _ := fetch(t, dialer{}, env, map[string]any{"url": server.URL + "/go"})
		if !strings.Contains(r.Text, c.want) || asked != c.asks || strings.Contains(r.Text, "pass") && strings.Contains(r.Text, "u:pass") {
			t.Errorf("%+v: %q, %d requests", c, r.Text, asked)
		}
	}
	env := web(t, [2]string{"allow", host})
	if r, _ := fetch(t, dialer{}, env, map[string]any{"url": server.URL + "/loop"}); !r.Failed || !strings.Contains(r.Text, "more than 10 redirects") {
		t.Errorf("%+v", r)
	}
}

// A name may lead anywhere: what it resolves to is judged, and what was judged is what is dialled.
func TestFetchJudgesTheAddressOfAName(t *testing.T) {
	server, host := serve(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "inside") })
	port := host[strings.LastIndex(host, ":"):]
	url := "http://inner.example" + port + "/"
	every := [2]string{"allow", "*"}
	name := [2]string{"allow", "inner.example"}
	for _, c := range []struct {
		addr  string
		rules [][2]string
		want  string
	}{
		{"127.0.0.1", [][2]string{name}, "not public"},
		{"127.0.0.1", [][2]string{every}, "not public"},
		{"127.0.0.1", [][2]string{name, {"allow", "*" + port}}, "not public"},
		{"::ffff:127.0.0.1", [][2]string{name}, "not public"},
		{"127.0.0.1", [][2]string{name, {"allow", "127.0.0.1"}}, "inside"},
		{"127.0.0.1", [][2]string{name, {"allow", "127.0.0.1" + port}}, "inside"},
		{"127.0.0.1", [][2]string{name, {"allow", "127.0.0.1:1"}}, "not public"},
		{"127.0.0.1", [][2]string{name, {"allow", "127.0.0.1"}, {"deny", "127.0.0.1" + port}}, "which the policy denies"},
		{"127.0.0.1", [][2]string{name, {"ask", "127.0.0.1"}}, "asks before that address"},
		{"169.254.169.254", [][2]string{every}, "not public"},
		{"fd00:ec2::254", [][2]string{every}, "not public"},
		{"10.1.2.3", [][2]string{every}, "not public"},
		{"100.100.100.200", [][2]string{every}, "not public"},
		{"0.0.0.0", [][2]string{every}, "not public"},
		{"64:ff9b::7f00:1", [][2]string{every}, "not public"},
		{"2002:7f00:1::", [][2]string{every}, "not public"},
		{"::1", [][2]string{every}, "not public"},
		{"224.0.0.1", [][2]string{every}, "not public"},
		{"8.8.8.8", [][2]string{name, {"deny", "8.8.8.8"}}, "which the policy denies"},
	} {
		r, v := fetch(t, at(c.addr), web(t, c.rules...), map[string]any{"url": url})
		if !strings.Contains(r.Text, c.want) || v.Effect == policy.Deny || r.Failed != (c.want != "inside") {
			t.Errorf("%s %v: %+v %+v", c.addr, c.rules, r, v)
		}
	}
	// The second answer of the name server is never asked for.
	d := at("127.0.0.1", "169.254.169.254")
	env := web(t, name, [2]string{"allow", "127.0.0.1"})
	if r, _ := fetch(t, d, env, map[string]any{"url": url}); !strings.Contains(r.Text, "inside") {
		t.Errorf("%+v", r)
	}
	// An address that a person was shown is dialled, as is localhost by its name.
	if r, _ := fetch(t, dialer{}, web(t, [2]string{"ask", "127.0.0.1"}), map[string]any{"url": server.URL}); r.Failed {
		t.Errorf("%+v", r)
	}
	local := "http://localhost" + port
	if r, _ := fetch(t, at("127.0.0.1"), web(t, [2]string{"allow", "localhost"}), map[string]any{"url": local}); r.Failed {
		t.Errorf("%+v", r)
	}
	if r, _ := fetch(t, at("10.0.0.1"), web(t, [2]string{"allow", "localhost"}), map[string]any{"url": local}); !strings.Contains(r.Text, "not public") {
		t.Errorf("%+v", r)
	}
	if r, _ := fetch(t, at("127.0.0.1"), web(t, every), map[string]any{"url": local}); !strings.Contains(r.Text, "not public") {
		t.Errorf("%+v", r)
	}
}

func TestFetchUsesNoProxy(t *testing.T) {
	for _, name := range []string{"http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY"} {
		t.Setenv(name, "http://127.0.0.1:1")
	}
	server, host := serve(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "direct") })
	if r, _ := fetch(t, dialer{}, web(t, [2]string{"allow", host}), map[string]any{"url": server.URL}); !strings.Contains(r.Text, "direct") {
		t.Errorf("%+v", r)
	}
}

func TestFetchIsStopped(t *testing.T) {
	begun, stop := make(chan struct{}), make(chan struct{})
	server, host := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		close(begun)
		select {
		case <-stop:
		case <-r.Context().Done():
		}
	})
	defer close(stop)
	env := web(t, [2]string{"allow", host})
	p := plan(t, fetchTool{}, env, map[string]any{"url": server.URL})
	ctx, cancel := context.WithCancel(context.Background())
	go func() { <-begun; cancel() }()
	if _, err := (fetchTool{}).Run(ctx, env, p); err == nil {
		t.Error("a call that was ended says nothing of it")
	}
}

func TestFetchNamesItsTroubles(t *testing.T) {
	server, host := serve(t, func(w http.ResponseWriter, r *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			conn.Close()
		}
	})
	env := web(t, [2]string{"allow", host}, [2]string{"allow", "127.0.0.1:1"})
	for _, url := range []string{server.URL, "http://127.0.0.1:1/", "https://" + host} {
		r, _ := fetch(t, dialer{}, env, map[string]any{"url": url})
		if !r.Failed || !strings.HasPrefix(r.Text, "failed: ") || strings.Contains(r.Text, "->") {
			t.Errorf("%s: %+v", url, r)
		}
	}
}

func FuzzFetchAddress(f *testing.F) {
	for _, s := range []string{"https://host.example/x?y#z", "http://[::1%25lo]:80/", "http://127。0。0。1", "http://a@b", "//x", "http://%41.example:080/"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		u, host, err := parseAddress(text)
		if err != nil {
			return
		}
		again, same, err := parseAddress(u.String())
		if err != nil || same != host || again.String() != u.String() {
			t.Fatalf("%q is %s at %s, then %v at %s: %v", text, u, host, again, same, err)
		}
	})
}

func TestFetchCutsNoSecretInTwo(t *testing.T) {
	_, host := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/short" {
			w.Header().Set("Content-Length", "100")
		}
		text := "the key is hunter2hunter2"
		if r.URL.Path == "/wide" {
			w.Header().Set("Content-Type", "text/plain; charset=utf-16le")
			text = strings.Join(strings.Split(text, ""), "\x00") + "\x00"
		}
		_, _ = w.Write([]byte(text))
	})
	env := web(t, [2]string{"allow", host})
	env.Head = redact.New([]redact.Secret{{Name: "K", Value: "hunter2hunter2"}}).Head
	for path, max := range map[string]int{"/": 20, "/short": 1000, "/wide": 40} {
		r, _ := fetch(t, dialer{}, env, map[string]any{"url": "http://" + host + path, "max_bytes": max})
		if path != "/short" && strings.Contains(r.Text, "hunter") || !strings.Contains(r.Text, "the key is ") {
			t.Errorf("%s: %q", path, r.Text)
		}
	}
}
