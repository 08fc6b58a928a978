package sqlquery_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/sqltest"
	"earshot/repositories"
	"earshot/repositories/secret"
	"earshot/trigger/effect"
	"earshot/trigger/effect/effecttest"
	"earshot/trigger/sqlquery"
)

// served is a server with a table flights of two rows, and its SQL for the rules common to all servers.
type served struct {
	*sqltest.Server
	sleep    string // calls a function that takes so many seconds
	sleeping string // counts the statements that sleep
	bind     string // the first parameter
	fails    string // makes a function that fails with a code
	codes    map[string]effect.Verdict
	secure   repositories.Headers // asks for TLS, which the server does not speak
	many     string               // a statement with two parameters
	unknown  [4]string            // how it says that there is no database, no table, one parameter alone, and no TLS
}

// everyServer tests the common rules on a server, which is stopped and started at the end.
func everyServer(t *testing.T, s served) {
	for _, rule := range []struct {
		name string
		test func(*testing.T, served)
	}{
		{"errors have a verdict by their codes", verdicts}, {"a check runs nothing", checks}, {"time is limited", timeIsLimited},
		{"who may", whoMay}, {"addresses are refused", addresses}, {"a server that goes away is waited for", goesAway},
	} {
		t.Run(rule.name, func(t *testing.T) { rule.test(t, s) })
	}
}

func verdicts(t *testing.T, s served) {
	r := newRig(t, s.Source())
	for code, want := range s.codes {
		s.Exec(fmt.Sprintf(s.fails, code))
		outcome := r.run(statement("select fails()"), "")
		require.Equal(t, want, outcome.Verdict, code)
		require.Contains(t, outcome.Error, "as told", code)
		outcome = r.run(statement("select fails()")+`,"request":{"idempotent":false}`, "")
		require.Equal(t, effect.Dead, outcome.Verdict, "%s: it ran", code)
	}
}

func checks(t *testing.T, s served) {
	r := newRig(t, s.Source())
	check := func(fields string) string {
		return strings.Join(r.Check(t.Context(), r.app, []repositories.Tool{*r.tool(fields)}), "\n")
	}
	const id = `,"parameters":[{"name":"id","type":"integer","description":"d"}]`
	require.Empty(t, check(statement("select airline from flights where id = "+s.bind)+id))
	require.Empty(t, check(statement("delete from flights")))
	require.Equal(t, 2, s.Count("select count(*) from flights"), "nothing ran")
	require.Contains(t, check(statement("select * from nowhere where id = "+s.bind)+id), s.unknown[1])
	require.Contains(t, check(statement("selct 1")), "syntax")
	require.Contains(t, check(statement(s.many)+id), s.unknown[2])
	r.app.Sources[0].ReadOnly = new(true)
	require.Contains(t, check(statement("delete from flights")), "is read-only")
	r.app.Sources[0].Port = "1"
	require.Contains(t, check(statement("select 1")), "statements were not tried")
}

func timeIsLimited(t *testing.T, s served) {
	r := newRig(t, s.Source())
	slow := statement(fmt.Sprintf("select %s, 'slow one'", fmt.Sprintf(s.sleep, 60)))
	outcome := r.run(slow+`,"request":{"timeout":"300ms"}`, "")
	effecttest.Ended(t, outcome, effect.Retry, effect.ReasonTimeout)
	require.Equal(t, `the source "db" did not answer in time`, outcome.Error)
	require.Eventually(t, func() bool { return s.Count(s.sleeping) == 0 }, time.Minute, 10*time.Millisecond, "the server stops as well")

	r = newRig(t, s.Source())
	require.Equal(t, `[{"v":1}]`, r.rows("select 1 as v"), "the connection is there, so that the time goes to the statement")
	outcome = r.run(slow+`,"request":{"timeout":"1s","idempotent":false}`, "")
	effecttest.Ended(t, outcome, effect.Dead, effect.ReasonUnknown)
	outcome = r.run(statement("selec 1")+`,"request":{"idempotent":false}`, "")
	effecttest.Ended(t, outcome, effect.Dead, effect.ReasonRequest) // what the database has refused is known

	ctx, stop := context.WithCancel(t.Context())
	time.AfterFunc(200*time.Millisecond, stop)
	outcome = r.Deliver(ctx, effectOf(r.tool(slow), nil))
	effecttest.Ended(t, outcome, effect.Retry, effect.ReasonRequest, "the service is stopping")

	source, toolbox := s.Source(), s.Source()
	source.Timeout = repositories.Duration(200 * time.Millisecond)
	toolbox.QueryTimeout = source.Timeout // Toolbox's name for it
	for _, limited := range []repositories.Source{source, toolbox} {
		effecttest.Ended(t, newRig(t, limited).run(slow, ""), effect.Retry, effect.ReasonTimeout)
	}
}

