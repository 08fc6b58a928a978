package main

import (
	"context"
	"net/http"

	"earshot/cmd/earshot/client"
	"earshot/cmd/earshot/systemd"
)

// supervised tells systemd how the service is until told ends, where systemd wants to know; it
// returns nil otherwise.
func (s *service) supervised(told context.Context) *systemd.Unit {
	if !systemd.Supervised(s.env.lookup) {
		return nil
	}
	asked := func(path string) func(context.Context) error {
		return func(ctx context.Context) error { return s.askItself(ctx, path) }
	}
	unit := &systemd.Unit{Alive: asked("/healthz"), Ready: asked("/readyz"), Pause: s.env.pause, Log: s.log}
	go unit.Run(told)
	return unit
}

// askItself sends the service a request by the way that its clients have: what fails there has
// failed for them too.
func (s *service) askItself(ctx context.Context, path string) error {
	address, err := dialable(s.listener.Addr().String())
	if err != nil {
		return err
	}
	itself := &client.Client{
		Server: (&healthProbe{cert: s.config.TLSCert}).scheme() + address,
		HTTP:   &http.Client{CheckRedirect: refuseRedirect, Transport: ownTransport()},
	}
	_, err = itself.Call(ctx, http.MethodGet, path, nil)
	return err
}

// takeHangups has each SIGHUP read anew what may change while the service runs, until what it
// returns is called. The signal that means "read your settings" ends no service.
func (s *service) takeHangups(unit *systemd.Unit) (stop func()) {
	if s.env.hangups == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	came, forget := s.env.hangups()
	go func() {
		for {
			select {
			case <-came:
				if unit == nil {
					s.reload()
				} else {
					unit.Reload(s.reload)
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() { forget(); cancel() }
}

func (s *service) reload() {
	s.log.Info("service.reload", "certificate", s.certificate != nil)
	if s.certificate != nil {
		s.certificate.Reload()
	}
}
