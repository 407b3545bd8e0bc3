package tui

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"tillerman/tui/tuitest"
)

// deployer is a model that deploys once and then is done, as a chat completions server.
func deployer(t *testing.T) *httptest.Server {
	t.Helper()
	var asked atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("content-type", "text/event-stream")
		delta, finish := `{"content":"Deployed."}`, "stop"
		if asked.Add(1) == 1 {
			delta = `{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"exec","arguments":"{\"argv\":[\"sh\",\"deploy.sh\"]}"}}]}`
			finish = "tool_calls"
		}
		fmt.Fprintf(w, "data: {\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":%q}]}\n\n", delta, finish)
		fmt.Fprint(w, `data: {"model":"m","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":5,"total_tokens":14}}`+"\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(s.Close)
	return s
}

// TestACrashInADeployment kills the program in the middle of a command that must not run twice. The console of the resume
// asks what became of it, and the resume after that goes on with what was found.
func TestACrashInADeployment(t *testing.T) {
	whole(t)
	server := deployer(t)
	home := tuitest.NewHome(t)
	start := func(args ...string) *tuitest.Term {
		return tuitest.Start(t, tuitest.Options{Args: args, Home: home, Cols: 110, Rows: 34, Answer: true, Env: []string{"TILLERMAN_COMPATIBLE_KEY=none"}})
	}
	put(t, home, "deploy.sh", "echo one >> log\nsleep 600\n")
	term := start("run", "deploy it", "--base-url", server.URL+"/v1", "--model", "m")
	term.WaitFor("Approve?", 0)
	press(term, "a")
	term.WaitUntil("the command has begun", 0, func(tuitest.Frame) bool { return strings.Count(read(home, "log"), "one") == 1 })
	term.Signal(syscall.SIGKILL)
	_ = term.Exit()

	term = start("resume", "1")
	term.WaitFor("Did it happen?", 30*time.Second)
	term.WaitFor("log added", 0) // what it changed before it died
	press(term, "f")
	term.WaitFor("it failed, what did you find?", 0)
	term.Type("only half of it is there")
	term.Press("ctrl+d")
	term.WaitFor("What you found is recorded: go on with tillerman resume 1", 0)
	press(term, "q")
	if e := term.Exit(); e.Code != 3 || e.Err() != nil {
		t.Errorf("exit %d %v\n%s", e.Code, e.Err(), term.Frame())
	}
	if f := term.Frame(); !f.Contains("go on with tillerman resume 1") || f.Contains("tillerman resolve") {
		t.Errorf("what is left behind:\n%s", f)
	}

	term = start("resume", "1")
	term.WaitFor("Deployed.", 30*time.Second)
	press(term, "q")
	if e := term.Exit(); e.Code != 0 || strings.Count(read(home, "log"), "one") != 1 {
		t.Errorf("exit %d, the log says %q\n%s", e.Code, read(home, "log"), term.Frame())
	}
}
