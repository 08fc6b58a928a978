package api_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/apitest"
	"earshot/matcher"
	"earshot/trigger/query"
)

// These tests run the API on the real store and engine, on miniredis. Only the matcher and the targets of
// effects are scripted.

func TestAToolIsRegisteredMatchedFiredAndRead(t *testing.T) {
	s := apitest.Live(t, apitest.Everything)
	s.Call("PUT", "/v1/apps/clinic", apitest.ClinicBody).Is(201, "")
	s.Call("PUT", "/v1/apps/clinic", apitest.ClinicBody).Is(200, "")
	s.Call("PUT", apitest.BookingPath, apitest.BookingBody).Is(201, "")

	first := s.Call("POST", apitest.MessagesPath, apitest.HelloBody).Is(200, "")
	again := s.Call("POST", apitest.MessagesPath, apitest.HelloBody).Is(200, "")
	require.Equal(t, string(first.Body), string(again.Body))
	posted := bodyOf[query.Answer](first)
	require.Len(t, posted.Matches, 1)
	require.Equal(t, "delivered", posted.Matches[0].Call.State)

	history := bodyOf[pageOf[query.Entry]](s.Call("GET", apitest.MessagesPath, "").Is(200, ""))
	require.Equal(t, "hello", history.Items[0].Text)
	require.Equal(t, posted.Matches, history.Items[0].Matches)
	require.Equal(t, posted.Matches, history.Items[0].Triggers, "by its earlier name")

	record := "/v1/apps/clinic/triggers/" + posted.Matches[0].TriggerID
	require.Contains(t, string(s.Call("GET", record, "").Is(200, "").Body), `"state":"delivered"`)
	s.Call("DELETE", "/v1/apps/clinic/sessions/s1", "").Is(204, "")
	s.Call("GET", apitest.MessagesPath, "").Is(200, `{"items":[]}`)
	s.Call("GET", apitest.BookingPath, "").Problem(404, "booking")
	s.Call("DELETE", "/v1/apps/clinic", "").Is(204, "")
	s.Call("GET", "/v1/apps", "").Is(200, `{"items":[]}`)
}

func TestRepositoriesLiveInTheirScope(t *testing.T) {
	s := apitest.Live(t, apitest.Everything)
	s.Call("PUT", apitest.BookingPath, apitest.BookingBody).Problem(404, `app "clinic"`)
	s.Call("PUT", "/v1/apps/clinic", apitest.ClinicBody).Is(201, "")
	for i, owner := range owners {
		made := s.Call("POST", owner+"/repositories", apitest.BookingBody).Is(201, "").Header.Get("Location")
		require.Regexp(t, "^"+owner+"/repositories/[A-Z2-7]{26}$", made)
		require.NotContains(t, string(s.Call("GET", made, "").Is(200, "").Body), "planted", "headers are masked")
		one := owner + "/repositories/info"
		require.Equal(t, one, s.Call("PUT", one, hoursBody).Is(201, "").Header.Get("Location"))
		require.Empty(t, s.Call("PUT", one, hoursBody).Is(200, "").Header.Get("Location"))
		s.Call("GET", owners[1-i]+"/repositories/info", "").Problem(404)
		s.Call("DELETE", owners[1-i]+"/repositories/info", "").Problem(404)
		s.Call("DELETE", one, "").Is(204, "")
		s.Call("GET", one, "").Problem(404)
		s.Call("PATCH", owner+"/repositories/patched", hoursBody).Is(201, "")
		require.Contains(t, string(s.Call("PATCH", owner+"/repositories/patched", `{"options":{"exclusive":true}}`).Is(200, "").Body), `"opening-hours"`, "the whole")
		got := s.Call("GET", owner+"/repositories?limit=1", "").Is(200, "")
		require.Contains(t, string(got.Body), `"next"`)
		s.Call("DELETE", made, "").Is(204, "")
		got = s.Call("GET", owner+"/repositories", "").Is(200, "")
		require.Contains(t, string(got.Body), `"exclusive":true`)
		require.Contains(t, string(got.Body), `"created"`)
		require.NotContains(t, string(got.Body), `"next"`)
	}
}

