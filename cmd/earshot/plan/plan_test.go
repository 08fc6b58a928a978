package plan

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/cmd/earshot/client"
)

func TestApplyGoesOnWhenItMayCompareCredentialsAgain(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked++; asked == 3 {
			_, _ = w.Write([]byte(`{"operation":"unchanged"}`))
			return
		}
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = w.Write([]byte(`{"status":429,"title":"Too Many Requests"}`))
	}))
	defer server.Close()
	var pauses []time.Duration
	p := &Planner{Service: &client.Client{Server: server.URL}, Pause: func(_ context.Context, d time.Duration) error {
		pauses = append(pauses, d)
		return nil
	}}
	answer, err := p.preview(t.Context(), "/v1/apps/clinic", []byte(`{}`))
	require.NoError(t, err)
	require.JSONEq(t, `{"operation":"unchanged"}`, string(answer))
	require.Equal(t, []time.Duration{7 * time.Second, 7 * time.Second}, pauses)
}

func TestApplyPrintsWhatTheServiceNotes(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"notes":["tool \"book\" is in two repositories"]}`))
	}))
	defer server.Close()
	made := &Plan{appID: "clinic", steps: []step{{operation: opUpdate, kind: "repository", id: "booking", body: []byte(`{}`)}}}
	var out strings.Builder
	require.NoError(t, made.Apply(t.Context(), &client.Client{Server: server.URL}, &out))
	require.Equal(t, "note: repository booking: tool \"book\" is in two repositories\n", out.String())
}

func TestDifferencesNameFieldsAndMembers(t *testing.T) {
	for name, test := range map[string]struct {
		before, after string
		want          []string
	}{
		"nothing":                {`{"a":[1,{"b":2}]}`, `{"a":[1,{"b":2}]}`, nil},
		"digits":                 {`{"a":9007199254740992}`, `{"a":9007199254740993}`, []string{`a: 9007199254740992 → 9007199254740993`}},
		"fields":                 {`{"a":1,"b":{"c":true}}`, `{"b":{"c":false},"d":null,"e":"x"}`, []string{`a: 1 is gone`, `b/c: true → false`, `e: "x" is new`}},
		"lists without names":    {`{"a":[1,2]}`, `{"a":[2,1]}`, []string{`a: [1,2] → [2,1]`}},
		"members":                {`{"t":[{"name":"a","x":1},{"name":"b"}]}`, `{"t":[{"name":"c"},{"name":"a","x":2}]}`, []string{`t/b is gone`, `t/c is new`, `t/a/x: 1 → 2`}},
		"their order":            {`{"t":[{"name":"a"},{"name":"b"}]}`, `{"t":[{"name":"b"},{"name":"a"}]}`, []string{`t: the order is another`}},
		"a list that is new":     {`{}`, `{"t":[{"name":"a"}]}`, []string{`t/a is new`}},
		"names that are not one": {`{"t":[{"name":"a"},{"name":"a"}]}`, `{"t":[]}`, []string{`t: [{"name":"a"},{"name":"a"}] → []`}},
		"a credential":           {`{"p":"***"}`, `{"p":"hunter2"}`, []string{`p: a credential is another`}},
		"one that is new":        {`{}`, `{"p":"***"}`, []string{`p: a credential is another`}},
	} {
		var before, after any
		require.NoError(t, client.Decode([]byte(test.before), &before))
		require.NoError(t, client.Decode([]byte(test.after), &after))
		require.Equal(t, test.want, differences("", before, after), name)
	}
}
