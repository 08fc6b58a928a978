package mqtt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/mochi-mqtt/server/v2/packets"

	"earshot/api/answer"
	"earshot/api/auth"
	"earshot/repositories/secret"
	"earshot/repositories/store"
)

const (
	// maxPacket is the longest packet of a client, in bytes.
	maxPacket = 64 << 10
	// maxFirst is the longest first packet, in bytes: room for an id and a token, which stay in memory with the
	// connection.
	maxFirst = 8 << 10
)

type refusal struct {
	version byte
	code    packets.Code
	reason  string // empty: the protocol cannot express it
}

var (
	unauthorized = packets.ErrNotAuthorized
	unavailable  = packets.ErrServerUnavailable
	tooMany      = packets.ErrServerBusy
	tooManyOfOne = packets.ErrQuotaExceeded
	unknown      = packets.ErrUnsupportedProtocolVersion
)

var quotaReason = fmt.Sprintf("too many filters: a client may have %d of at most %d bytes and %d levels, as long as its app has room", maxFilters, maxFilterBytes, maxFilterLevels)

// older maps refusals to the codes of earlier versions (MQTT 3.1.1, table 3.1).
var older = map[packets.Code]packets.Code{
	unauthorized: packets.Err3NotAuthorized, unavailable: packets.Err3ServerUnavailable, tooMany: packets.Err3ServerUnavailable,
	tooManyOfOne: packets.Err3ServerUnavailable, unknown: packets.Err3UnsupportedProtocolVersion,
}

func (c *connection) refuse(code packets.Code) *refusal {
	return &refusal{version: c.version, code: code, reason: code.Reason}
}

func (r *refusal) send(to io.Writer) {
	if r.version == 0 {
		return
	}
	code := r.code
	if r.version < 5 {
		code = older[code]
	}
	pk := packets.Packet{FixedHeader: packets.FixedHeader{Type: packets.Connack}, ProtocolVersion: r.version, ReasonCode: code.Code}
	pk.Properties.ReasonString = r.reason
	var text bytes.Buffer
	if pk.ConnackEncode(&text) == nil {
		_, _ = to.Write(text.Bytes())
	}
}

func (s *Server) admit(ctx context.Context, conn *connection, origin string) (auth.Principal, *refusal) {
	if err := conn.SetReadDeadline(time.Now().Add(connectTime)); err != nil {
		return auth.Principal{}, &refusal{}
	}
	hello, err := conn.first()
	if err != nil {
		return auth.Principal{}, &refusal{reason: err.Error()}
	}
	if conn.version = hello.ProtocolVersion; conn.version < 3 || conn.version > 5 {
		conn.version = 4
		return auth.Principal{}, conn.refuse(unknown)
	}
	// SERMAS's client sends its token as the user name; others may use the password.
	token := hello.Connect.Username
	if len(token) == 0 {
		token = hello.Connect.Password
	}
	who, err := s.principal(ctx, secret.New(string(token)))
	if err == nil && origin != "" {
		err = s.admitPage(ctx, who.AppID(), origin)
	}
	if answer.IsUnavailable(err) {
		return who, conn.refuse(unavailable)
	}
	if err != nil {
		no := conn.refuse(unauthorized)
		no.reason = why(err)
		return who, no
	}
	return who, nil
}

// admitPage refuses a foreign page whose origin the app does not allow, as sockets and MCP do.
func (s *Server) admitPage(ctx context.Context, appID, origin string) error {
	if s.Origins == nil {
		return auth.ForeignPage(origin)
	}
	allowed, err := s.Origins.AllowsOrigin(ctx, appID, origin)
	if err == nil && !allowed {
		err = auth.ForeignPage(origin)
	}
	return err
}

var (
	errNoApp   = errors.New("the admin key is no app's: connect with a token of /api/platform/token, or a key of the app")
	errNoToken = errors.New("no token: send one of /api/platform/token as the user name")
	errSession = errors.New("the token of a session follows its session by /v1/apps/{appId}/sessions/{sessionId}/events")
)

var follower = auth.Access{Scopes: []store.Permission{store.PermitMessages, store.PermitTriggers}}.ReadOnly()

func (s *Server) principal(ctx context.Context, token secret.Secret) (auth.Principal, error) {
	if token.Empty() {
		return auth.Principal{}, refused(errNoToken)
	}
	who, err := s.Principal(ctx, token)
	switch {
	case err != nil:
		return who, err
	case who.Admin:
		return who, refused(errNoApp)
	case who.FrontEnd():
		return who, refused(errSession)
	}
	return who, who.Check(follower, who.AppID(), "")
}

func refused(because error) error { return answer.NewProblem(answer.NotPermitted, because.Error()) }

var errNotMQTT = errors.New("what was sent first is no CONNECT packet of MQTT")

// first reads the CONNECT packet, and keeps its bytes for the broker.
func (c *connection) first() (hello packets.Packet, err error) {
	header := make([]byte, 1, 5)
	if _, err = io.ReadFull(c.Conn, header); err != nil || header[0] != packets.Connect<<4 {
		return hello, errNotMQTT
	}
	length := 0
	for shift := 0; ; shift += 7 {
		var next [1]byte
		if _, err = io.ReadFull(c.Conn, next[:]); err != nil || shift > 14 {
			return hello, errNotMQTT
		}
		header = append(header, next[0])
		length |= int(next[0]&0x7f) << shift
		if next[0] < 0x80 {
			break
		}
	}
	if length > maxFirst {
		return hello, errNotMQTT
	}
	body := make([]byte, length)
	if _, err = io.ReadFull(c.Conn, body); err != nil {
		return hello, errNotMQTT
	}
	c.read = append(header, body...)
	hello.FixedHeader = packets.FixedHeader{Type: packets.Connect, Remaining: length}
	if hello.ConnectDecode(body) != nil {
		return hello, errNotMQTT
	}
	return hello, nil
}
