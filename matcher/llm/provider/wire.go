package provider

import (
	"bytes"
	"context"
	"slices"

	"earshot/repositories/secret"
)

// Wire is a request as it was sent and what came back, for those who ask why. A request that
// is sent again in another form leaves the last one.
type Wire struct {
	// Parts are the body, of which those in Tools are tools: the same for many requests.
	Parts Parts
	Tools int
	// LeftOut are members of it that were not sent, since the model refuses them.
	LeftOut []string
	Answer  []byte // as it came, but for the key
}

type wireKey struct{}

// Watched returns a context whose request is written into the wire.
func Watched(ctx context.Context, wire *Wire) context.Context {
	return context.WithValue(ctx, wireKey{}, wire)
}

func wireOf(ctx context.Context) *Wire {
	wire, _ := ctx.Value(wireKey{}).(*Wire)
	return wire
}

func (w *Wire) sends(body Body, parts Parts, without []string) {
	if w != nil {
		w.Parts, w.Tools, w.LeftOut = parts, len(body.Tools), slices.Clone(without)
	}
}

// gets notes an answer without the key, which some repeat.
func (w *Wire) gets(answer []byte, key string) {
	if w == nil {
		return
	}
	if w.Answer = answer; key != "" && bytes.Contains(answer, []byte(key)) {
		w.Answer = bytes.ReplaceAll(answer, []byte(key), []byte(secret.Masked))
	}
}

// IsTool reports whether the part at that place is a tool: they stand between the beginning
// and what follows them, with commas between.
func (w *Wire) IsTool(at int) bool { return at%2 == 1 && at < 2*w.Tools }
