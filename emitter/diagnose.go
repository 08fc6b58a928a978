package emitter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"earshot/repositories/finding"
)

type diagnosis struct {
	conn     *nats.Conn
	stream   *stream
	findings []finding.Finding
}

func (d *diagnosis) add(check string, grade finding.Grade, value, advice string) {
	d.findings = append(d.findings, finding.Finding{Check: check, Grade: grade, Value: value, Advice: advice})
}

// dialer records the dial error, which the library does not report.
type dialer struct {
	net.Dialer
	err error
}

// Dial implements nats.CustomDialer. Calls are sequential.
func (d *dialer) Dial(network, address string) (conn net.Conn, err error) {
	conn, d.err = d.Dialer.Dial(network, address)
	return conn, d.err
}

// Diagnose checks whether NATS meets Earshot's needs, and changes nothing. ingress adds permissions. The error
// is one of the list.
func Diagnose(ctx context.Context, list string, options Options, ingress bool) ([]finding.Finding, error) {
	options = options.withDefaults()
	options.Logger = slog.New(slog.DiscardHandler)
	if _, err := servers(list); err != nil {
		return nil, err
	}
	if _, err := options.Login.Options(); err != nil {
		return nil, err
	}
	d, dial := &diagnosis{}, &dialer{Dialer: net.Dialer{Timeout: options.Timeout}}
	ignoreErrors := nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})
	conn, err := connect(list, options.Login, nats.Name("earshot-doctor"), nats.RetryOnFailedConnect(false), nats.SetCustomDialer(dial), ignoreErrors)
	if errors.Is(err, nats.ErrNoServers) && dial.err != nil {
		err = dial.err
	}
	var js jetstream.JetStream
	if err == nil {
		defer conn.Close()
		js, err = jetstream.New(conn)
	}
	if err != nil {
		d.add("reach", finding.Unusable, "", fmt.Sprintf("it does not answer: %s; see NATS_URL (--nats-url)", err))
		return d.findings, nil
	}
	d.conn, d.stream = conn, newStream(js, options)
	version, major, minor := conn.ConnectedServerVersion(), 0, 0
	if n, _ := fmt.Sscanf(version, "%d.%d", &major, &minor); n == 2 && (major < 2 || major == 2 && minor < 10) {
		d.add("version", finding.Doubtful, version, "it is version "+version+": sessions are not erased or exported, event streams do not resume, and events are acknowledged before they are on the disk; install 2.10 or later")
	} else {
		d.add("version", finding.Good, version, "")
	}
	if payload := conn.MaxPayload(); payload < wantedPayload {
		d.add("max_payload", finding.Notable, fmt.Sprint(payload), fmt.Sprintf("its max_payload is %d bytes, and longer events and replies are refused; set max_payload: 8MB", payload))
	} else {
		d.add("max_payload", finding.Good, fmt.Sprint(payload), "")
	}
	for _, examine := range []func(context.Context){
		func(ctx context.Context) { d.permissions(ctx, ingress) }, d.account, d.events, d.answers,
	} {
		stepCtx, cancel := context.WithTimeout(ctx, options.Timeout)
		examine(stepCtx)
		cancel()
	}
	return d.findings, nil
}

// wantedPayload is the longest event with its headers, in bytes.
const wantedPayload = 2 << 20

// permissions compares the user's permissions with the required ones. A server may deny this request.
func (d *diagnosis) permissions(ctx context.Context, ingress bool) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	const check = "permissions"
	const remedy = "give it what deploy/package/nats-permissions.conf has"
	reply, err := d.conn.RequestWithContext(ctx, AskUser, nil)
	var info struct {
		Data struct {
			Permissions struct {
				Publish   *allowance `json:"publish"`
				Subscribe *allowance `json:"subscribe"`
			} `json:"permissions"`
		} `json:"data"`
	}
	if err == nil {
		err = json.Unmarshal(reply.Data, &info)
	}
	if err != nil {
		d.add(check, finding.Doubtful, "not asked", "it does not say what its user may ("+AskUser+"); "+remedy)
		return
	}
	needed, granted := Needed(ingress), info.Data.Permissions
	var denied []string
	if publish := granted.Publish.lacks(needed.Publish); publish != nil {
		denied = append(denied, "publish on "+strings.Join(publish, ", "))
	}
	if subscribe := granted.Subscribe.lacks(needed.Subscribe); subscribe != nil {
		denied = append(denied, "subscribe to "+strings.Join(subscribe, ", "))
	}
	if denied == nil {
		d.add(check, finding.Good, fmt.Sprintf("all %d subjects", len(needed.Publish)+len(needed.Subscribe)), "")
		return
	}
	missing := "its user may not " + strings.Join(denied, " or ")
	d.add(check, finding.Unusable, missing, missing+"; "+remedy)
}

