package redisdb

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/deploy/testbed/certtest"
	"earshot/deploy/testbed/redistest"
	"earshot/repositories/certfiles"
)

// runTLS starts a Redis that requires an authority's certificates, and returns its TLS address.
func runTLS(t *testing.T, authority *certtest.Authority, extra ...string) (*redistest.Server, string) {
	t.Helper()
	files := authority.Write(t.TempDir(), authority.Issue("redis"))
	address := testbed.Address(t)
	_, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	arguments := append([]string{"--tls-port", port, "--tls-auth-clients", "yes",
		"--tls-ca-cert-file", files.CA, "--tls-cert-file", files.Cert, "--tls-key-file", files.Key}, extra...)
	return redistest.Run(t, arguments...), address
}

func ping(t *testing.T, url string, files certfiles.Files) error {
	require.NoError(t, CheckFiles(url, files, time.Now()))
	client := testbed.Got(Open(url, files))(t)
	defer client.Close()
	return client.Set(t.Context(), "key", "value", time.Minute).Err()
}

func TestRedisThatAsksForACertificateIsShownOne(t *testing.T) {
	t.Parallel()
	authority := certtest.New(t, time.Now())
	_, address := runTLS(t, authority)
	files := authority.Write(t.TempDir(), authority.Issue("earshot"))
	require.NoError(t, ping(t, "rediss://"+address, files))
	require.ErrorContains(t, ping(t, "rediss://"+address, certfiles.Files{CA: files.CA}), "certificate required")
	require.ErrorContains(t, ping(t, "rediss://"+address, certfiles.Files{Cert: files.Cert, Key: files.Key}), "unknown authority")
	require.NoError(t, ping(t, "rediss://"+address+"?skip_verify=true", certfiles.Files{Cert: files.Cert, Key: files.Key}))
}

// TestCertificatesForRedisAreReadAtEachConnection lets Redis trust another authority, which has also signed its
// certificate.
func TestCertificatesForRedisAreReadAtEachConnection(t *testing.T) {
	t.Parallel()
	before, after := certtest.New(t, time.Now()), certtest.New(t, time.Now())
	server, address := runTLS(t, before)
	folder := t.TempDir()
	client := testbed.Got(Open("rediss://"+address, before.Write(folder, before.Issue("earshot"))))(t)
	t.Cleanup(func() { _ = client.Close() })
	require.NoError(t, client.Ping(t.Context()).Err())

	renewed := after.Write(t.TempDir(), after.Issue("redis"))
	admin := server.Client()
	require.NoError(t, admin.Do(t.Context(), "CONFIG", "SET", "tls-ca-cert-file", renewed.CA, "tls-cert-file", renewed.Cert, "tls-key-file", renewed.Key).Err())
	require.NoError(t, admin.ClientKillByFilter(t.Context(), "TYPE", "normal").Err())
	require.ErrorContains(t, client.Ping(t.Context()).Err(), "unknown authority")
	after.Write(folder, after.Issue("earshot"))
	require.NoError(t, client.Ping(t.Context()).Err())
}

func TestNodesOfAClusterAreReachedByTLS(t *testing.T) {
	t.Parallel()
	authority := certtest.New(t, time.Now())
	server, address := runTLS(t, authority, "--cluster-enabled", "yes", "--tls-cluster", "yes", "--cluster-config-file", "one.conf", "--cluster-announce-ip", "127.0.0.1",
		"--cluster-port", strings.Split(testbed.Address(t), ":")[1])
	require.NoError(t, server.Client().ClusterAddSlotsRange(t.Context(), 0, 16383).Err())
	files := authority.Write(t.TempDir(), authority.Issue("earshot"))
	require.Eventually(t, func() bool {
		info, err := server.Client().ClusterInfo(t.Context()).Result()
		return err == nil && strings.Contains(info, "cluster_state:ok")
	}, time.Minute, 10*time.Millisecond)
	require.NoError(t, ping(t, "rediss://"+address+","+address, files))
}

// TestTheMasterBehindSentinelsIsReachedByTLS has a sentinel that also requires TLS.
func TestTheMasterBehindSentinelsIsReachedByTLS(t *testing.T) {
	t.Parallel()
	authority := certtest.New(t, time.Now())
	_, master := runTLS(t, authority)
	host, port, err := net.SplitHostPort(master)
	require.NoError(t, err)
	config := filepath.Join(t.TempDir(), "sentinel.conf")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, "tls-replication yes\nsentinel monitor mine %s %s 1\n", host, port), 0o600))
	address := runSentinel(t, authority, config)
	files := authority.Write(t.TempDir(), authority.Issue("earshot"))
	require.NoError(t, ping(t, "rediss+sentinel://"+address+"/mine", files))
}

func TestFaultsOfFilesForRedisNameTheirSettings(t *testing.T) {
	t.Parallel()
	authority := certtest.New(t, time.Now())
	files := authority.Write(t.TempDir(), authority.Issue("earshot"))
	for name, c := range map[string]struct {
		url   string
		files certfiles.Files
		want  string
	}{
		"without TLS":     {"redis://host", files, "REDIS_URL (--redis-url) is without TLS, but REDIS_CA_FILE, REDIS_CERT_FILE or REDIS_KEY_FILE is set"},
		"anybody trusted": {"rediss://host?skip_verify=true", files, "leave one of them out"},
		"not there":       {"rediss://host", certfiles.Files{CA: "/no/ca.pem"}, "REDIS_CA_FILE (--redis-ca-file): stat"},
		"half":            {"rediss://host", certfiles.Files{Key: files.Key}, "REDIS_CERT_FILE (--redis-cert-file): it goes together with REDIS_KEY_FILE (--redis-key-file)"},
	} {
		t.Run(name, func(t *testing.T) {
			require.ErrorContains(t, CheckFiles(c.url, c.files, time.Now()), c.want)
		})
	}
	require.NoError(t, CheckFiles("redis://host", certfiles.Files{}, time.Now()))
	require.NoError(t, CheckFiles("rediss://host", files, time.Now()))
}

func runSentinel(t *testing.T, authority *certtest.Authority, config string) string {
	t.Helper()
	files := authority.Write(t.TempDir(), authority.Issue("sentinel"))
	address := testbed.Address(t)
	_, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	command := exec.Command(redistest.Program(t), config, "--sentinel", "--port", "0", "--bind", "127.0.0.1", "--tls-port", port, "--tls-auth-clients", "yes",
		"--tls-ca-cert-file", files.CA, "--tls-cert-file", files.Cert, "--tls-key-file", files.Key)
	require.NoError(t, command.Start())
	t.Cleanup(func() { _ = command.Process.Kill(); _ = command.Wait() })
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	}, time.Minute, 10*time.Millisecond)
	return address
}
