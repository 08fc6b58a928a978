package provider

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"

	"earshot/matcher"
)

// maxRefusing bounds the models of one endpoint of which it is known what they refuse:
// apps name models as they like.
const maxRefusing = 256

// refusals keeps by model the names of what it does not take in a request.
type refusals struct {
	adding sync.Mutex
	names  *lru.Cache[string, []string]
}

func newRefusals() *refusals {
	names, _ := lru.New[string, []string](maxRefusing) // fails for less than 1 only
	return &refusals{names: names}
}

func (r *refusals) of(model string) []string {
	names, _ := r.names.Get(model)
	return names
}

func (r *refusals) add(model, name string) {
	r.adding.Lock()
	defer r.adding.Unlock()
	known := r.of(model)
	if !slices.Contains(known, name) {
		r.names.Add(model, append(slices.Clone(known), name))
	}
}

// badRequest is the refusal of a request for what stands in it.
type badRequest struct {
	*matcher.Unavailable
	body []byte
}

// Unwrap makes it the *Unavailable that it is to callers.
func (b *badRequest) Unwrap() error { return b.Unavailable }

func isBadRequest(err error) bool {
	var bad *badRequest
	return errors.As(err, &bad)
}

var (
	nameLike = regexp.MustCompile(`[A-Za-z0-9_]+`)
	// notTaken matches what servers say of a parameter that they do not know, or not with
	// any value that is not the default.
	notTaken = regexp.MustCompile(`(?i)unsupported|not support|unknown|unrecogni[sz]ed|unexpected|not permitted|not allowed|cannot find field`)
)

// spared returns the name of what a refusal is about and what the request can do without;
// the empty string if there is none. It is the parameter that the error names, else the
// first word of its message that is in the request under that name.
func (t *Transport) spared(refused error, request []byte) string {
	var bad *badRequest
	if !errors.As(refused, &bad) {
		return ""
	}
	var sent map[string]json.RawMessage
	if json.Unmarshal(request, &sent) != nil {
		return ""
	}
	for _, named := range bad.words() {
		if mark := t.Marks[named]; mark != "" && bytes.Contains(request, []byte(mark)) {
			return named
		}
		if _, is := sent[named]; is && !slices.Contains(t.Essential, named) {
			return named
		}
	}
	return ""
}

// words are those of the error that may name a part of the request, the likeliest first. Of
// a path, such as tools[0].cache_control, any part may be meant.
func (b *badRequest) words() []string {
	var said struct {
		Error struct {
			Param string `json:"param"`
		} `json:"error"`
		Param string `json:"param"`
	}
	_ = json.Unmarshal(b.body, &said) // what cannot be read names nothing
	named := nameLike.FindAllString(said.Error.Param+" "+said.Param, -1)
	if notTaken.MatchString(b.Reason) {
		named = append(named, nameLike.FindAllString(b.Reason, -1)...)
	}
	return named
}

// without returns the request without what has that name.
func (t *Transport) without(request []byte, name string) []byte {
	if mark := t.Marks[name]; mark != "" {
		return bytes.ReplaceAll(request, []byte(mark), nil)
	}
	decoder, kept := json.NewDecoder(bytes.NewReader(request)), []byte("{")
	_, err := decoder.Token() // the brace before the first member
	for err == nil && decoder.More() {
		var member json.Token
		var value json.RawMessage
		member, err = decoder.Token()
		err = errors.Join(err, decoder.Decode(&value))
		if member == name {
			continue
		}
		if len(kept) > 1 {
			kept = append(kept, ',')
		}
		kept = append(kept, `"`+member.(string)+`":`...)
		kept = append(kept, value...)
	}
	if err != nil {
		return request // it is our own and is JSON
	}
	return append(kept, '}')
}
