package testbed_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
)

func TestProcessIsStartedAndEndedMoreThanOnce(t *testing.T) {
	p := testbed.NewProcess(t.TempDir(), "echo", "sh", "-c", `echo "run $N"; [ "$N" = 3 ] || read -r line < fifo; exit 5`)
	p.Dir, p.Env = t.TempDir(), []string{"N=1"}
	require.NoError(t, syscall.Mkfifo(p.Dir+"/fifo", 0o600))
	require.False(t, p.Running())
	p.Kill() // does nothing
	require.NoError(t, p.Stop(syscall.SIGTERM))

	require.NoError(t, p.Start())
	require.Equal(t, "1", p.Await(t, `run (\d)`))
	require.True(t, p.Running())
	p.Kill()
	require.False(t, p.Running())
	require.Equal(t, testbed.Ending{Killed: true, Code: -1}, p.End())

	require.NoError(t, p.Start("N=2"))
	p.Await(t, `run 1\nrun 2\n`)
	require.ErrorContains(t, p.Stop(syscall.SIGTERM), "echo has ended with -1\nrun 1")

	require.NoError(t, p.Start("N=3"))
	<-p.Gone()
	require.Equal(t, 5, p.End().Code)
	require.Equal(t, "run 1\nrun 2\nrun 3\n", p.String())
	require.ErrorContains(t, testbed.NewProcess(t.TempDir(), "none", "/nowhere").Start(), "start none: ")
}

func TestWhatIsWaitedForEndsWithTheProcessOrTheContext(t *testing.T) {
	p := testbed.NewProcess(t.TempDir(), "brief", "sh", "-c", "echo last words")
	require.NoError(t, p.Start())
	never := func(context.Context) error { return errors.New("not yet") }
	require.EqualError(t, p.Until(t.Context(), never), "brief: it has ended: not yet\nlast words\n")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	require.EqualError(t, testbed.Until(ctx, time.Minute, never), "enough: not yet")
	require.EqualError(t, testbed.Until(t.Context(), time.Millisecond, never), "not within 1ms: not yet")
	times := 0
	require.NoError(t, testbed.Until(t.Context(), time.Minute, func(ctx context.Context) error {
		if times++; times < 3 {
			return never(ctx)
		}
		return nil
	}))
}

func TestProcessThatForksIsGoneWithItsCopies(t *testing.T) {
	p := testbed.NewProcess(t.TempDir(), "forks", "sh", "-c", "(read -r line < fifo; echo the copy ends) & echo pid $$; exec sleep 600")
	p.Dir, p.Forks = t.TempDir(), true
	require.NoError(t, syscall.Mkfifo(p.Dir+"/fifo", 0o600))
	require.NoError(t, p.Start())
	pid, err := strconv.Atoi(p.Await(t, `pid (\d+)`))
	require.NoError(t, err)
	killed := make(chan struct{})
	go func() {
		defer close(killed)
		p.Kill()
	}()
	require.Eventually(t, func() bool { return syscall.Kill(pid, 0) != nil }, testbed.Patience, testbed.Glance)
	require.True(t, p.Running())
	require.NoError(t, os.WriteFile(p.Dir+"/fifo", []byte("go\n"), 0)) // not before the copy reads
	<-killed
	require.Contains(t, p.String(), "the copy ends")
}

func TestProcessDiesWithAKilledParent(t *testing.T) {
	const variable = "EARSHOT_TEST_ORPHAN"
	if folder := os.Getenv(variable); folder != "" {
		require.NoError(t, testbed.NewProcess(folder, "orphan", "sh", "-c", "echo pid $$; exec sleep 600").Start())
		select {} // until killed
	}
	if runtime.GOOS != "linux" {
		t.Skip("the kernel offers no such thing")
	}
	parent := testbed.NewProcess(t.TempDir(), "parent", os.Args[0], "-test.run=^"+t.Name()+"$")
	folder := t.TempDir()
	require.NoError(t, parent.Start(variable+"="+folder))
	orphan := &testbed.Process{Log: folder + "/orphan.log"}
	pid := testbed.Got(strconv.Atoi(orphan.Await(t, `pid (\d+)`)))(t)
	require.NoError(t, syscall.Kill(pid, 0), "it runs while its parent does")
	parent.Kill()
	require.Eventually(t, func() bool {
		state, err := exec.Command("ps", "-o", "state=", "-p", strconv.Itoa(pid)).Output()
		return err != nil || strings.HasPrefix(string(state), "Z")
	}, testbed.Patience, testbed.Glance)
}

