package api_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/repositories"
	"earshot/trigger/query"
	"earshot/trigger/scope"
)

const sessionPath = "/v1/apps/clinic/sessions/s1"

func (a answer) session() (read struct {
	repositories.Session
	Open []scope.OpenCall
}) {
	require.NoError(a.t, json.Unmarshal(a.body, &read))
	return read
}

func TestASessionIsPutReadAndListed(t *testing.T) {
	s := live(t, everything)
	s.call("PUT", sessionPath, `{}`).problem(404, `app "clinic"`)
	s.call("GET", "/v1/apps/clinic/sessions", "").problem(404, `app "clinic"`)
	s.call("PUT", "/v1/apps/clinic", clinicBody).is(201, "")
	s.call("GET", sessionPath, "").problem(404, "s1")

	body := `{"language":"de-AT","timeZone":"Europe/Vienna","metadata":{"visitor":12345678901234567890},"expiresIn":"2h"}`
	made := s.call("PUT", sessionPath, body).is(201, "").session()
	require.Equal(t, "de-AT", made.Language)
	require.Equal(t, made.Created.Add(2*time.Hour), made.ExpiresAt)
	again := s.call("PUT", sessionPath, body).is(200, "").session()
	require.Equal(t, made, again)
	got := s.call("GET", sessionPath, "").is(200, "")
	require.Contains(t, string(got.body), `"metadata":{"visitor":12345678901234567890}`)
	require.Contains(t, string(got.body), `"open":[]`)
	bare := s.call("PUT", sessionPath, `{"language":null}`).is(200, "").session()
	require.Empty(t, bare.Language+bare.TimeZone)
	require.True(t, bare.ExpiresAt.IsZero())

	s.call("POST", "/v1/apps/clinic/sessions/s2/messages", hello).is(200, "")
	require.False(t, s.call("GET", "/v1/apps/clinic/sessions/s2", "").is(200, "").session().LastMessage.IsZero(), "what is used need not be put")
	var list struct {
		Items []repositories.Session
		Next  string
	}
	require.NoError(t, json.Unmarshal(s.call("GET", "/v1/apps/clinic/sessions?limit=1", "").is(200, "").body, &list))
	require.Equal(t, "s1", list.Items[0].ID)
	require.NoError(t, json.Unmarshal(s.call("GET", "/v1/apps/clinic/sessions?limit=1&after="+list.Next, "").is(200, "").body, &list))
	require.Equal(t, "s2", list.Items[0].ID)
	s.call("DELETE", sessionPath, "").is(204, "")
	s.call("GET", sessionPath, "").problem(404)
	require.NotContains(t, string(s.call("GET", "/v1/apps/clinic/sessions", "").is(200, "").body), `"s1"`)
}

func TestASessionThatCannotBePutIsRefusedWithAllItsFaults(t *testing.T) {
	s := live(t, everything)
	s.call("PUT", "/v1/apps/clinic", clinicBody).is(201, "")
	s.call("PUT", "/v1/apps/clinic/repositories/plain", hoursBody).is(201, "")
	faults := s.call("PUT", sessionPath, fmt.Sprintf(
		`{"sessionId":"other","language":"german please","timeZone":"Berlin","metadata":{"a":%q},"expiresIn":"2 hours","laguage":"de"}`,
		strings.Repeat("x", repositories.MaxMetadata))).problem(400)
	for _, pointer := range []string{"/sessionId", "/language", "/timeZone", "/metadata", "/expiresIn", "/laguage"} {
		require.Contains(t, faults, pointer)
	}
	faults = s.call("PUT", sessionPath, `{"repositories":["absent","plain","plain"]}`).problem(400)
	require.Contains(t, faults["/repositories/0"], "no repository")
	require.Contains(t, faults["/repositories/1"], "options.template")
	require.Contains(t, faults["/repositories/2"], "twice")
	s.call("GET", sessionPath, "").problem(404)
	s.call("POST", messagesPath, `{"actor":"user","text":"x","metadata":[1]}`).problem(400)
	s.call("POST", messagesPath, `{"actor":"user","text":"x","timeZone":"Mars/Base"}`).problem(400)
	s.call("PUT", bookingPath, `{"options":{"template":true},"tools":[]}`).problem(400)
}

func TestTemplatesAreCopiedIntoASessionOnceAndAreInNoScopeThemselves(t *testing.T) {
	s := live(t, everything)
	s.call("PUT", "/v1/apps/clinic", `{"settings":{"limits":{"repositoriesPerSession":2}}}`).is(201, "")
	for _, id := range []string{"booking", "hours", "third"} {
		s.call("PUT", "/v1/apps/clinic/repositories/"+id, `{"options":{"template":true,"triggerOnce":true},"tools":[{"name":"`+id+`","description":"d"}]}`).is(201, "")
	}
	s.call("POST", messagesPath, hello).is(200, "")
	require.NotContains(t, string(s.call("GET", "/v1/apps/clinic/tools", "").is(200, "").body), "booking")
	s.call("POST", "/v1/apps/clinic/triggers", `{"name":"booking","source":"ui"}`).problem(404)

	s.call("PUT", sessionPath, `{"repositories":["booking"]}`).is(200, "")
	got := s.call("GET", bookingPath, "").is(200, "")
	require.NotContains(t, string(got.body), "template")
	require.Contains(t, string(got.body), `"sessionId":"s1"`)
	answered := s.call("POST", messagesPath, `{"actor":"user","text":"again"}`).is(200, "")
	require.Contains(t, string(answered.body), `"name":"booking"`)
	s.call("GET", bookingPath, "").problem(404)
	s.call("PUT", sessionPath, `{"repositories":["booking","hours"]}`).is(200, "")
	s.call("GET", bookingPath, "").problem(404)
	s.call("GET", "/v1/apps/clinic/sessions/s1/repositories/hours", "").is(200, "")

	s.call("PUT", "/v1/apps/clinic/sessions/s2", `{"repositories":["booking","hours","third"]}`).problem(422, "repositoriesPerSession")
	s.call("GET", "/v1/apps/clinic/sessions/s2", "").problem(404)
	s.call("GET", "/v1/apps/clinic/sessions/s2/repositories/booking", "").problem(404)
	require.Eventually(t, func() bool {
		told := map[string]int{}
		for _, event := range s.sink.all() {
			if strings.Contains(string(event.Data), `"operation":"created"`) && strings.Contains(string(event.Data), `"sessionId":"s1"`) {
				told[event.Subject]++
			}
		}
		return maps.Equal(told, map[string]int{"tool.changed.clinic.booking": 1, "tool.changed.clinic.hours": 1})
	}, time.Minute, 5*time.Millisecond, "each copy is told of once")
}

