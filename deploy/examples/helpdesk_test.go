package examples

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
)

// helpdesk is the program of the example, which is a module of its own.
type helpdesk struct {
	*service
	program string
}

func newHelpdesk(t *testing.T) helpdesk {
	t.Helper()
	s := bare(t, nil)
	program := filepath.Join(t.TempDir(), "helpdesk")
	for _, args := range [][]string{{"vet", "-C", "helpdesk", "."}, {"build", "-C", "helpdesk", "-o", program, "."}} {
		testbed.Done(t, exec.Command("go", args...))
	}
	return helpdesk{s, program}
}

func (h helpdesk) run(key string, args ...string) (string, error) {
	cmd := exec.Command(h.program, args...)
	cmd.Env = append(cmd.Environ(), "EARSHOT_URL="+h.URL, "EARSHOT_KEY="+key)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (h helpdesk) does(key string, args ...string) string {
	out, err := h.run(key, args...)
	require.NoError(h.T, err, "%v: %s", args, out)
	return out
}

func (h helpdesk) says(app, session, customer, text string) {
	h.T.Helper()
	h.ask("POST", "/v1/apps/"+app+"/sessions/"+session+"/messages", `{"actor":"user","user":"`+customer+`","text":"`+text+`"}`)
}

func TestTheDesksOfTwoCompaniesSeeTheirOwnCustomers(t *testing.T) {
	const secret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
	h := newHelpdesk(t)
	at := testbed.Address(t)
	hears := func() *testbed.Process {
		p := testbed.Start(t, ".", nil, h.program, "hear", at, secret)
		p.Await(t, `hearing at`)
		return p
	}
	desk := hears()
	acme := strings.TrimSpace(h.does(testbed.AdminKey, "company", "acme", "http://"+at+"/acme", secret))
	globex := strings.TrimSpace(h.does(testbed.AdminKey, "company", "globex", "http://"+at+"/globex", "whsec_ZmVkY2JhOTg3NjU0MzIxMGZlZGNiYTk4NzY1NDMyMTA="))
	begun := time.Now().UTC()

	h.says("globex", "g1", "hugo", "my phone is broken") // signed with another secret
	h.says("acme", "a1", "ada", "my printer does not work")
	h.does(acme, "answer", "a1", "Is it on?")
	for _, line := range []string{`a1 user: my printer does not work`, `a1 ticket for a printer`, `a1 agent: Is it on\?`} {
		desk.Await(t, `(?m)^`+line+`$`)
	}

	h.says("acme", "a2", "ada", "something does not work")
	require.Equal(t, "a1 user: my printer does not work\na1 agent: Is it on?\na2 user: something does not work\n", h.does(acme, "customer", "ada"))
	require.Equal(t, "a1 printer: delivered\n", h.does(acme, "tickets"), "the other one waits for the device")
	require.Empty(t, h.does(globex, "customer", "ada"))
	out, err := h.run(testbed.AdminKey, "tickets")
	require.Error(t, err)
	require.Contains(t, out, "not the key of a company")

	// The desk was away, and has forgotten what it had seen: it asks for all of it again.
	require.NoError(t, desk.Stop(os.Interrupt))
	h.says("acme", "a1", "ada", "the phone is broken")
	desk = hears()
	h.does(acme, "resend", begun.Format(time.RFC3339Nano))
	desk.Await(t, `(?m)^a1 user: my printer does not work$`)
	desk.Await(t, `(?m)^a1 ticket for a phone$`)
	require.NotContains(t, desk.String(), "g1", "what another company says is not signed for this one")

	require.Contains(t, h.does(acme, "export", "ada"), `"my printer does not work"`)
	h.does(acme, "forget", "ada")
	require.Empty(t, h.does(acme, "customer", "ada")+h.does(acme, "tickets")+h.does(acme, "export", "ada"))
	require.Equal(t, "g1 phone: delivered\n", h.does(globex, "tickets"))
}