func TestRigEndsWhatItHasStartedAndFailsAsATestDoes(t *testing.T) {
	var order []string
	fails := func(how func(*testbed.Rig)) error {
		return testbed.Run(t.Context(), t.TempDir(), func(rig *testbed.Rig) error {
			require.DirExists(t, rig.TempDir())
			rig.Cleanup(func() { order = append(order, "first") })
			rig.Cleanup(func() { order = append(order, "second") })
			how(rig)
			return errors.New("its own")
		})
	}
	require.EqualError(t, fails(func(*testbed.Rig) {}), "its own")
	require.EqualError(t, fails(func(rig *testbed.Rig) { rig.Fatalf("no %s", "server") }), "no server")
	require.EqualError(t, fails(func(rig *testbed.Rig) { testbed.Missing(rig, "no program") }), "no program")
	require.EqualError(t, fails(func(rig *testbed.Rig) { rig.Errorf("beside") }), "its own\nbeside")
	require.PanicsWithValue(t, "a bug", func() { _ = fails(func(*testbed.Rig) { panic("a bug") }) })
	require.Equal(t, []string{"second", "first"}, order[:2])
	require.Len(t, order, 10)
}

func TestProgramThatIsGivenIsNotBuilt(t *testing.T) {
	t.Setenv("EARSHOT_PROGRAM", "/given")
	t.Setenv("EARSHOT_PROGRAM_CRASHTEST", "/given/crashtest")
	require.Equal(t, "/given", testbed.Program(t))
	require.Equal(t, "/given/crashtest", testbed.Program(t, "crashtest"))
	require.Equal(t, "/given", testbed.ProgramOf(t, t.TempDir(), ""))
	require.Equal(t, "/a/path", testbed.ProgramOf(t, t.TempDir(), "/a/path"))
}

func TestPortsCanBeListenedOnAndAreNotThoseOfConnections(t *testing.T) {
	ports := testbed.Ports(t, 50)
	require.Len(t, ports, 50)
	seen := map[int]bool{}
	for _, port := range ports {
		require.False(t, seen[port])
		seen[port] = true
		require.Less(t, port, 32768)
	}
	address := testbed.Address(t)
	listener := testbed.Got(net.Listen("tcp", address))(t)
	require.NoError(t, listener.Close())
}

// TestPortIsReservedAsLongAsItsTestRuns takes so many that some would be the same by chance.
func TestPortIsReservedAsLongAsItsTestRuns(t *testing.T) {
	first := testbed.Ports(t, 400)
	for _, port := range testbed.Ports(t, 400) {
		require.NotContains(t, first, port)
	}
}

func TestProxySwallowsAReplyAndClosesTheConnection(t *testing.T) {
	p := testbed.NewProxy(t, strings.TrimPrefix(testbed.Serve(t, "", http.NotFoundHandler()), "http://"), 1)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	get := func() error {
		response, err := client.Get("http://" + p.Addr)
		if err == nil {
			err = response.Body.Close()
		}
		return err
	}
	require.NoError(t, get())
	p.Loss.Store(1000)
	require.ErrorIs(t, get(), io.EOF)
	require.EqualValues(t, 1, p.Lost.Load())
}

// observed is a test that may be skipped or fail without ours doing so.
type observed struct {
	testing.TB
	skipped, failed string // why
}

func (o *observed) Skip(args ...any)  { o.skipped = fmt.Sprint(args...) }
func (o *observed) Fatal(args ...any) { o.failed = fmt.Sprint(args...) }

func TestWhatIsMissingSkipsATestUnlessServersAreRequired(t *testing.T) {
	optional, needed := &observed{TB: t}, &observed{TB: t}
	t.Setenv("EARSHOT_REQUIRE_SERVERS", "")
	testbed.Missing(optional, "no server")
	require.Equal(t, []string{"no server", ""}, []string{optional.skipped, optional.failed})
	t.Setenv("EARSHOT_REQUIRE_SERVERS", "1")
	testbed.Missing(needed, "no server")
	require.Equal(t, "no server", needed.failed)
}