func TestExamplesWithMarksAreReadAsGivenAndRefusedWithTheirPlace(t *testing.T) {
	s := atClinic(t)
	tools := func(example string) string {
		return `{"tools":[{"name":"a","examples":["a table","` + example + `"],"schema":[{"parameter":"people","type":"integer","maxValue":9}]}]}`
	}
	s.Call("PUT", apitest.BookingPath, tools("a table for [two](people)")).Is(201, "")
	require.Contains(t, string(s.Call("GET", apitest.BookingPath, "").Is(200, "").Body), `"examples":["a table","a table for [two](people)"]`)
	faults := s.Call("PUT", apitest.BookingPath, tools("[ten](people) at [noon](time)")).Problem(400)
	require.Contains(t, faults["/tools/0/examples/1"], `"noon" is marked as "time", which is not a parameter`)
}

func TestADefinitionThatCannotWorkIsRefusedWithAllItsFaults(t *testing.T) {
	s := apitest.Live(t, apitest.Everything)
	s.Call("PUT", "/v1/apps/clinic", `{"nam":"x"}`).Problem(400)
	s.Call("PUT", "/v1/apps/clinic", apitest.ClinicBody).Is(201, "")
	faults := s.Call("PUT", apitest.BookingPath, `{"appId":"other","tools":[{"name":"a b","url":"ftp://x","schema":[{"parameter":"d","type":"strin"}]}]}`).Problem(400)
	for _, pointer := range []string{"/appId", "/tools/0/name", "/tools/0/url", "/tools/0/schema/0/type"} {
		require.Contains(t, faults, pointer)
	}
	faults = s.Call("PUT", apitest.BookingPath, `{"tools":[{"name":"a","url":"https://example.org","request":{"auth":"module","moduleId":"absent"}}]}`).Problem(400)
	require.Contains(t, faults, "/tools/0/request/moduleId")
	faults = s.Call("PATCH", apitest.BookingPath, `{"tool":[]}`).Problem(400)
	require.Contains(t, faults["/tool"], `did you mean "tools"?`)
}

func TestADirectTriggerFiresTheToolInScope(t *testing.T) {
	s := apitest.Live(t, apitest.Everything)
	s.Call("PUT", "/v1/apps/clinic", apitest.ClinicBody).Is(201, "")
	s.Call("PUT", apitest.BookingPath, apitest.BookingBody).Is(201, "")
	path := "/v1/apps/clinic/sessions/s1/triggers"
	body := `{"name":"book","values":{"date":"2026-12-01"},"source":"ui","triggerId":"click-1"}`
	first := s.Call("POST", path, body).Is(201, "")
	require.Equal(t, "/v1/apps/clinic/triggers/click-1", first.Header.Get("Location"))
	require.JSONEq(t, string(first.Body), string(s.Call("POST", path, body).Is(201, "").Body))

	faults := s.Call("POST", path, `{"name":"book","values":{"day":1},"source":"ui"}`).Problem(422)
	require.Contains(t, faults, "/values/date")
	require.Contains(t, faults, "/values/day")
	s.Call("POST", path, `{"name":"absent","source":"ui"}`).Problem(404, "absent")
	s.Call("PATCH", apitest.BookingPath, `{"tools":[
		{"name":"list","schema":[{"parameter":"stops","type":"array","items":{"type":"map","valueType":"integer"}}]},
		{"name":"tree","inputSchema":{"type":"object","minProperties":1,"properties":{"arr":{"type":"array","items":{"type":"integer"}},
			"o":{"type":"object","additionalProperties":false,"required":["a/b"],"properties":{"n":{"minimum":1},"e":{"enum":["a"]},"a/b":{"type":"string"}}}}}}]}`).Is(200, "")
	for values, want := range map[string]map[string]string{
		`"list","values":{"stops":[{"a":1},{"a":1,"b.c":"x"}]}`: {"/values/stops/1/b.c": `"x" is not an integer`},
		`"tree","values":{"arr":[1,"b"],"o":{"n":0,"e":"c","zz":1}}`: {
			"/values/arr/1": `"b" is not an integer`, "/values/o/n": "0 is under the minimum of 1", "/values/o/e": `"c" is not one of "a"`,
			"/values/o/zz": "is not a known field", "/values/o/a~1b": "is required"},
		`"tree","values":{}`: {"/values": "together the values are not valid: minProperties: got 0, want 1"},
	} {
		require.Equal(t, want, s.Call("POST", path, `{"source":"ui","name":`+values+`}`).Problem(422), values)
	}
	s.Call("POST", "/v1/apps/clinic/triggers", `{"name":"book","values":{"date":"x"},"source":"ui"}`).Problem(404)
	s.Call("POST", "/v1/apps/absent/triggers", `{"name":"book","source":"ui"}`).Problem(404, "absent")

	for _, query := range []string{"", "?state=delivered", "?limit=1"} {
		require.Contains(t, string(s.Call("GET", path+query, "").Is(200, "").Body), `"click-1"`)
	}
	s.Call("GET", path+"?state=failed", "").Is(200, `{"items":[]}`)
	s.Call("POST", "/v1/apps/clinic/triggers/absent/retry", "").Problem(404)
	s.Call("GET", "/v1/apps/clinic/triggers/absent", "").Problem(404)
}

