package redistest_test

import (
	"bufio"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/redistest"
)

// envOrphan tells the test program that it is the parent that will be killed.
const envOrphan = "EARSHOT_TEST_ORPHAN"

func TestServerDiesWithAKilledTestProcess(t *testing.T) {
	if os.Getenv(envOrphan) != "" {
		_, _ = os.Stdout.WriteString("\naddr " + redistest.Run(t).Addr() + "\n")
		select {} // until killed
	}
	redistest.Run(t) // skips if there is no redis-server
	parent := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	parent.Env = append(os.Environ(), envOrphan+"=1", "TMPDIR="+t.TempDir()) // it cannot clean up
	output, err := parent.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, parent.Start())
	addr := ""
	for lines := bufio.NewScanner(output); addr == "" && lines.Scan(); {
		addr, _ = strings.CutPrefix(lines.Text(), "addr ")
		if !strings.Contains(addr, ":") {
			addr = ""
		}
	}
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err, "the server runs while its parent does")
	require.NoError(t, conn.Close())

	require.NoError(t, parent.Process.Kill())
	_ = parent.Wait()
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			return true
		}
		_ = conn.Close()
		return false
	}, 10*time.Second, 5*time.Millisecond)
}
