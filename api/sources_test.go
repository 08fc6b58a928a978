package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/api"
	"earshot/repositories"
)

func TestSourcesSayWhetherTheyAreReached(t *testing.T) {
	var looks atomic.Int32
	s := start(t, func(o *api.Options) {
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
	for range 2 {
		var shown struct {
			Items []struct {
				Name, Type, Host, Error string
				Reachable               *bool
			}
		}
		require.NoError(t, json.Unmarshal(s.Call("GET", "/v1/apps/clinic/sources", "").Is(200, "").Body, &shown))
		require.Len(t, shown.Items, 6)
		require.Nil(t, shown.Items[0].Reachable, "a file is not looked at")
		require.False(t, *shown.Items[1].Reachable)
		require.Equal(t, "connection refused", shown.Items[1].Error)
		for i, host := range map[int]string{2: "api.example:443", 3: "api.example:80", 4: "api.example:8443", 5: "crm.example:443"} {
			require.Equal(t, host, shown.Items[i].Host)
			require.True(t, *shown.Items[i].Reachable)
		}
	}
	require.EqualValues(t, 5, looks.Load(), "a look is good for a while")
	s.store.err = repositories.ErrNotFound
	s.Call("GET", "/v1/apps/clinic/sources", "").Problem(404)
}
