package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// crashing is the program as it dies at the point that the environment names.
var crashing = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "earshot-crashing-")
	if err != nil {
		return "", err
	}
	program := filepath.Join(dir, "earshot")
	_, err = exec.Command("go", "build", "-tags", "crashtest", "-o", program, ".").Output()
	return program, err
})

// TestCallThatMustNotBeMadeTwiceSurvivesAKill kills the replica that makes it: while it
// waits for the answer, and when it has it and has written nothing down.
func TestCallThatMustNotBeMadeTwiceSurvivesAKill(t *testing.T) {
	leaveOutWhenShort(t)
	program, err := crashing()
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(filepath.Dir(program)) })
	for _, point := range []string{"request.sent", "attempt.done"} {
		t.Run(point, func(t *testing.T) {
			w, sink := serving(t, 1), newSink(t)
			w.put("/v1/apps/clinic/repositories/shop", `{"tools":[
				{"name":"pay","url":"`+sink.URL+`","request":{"idempotent":false,"timeout":"1s"}}]}`)
			w.rest()
			w.replicas[0].stop() // so that it is the other one that makes the call
			dying := exec.Command(program, "serve")
			output := &output{}
			dying.Stdout, dying.Stderr = output, output
			dying.Env = append(os.Environ(), "EARSHOT_CRASH="+point)
			for name, value := range w.env {
				dying.Env = append(dying.Env, name+"="+value)
			}
			require.NoError(t, dying.Start())
			ended := make(chan error, 1)
			go func() { ended <- dying.Wait() }()
			first := &replica{t: t, url: output.await(t, startedAt), log: output}
			w.until("it is ready", func() bool { return w.ask(first, "GET", "/readyz", "").Status == 200 })
			require.Error(t, w.ask(first, "POST", messages("s1"), message("m1", "call pay {}")).Err)
			require.ErrorContains(t, <-ended, "killed")

			w.replicas = nil
			w.serve()
			type list struct{ Items []struct{ match } }
			var failed list
			w.until("it is given up", func() bool {
				failed = read[list](t, w.call(200, "GET", "/v1/apps/clinic/triggers?state=failed", ""))
				return len(failed.Items) == 1
			})
			require.Equal(t, "outcome_unknown", failed.Items[0].Call.Reason)
			require.LessOrEqual(t, len(sink.requests()), 1)
			before := len(sink.requests())
			w.call(202, "POST", "/v1/apps/clinic/triggers/"+failed.Items[0].TriggerID+"/retry", "")
			w.rest()
			require.Len(t, sink.requests(), before+1)
			results := w.events("tool.result.clinic.s1.pay")
			require.Equal(t, "outcome_unknown", results[0].Payload["reason"])
			require.Equal(t, true, results[1].Payload["ok"])
		})
	}
}
