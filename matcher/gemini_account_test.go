package matcher_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
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
