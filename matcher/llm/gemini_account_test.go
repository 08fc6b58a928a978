package llm_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/matcher/llm"
	"earshot/matcher/matchertest"
)

var jsonHeader = http.Header{"Content-Type": {"application/json"}}

// serviceAccount writes the credentials of a service account whose tokens come from
// the URL, and returns the file.
func serviceAccount(t *testing.T, tokenURL string) string {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	account, err := json.Marshal(map[string]string{
		"type": "service_account", "project_id": "p", "client_email": "earshot@p.iam.gserviceaccount.com", "token_uri": tokenURL,
		"private_key_id": "k", "private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})),
	})
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "account.json")
	require.NoError(t, os.WriteFile(file, account, 0o600))
	return file
}

func TestVertexNamesTheProjectThatPaysForAPersonsRequests(t *testing.T) {
	tokens := newEndpoint(t)
	tokens.replies = []answer{{header: jsonHeader, body: `{"access_token":"ya29.planted","token_type":"Bearer","expires_in":3600}`}}
	file := serviceAccount(t, tokens.server.URL)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, []byte(strings.Replace(string(text), "{", `{"quota_project_id":"payer",`, 1)), 0o600))
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", file)
	e := newEndpoint(t, geminiSpoken().text("none"), geminiSpoken().text("none"))
	llm := llm.New(llm.Options{Gemini: llm.Config{BaseURL: e.server.URL + "/v1/projects/p/locations/l"}})
	for _, payer := range []string{"payer", "of-the-environment"} {
		_, err := llm.Match(t.Context(), matchertest.Request(t, "x", matchertest.BookTool))
		require.NoError(t, err)
		asked := e.questions()
		require.Equal(t, payer, asked[len(asked)-1].header.Get("X-Goog-User-Project"))
		t.Setenv("GOOGLE_CLOUD_QUOTA_PROJECT", "of-the-environment")
	}
}

func TestTokensThatDoNotComeAreHeldToTheTimeLimit(t *testing.T) {
	tokens := newEndpoint(t)
	tokens.replies = []answer{{hang: true}}
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", serviceAccount(t, tokens.server.URL))
	e := newEndpoint(t)
	options := llm.Options{Gemini: llm.Config{BaseURL: e.server.URL + "/v1/projects/p/locations/l"}, Timeout: 500 * time.Millisecond}
	require.Equal(t, "no answer within 500ms", unavailable(t, options).Reason)
	require.Empty(t, e.questions())
}