func TestACursorThatNoListGaveIsRefused(t *testing.T) {
	s := atClinic(t)
	s.Call("POST", apitest.MessagesPath, `{"actor":"agent","text":"hello"}`).Is(200, "")
	for _, number := range []string{"9223372036854775807", "-9223372036854775808"} {
		far := base64.RawURLEncoding.EncodeToString([]byte(number + "/m1"))
		s.Call("GET", apitest.MessagesPath+"?after="+far, "").Problem(400, "after is not a cursor")
	}
	for _, cursor := range []string{"*", "YWJzZW50"} {
		s.Call("GET", apitest.MessagesPath+"?after="+cursor, "").Problem(400, "after is not a cursor")
		s.Call("GET", "/v1/apps/clinic/triggers?after="+cursor, "").Problem(400, "after is not a cursor")
	}
}

func TestAnUndecidedMessageIsKeptAndTriedAgain(t *testing.T) {
	broken := true
	s := apitest.Live(t, func(request matcher.Request) (matcher.Result, error) {
		if broken {
			return matcher.Result{}, &matcher.Unavailable{Reason: "it answered 500"}
		}
		return apitest.Everything(request)
	})
	s.Call("PUT", "/v1/apps/clinic", apitest.ClinicBody).Is(201, "")
	s.Call("PUT", apitest.BookingPath, apitest.BookingBody).Is(201, "")
	s.Call("POST", apitest.MessagesPath, apitest.HelloBody).Problem(502, "it answered 500")
	require.Contains(t, string(s.Call("GET", apitest.MessagesPath, "").Is(200, "").Body), `"state":"failed"`)
	broken = false
	require.Contains(t, string(s.Call("POST", apitest.MessagesPath, apitest.HelloBody).Is(200, "").Body), `"delivered"`)
}

func TestWithoutRedisEverythingIs503AndHeals(t *testing.T) {
	s := apitest.Live(t, apitest.Everything)
	s.Call("PUT", "/v1/apps/clinic", apitest.ClinicBody).Is(201, "")
	s.Redis.Stop()
	for _, got := range []apitest.Answer{
		s.Call("GET", "/v1/apps", ""), s.Call("GET", "/v1/apps/clinic", ""), s.Call("GET", apitest.MessagesPath, ""),
		s.Call("POST", apitest.MessagesPath, apitest.HelloBody), s.Call("PUT", apitest.BookingPath, apitest.BookingBody), s.Call("GET", "/v1/apps/clinic/triggers", ""),
	} {
		got.Problem(503, "send the request again")
		require.Equal(t, "1", got.Header.Get("Retry-After"))
	}
	s.Call("GET", "/readyz", "").Problem(503, "no answer from redis")
	s.Call("GET", "/healthz", "").Is(200, "")
	s.Redis.Start()
	require.Eventually(t, func() bool { return s.Call("GET", "/readyz", "").StatusCode == 200 }, time.Minute, 20*time.Millisecond)
	s.Call("GET", "/v1/apps/clinic", "").Is(200, "")
}

func TestNoAnswerAndNoLogLineHasACredential(t *testing.T) {
	s := apitest.Live(t, apitest.Everything)
	for _, got := range []apitest.Answer{
		s.Call("PUT", "/v1/apps/clinic", apitest.ClinicBody), s.Call("PUT", apitest.BookingPath, apitest.BookingBody),
		s.Call("PATCH", apitest.BookingPath, apitest.BookingBody), s.Call("POST", "/v1/apps/clinic/repositories", apitest.BookingBody),
		s.Call("GET", "/v1/apps", ""), s.Call("GET", "/v1/apps/clinic", ""), s.Call("GET", apitest.BookingPath, ""),
		s.Call("GET", "/v1/apps/clinic/repositories", ""), s.Call("POST", apitest.MessagesPath, apitest.HelloBody), s.Call("GET", "/v1/apps/clinic/triggers", ""),
	} {
		require.Less(t, got.StatusCode, 300, string(got.Body))
		require.NotContains(t, string(got.Body), "planted")
	}
	require.NotContains(t, s.Log.String(), "planted")
}

