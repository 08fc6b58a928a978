package secret_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"earshot/repositories/secret"
)

const plain = "sk-live-4242"

// holder has a secret as configurations have it: exported, behind a pointer, in a list and in a map.
type holder struct {
	Key     secret.Secret
	Pointer *secret.Secret
	List    []secret.Secret
	Map     map[string]secret.Secret
	hidden  secret.Secret
}

func holding() holder {
	s := secret.New(plain)
	return holder{s, &s, []secret.Secret{s}, map[string]secret.Secret{"a": s}, s}
}

func TestNothingPrintsASecret(t *testing.T) {
	t.Parallel()
	s, in := secret.New(plain), holding()
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d"} {
		for _, value := range []any{s, &s, in.List, in.Map} {
			require.NotContains(t, fmt.Sprintf(verb, value), plain, verb)
			require.NotContains(t, fmt.Sprintf(verb, value), fmt.Sprintf("%x", plain), verb)
		}
	}
	require.Equal(t, secret.Masked, fmt.Sprint(s))
	require.NotContains(t, fmt.Errorf("key %v of %+v", s, in.Map).Error(), plain)
}

// fmt calls no method of a field that is not exported.
func TestNoStructPrintsASecret(t *testing.T) {
	t.Parallel()
	in := holding()
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		require.NotContains(t, fmt.Sprintf(verb, in), plain, verb)
		require.NotContains(t, fmt.Sprintf(verb, &in), fmt.Sprintf("%x", plain), verb)
	}
}

func TestSecretsOfOneTextAreEqual(t *testing.T) {
	t.Parallel()
	one, same := secret.New(plain), secret.New(plain)
	require.True(t, one == same)
	require.True(t, secret.New("") == secret.Secret{})
	require.False(t, secret.New(plain) == secret.New(plain+"1"))
	require.False(t, secret.New(plain) == secret.New(plain).For("https://example.org"))
}

func TestNothingEncodesASecret(t *testing.T) {
	t.Parallel()
	for name, encode := range map[string]func(any) ([]byte, error){"json": json.Marshal, "yaml": yaml.Marshal} {
		text, err := encode(holding())
		require.NoError(t, err, name)
		require.NotContains(t, string(text), plain, name)
		require.Contains(t, string(text), secret.Masked, name)
	}
	type named struct{ Key secret.Secret }
	text, err := xml.Marshal(named{secret.New(plain)})
	require.NoError(t, err)
	require.NotContains(t, string(text), plain)
}

func TestNoLogLineHasASecret(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	for _, handler := range []slog.Handler{slog.NewJSONHandler(&out, nil), slog.NewTextHandler(&out, nil)} {
		log := slog.New(handler).With("key", secret.New(plain))
		log.Info("opened", "secret", secret.New(plain), "in", holding().List, "error", errors.Join(fmt.Errorf("refused %v", secret.New(plain))))
	}
	require.NotContains(t, out.String(), plain)
	require.Contains(t, out.String(), secret.Masked)
}

func TestSecretIsReadFromABodyAndKeepsItsText(t *testing.T) {
	t.Parallel()
	var read struct {
		Key, Mask, None secret.Secret
	}
	require.NoError(t, json.Unmarshal([]byte(`{"Key": "`+plain+`", "Mask": "***"}`), &read))
	require.Equal(t, plain, read.Key.Reveal())
	require.True(t, read.Mask.IsMasked(), "a client that sends the mask back means the stored one")
	require.False(t, read.Key.IsMasked())
	require.True(t, read.None.Empty())
	require.Empty(t, read.None.String())

	omitted, err := json.Marshal(struct {
		Key secret.Secret `json:"key,omitzero"`
	}{})
	require.NoError(t, err)
	require.Equal(t, "{}", string(omitted))
}

func TestBoundSecretKeepsItsText(t *testing.T) {
	t.Parallel()
	bound := secret.New(plain).For("https://example.org keller")
	require.Equal(t, plain, bound.Reveal())
	require.Equal(t, "https://example.org keller", bound.Towards())
	require.Empty(t, secret.New(plain).Towards())
	require.NotContains(t, fmt.Sprintf("%#v", bound), "example.org")
}
