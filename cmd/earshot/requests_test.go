package main

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"earshot/matcher/llm/llmtest"
)

// These tests ask the program over NATS.

// over sends a request and waits for its reply.
func over(t *testing.T, conn *nats.Conn, subject, body string) *nats.Msg {
	t.Helper()
	reply, err := conn.Request(subject, []byte(body), patience)
	require.NoError(t, err)
	return reply
}

const tableTool = `{"tools":[{"name":"book","schema":[{"parameter":"day","type":"string","required":true}]}]}`

func TestRequestsOverNATSAreAnsweredAsThoseOverHTTP(t *testing.T) {
	t.Parallel()
	w := serving(t, 2, "--nats-ingress", "on")
	w.put("/v1/apps/clinic/repositories/desk", tableTool)
	for _, r := range w.replicas {
		r.log.Await(t, `ingress\.(listening)`)
	}
	conn := w.nats.Connect()
	const subject = "earshot.v1.message.clinic.s1"

	said := over(t, conn, subject, messageBody("m1", `call book {"day":"monday"}`))
	require.Empty(t, said.Header.Get("Nats-Service-Error-Code"), "%s", said.Data)
	require.Equal(t, w.call(200, "POST", messagesPath("s1"), messageBody("m1", `call book {"day":"monday"}`)).Body, string(said.Data), "it is the same message over HTTP")
	require.Len(t, w.events("tool.trigger.clinic.s1.book"), 1)

	fired := over(t, conn, "earshot.v1.trigger.clinic.s1", `{"name":"book","values":{"day":"friday"},"source":"task","triggerId":"t1"}`)
	require.Contains(t, string(fired.Data), `"triggerId":"t1"`)
	fired = over(t, conn, "earshot.v1.trigger.clinic", `{"name":"book","values":{"day":"friday"},"source":"task","triggerId":"t2"}`)
	require.Contains(t, string(fired.Data), `"tool.trigger.clinic._.book"`)

	for _, refused := range []struct{ subject, body, code, says, path string }{
		{subject, `{"actor":"nobody"}`, "400", "", messagesPath("s1")},
		{subject, messageBody("m1", "something else"), "409", "", messagesPath("s1")},
		{"earshot.v1.message.nobody.s1", messageBody("m1", "hello"), "404", "nobody", "/v1/apps/nobody/sessions/s1/messages"},
		{"earshot.v1.trigger.clinic.s1", `{"name":"book","source":"ui"}`, "422", "", "/v1/apps/clinic/sessions/s1/triggers"},
		{"earshot.v1.message.clinic.-s", messageBody("m1", "hello"), "400", "sessionId", messagesPath("-s")},
		{"earshot.v1.trigger.a/b", `{}`, "400", "appId", "/v1/apps/a%2Fb/triggers"},
		{subject, ``, "400", "a JSON body is needed", messagesPath("s1")},
	} {
		reply := over(t, conn, refused.subject, refused.body)
		require.Equal(t, refused.code, reply.Header.Get("Nats-Service-Error-Code"), "%s %s: %s", refused.subject, refused.body, reply.Data)
		require.Contains(t, reply.Header.Get("Nats-Service-Error"), refused.says)
		http := w.ask(w.replicas[0], "POST", refused.path, refused.body)
		require.Equal(t, http.Body, string(reply.Data), "as over HTTP")
	}
}

