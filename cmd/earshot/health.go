package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/spf13/cobra"

	"earshot/cmd/earshot/client"
	"earshot/repositories/fault"
	"earshot/repositories/files"
	"earshot/repositories/version"
)

// healthTimeout is longer than the two seconds in which a replica answers even if its servers do not.
const healthTimeout = 3 * time.Second

func newSchema(env environment) *cobra.Command {
	return &cobra.Command{
		Use:         "schema",
		Annotations: offline,
		Args:        arguments(0, 0),
		RunE: func(*cobra.Command, []string) error {
			_, err := env.out.Write(files.Schema())
			return err
		},
	}
}

func newHealth(env environment) *cobra.Command {
	var server, addr, cert string
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:  "health",
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if timeout <= 0 {
				return fmt.Errorf("--timeout is %s; it must be more than 0, as in %s", timeout, healthTimeout)
			}
			asked := &client.Client{Server: server, HTTP: &http.Client{CheckRedirect: refuseRedirect}}
			if server == "" {
				if asked, err = thisMachine(addr, cert != ""); err != nil {
					return err
				}
			}
			bounded, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			body, err := asked.Call(bounded, http.MethodGet, "/readyz?verbose", nil)
			if err != nil && bounded.Err() != nil && cmd.Context().Err() == nil {
				return fmt.Errorf("%s does not answer within %s", client.Redacted(asked.Server), timeout)
			}
			if err != nil {
				return err
			}
			var answer struct {
				Services []struct {
					Name string
					Away []struct{ Name, Says string }
				}
			}
			_ = json.Unmarshal(body, &answer) // another answer has none
			said := "ready"
			for _, one := range answer.Services {
				for _, part := range one.Away {
					said += fmt.Sprintf("; %s %s: %s", one.Name, part.Name, part.Says)
				}
			}
			fmt.Fprintln(env.out, said)
			return nil
		},
	}
	set := settings{cmd.Flags()}
	set.text(&server, "server", "EARSHOT_URL", "", "`URL` of the service; default: the replica on this machine")
	set.text(&addr, "addr", "EARSHOT_ADDR", "127.0.0.1:8080", "address of the replica on this machine")
	set.text(&cert, "tls-cert", "EARSHOT_TLS_CERT", "", "`FILE` with its certificate, if it serves HTTPS")
	set.DurationVar(&timeout, "timeout", healthTimeout, "how long to wait for its answer")
	return cmd
}

// refuseRedirect treats a redirect as an answer: its target says nothing about the service.
func refuseRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// thisMachine returns a client of the replica on this machine that listens on addr, by its loopback URL,
// without a proxy and without certificate checks. No credential may be sent through it.
func thisMachine(addr string, secure bool) (*client.Client, error) {
	host, port, err := net.SplitHostPort(addr)
	if err == nil && (port == "" || port == "0") {
		err = errors.New("its port is not known")
	}
	if err != nil {
		return nil, fmt.Errorf("--addr (EARSHOT_ADDR) is %q: %w; give host and port, as in 127.0.0.1:8080, or name the service with --server or EARSHOT_URL", fault.Clip(addr), err)
	}
	switch ip, _ := netip.ParseAddr(cmp.Or(host, "0.0.0.0")); ip {
	case netip.IPv4Unspecified():
		host = "127.0.0.1"
	case netip.IPv6Unspecified():
		host = "::1"
	}
	scheme := "http://"
	if secure {
		scheme = "https://"
	}
	by := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}
	return &client.Client{Server: scheme + net.JoinHostPort(host, port), HTTP: &http.Client{CheckRedirect: refuseRedirect, Transport: by}}, nil
}

func newVersion() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:         "version",
		Annotations: offline,
		Args:        arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(version.Current())
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "earshot", version.Current())
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print it as JSON")
	return cmd
}