// TestWhatIsKnownOfTheUserReachesTheMatcherAndTheEvents takes the nearest that is said of
// language, time zone and metadata: of the message, the session, or the app.
func TestWhatIsKnownOfTheUserReachesTheMatcherAndTheEvents(t *testing.T) {
	var asked []matcher.Request
	s := live(t, func(request matcher.Request) (matcher.Result, error) {
		asked = append(asked, request)
		return everything(request)
	})
	s.call("PUT", "/v1/apps/clinic", `{"settings":{"language":"fr","timeZone":"Europe/Paris"}}`).is(201, "")
	s.call("PUT", "/v1/apps/clinic/repositories/booking", `{"tools":[{"name":"book","description":"d","schema":[{"parameter":"date","type":"string"}]}]}`).is(201, "")
	s.call("POST", messagesPath, hello).is(200, "")
	s.call("PUT", sessionPath, `{"language":"de","timeZone":"Asia/Tokyo","metadata":{"visitor":"v1","page":"/start"}}`).is(200, "")
	posted := s.call("POST", messagesPath, `{"messageId":"m2","actor":"user","text":"hello","metadata":{"page":"/book","n":1.50}}`).is(200, "")
	s.call("POST", messagesPath, `{"actor":"user","text":"hello","language":"it","timeZone":"America/New_York"}`).is(200, "")
	var languages, zones []string
	for _, one := range asked {
		languages, zones = append(languages, one.Language), append(zones, one.Now.Location().String())
	}
	require.Equal(t, []string{"fr", "de", "it"}, languages)
	require.Equal(t, []string{"Europe/Paris", "Asia/Tokyo", "America/New_York"}, zones)

	var answered query.Answer
	require.NoError(t, json.Unmarshal(posted.body, &answered))
	const laid = `"metadata":{"n":1.50,"page":"/book","visitor":"v1"}`
	require.Contains(t, string(s.call("GET", "/v1/apps/clinic/triggers/"+answered.Matches[0].TriggerID, "").is(200, "").body), laid)
	require.Contains(t, string(s.call("GET", messagesPath+"/m2", "").is(200, "").body), `"metadata":{"n":1.50,"page":"/book"}`)
	fired := s.call("POST", "/v1/apps/clinic/sessions/s1/triggers", `{"name":"book","source":"ui","metadata":{"page":"/button"}}`).is(201, "")
	require.NotEmpty(t, fired.body)
	var with []string
	for _, event := range s.sink.all() {
		var says struct{ Metadata json.RawMessage }
		require.NoError(t, json.Unmarshal(event.Data, &says))
		if strings.HasPrefix(event.Subject, "tool.trigger.") {
			with = append(with, string(says.Metadata))
		}
	}
	require.Equal(t, []string{"", `{"n":1.50,"page":"/book","visitor":"v1"}`, `{"page":"/start","visitor":"v1"}`, `{"page":"/button","visitor":"v1"}`}, with)
}

func TestACallThatLacksValuesIsOpenUntilItFires(t *testing.T) {
	s := live(t, func(request matcher.Request) (matcher.Result, error) {
		one := request.Candidates[0]
		if request.Text == "on monday" {
			return matcher.Result{Stage: matcher.StageLLM, Matches: []matcher.Match{{Candidate: one, Values: map[string]any{"date": "monday", "desk": "A"}}}}, nil
		}
		return matcher.Result{Stage: matcher.StageLLM, Rejected: []matcher.Rejected{{Candidate: one, Values: map[string]any{"desk": "A"}, Missing: []string{"date"}}}}, nil
	})
	s.call("PUT", "/v1/apps/clinic", `{}`).is(201, "")
	s.call("PUT", bookingPath, `{"tools":[{"name":"book","description":"d","schema":[{"parameter":"date","type":"string","required":true,"ask":"Which day?"},{"parameter":"desk","type":"string"}]}]}`).is(201, "")
	s.call("POST", messagesPath, hello).is(200, "")
	var token struct{ Token string }
	require.NoError(t, json.Unmarshal(s.call("POST", sessionPath+"/token", "").is(201, "").body, &token))
	got := s.call("GET", sessionPath, "", "Authorization: Bearer "+token.Token).is(200, "").session()
	require.Equal(t, []scope.OpenCall{{RepositoryID: "booking", Name: "book", Values: map[string]any{"desk": "A"}, Missing: []string{"date"}, Ask: "Which day?"}}, got.Open)
	s.call("POST", messagesPath, `{"actor":"user","text":"on monday"}`).is(200, "")
	require.Empty(t, s.call("GET", sessionPath, "").is(200, "").session().Open)
}
