package deploypackage

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/deploy/testbed/redistest"
)

const root = "../.."

func run(t *testing.T, name string, arguments ...string) string {
	t.Helper()
	return testbed.Done(t, exec.Command(name, arguments...))
}

// needs skips a test without a program that only Linux has, or fails it if servers are required.
func needs(t *testing.T, program, debian string) {
	t.Helper()
	if _, err := exec.LookPath(program); err == nil {
		return
	}
	if runtime.GOOS != "linux" {
		t.Skip(debian + " is of Linux")
	}
	testbed.Missing(t, debian+" is not there: apt-get install "+debian)
}

// TestServersOfDevAreLeftOut holds for all that is packed: a server that nobody starts is only there to be attacked.
func TestServersOfDevAreLeftOut(t *testing.T) {
	linked := func(tags string) string {
		return run(t, "go", "list", "-C", root, "-deps", "-tags", tags, "./cmd/earshot")
	}
	servers := []string{"github.com/nats-io/nats-server/v2/server", "github.com/alicebob/miniredis/v2"}
	for _, name := range servers {
		require.Contains(t, linked(""), name+"\n", "dev brings it along")
	}
	for _, name := range append(servers, "github.com/yuin/gopher-lua", "earshot/deploy/testbed") {
		require.NotContains(t, linked("nodev"), name)
	}
	for _, builder := range []string{testbed.Read(t, "Dockerfile"), testbed.Read(t, "deb.sh")} {
		for _, told := range []string{"linkedVersion=", "linkedCommit=", "linkedDate="} {
			require.Contains(t, builder, told)
		}
		require.Regexp(t, `-tags[ =]nodev`, builder)
		require.Contains(t, builder, "CGO_ENABLED=0")
		require.Contains(t, builder, "-trimpath")
		require.Contains(t, builder, "-pgo=auto")
	}
}

// TestImageHasTheProgramAndNoRoot reads the shipped stage; the commands at the top of the Dockerfile build and start it.
func TestImageHasTheProgramAndNoRoot(t *testing.T) {
	_, shipped, found := strings.Cut(testbed.Read(t, "Dockerfile"), "\nFROM scratch\n")
	require.True(t, found)
	require.NotContains(t, shipped, "RUN", "there is no shell")
	require.Contains(t, shipped, "\nUSER 65532:65532\n")
	require.Contains(t, shipped, "EARSHOT_ADDR=:8080")
	require.NotContains(t, testbed.Read(t, "Dockerfile"), "go mod download", "it fetches what tests need as well")
	for label, value := range map[string]string{"version": "$VERSION", "revision": "$COMMIT", "created": "$DATE", "source": "$SOURCE", "licenses": "Apache-2.0"} {
		require.Contains(t, shipped, "org.opencontainers.image."+label+`="`+value+`"`)
	}
	require.Contains(t, shipped, `CMD ["/usr/bin/earshot", "health"]`)
	require.Contains(t, shipped, `ENTRYPOINT ["/usr/bin/earshot"]`+"\n"+`CMD ["serve"]`)

	sent := testbed.Read(t, "Dockerfile.dockerignore")
	for _, folder := range []string{"api", "cmd", "emitter", "httpcall", "matcher", "repositories", "trigger"} {
		require.Contains(t, sent, "\n!"+folder+"\n", "the program needs it")
	}
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(testbed.Read(t, root+"/go.mod"))[1]
	require.Contains(t, testbed.Read(t, "Dockerfile"), "golang:"+version+"-")
}

func settings(t *testing.T) string {
	t.Helper()
	return testbed.Read(t, root+"/deploy/docs/reference/settings.md")
}

