package api_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAPutSaysWithDryRunWhatItWouldDo(t *testing.T) {
	for path, method := range map[string]string{
		"/v1/apps/clinic": "PreviewApp", "/v1/apps/clinic/repositories/r": "PreviewRepository", "/v1/apps/clinic/sessions/s/repositories/r": "PreviewRepository",
	} {
		s := start(t)
		body := `{"tools":[]}`
		if method == "PreviewApp" {
			body = `{}`
		}
		s.call("PUT", path+"?dryRun=true", body).is(200, `{"operation":"unchanged"}`)
		require.Equal(t, method, s.store.last().Method)
		require.Equal(t, 1, s.store.count(), "and nothing is written")
		s.call("PUT", path+"?dryRun=true", `{"nmae":1}`).problem(400)
	}
}

func TestADryRunThatIsNotUnderstoodWritesNothing(t *testing.T) {
	s := start(t)
	for _, query := range []string{"dryRun=yes", "dryRun", "dryRun=true&dryRun=false", "dryrun=true"} {
		s.call("PUT", "/v1/apps/clinic?"+query, `{}`).problem(400)
		s.call("PUT", "/v1/apps/clinic/repositories/r?"+query, `{"tools":[]}`).problem(400)
	}
	require.Zero(t, s.store.count())
	s.call("PUT", "/v1/apps/clinic?dryRun=false", `{}`)
	require.Equal(t, "ChangeApp", s.store.last().Method)
}

func TestAKeyComparesSoManyCredentialsAMinuteOverAllReplicas(t *testing.T) {
	w := live(t, everything)
	w.call("PUT", "/v1/apps/clinic", `{"modules":[{"moduleId":"m","secret":"right","tokenUrl":"https://id.example.org/"}]}`).is(201, "")
	replicas := []*service{w.service, w.secondReplica()}
	key := w.call("POST", keysPath, `{"scopes":["app","tools"]}`).made()
	child := w.call("POST", keysPath, `{"scopes":["app","tools"]}`, bearer(key.Key)).made()
	other := w.call("POST", keysPath, `{"scopes":["app","tools"]}`).made()
	app := func(secret string) string {
		return `{"modules":[{"moduleId":"m","secret":"` + secret + `","tokenUrl":"https://id.example.org/"}]}`
	}
	const path, repository = "/v1/apps/clinic?dryRun=true", "/v1/apps/clinic/repositories/r?dryRun=true"
	const tool = `{"tools":[{"name":"t","url":"https://x.example/","request":{"headers":{%q:"guess"}}}]}`
	for i := range 120 {
		replica, by := replicas[i%2], []string{key.Key, child.Key}[i%3/2]
		if i%2 == 0 {
			replica.call("PUT", path, app(fmt.Sprint("guess", i)), bearer(by)).is(200, `{"operation":"updated"}`)
		} else {
			replica.call("PUT", repository, fmt.Sprintf(tool, "X-Api-Key"), bearer(by)).is(200, `{"operation":"created"}`)
		}
		replica.call("PUT", path, app("***"), bearer(by)).is(200, `{"operation":"unchanged"}`) // compares nothing
		replica.call("PUT", repository, fmt.Sprintf(tool, "Accept"), bearer(by)).is(200, "")
	}
	for _, replica := range replicas {
		for _, by := range []string{key.Key, child.Key} {
			got := replica.call("PUT", path, app("right"), bearer(by))
			got.problem(429, "120 times a minute")
			pause, err := strconv.Atoi(got.Header.Get("Retry-After"))
			require.NoError(t, err)
			require.True(t, 0 < pause && pause <= 60, pause)
			replica.call("PUT", repository, fmt.Sprintf(tool, "X-Api-Key"), bearer(by)).problem(429)
		}
	}
	w.call("PUT", path, app("right"), bearer(other.Key)).is(200, `{"operation":"unchanged"}`)
	w.call("PUT", path, app("right")).is(200, `{"operation":"unchanged"}`)
	w.call("PUT", "/v1/apps/clinic", app("right"), bearer(key.Key)).is(200, "") // a write tells nothing
}
