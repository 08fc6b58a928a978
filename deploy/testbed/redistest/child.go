package redistest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// startLimit is far above the 10 ms of an empty server, for machines that do
	// much else.
	startLimit = 30 * time.Second
	// knock is the pause between two looks whether the server answers.
	knock = 2 * time.Millisecond
)

var (
	errExited  = errors.New("redis-server ended at once")
	errForeign = errors.New("another process answers on its port")
)

// child is one life of the process.
type child struct {
	command *exec.Cmd
	output  *bytes.Buffer // to be read when gone is closed
	gone    chan struct{}
}

// launch starts the program from a thread that is kept until the child is gone: Linux
// sends the death signal of a child when the thread that made it ends, not its process.
func launch(program string, arguments []string) (*child, error) {
	c := &child{command: exec.Command(program, arguments...), output: &bytes.Buffer{}, gone: make(chan struct{})}
	c.command.Stdout, c.command.Stderr = c.output, c.output
	c.command.SysProcAttr = dieWithParent()
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(c.gone)
		err := c.command.Start()
		started <- err
		if err == nil {
			_ = c.command.Wait() // killed or not, all that matters is that it is gone
		}
	}()
	return c, <-started
}

// ready waits until the child itself answers on addr and has read its files.
func (c *child) ready(addr string) error {
	client := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, DialerRetries: 1})
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	again := time.NewTicker(knock)
	defer again.Stop()
	for {
		info, err := look(ctx, client)
		switch {
		case err != nil || strings.Contains(info, "\nloading:1"):
		case !strings.Contains(info, fmt.Sprintf("\nprocess_id:%d\r", c.command.Process.Pid)):
			return errForeign
		default:
			return nil
		}
		select {
		case <-again.C:
		case <-c.gone:
			return fmt.Errorf("%w: %s", errExited, c.output)
		case <-ctx.Done():
			return fmt.Errorf("it does not answer after %s: %w", startLimit, err)
		}
	}
}

// look asks a server about itself. It knocks first, because the client would log every
// connection that is refused.
func look(ctx context.Context, client *redis.Client) (string, error) {
	conn, err := net.Dial("tcp", client.Options().Addr)
	if err != nil {
		return "", err
	}
	if err := conn.Close(); err != nil {
		return "", err
	}
	return client.Info(ctx, "server", "persistence").Result()
}
