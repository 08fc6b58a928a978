package deploypackage

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
)

type content struct {
	Src, Dst, Type string
	FileInfo       struct{ Mode os.FileMode } `yaml:"file_info"`
}

type description struct {
	Depends  []string
	Contents []content
	Scripts  map[string]string
}

// debian packs what nfpm.yaml says, with a script as the program. nfpm itself would take minutes to build.
func debian(t *testing.T, version string) string {
	var d description
	require.NoError(t, yaml.Unmarshal([]byte(testbed.Read(t, "nfpm.yaml")), &d))
	tree := filepath.Join(t.TempDir(), "tree")
	put := func(path, text string, mode os.FileMode) {
		path = filepath.Join(tree, path)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), mode))
	}
	conffiles := ""
	for _, c := range d.Contents {
		switch {
		case c.Type == "dir":
			require.NoError(t, os.MkdirAll(filepath.Join(tree, c.Dst), 0o755))
		case strings.HasPrefix(c.Src, "${DIST}"):
			put(c.Dst, "#!/bin/sh\necho "+version+"\n", 0o755)
		default:
			put(c.Dst, testbed.Read(t, filepath.Join(root, c.Src))+"# "+version+"\n", c.FileInfo.Mode)
		}
		if strings.HasPrefix(c.Type, "config") {
			conffiles += c.Dst + "\n"
		}
	}
	put("DEBIAN/conffiles", conffiles, 0o644)
	put("DEBIAN/control", fmt.Sprintf("Package: earshot\nVersion: %s\nArchitecture: all\nMaintainer: x <x@example.org>\nDescription: x\n", version), 0o644)
	for from, to := range map[string]string{"preinstall": "preinst", "postinstall": "postinst", "preremove": "prerm", "postremove": "postrm"} {
		put("DEBIAN/"+to, testbed.Read(t, filepath.Join(root, d.Scripts[from])), 0o755)
	}
	made := filepath.Join(t.TempDir(), "earshot.deb")
	run(t, "dpkg-deb", "--root-owner-group", "--build", tree, made)
	return made
}

// TestPackageIsInstalledUpgradedAndPurged runs dpkg in a root of its own: keys are made once, for root alone, changed files
// are kept, and a purge leaves nothing.
func TestPackageIsInstalledUpgradedAndPurged(t *testing.T) {
	needs(t, "dpkg-deb", "dpkg")
	machine := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(machine, "var/lib/dpkg/updates"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(machine, "var/lib/dpkg/info"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(machine, "var/lib/dpkg/status"), nil, 0o600))
	dpkg := func(arguments ...string) {
		run(t, "dpkg", append([]string{"--root=" + machine, "--log=/dev/null", "--force-unsafe-io", "--force-not-root", "--force-script-chrootless", "--force-confold", "--force-bad-path"}, arguments...)...)
	}
	at := func(path string) string { return filepath.Join(machine, path) }

	// enabled is whether the service starts with the machine.
	wants := at("etc/systemd/system/multi-user.target.wants/earshot.service")
	enabled := func() bool {
		_, err := os.Lstat(wants)
		return err == nil
	}
	masked := func() bool {
		to, err := os.Readlink(at("etc/systemd/system/earshot.service"))
		return err == nil && to == "/dev/null"
	}

	dpkg("--install", debian(t, "1.0.0"))
	require.True(t, enabled())
	keys, secrets := testbed.Read(t, at("etc/earshot/secrets.env")), at("etc/earshot/secrets.env")
	require.Regexp(t, `(?m)^EARSHOT_ADMIN_KEY=[A-Za-z0-9+/]{43}=$`, keys)
	require.Regexp(t, `(?m)^EARSHOT_SECRET_KEY=[A-Za-z0-9+/]{43}=$`, keys)
	info, err := os.Stat(secrets)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	require.Equal(t, "1.0.0\n", run(t, at("usr/bin/earshot")))
	require.Contains(t, testbed.Read(t, at("lib/systemd/system/earshot.service")), "EnvironmentFile=/etc/earshot/secrets.env")

	require.NoError(t, os.WriteFile(at("etc/earshot/earshot.env"), []byte("EARSHOT_ADDR=:9090\n"), 0o600))
	dpkg("--install", debian(t, "2.0.0"))
	require.Equal(t, "2.0.0\n", run(t, at("usr/bin/earshot")))
	require.Equal(t, keys, testbed.Read(t, secrets), "what Redis holds opens with no other key")
	require.Equal(t, "EARSHOT_ADDR=:9090\n", testbed.Read(t, at("etc/earshot/earshot.env")))

	require.True(t, enabled())

	dpkg("--remove", "earshot")
	require.Equal(t, keys, testbed.Read(t, secrets), "it may be installed again")
	require.NoFileExists(t, at("usr/bin/earshot"))
	require.True(t, masked())
	dpkg("--install", debian(t, "2.0.0"))
	require.True(t, enabled(), "it starts after a removal as after the first installation")
	require.False(t, masked())

	require.NoError(t, os.Remove(wants)) // as systemctl disable does
	dpkg("--install", debian(t, "3.0.0"))
	require.False(t, enabled(), "an upgrade leaves a disabled service disabled")
	dpkg("--remove", "earshot")
	dpkg("--install", debian(t, "3.0.0"))
	require.False(t, enabled())

	for _, disabled := range []bool{true, false} { // before an upgrade from a version that kept nothing in mind
		require.NoError(t, os.RemoveAll(at("var/lib/systemd/deb-systemd-helper-enabled")))
		if !disabled {
			require.NoError(t, os.MkdirAll(filepath.Dir(wants), 0o755))
			require.NoError(t, os.Symlink("/lib/systemd/system/earshot.service", wants))
		}
		dpkg("--install", debian(t, "4.0.0"))
		require.Equal(t, !disabled, enabled())
	}

	dpkg("--purge", "earshot")
	require.NoDirExists(t, at("etc/earshot"))
	require.False(t, masked())
	dpkg("--install", debian(t, "3.0.0"))
	require.True(t, enabled(), "after a purge nothing is remembered")
}
