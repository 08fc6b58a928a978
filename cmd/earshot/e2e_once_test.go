package main

import (
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// together runs all of count at the same time and returns what they got.
func together(count int, ask func(i int) answer) []answer {
	answers := make([]answer, count)
	begin := make(chan struct{})
	var group sync.WaitGroup
	for i := range answers {
		group.Go(func() {
			<-begin
			answers[i] = ask(i)
		})
	}
	close(begin)
	group.Wait()
	return answers
}

// onceRepository has two tools, of which one firing may take place.
func onceRepository(url string) string {
	return `{"options":{"triggerOnce":true},"tools":[
		{"name":"first","description":"does it","url":"` + url + `"},
		{"name":"second","description":"does it as well","url":"` + url + `"}]}`
}

// contend lets messages and direct triggers go for a triggerOnce repository from two
// replicas at once, and checks that one of them has it.
func contend(t *testing.T, w *world, sink *endpoint, sessionOf func(i int) string) {
	before := len(sink.requests())
	answers := together(24, func(i int) answer {
		replica, session := w.replicas[i%2], sessionOf(i)
		if i%4 < 2 {
			return w.ask(replica, "POST", messages(session), message(fmt.Sprint("m", i), "call first {}; second {}"))
		}
		return w.ask(replica, "POST", "/v1/apps/clinic/sessions/"+session+"/triggers", `{"name":"second","source":"ui"}`)
	})
	fired := 0
	for i, got := range answers {
		require.NoError(t, got.Err)
		if i%4 < 2 {
			require.Equal(t, http.StatusOK, got.Status, got.Body)
			fired += len(read[posted](t, got).Matches)
			continue
		}
		require.Contains(t, []int{http.StatusCreated, http.StatusNotFound}, got.Status, got.Body)
		if got.Status == http.StatusCreated {
			fired++
		}
	}
	require.Equal(t, 1, fired, "the answers tell of one firing")
	w.rest()
	require.Len(t, sink.requests(), before+1, "one call arrived")
}

func TestTriggerOnceOfASessionFiresOnce(t *testing.T) {
	t.Parallel()
	w, sink := serving(t, 2), newSink(t)
	for round := range 5 {
		session := fmt.Sprint("s", round)
		w.put("/v1/apps/clinic/sessions/"+session+"/repositories/once", onceRepository(sink.URL))
		contend(t, w, sink, func(int) string { return session })
		require.Len(t, w.events("tool.trigger.clinic."+session+".>"), 1)
		require.Len(t, w.events("tool.result.clinic."+session+".>"), 1)
		w.call(404, "GET", "/v1/apps/clinic/sessions/"+session+"/repositories/once", "")
	}
}

func TestTriggerOnceOfAnAppFiresOnceFromManySessions(t *testing.T) {
	t.Parallel()
	w, sink := serving(t, 2), newSink(t)
	for round := range 5 {
		w.put("/v1/apps/clinic/repositories/once", onceRepository(sink.URL))
		contend(t, w, sink, func(i int) string { return fmt.Sprintf("s%d-%d", round, i) })
		require.Len(t, w.events("tool.trigger.clinic.>"), round+1)
		w.call(404, "GET", "/v1/apps/clinic/repositories/once", "")
	}
	require.Len(t, w.events("tool.changed.clinic.once"), 10, "five were created and taken away")
}

func TestOneMessagePostedManyTimesFiresOnceAndHasOneAnswer(t *testing.T) {
	t.Parallel()
	w, sink := serving(t, 2), newSink(t)
	w.put("/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"book","schema":[{"parameter":"day","type":"string"}],"url":"`+sink.URL+`"}]}`)
	for round := range 5 {
		session := fmt.Sprint("s", round)
		answers := together(16, func(i int) answer {
			return w.ask(w.replicas[i%2], "POST", messages(session), message("m1", `call book {"day":"monday"}`))
		})
		for _, got := range append(answers, w.ask(w.replicas[1], "POST", messages(session), message("m1", `call book {"day":"monday"}`))) {
			require.NoError(t, got.Err)
			require.Equal(t, http.StatusOK, got.Status, got.Body)
			require.Equal(t, answers[0].Body, got.Body)
		}
		for _, prefer := range []string{"wait=1", "respond-async"} {
			got := w.ask(w.replicas[1], "POST", messages(session), message("m1", "something else"), "Prefer", prefer)
			require.Equal(t, http.StatusConflict, got.Status, got.Body)
			require.Contains(t, got.Body, "send this one under an id of its own")
		}
		require.Equal(t, "delivered", read[posted](t, answers[0]).Matches[0].Call.State)
		require.Len(t, sink.requests(), round+1)
		require.Equal(t, round+1, w.llm.Count())
		require.Len(t, w.events("tool.trigger.clinic."+session+".book"), 1)
	}
}

func TestOneDirectTriggerPostedManyTimesFiresOnceAndHasOneAnswer(t *testing.T) {
	t.Parallel()
	w, sink := serving(t, 2), newSink(t)
	w.put("/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"book","url":"`+sink.URL+`"}]}`)
	answers := together(16, func(i int) answer {
		return w.ask(w.replicas[i%2], "POST", "/v1/apps/clinic/sessions/s1/triggers", `{"name":"book","source":"task","triggerId":"job-1"}`)
	})
	for _, got := range answers {
		require.NoError(t, got.Err)
		require.Equal(t, http.StatusCreated, got.Status, got.Body)
		require.Equal(t, answers[0].Body, got.Body)
	}
	require.Len(t, sink.requests(), 1)
	require.Equal(t, "job-1", w.events("tool.trigger.clinic.s1.book")[0].Payload["id"])
}
