package embeddings

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"earshot/matcher"
	"earshot/matcher/text"
	"earshot/repositories"
	"earshot/repositories/plaintext"
)

const (
	// shownExamples of a tool are part of its text, as a model is shown them.
	shownExamples = 3
	// maxText bounds a text, in bytes: models refuse or cut what has more than some hundred
	// words, and what a tool is for stands at the beginning.
	maxText = 2000
)

// textOf is what a tool's vector is made of.
func textOf(tool *repositories.Tool) string {
	parts := []string{text.Identifier(tool.Name)}
	if tool.Description != "" {
		parts = append(parts, tool.Description)
	}
	spoken := tool.Spoken()
	parts = append(parts, spoken[:min(len(spoken), shownExamples)]...)
	return text.Clip(plaintext.Text(strings.Join(parts, "\n")), maxText)
}

// digest names what the model makes of a text.
func (s *Space) digest(of string) string {
	sum := sha256.Sum256([]byte(s.model.name + "\n" + of))
	return hex.EncodeToString(sum[:16])
}

// shelf has the vectors of the tools that an app shares, as long as none of them changes.
type shelf struct {
	tools []matcher.Candidate
	lock  sync.Mutex
	found []vector      // by tool, nil for those that are not there yet; never changed
	next  time.Time     // when missing ones are looked up again; zero: at once
	ready chan struct{} // closed when those that are being looked up are there; nil: none are
	whole bool
}

// lookAgain is how long what is missing on a shelf is left to whoever makes it.
const lookAgain = 2 * time.Second

func newShelf(tools []matcher.Candidate) *shelf {
	return &shelf{tools: tools, found: make([]vector, len(tools))}
}

// ofCandidates returns the vectors of a request's candidates, nil where they are not there.
// Those that are missing are made for the next messages.
func (s *Space) ofCandidates(ctx context.Context, request matcher.Request) []vector {
	found := make([]vector, len(request.Candidates))
	if request.Shared == nil {
		copy(found, s.ofTools(ctx, request.Candidates))
		return found
	}
	on := matcher.Kept(request.Shared, newShelf)
	for i, of := range s.onShelf(ctx, on) {
		if place, in := request.InScope(on.tools[i]); in {
			found[place] = of
		}
	}
	for i, of := range s.ofTools(ctx, request.Own) {
		if place, in := request.Place(request.Own[i].Tool.Name); in {
			found[place] = of
		}
	}
	return found
}

// onShelf returns the vectors of shared tools. It waits for those that are looked up as long
// as the context allows, and takes what there is then.
func (s *Space) onShelf(ctx context.Context, on *shelf) []vector {
	if ready := s.lookUp(on); ready != nil {
		select {
		case <-ready:
		case <-ctx.Done():
		}
	}
	on.lock.Lock()
	defer on.lock.Unlock()
	return on.found
}

// lookUp has missing vectors looked up, by one goroutine for all messages. What it returns is
// closed when that is done; nil where nothing is being done.
func (s *Space) lookUp(on *shelf) (ready chan struct{}) {
	on.lock.Lock()
	defer on.lock.Unlock()
	if on.whole || on.ready != nil || s.options.Now().Before(on.next) {
		return on.ready
	}
	on.ready, on.next = make(chan struct{}), s.options.Now().Add(lookAgain)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), s.options.Timeout)
		defer cancel()
		on.put(s.ofTools(ctx, on.tools))
	}()
	return on.ready
}

// put takes in what was looked up.
func (on *shelf) put(found []vector) {
	on.lock.Lock()
	defer on.lock.Unlock()
	on.found, on.whole = found, !slices.ContainsFunc(found, func(v vector) bool { return v == nil })
	close(on.ready)
	on.ready = nil
}

// ofTools returns the vectors of tools of one app: from memory, else from the store. Those that
// are in neither are made in the background.
func (s *Space) ofTools(ctx context.Context, tools []matcher.Candidate) []vector {
	found, missing := make([]vector, len(tools)), task{}
	for i, candidate := range tools {
		said := textOf(candidate.Tool)
		if known, is := s.vectors.Get(s.digest(said)); is {
			found[i] = known
			continue
		}
		missing.appID = candidate.Repository.AppID
		missing.texts = append(missing.texts, said)
		missing.places = append(missing.places, i)
	}
	if len(missing.texts) == 0 {
		return found
	}
	stored, err := s.stored(ctx, missing)
	if err != nil {
		s.options.Logger.DebugContext(ctx, "embeddings.unread", "app", missing.appID, "error", err.Error())
	}
	for i, of := range stored {
		found[missing.places[i]] = of
	}
	if err != nil || slices.ContainsFunc(stored, func(v vector) bool { return v == nil }) {
		s.learn(missing)
	}
	return found
}

// stored looks vectors up in the store, by text, and keeps what it finds in memory.
func (s *Space) stored(ctx context.Context, of task) ([]vector, error) {
	digests := make([]string, len(of.texts))
	for i, said := range of.texts {
		digests[i] = s.digest(said)
	}
	kept, err := s.options.Store.Vectors(ctx, of.appID, digests)
	if err != nil {
		return nil, err
	}
	found := make([]vector, len(kept))
	for i, packed := range kept {
		if found[i] = unpack(packed); found[i] != nil {
			s.vectors.Add(digests[i], found[i])
		}
	}
	return found, nil
}

// pack writes the numbers of a vector, four bytes each, the least significant first.
func pack(v vector) []byte {
	packed := make([]byte, 0, 4*len(v))
	for _, one := range v {
		packed = binary.LittleEndian.AppendUint32(packed, math.Float32bits(one))
	}
	return packed
}

// unpack reads a packed vector; nil if there is none.
func unpack(packed []byte) vector {
	if len(packed) == 0 || len(packed)%4 != 0 {
		return nil
	}
	v := make(vector, len(packed)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(packed[4*i:]))
	}
	return v
}

// ofText returns the vector of what was said. The error says why there is none, for people.
func (s *Space) ofText(ctx context.Context, said string) (vector, error) {
	said = text.Clip(said, maxText)
	if strings.TrimSpace(said) == "" {
		return nil, errors.New("there are no words to compare")
	}
	if known, is := s.texts.Get(said); is {
		return known, nil
	}
	if err := s.health.resting(); err != nil {
		return nil, err
	}
	found, err := s.model.embed(ctx, []string{said})
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		err = fmt.Errorf("the embedding model %s did not answer within %s", s.model.name, s.options.Patience)
	case ctx.Err() != nil:
		return nil, ctx.Err() // who asked has gone; nothing is known of the model
	case err != nil:
		err = fmt.Errorf("the embedding model %s gave no vector: %w", s.model.name, err)
	}
	if s.health.note(err) {
		s.tell(ctx, err)
	}
	if err != nil {
		return nil, err
	}
	s.texts.Add(said, found[0])
	return found[0], nil
}

// tell logs that the model is away, or back.
func (s *Space) tell(ctx context.Context, err error) {
	if err != nil {
		s.options.Logger.WarnContext(ctx, "embeddings.away", "model", s.model.name, "error", err.Error())
		return
	}
	s.options.Logger.InfoContext(ctx, "embeddings.back", "model", s.model.name)
}
