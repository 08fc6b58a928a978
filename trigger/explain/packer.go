package explain

import (
	"crypto/sha256"
	"encoding/base64"
	"hash/maphash"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/klauspost/compress/s2"

	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/exactjson"
)

// maxSize is how many bytes an explanation has at most as it is kept, beside what it shares
// with others. Texts of one that is longer are cut, and it says which.
const maxSize = 64 << 10

// rewrite is how long a shared part that this process has written is relied on: a Redis that
// has lost its last writes has it again after that.
const rewrite = 10 * time.Minute

const (
	knownRepositories = 8192
	knownParts        = 32768
)

// Packer packs explanations. It is safe for concurrent use.
type Packer struct {
	keep  time.Duration
	now   func() time.Time
	seed  maphash.Seed
	known *lru.Cache[*repositories.Repository, *facts]
	refs  *lru.Cache[uint64, string] // by a hash of the content
	heads *lru.Cache[uint64, string] // names of lists, by a hash of the owner and of all that is in them
	// written is when a part was last written, by its owner and its name.
	written *lru.Cache[[2]string, time.Time]
}

// NewPacker returns a packer for explanations that are kept so long.
func NewPacker(keep time.Duration, now func() time.Time) *Packer {
	known, _ := lru.New[*repositories.Repository, *facts](knownRepositories) // fails for a size of 0 only
	refs, _ := lru.New[uint64, string](knownParts)
	heads, _ := lru.New[uint64, string](knownRepositories)
	written, _ := lru.New[[2]string, time.Time](knownParts)
	return &Packer{keep: keep, now: now, seed: maphash.MakeSeed(), known: known, refs: refs, heads: heads, written: written}
}

// Packed is an explanation as it is kept.
type Packed struct {
	Body string
	// Parts are those that it shares with others and that are to be written with it, by
	// their names.
	Parts map[string]string
	owner string
}

// Wrote notes that an explanation is written, with its parts.
func (p *Packer) Wrote(packed Packed) {
	for name := range packed.Parts {
		p.written.Add([2]string{packed.owner, name}, p.now())
	}
}

// packing is one explanation on its way.
type packing struct {
	*Packer
	Packed
	mask mask
}

// name names a part by its content.
func (p *Packer) name(content []byte) string {
	key := maphash.Bytes(p.seed, content)
	name, is := p.refs.Get(key)
	if !is {
		sum := sha256.Sum256(content)
		name = base64.RawURLEncoding.EncodeToString(sum[:12])
		p.refs.Add(key, name)
	}
	return name
}

// share names a part, and has it written.
func (w *packing) share(content []byte) string {
	name := w.name(content)
	w.needs(name, content)
	return name
}

// needs has a part written unless it was of late. Its owner is a life of an app: what a
// deleted one has written is gone.
func (w *packing) needs(name string, content []byte) {
	if _, is := w.Parts[name]; is {
		return
	}
	if w.wrote(name) {
		return
	}
	if w.Parts == nil {
		w.Parts = map[string]string{}
	}
	w.Parts[name] = string(s2.Encode(nil, []byte(w.mask.text(string(content)))))
}

// wrote reports whether a part was written of late.
func (w *packing) wrote(name string) bool {
	at, is := w.written.Get([2]string{w.owner, name})
	return is && w.owner != "" && w.now().Sub(at) < min(rewrite, w.keep/2)
}

// head shares the beginning of a request, as a list. While the list is known to be written,
// so is all that it names: each part is kept for twice as long as an explanation.
func (w *packing) head(pieces []matcher.Piece) []string {
	if len(pieces) == 0 {
		return nil
	}
	var h maphash.Hash
	h.SetSeed(w.seed)
	_, _ = h.WriteString(w.owner) // a hash never fails
	for _, piece := range pieces {
		_ = h.WriteByte(0)
		_, _ = h.Write(piece.Text)
	}
	key := h.Sum64()
	if name, is := w.heads.Get(key); is && w.wrote(name) {
		return []string{listed + name}
	}
	list := make([]string, len(pieces))
	for i, piece := range pieces {
		list[i] = literal + w.mask.text(string(piece.Text))
		if piece.Shared {
			list[i] = shared + w.share(piece.Text)
		}
	}
	name := w.share(exactjson.EncodeOrNull(list))
	w.heads.Add(key, name)
	return []string{listed + name}
}

// A text in pieces is kept as a list of texts, each of which begins with what it is.
const (
	literal = "="
	shared  = "#" // the name of a part that is a text
	listed  = "^" // the name of a part that is such a list
)

// Retell is the explanation of a message that is decided as it was explained before it was: at
// that time, with those verdicts on calls, by their numbers. What it shares with others is
// written.
func Retell(body string, at time.Time, verdicts map[int]Verdict) (Packed, error) {
	text, err := unpack(body)
	if err != nil {
		return Packed{}, err
	}
	var told kept
	if err := exactjson.Unmarshal(text, &told); err != nil {
		return Packed{}, err
	}
	told.Time = at.UnixMilli()
	for i := range told.Calls {
		if now, is := verdicts[i+1]; is {
			told.Calls[i].Verdict, told.Calls[i].Why, told.Calls[i].TriggerID = now.Verdict, now.Why, now.TriggerID
		}
	}
	text, err = exactjson.Encode(told)
	return Packed{Body: string(s2.Encode(nil, text))}, err
}

// unpack reads what was packed.
func unpack(text string) ([]byte, error) { return s2.Decode(nil, []byte(text)) }