// TestComposeNamesWhatThereIs requires each name in the file to be a setting, a declared secret, or a file beside it.
func TestComposeNamesWhatThereIs(t *testing.T) {
	var compose struct {
		Services map[string]struct {
			Image       string
			Build       struct{ Args map[string]string }
			Command     []string
			Environment map[string]string
			Secrets     []string
			Volumes     []string
			Healthcheck map[string]any
			DependsOn   map[string]struct{ Condition string } `yaml:"depends_on"`
		}
		Secrets map[string]struct{ File string }
		Volumes map[string]any
	}
	require.NoError(t, yaml.Unmarshal([]byte(testbed.Read(t, "compose.yaml")), &compose))
	earshot := compose.Services["earshot"]
	for name := range earshot.Build.Args {
		require.Regexp(t, `(?m)^ARG `+name+`\b`, testbed.Read(t, "Dockerfile"))
	}
	for _, name := range []string{"VERSION", "COMMIT", "DATE"} {
		require.Contains(t, earshot.Build.Args, name, "earshot version says it")
	}
	for name, value := range earshot.Environment {
		setting, isFile := strings.CutSuffix(name, "_FILE")
		require.Contains(t, settings(t), "`"+setting+"`")
		if isFile {
			require.Contains(t, earshot.Secrets, strings.TrimPrefix(value, "/run/secrets/"))
		}
	}
	for _, secret := range earshot.Secrets {
		require.Contains(t, testbed.Read(t, "keys.sh")+".key", strings.TrimSuffix(filepath.Base(compose.Secrets[secret].File), ".key"))
	}
	for name := range earshot.DependsOn {
		server := compose.Services[name]
		require.NotEmpty(t, server.Healthcheck, "earshot waits until it is healthy")
		file, _, _ := strings.Cut(server.Volumes[0], ":")
		require.FileExists(t, file)
		volume, _, _ := strings.Cut(server.Volumes[1], ":")
		require.Contains(t, compose.Volumes, volume)
	}
}

// TestServersReadTheirFiles starts Redis with its file, but not at its port, which may be taken.
func TestServersReadTheirFiles(t *testing.T) {
	file := filepath.Join(t.TempDir(), "redis.conf")
	here := strings.Replace(testbed.Read(t, "redis.conf"), "\nport 6379\n", "\n", 1)
	require.NoError(t, os.WriteFile(file, []byte(here), 0o600))
	client := redistest.Run(t, "--include", file).Client()
	for name, want := range map[string]string{
		"appendonly": "yes", "appendfsync": "always", "maxmemory-policy": "noeviction",
		"hash-max-listpack-value": "1024", "hash-max-listpack-entries": "32",
	} {
		require.Equal(t, map[string]string{name: want}, client.ConfigGet(t.Context(), name).Val())
	}

	options, err := server.ProcessConfigFile("nats.conf")
	require.NoError(t, err)
	require.True(t, options.JetStream)
	require.True(t, options.SyncAlways)
}

// TestKeysAreMadeOnce runs the script again: only the first secret key decrypts what is in Redis.
func TestKeysAreMadeOnce(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "secrets")
	run(t, "sh", "keys.sh", folder)
	first := testbed.Read(t, folder+"/secret.key")
	require.Len(t, strings.TrimSpace(first), 44, "32 bytes in base64")
	require.NotEqual(t, first, testbed.Read(t, folder+"/admin.key"))
	require.Equal(t, os.FileMode(0o700), testbed.Got(os.Stat(folder))(t).Mode().Perm())
	run(t, "sh", "keys.sh", folder)
	require.Equal(t, first, testbed.Read(t, folder+"/secret.key"))
}

// TestUnitIsGoodAndShut asks systemd whether each line is valid, and how exposed the service is: 0 is not at all, 10 fully.
func TestUnitIsGoodAndShut(t *testing.T) {
	needs(t, "systemd-analyze", "systemd")
	folder := t.TempDir()
	unit := filepath.Join(folder, "earshot.service")
	here := strings.ReplaceAll(testbed.Read(t, "earshot.service"), "/usr/bin/earshot serve", "/bin/true")
	require.NoError(t, os.WriteFile(unit, []byte(here), 0o600))
	require.Empty(t, strings.TrimSpace(withoutOthers(run(t, "systemd-analyze", "verify", "--man=no", unit))))
	run(t, "systemd-analyze", "security", "--no-pager", "--offline=true", "--threshold=15", unit)
	for _, line := range []string{"StartLimitIntervalSec=0", "Type=notify", "WatchdogSec=60", "ExecReload=/bin/kill -HUP $MAINPID"} {
		require.Contains(t, here, "\n"+line+"\n")
	}
}

func withoutOthers(said string) string {
	var ours strings.Builder
	for line := range strings.Lines(said) {
		if strings.Contains(line, "earshot") {
			ours.WriteString(line)
		}
	}
	return ours.String()
}
