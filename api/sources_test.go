package api_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/api"
	"earshot/repositories"
)

func TestSourcesSayWhetherTheyAreReached(t *testing.T) {
	var looks atomic.Int32
	s := start(t, func(o *api.Options) {
		o.Now = func() time.Time { return time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC) }
		o.Reach = func(_ context.Context, host, port string) error {
			looks.Add(1)
			if host+":"+port == "db.example:5432" {
				return errors.New("connection refused")
			}
			return nil
		}
	})
	s.store.apps = []*repositories.App{{ID: "clinic", Sources: []repositories.Source{
		{Name: "slots", Type: "sqlite", Database: "x.db"}, {Name: "records", Type: "postgres", Host: "db.example"},
		{Name: "weather", Type: "http", BaseURL: "https://api.example/v1/"}, {Name: "plain", Type: "http", BaseURL: "http://api.example"},
		{Name: "again", Type: "http", BaseURL: "https://api.example:8443"}, {Name: "crm", Type: "mcp", URL: "https://crm.example/mcp"},
	}}}
	s.Call("GET", "/v1/apps/clinic/sources?limit=1", "").Is(200, "")
	require.EqualValues(t, 1, looks.Load(), "what is on no page is not connected to")
	for range 2 {
		var shown struct {
			Items []struct {
				Name, Type, Host, Error string
				Reachable               *bool
			}
		}
		require.NoError(t, json.Unmarshal(s.Call("GET", "/v1/apps/clinic/sources", "").Is(200, "").Body, &shown))
		require.Len(t, shown.Items, 6)
		for i, host := range []string{"api.example:8443", "crm.example:443", "api.example:80", "db.example:5432", "", "api.example:443"} {
			require.Equal(t, host, shown.Items[i].Host, "they are sorted by name")
			if host != "" {
				require.Equal(t, host != "db.example:5432", *shown.Items[i].Reachable, host)
			}
		}
		require.Equal(t, "connection refused", shown.Items[3].Error)
		require.Nil(t, shown.Items[4].Reachable, "a file is not looked at")
	}
	s.Call("GET", "/v1/apps/clinic/sources?limit=1&after="+base64.RawURLEncoding.EncodeToString([]byte("id:crm")), "").Is(200,
		`{"items":[{"name":"plain","type":"http","host":"api.example:80","reachable":true,"checked":"2026-12-01T09:00:00Z"}],"next":"`+cursorIn("/v1/apps/:appId/sources\nclinic", "plain")+`"}`)
	require.EqualValues(t, 5, looks.Load(), "a look is good for a while")
	s.store.err = repositories.ErrNotFound
	s.Call("GET", "/v1/apps/clinic/sources", "").Problem(404)
}
