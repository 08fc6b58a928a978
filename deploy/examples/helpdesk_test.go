package examples

import (
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
)

func (s *service) helpdesk(key string, args ...string) (string, error) {
	s.t.Helper()
	cmd := exec.Command(example(s.t, "helpdesk"), args...)
	cmd.Env = append(cmd.Environ(), "EARSHOT_URL="+s.URL, "EARSHOT_KEY="+key)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (s *service) desk(key string, args ...string) string {
	s.t.Helper()
	out, err := s.helpdesk(key, args...)
	require.NoError(s.t, err, "%v: %s", args, out)
	return out
}

func TestTheDesksOfTwoCompaniesSeeTheirOwnCustomers(t *testing.T) {
	s, _ := bare(t, nil)
	acme := strings.TrimSpace(s.desk(testbed.AdminKey, "tenant", "acme"))
	globex := strings.TrimSpace(s.desk(testbed.AdminKey, "tenant", "globex"))
	_, err := s.helpdesk(testbed.AdminKey, "tenant", "acme")
	require.Error(t, err, "what is there is not replaced")

	following := start(t, ".", []string{"EARSHOT_URL=" + s.URL, "EARSHOT_KEY=" + acme}, "helpdesk", "follow")
	following.Await(t, `following\n`)
	customer := func(app, session, text string) {
		s.ask("POST", "/v1/apps/"+app+"/sessions/"+session+"/messages", `{"actor":"user","text":"`+text+`"}`)
	}
	customer("globex", "g1", "my phone is broken")
	customer("acme", "a1", "my printer does not work")
	customer("acme", "a2", "something does not work")
	s.desk(acme, "answer", "a1", "Is it on?")
	following.Await(t, `^following\na1 user: my printer does not work\na2 user: something does not work\na1 agent: Is it on\?\n$`)

	require.Regexp(t, `^a1, last message at .*\na2, last message at .*\n$`, s.desk(acme, "sessions"))
	require.Equal(t, "agent: Is it on?\nuser: my printer does not work\n", s.desk(acme, "read", "a1"))
	require.Regexp(t, `^printer: .*\n$`, s.desk(acme, "tickets", "a1"))
	require.Empty(t, s.desk(acme, "tickets", "a2"), "it waits for the device")

	require.Regexp(t, `^g1, .*\n$`, s.desk(globex, "sessions"))
	for _, args := range [][]string{{"read", "a1"}, {"tickets", "a1"}, {"export", "a1"}, {"forget", "a1"}} {
		out, _ := s.helpdesk(globex, args...)
		require.NotContains(t, out, "printer", args)
	}

	for _, path := range []string{"/sessions", "/sessions/g1/messages", "/sessions/g1/export", "/triggers", "/events"} {
		request, err := http.NewRequest("GET", s.URL+"/v1/apps/globex"+path, nil)
		require.NoError(t, err)
		request.Header.Set("Authorization", "Bearer "+acme)
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, http.StatusForbidden, response.StatusCode, path)
	}

	require.Contains(t, s.desk(acme, "export", "a1"), `"my printer does not work"`)
	s.desk(acme, "forget", "a1")
	require.NotContains(t, s.desk(acme, "sessions"), "a1")
	require.Empty(t, s.desk(acme, "tickets", "a1")+s.desk(acme, "export", "a1"))
}