func whoMay(t *testing.T, s served) {
	t.Setenv("PGPASSWORD", sqltest.Password) // the operator's, not the app's
	for _, password := range []string{"", "wrong-password-of-db"} {
		source := s.Source()
		source.Password = secret.New(password)
		outcome := newRig(t, source).run(statement("select 1"), "")
		effecttest.Ended(t, outcome, effect.Dead, effect.ReasonAuth)
		require.NotContains(t, outcome.Error, "wrong-password-of-db")
		require.NotContains(t, outcome.Error, "127.0.0.1", "where we connect from")
	}
	source := s.Source()
	source.Database = "nowhere"
	effecttest.Ended(t, newRig(t, source).run(statement("select 1"), ""), effect.Dead, effect.ReasonRequest, s.unknown[0])
	source = s.Source()
	source.QueryParams = s.secure
	outcome := newRig(t, source).run(statement("select 1"), "")
	effecttest.Ended(t, outcome, effect.Retry, effect.ReasonRequest, s.unknown[3]) // nothing is sent in the clear if TLS is asked for
	require.NotContains(t, outcome.Error, sqltest.Password)
}

func addresses(t *testing.T, s served) {
	refuse := func(o *sqlquery.Options) {
		o.Dial = func(_ context.Context, _, address string) (net.Conn, error) {
			return nil, fmt.Errorf("%w: %s is private", sqlquery.ErrRefused, address)
		}
	}
	outcome := newRig(t, s.Source(), refuse).run(statement("select 1"), "")
	effecttest.Ended(t, outcome, effect.Dead, effect.ReasonBlocked, "127.0.0.1", "is private")
	named := s.Source()
	named.Host = "localhost"
	outcome = newRig(t, named, refuse).run(statement("select 1"), "")
	effecttest.Ended(t, outcome, effect.Dead, effect.ReasonBlocked, "localhost does not lead to a public one")
	require.NotContains(t, outcome.Error, "127.0.0.1", "what a name leads to is not the tenant's to know")
	require.Equal(t, `[{"v":1}]`, newRig(t, named).rows("select 1 as v"), "a name is looked up")

	source := s.Source()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	_, source.Port, _ = net.SplitHostPort(closed.Addr().String())
	require.NoError(t, closed.Close())
	effecttest.Ended(t, newRig(t, source).run(statement("select 1"), ""), effect.Retry, effect.ReasonRequest, "connection refused")
	source.Host = "no-such-host.invalid"
	effecttest.Ended(t, newRig(t, source).run(statement("select 1"), ""), effect.Retry, effect.ReasonRequest, "its name is not known")
}

func goesAway(t *testing.T, s served) {
	r := newRig(t, s.Source())
	require.Equal(t, `[{"v":1}]`, r.rows("select 1 as v"))
	ended, tool := make(chan effect.Outcome), r.tool(statement(fmt.Sprintf("select %s, 'slow one'", fmt.Sprintf(s.sleep, 600)))+`,"request":{"timeout":"60s"}`)
	begin := func() { go func() { ended <- r.Deliver(t.Context(), effectOf(tool, nil)) }() }
	begin()
	require.Eventually(t, func() bool {
		select {
		case <-ended: // on a busy machine it was not connected in time
			begin()
		default:
		}
		return s.Count(s.sleeping) == 1
	}, time.Minute, 10*time.Millisecond)
	s.Stop()
	outcome := <-ended
	require.Equal(t, effect.Retry, outcome.Verdict, outcome.Error)
	outcome = r.run(statement("select 1"), "")
	effecttest.Ended(t, outcome, effect.Retry, effect.ReasonRequest, "connection refused")
	require.False(t, outcome.Deferred, "it was an attempt")
	s.Start()
	require.Equal(t, `[{"v":1}]`, r.rows("select 1 as v"))
}