func TestRequestOverNATSIsDoneOnceHoweverOftenItIsAsked(t *testing.T) {
	t.Parallel()
	w := serving(t, 2, "--nats-ingress", "on")
	w.put("/v1/apps/clinic/repositories/desk", tableTool)
	for _, r := range w.replicas {
		r.log.Await(t, `ingress\.(listening)`)
	}
	conn := w.nats.Connect()
	var asking sync.WaitGroup
	answers := make(chan string, 16)
	for i := range cap(answers) { // clients whose reply was lost, on whichever replica
		asking.Go(func() {
			subject, body := "earshot.v1.message.clinic.s1", messageBody("m1", `call book {"day":"monday"}`)
			if i%2 == 1 {
				subject, body = "earshot.v1.trigger.clinic.s1", `{"name":"book","values":{"day":"friday"},"source":"task","triggerId":"t1"}`
			}
			reply, err := conn.Request(subject, []byte(body), patience)
			if err != nil {
				reply = &nats.Msg{Data: []byte(err.Error())}
			}
			answers <- fmt.Sprint(i%2, string(reply.Data))
		})
	}
	asking.Wait()
	close(answers)
	different := map[string]bool{}
	for one := range answers {
		different[one] = true
	}
	require.Len(t, different, 2, "one answer to each")
	require.Len(t, w.events("tool.trigger.clinic.s1.book"), 2)
}

func TestReplicaThatStopsAnswersWhatItWasAskedOverNATS(t *testing.T) {
	t.Parallel()
	w := serving(t, 1, "--nats-ingress", "on")
	w.put("/v1/apps/clinic/repositories/desk", tableTool)
	w.replicas[0].log.Await(t, `ingress\.(listening)`)
	asked, goOn := make(chan struct{}), make(chan struct{})
	w.llm.Handle(func(request llmtest.Request) llmtest.Reply {
		close(asked)
		<-goOn
		return obey(request)
	})
	conn, got, inbox := w.nats.Connect(), make(chan *nats.Msg, 1), nats.NewInbox()
	_, err := conn.ChanSubscribe(inbox, got)
	require.NoError(t, err)
	require.NoError(t, conn.PublishRequest("earshot.v1.message.clinic.s1", inbox, []byte(messageBody("m1", `call book {"day":"monday"}`))))
	<-asked
	w.replicas[0].end()
	w.until("it takes no more", func() bool {
		_, err := conn.Request("earshot.v1.message.clinic.s2", nil, 10*time.Millisecond)
		return err == nats.ErrNoResponders
	})
	close(goOn)
	require.Contains(t, string((<-got).Data), `"state":"published"`)
	require.Zero(t, w.replicas[0].wait())
}

func TestNobodyIsHeardOverNATSUnlessThatIsOn(t *testing.T) {
	t.Parallel()
	w := serving(t, 1)
	conn := w.nats.Connect()
	for _, subject := range []string{"earshot.v1.message.clinic.s1", "earshot.v1.trigger.clinic", "$SRV.PING.earshot"} {
		_, err := conn.Request(subject, []byte(messageBody("m1", "hello")), patience)
		require.ErrorIs(t, err, nats.ErrNoResponders, subject)
	}
	refused := command(t, w.env, "serve", "--nats-ingress", "maybe")
	require.NotZero(t, refused.code)
	require.Contains(t, refused.err, "it must be on or off")
	refused = command(t, w.env, "serve", "--nats-replies", "_INBOX,tool.>")
	require.NotZero(t, refused.code)
	require.Contains(t, refused.err, `--nats-replies (EARSHOT_NATS_REPLIES): "tool" is a subject of the service`)
}

func TestDevTakesRequestsOverNATS(t *testing.T) {
	t.Parallel()
	w := atDev(t, map[string]string{"EARSHOT_NATS_INGRESS": "on"}, "--nats-port", "0")
	w.replicas[0].log.Await(t, `(requests over NATS)`)
	w.put("/v1/apps/clinic", `{}`)
	w.put("/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"opening-hours","description":"Tell when the clinic is open","examples":["When are you open?"]}]}`)
	conn, err := nats.Connect(w.env["NATS_URL"])
	require.NoError(t, err)
	defer conn.Close()
	w.until("it listens", func() bool {
		_, err := conn.Request("$SRV.PING.earshot", nil, time.Second)
		return err == nil
	})
	var answer posted
	require.NoError(t, json.Unmarshal(over(t, conn, "earshot.v1.message.clinic.s1", messageBody("m1", "when are you open")).Data, &answer))
	require.Equal(t, "opening-hours", answer.Matches[0].Name)
}