func (d *diagnosis) account(ctx context.Context) {
	const check = "JetStream"
	account, err := d.stream.js.AccountInfo(ctx)
	switch {
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount), errors.Is(err, nats.ErrNoResponders):
		d.add(check, finding.Unusable, "off", "NATS has no JetStream for this account; enable it in the server's configuration, and for the account")
		return
	case code(err) == codeNoLeader:
		d.add(check, finding.Unusable, "no leader", "JetStream has no leader: too few servers of the cluster are up; start them")
		return
	case err != nil:
		d.add(check, finding.Doubtful, "not asked", "it does not say how much room the account has ($JS.API.INFO): "+err.Error())
		return
	}
	limit, used := account.Limits.MaxStore, int64(account.Store)
	value := fmt.Sprintf("%d bytes used, no limit of the account", used)
	if limit > 0 {
		value = fmt.Sprintf("%d of %d bytes used", used, limit)
	}
	if need := d.stream.options.MaxBytes; limit > 0 && limit < need {
		d.add(check, finding.Doubtful, value, fmt.Sprintf("the account may store %d bytes, and the stream %d; give EARSHOT_STREAM_MAX_BYTES (--stream-max-bytes) less, or the account more", limit, need))
		return
	}
	d.add(check, finding.Good, value, "")
}

// events checks the stream of events, which serve creates and repairs.
func (d *diagnosis) events(ctx context.Context) {
	current := d.readStream(ctx, Stream)
	if current == nil {
		return
	}
	info := current.CachedInfo()
	wanted := d.stream.config(info.Config, true)
	value := fmt.Sprintf("%d of %d bytes, max age %s, replicas %d", info.State.Bytes, info.Config.MaxBytes, info.Config.MaxAge, info.Config.Replicas)
	check := "stream " + Stream
	switch {
	case d.stream.fullness.observe(info) != nil:
		d.add(check, finding.Unusable, value, errFull.Error())
	case !reflect.DeepEqual(wanted, info.Config):
		d.add(check, finding.Notable, value, "it differs from the settings ("+differences(info.Config, wanted)+"); the next start of serve changes it")
	case info.Cluster != nil && len(info.Cluster.Replicas) == 0 && info.Cluster.Name != "" && len(d.conn.Servers()) > 1:
		d.add(check, finding.Notable, value, "one server of the cluster holds it alone; give --nats-replicas 3")
	default:
		d.add(check, finding.Good, value, "")
	}
	d.leader(info, check)
}

func (d *diagnosis) answers(ctx context.Context) {
	if current := d.readStream(ctx, AnswerStream); current != nil {
		info, check := current.CachedInfo(), "stream "+AnswerStream
		d.add(check, finding.Good, fmt.Sprintf("%d of %d bytes, replicas %d", info.State.Bytes, info.Config.MaxBytes, info.Config.Replicas), "")
		d.leader(info, check)
	}
}

// readStream returns a stream, or nil after a finding if it does not exist or cannot be read.
func (d *diagnosis) readStream(ctx context.Context, name string) jetstream.Stream {
	current, err := d.stream.js.Stream(ctx, name)
	switch check := "stream " + name; {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		d.add(check, finding.Good, "not there yet: serve makes it", "")
	case errors.Is(err, context.DeadlineExceeded):
		d.add(check, finding.Unusable, "no answer", "no server answers for the stream: its user is denied $JS.API.STREAM.INFO."+name+", or too few servers of the cluster are up for it to have a leader")
	case err != nil:
		d.add(check, finding.Unusable, "", explain(err).Error())
	default:
		return current
	}
	return nil
}