func TestPostsOfOneMessageAtTheSameTimeAreOneMessage(t *testing.T) {
	s := apitest.Live(t, apitest.Everything)
	s.Call("PUT", "/v1/apps/clinic", apitest.ClinicBody).Is(201, "")
	s.Call("PUT", apitest.BookingPath, apitest.BookingBody).Is(201, "")
	answers := make([]string, 16)
	var posting sync.WaitGroup
	for i := range answers {
		posting.Go(func() { answers[i] = string(s.Post(apitest.MessagesPath, apitest.HelloBody, apitest.AdminKey).Body) })
	}
	posting.Wait()
	require.Contains(t, answers[0], `"delivered"`)
	for _, answer := range answers {
		require.Equal(t, answers[0], answer)
	}
}

// pages reads a complete list, and returns a field of its items.
func pages(w apitest.World, path, field string) (all []string, count int) {
	w.T.Helper()
	for after := ""; ; count++ {
		got := w.Call(http.MethodGet, path+"?limit=200&after="+url.QueryEscape(after), "").Is(200, "")
		read := bodyOf[pageOf[map[string]any]](got)
		require.True(w.T, len(got.Body) <= 1<<20 || len(read.Items) == 1, "%s: %d bytes", path, len(got.Body))
		for _, item := range read.Items {
			all = append(all, fmt.Sprint(item[field]))
		}
		if after = read.Next; after == "" {
			return all, count + 1
		}
	}
}

func TestAPageIsLimitedInBytes(t *testing.T) {
	w := apitest.Live(t, apitest.Everything)
	w.Call("PUT", "/v1/apps/clinic", `{"settings":{"limits":null}}`).Is(201, "")
	long := strings.Repeat("<é", 15<<10)
	for i := range 30 {
		w.Call("POST", apitest.MessagesPath, fmt.Sprintf(`{"messageId":"m%02d","actor":"user","text":"%s"}`, i, long)).Is(200, "")
	}
	history, count := pages(w, apitest.MessagesPath, "messageId")
	require.Len(t, history, 30)
	require.Greater(t, count, 1)
	for i, id := range history {
		require.Equal(t, fmt.Sprintf("m%02d", i), id)
	}

	w.Call("PUT", "/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"ring","schema":[{"parameter":"p","type":"string"}]}]}`).Is(201, "")
	for i := range 30 {
		w.Call("POST", "/v1/apps/clinic/sessions/s1/triggers", fmt.Sprintf(`{"name":"ring","source":"task","triggerId":"t%02d","values":{"p":"%s"}}`, i, long)).Is(201, "")
	}
	for _, path := range []string{"/v1/apps/clinic/triggers", "/v1/apps/clinic/sessions/s1/triggers"} {
		records, count := pages(w, path, "triggerId")
		require.Len(t, records, 30)
		require.Greater(t, count, 1)
	}

	for i := range 5 {
		w.Call("PUT", fmt.Sprintf("/v1/apps/clinic/repositories/large%d", i), `{"tools":[{"name":"a","description":"`+strings.Repeat("x", 400<<10)+`"}]}`).Is(201, "")
		w.Call("PUT", fmt.Sprintf("/v1/apps/large%d", i), `{"name":"`+strings.Repeat("x", 400<<10)+`"}`).Is(201, "")
	}
	found, count := pages(w, "/v1/apps/clinic/repositories", "repositoryId")
	require.Equal(t, []string{"desk", "large0", "large1", "large2", "large3", "large4"}, found)
	require.Equal(t, 3, count)
	apps, count := pages(w, "/v1/apps", "appId")
	require.Len(t, apps, 6)
	require.Equal(t, 3, count)
}

func TestAnItemThatIsLongerThanAPageIsAPage(t *testing.T) {
	w := atClinic(t)
	for _, id := range []string{"a", "b"} { // with additions, each is more than 1 MiB
		w.Call("PUT", "/v1/apps/clinic/repositories/"+id, `{"tools":[{"name":"a","description":"`+strings.Repeat("x", 1<<20-60)+`"}]}`).Is(201, "")
	}
	found, count := pages(w, "/v1/apps/clinic/repositories", "repositoryId")
	require.Equal(t, []string{"a", "b"}, found)
	require.Equal(t, 2, count)
}
