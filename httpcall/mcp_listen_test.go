package httpcall_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"earshot/httpcall"
	"earshot/repositories"
)

// hears listens to the source crm, and returns its notifications and its end.
func (r *rig) hears(ctx context.Context) (news chan struct{}, ended chan string) {
	news, ended = make(chan struct{}, 100), make(chan string, 1)
	go func() {
		offered, err := r.Listen(ctx, r.apps["clinic"], "crm", func() { news <- struct{}{} })
		ended <- fmt.Sprint(offered, " ", err)
	}()
	return news, ended
}

// legacy lets a server refuse the revision without sessions.
func (s *toolServer) legacy() {
	s.fails("server/discover", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadRequest) })
}

func TestAServerIsHeardWhenItsToolsChange(t *testing.T) {
	for name, legacy := range map[string]bool{"2026-07-28": false, "2025-11-25": true} {
		t.Run(name, func(t *testing.T) {
			s := newToolServer(t, mcp.StreamableHTTPOptions{Stateless: !legacy})
			r := remoteRig(t, s.URL, func(of *repositories.Source) { of.Headers = repositories.Headers{"X-Key": credential("planted")} })
			ctx, cancel := context.WithCancel(t.Context())
			news, ended := r.hears(ctx)
			<-news // it listens
			s.add("other", findSchema, nil)
			<-news
			require.Equal(t, legacy, s.times("subscriptions/listen") == 0)
			for _, one := range s.requests() {
				require.Equal(t, "planted", one.header.Get("X-Key"), one.body)
			}
			cancel()
			require.Equal(t, "true <nil>", <-ended)

			news, ended = r.hears(t.Context())
			<-news
			s.add("third", findSchema, nil)
			<-news
			s.CloseClientConnections()
			require.Equal(t, "true <nil>", <-ended, "the stream has ended")
		})
	}
}

func TestNobodyListensToAServerThatSaysNothing(t *testing.T) {
	s := newToolServer(t, mcp.StreamableHTTPOptions{})
	s.served = mcp.NewServer(&mcp.Implementation{Name: "crm", Version: "1"}, &mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}})
	r := remoteRig(t, s.URL, nil)
	_, ended := r.hears(t.Context())
	require.Equal(t, "false <nil>", <-ended)
	require.Zero(t, s.times("subscriptions/listen"))

	s = newToolServer(t, mcp.StreamableHTTPOptions{Stateless: true}) // GET is 405
	s.legacy()
	_, ended = remoteRig(t, s.URL, nil).hears(t.Context())
	require.Equal(t, "false <nil>", <-ended)

	s.fails("", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	_, ended = remoteRig(t, s.URL, nil).hears(t.Context())
	require.Contains(t, <-ended, "503")

	_, ended = remoteRig(t, strings.Replace(s.URL, "127.0.0.1", "localhost", 1), nil, func(o *httpcall.Options) { o.Policy = policy(t, "deny") }).hears(t.Context())
	require.Contains(t, <-ended, "must not reach localhost")
}

func TestAServerThatTalksWithoutEndIsLeft(t *testing.T) {
	s := newToolServer(t, mcp.StreamableHTTPOptions{Stateless: true})
	s.fails("subscriptions/listen", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for r.Context().Err() == nil {
			_, _ = io.WriteString(w, ": "+strings.Repeat("x", 1<<10)+"\n\n")
		}
	})
	_, ended := remoteRig(t, s.URL, nil).hears(t.Context())
	select {
	case got := <-ended:
		require.Contains(t, got, "true")
	case <-time.After(time.Minute):
		t.Fatal("it is read for ever")
	}
}