func (d *diagnosis) leader(info *jetstream.StreamInfo, check string) {
	if info.Cluster == nil {
		return
	}
	check += " leader"
	if info.Cluster.Leader == "" {
		d.add(check, finding.Unusable, "none", "the stream has no leader: too few servers of the cluster are up; start them")
		return
	}
	var unavailable []string
	for _, peer := range info.Cluster.Replicas {
		if peer.Offline || !peer.Current {
			unavailable = append(unavailable, peer.Name)
		}
	}
	// A leader without a quorum reports itself as leader for a while.
	switch all := len(info.Cluster.Replicas) + 1; {
	case 2*(all-len(unavailable)) <= all:
		d.add(check, finding.Unusable, "no quorum", fmt.Sprintf("%d of the %d servers that hold the stream are away, or behind, and it takes nothing: %s; start them", len(unavailable), all, strings.Join(unavailable, ", ")))
		return
	case unavailable != nil:
		d.add(check, finding.Notable, info.Cluster.Leader, "these servers that hold the stream are away, or behind: "+strings.Join(unavailable, ", "))
		return
	}
	d.add(check, finding.Good, info.Cluster.Leader, "")
}

// Permissions lists the subjects that a NATS user must be allowed to publish and subscribe to, as in
// deploy/package/nats-permissions.conf.
type Permissions struct {
	Publish   []string `json:"publish"`
	Subscribe []string `json:"subscribe"`
}

// AskUser is the request subject for the permissions of the connected user.
const AskUser = "$SYS.REQ.USER.INFO"

// Needed returns the permissions for events and answers, and with ingress for requests over NATS.
func Needed(ingress bool) Permissions {
	needed := Permissions{Publish: slices.Concat([]string{"tool.*.>", "app.*.*.*"}, chatSubjects, apiOf(Stream), apiOf(AnswerStream)), Subscribe: []string{"_INBOX.>"}}
	needed.Publish = append(needed.Publish, "$JS.API.CONSUMER.DELETE."+Stream+".*", "$JS.API.STREAM.MSG.GET."+AnswerStream, "$JS.ACK."+AnswerStream+".>", "$JS.API.INFO", AskUser)
	if ingress {
		needed.Publish = append(needed.Publish, "_INBOX.>")
		needed.Subscribe = append(needed.Subscribe, "earshot.v1.>", "$SRV.>")
	}
	return needed
}

func apiOf(name string) (subjects []string) {
	for _, operation := range []string{"STREAM.CREATE.#", "STREAM.INFO.#", "STREAM.UPDATE.#", "STREAM.MSG.DELETE.#", "CONSUMER.CREATE.#.>", "CONSUMER.INFO.#.*", "CONSUMER.MSG.NEXT.#.*"} {
		subjects = append(subjects, "$JS.API."+strings.Replace(operation, "#", name, 1))
	}
	return subjects
}

// within reports whether all subjects of a pattern match another pattern. The server's function would link the
// whole server.
func within(pattern, other string) bool {
	patternParts, otherParts := strings.Split(pattern, "."), strings.Split(other, ".")
	for i, word := range otherParts {
		switch {
		case word == ">":
			return len(patternParts) > i
		case i >= len(patternParts) || patternParts[i] == ">":
			return false
		case word != "*" && word != patternParts[i]:
			return false
		}
	}
	return len(patternParts) == len(otherParts)
}

// Overlap reports whether a subject can match both patterns.
func Overlap(a, b string) bool {
	first, second := strings.Split(a, "."), strings.Split(b, ".")
	for i := 0; i < len(first) && i < len(second); i++ {
		switch {
		case first[i] == ">" || second[i] == ">":
			return true
		case first[i] != "*" && second[i] != "*" && first[i] != second[i]:
			return false
		}
	}
	return len(first) == len(second)
}

// allowance is a server's permission list; an empty Allow, or no list, allows everything.
type allowance struct {
	Allow []string `json:"allow"`
	Deny  []string `json:"deny"`
}

// lacks returns the needed subjects that are not allowed completely.
func (a *allowance) lacks(needed []string) (missing []string) {
	if a == nil {
		return nil
	}
	for _, subject := range needed {
		allowed := len(a.Allow) == 0 || slices.ContainsFunc(a.Allow, func(pattern string) bool { return within(subject, pattern) })
		if !allowed || slices.ContainsFunc(a.Deny, func(pattern string) bool { return Overlap(subject, pattern) }) {
			missing = append(missing, subject)
		}
	}
	return missing
}
