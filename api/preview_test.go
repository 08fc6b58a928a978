package api_test

import (
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
	require.Equal(t, "PutApp", s.store.last().Method)
}
