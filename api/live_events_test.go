package api_test

import (
	"bytes"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/repositories/parameters"
	"earshot/trigger/effect"
)

// byText lets the text of a message say what the matcher finds.
func byText(request matcher.Request) (matcher.Result, error) {
	switch request.Text {
	case "reject":
		return matcher.Result{Rejected: []matcher.Rejected{{
			Candidate: request.Candidates[0], Values: map[string]any{}, Missing: []string{"date"},
			Errors: []parameters.ValueFault{{Parameter: "date", Detail: "is required"}},
		}}}, nil
	case "nothing":
		return matcher.Result{}, nil
	default:
		return everything(request)
	}
}

func TestWhatIsPublishedIsWhatTheDescriptionOfTheEventsSays(t *testing.T) {
	s := live(t, byText)
	events := document(t, s.service, "/asyncapi.json")
	compiler := jsonschema.NewCompiler()
	require.NoError(t, compiler.AddResource("earshot:///openapi.json", any(events)))
	described := description{events, compiler, new(sync.Mutex)}

	s.call("PUT", "/v1/apps/clinic", clinicBody).is(201, "")
	s.call("PUT", bookingPath, strings.Replace(bookingBody, `"url"`, `"emitter":"calendar.request","url"`, 1)).is(201, "")
	for _, text := range []string{"fire", "reject", "nothing"} {
		s.call("POST", messagesPath, `{"actor":"user","text":"`+text+`"}`).is(200, "")
	}

	seen := map[string]bool{}
	require.Eventually(t, func() bool {
		for _, event := range s.sink.all() {
			seen[described.channelOf(t, event)] = true
		}
		return len(seen) == len(events["channels"].(map[string]any))
	}, 10*time.Second, 20*time.Millisecond, "%v", seen)
}

// channelOf finds the channel of an event by its subject and holds the event against
// the channel's message.
func (d description) channelOf(t *testing.T, event effect.Event) string {
	for name, channel := range d.at("/channels") {
		channel := channel.(map[string]any)
		address := regexp.QuoteMeta(channel["address"].(string))
		if !regexp.MustCompile("^" + regexp.MustCompile(`\\{\w+\\}`).ReplaceAllString(address, `[^.]+`) + "$").MatchString(event.Subject) {
			continue
		}
		for message := range channel["messages"].(map[string]any) {
			payload, err := jsonschema.UnmarshalJSON(bytes.NewReader(event.Data))
			require.NoError(t, err)
			require.NoError(t, d.compile(t, "/components/schemas/"+strings.ToUpper(message[:1])+message[1:]).Validate(payload), event.Subject)
			require.Equal(t, d.at("/components/messages/" + message)["name"], event.Type)
		}
		return name
	}
	require.Fail(t, "no channel describes "+event.Subject)
	return ""
}
