package certfiles_test

import (
	"crypto/tls"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/certtest"
	"earshot/repositories/certfiles"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func TestFilesAreReadAtEachConnection(t *testing.T) {
	t.Parallel()
	authority, folder := certtest.New(t, noon), t.TempDir()
	files := authority.Write(folder, authority.Issue("first"))
	require.NoError(t, files.Check("NATS", noon))
	name := func() string {
		config, err := files.Config(&tls.Config{ServerName: "nats.example.org"})
		require.NoError(t, err)
		require.Equal(t, "nats.example.org", config.ServerName)
		require.True(t, config.RootCAs.Equal(authority.Pool()))
		return config.Certificates[0].Leaf.Subject.CommonName
	}
	require.Equal(t, "first", name())
	authority.Write(folder, authority.Issue("renewed"))
	require.Equal(t, "renewed", name())
}

func TestAllFaultsOfTheFilesAreNamedAtOnce(t *testing.T) {
	t.Parallel()
	authority, folder := certtest.New(t, noon), t.TempDir()
	files := authority.Write(folder, authority.Issue("one"))
	require.NoError(t, os.WriteFile(files.CA, []byte("no certificate"), 0o600))
	require.NoError(t, os.Remove(files.Key))
	err := files.Check("NATS", noon)
	require.ErrorContains(t, err, "NATS_CA_FILE (--nats-ca-file): ")
	require.ErrorContains(t, err, "has no certificate in PEM")
	require.ErrorContains(t, err, "NATS_KEY_FILE (--nats-key-file): ")
	require.NotContains(t, err.Error(), "NATS_CERT_FILE")
	_, err = files.Config(&tls.Config{})
	require.Error(t, err)
}

func TestCertificateNeedsItsKey(t *testing.T) {
	t.Parallel()
	authority, folder := certtest.New(t, noon), t.TempDir()
	files := authority.Write(folder, authority.Issue("one"))
	other := authority.Write(t.TempDir(), authority.Issue("other"))
	require.ErrorContains(t, certfiles.Files{Cert: files.Cert}.Check("REDIS", noon), "it goes together with REDIS_KEY_FILE")
	require.ErrorContains(t, certfiles.Files{Key: files.Key}.Check("REDIS", noon), "one is missing")
	require.ErrorContains(t, certfiles.Files{Cert: files.Cert, Key: other.Key}.Check("REDIS", noon), "REDIS_KEY_FILE (--redis-key-file) must be its private key")
	require.True(t, certfiles.Files{}.Empty())
	require.NoError(t, certfiles.Files{}.Check("REDIS", noon))
}

func TestEndedCertificateIsRefusedWithItsDay(t *testing.T) {
	t.Parallel()
	authority, folder := certtest.New(t, noon), t.TempDir()
	files := authority.Write(folder, authority.IssueUntil("old", noon.Add(-time.Hour)))
	require.ErrorContains(t, files.Check("NATS", noon), "expired on 2026-11-22")
	require.NoError(t, files.Check("NATS", noon.Add(-2*time.Hour)))
}

func TestOnlySmallRegularFilesAreRead(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	pipe, long := filepath.Join(folder, "pipe"), filepath.Join(folder, "long")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	require.NoError(t, os.WriteFile(long, []byte(strings.Repeat("x", 1<<20+1)), 0o600))
	for path, says := range map[string]string{
		pipe: "is not a regular file", folder: "is not a regular file", long: "has more than 1048576 bytes", filepath.Join(folder, "none"): "name a file that this user may read",
	} {
		_, err := certfiles.Read(path)
		require.ErrorContains(t, err, says)
		require.ErrorContains(t, err, path)
	}
}
