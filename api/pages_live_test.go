package api_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/apitest"
)

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
