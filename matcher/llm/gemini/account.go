package gemini

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"sync"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"

	"earshot/matcher/llm/provider"
)

// cloudScope is the OAuth scope that Vertex AI wants.
const cloudScope = "https://www.googleapis.com/auth/cloud-platform"

// googleAccount holds Google's application default credentials, which are looked for
// when they are first needed: that may need the network.
type googleAccount struct {
	client *http.Client // for tokens

	mu          sync.Mutex
	credentials *google.Credentials
}

// newGoogleAccount returns an account whose tokens come within the time for a request. It is the
// request that ends the waiting and says so: the client for tokens, whom nobody waits for then, has
// longer.
func newGoogleAccount(network provider.Network) *googleAccount {
	return &googleAccount{client: &http.Client{Transport: network.HTTPClient.Transport, Timeout: 2 * network.Timeout}}
}

// authorize sets the headers of a request that the account makes. A token is kept until
// it expires. The libraries below do not end with the context of one request, so that
// they are waited for beside it.
func (a *googleAccount) authorize(ctx context.Context, header http.Header) error {
	type outcome struct {
		token   *oauth2.Token
		project string
		err     error
	}
	done := make(chan outcome, 1)
	go func() {
		token, project, err := a.token()
		done <- outcome{token, project, err}
	}()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case came := <-done:
		if came.err != nil {
			return came.err
		}
		came.token.SetAuthHeader(&http.Request{Header: header})
		if came.project != "" {
			header.Set("X-Goog-User-Project", came.project)
		}
		return nil
	}
}

// token returns an access token and the project that pays for a user's requests. It
// looks for credentials again where there were none to be had.
func (a *googleAccount) token() (*oauth2.Token, string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.credentials == nil {
		ctx := context.WithValue(context.Background(), oauth2.HTTPClient, a.client)
		found, err := google.FindDefaultCredentials(ctx, cloudScope)
		if err != nil {
			return nil, "", err
		}
		a.credentials = found
	}
	token, err := a.credentials.TokenSource.Token()
	return token, payingProject(a.credentials.JSON), err
}

// payingProject is what a file of credentials or the environment names; Google asks for
// one where a person's credentials are used.
func payingProject(file []byte) string {
	var named struct {
		Project string `json:"quota_project_id"`
	}
	_ = json.Unmarshal(file, &named) // no file, no project
	return cmp.Or(os.Getenv("GOOGLE_CLOUD_QUOTA_PROJECT"), named.Project)
}
