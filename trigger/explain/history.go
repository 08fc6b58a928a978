package explain

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"hash/maphash"
	"slices"
	"strconv"
	"strings"
	"time"

	"earshot/matcher"
)

// A request to a model repeats the history of its session, which the request for the previous message had too. Its text
// is stored as ranges of that one's text, and what is new. So an explanation does not grow with its session.

const (
	// maxSteps bounds the explanations that a reader fetches to restore a text.
	maxSteps = 32
	// minRange is the length in bytes of the shortest text that is stored as a range.
	minRange = 32
	// minSaved is how many bytes of a text must be in ranges: it packs better as a whole otherwise.
	minSaved = 512
	// maxSpans bounds the spans of a text that is stored as ranges.
	maxSpans = 1024
	// cachedSessions bounds the sessions whose last text is known, at some kilobytes each.
	cachedSessions = 4096
	// cachedDrafts bounds the drafts whose texts are known until they are decided.
	cachedDrafts = 1024
)

// spanEnd ends every span of a text but the last: a JSON object ends so if its last member is a text.
var spanEnd = []byte(`"}`)

// askedText describes the text of a request, which the next explanation of the session may refer to.
type askedText struct {
	base
	since time.Time // of the oldest explanation that is needed to restore it
	steps int       // number of other explanations that are needed to restore it
	spans []uint64  // hashes
}

// base names the explanation whose text another one refers to. Sum is the CRC-32 of the text: a message whose decision
// Redis has lost is decided again, with another text.
type base struct {
	MessageID string `json:"id"`
	Sum       uint32 `json:"sum"`
}

// ranges returns the pieces of a text: ranges of the session's previous text, and what is new.
func (w *packing) ranges(into *packedExplanation, d Decision, text []byte) (pieces []string) {
	count := bytes.Count(text, spanEnd) + 1
	if count > maxSpans {
		return []string{literal + string(text)}
	}
	var room [256]int // of a usual history
	ends, end := room[:0], 0
	asked := askedText{base: base{d.MessageID, crc32.ChecksumIEEE(text)}, since: d.Time, spans: make([]uint64, 0, count)}
	for range count {
		begin := end
		if at := bytes.Index(text[begin:], spanEnd); at >= 0 {
			end += at + len(spanEnd)
		} else {
			end = len(text)
		}
		ends, asked.spans = append(ends, end), append(asked.spans, maphash.Bytes(w.seed, text[begin:end]))
	}
	previous := w.previous(d)
	pieces = make([]string, 0, 4)
	written, saved, next := 0, 0, 0 // bytes of the text, and the previous text's span after the last range
	for i, begin := 0, 0; i < count; {
		from, n := previous.find(asked.spans[i:], next)
		i += max(1, n)
		end = ends[i-1]
		if n > 0 && end-begin >= minRange {
			if written < begin {
				pieces = append(pieces, literal+string(text[written:begin]))
			}
			pieces = append(pieces, ranged+strconv.Itoa(from)+":"+strconv.Itoa(from+n))
			written, saved, next = end, saved+end-begin, from+n
		}
		begin = end
	}
	if written < len(text) {
		pieces = append(pieces, literal+string(text[written:]))
	}
	if saved >= minSaved {
		into.Base, asked.since, asked.steps = new(previous.base), previous.since, previous.steps+1
	} else if saved > 0 {
		pieces = []string{literal + string(text)}
	}
	w.asked, w.session = asked, d.SessionID
	return pieces
}

// previous returns the text that a decision's explanation may refer to, empty for none. It must be of a message in the
// history, else its session has ended. It expires before this explanation, so it must not be much older.
func (w *packing) previous(d Decision) askedText {
	text, known := w.texts.Get([2]string{d.Owner, d.SessionID})
	isOf := func(said matcher.Utterance) bool { return said.ID == text.MessageID }
	if !known || text.steps == maxSteps || d.Time.Sub(text.since) > w.keep/10 || !slices.ContainsFunc(d.History, isOf) {
		return askedText{}
	}
	return text
}

// find returns where spans begin in the text, and how many of them follow there. It tries next first.
func (t askedText) find(spans []uint64, next int) (from, n int) {
	if from = next; from == len(t.spans) || t.spans[from] != spans[0] {
		from = max(0, slices.Index(t.spans, spans[0]))
	}
	for n < len(spans) && from+n < len(t.spans) && t.spans[from+n] == spans[n] {
		n++
	}
	return from, n
}

// FetchEarlier reads the stored explanation of another message of the session; empty if there is none.
type FetchEarlier func(messageID string) (body string, err error)

// restore replaces the ranges of the first request by the text of an earlier explanation, if that is still there.
func (k *packedExplanation) restore(fetch FetchEarlier) error {
	if k.Base == nil || fetch == nil {
		return nil
	}
	body, err := fetch(k.Base.MessageID)
	if err != nil || body == "" {
		return err
	}
	earlier, err := read(body, fetch)
	if err != nil {
		return err
	}
	text := earlier.asked()
	if crc32.ChecksumIEEE([]byte(text)) != k.Base.Sum {
		return nil
	}
	spans := strings.SplitAfter(text, string(spanEnd))
	for i, piece := range k.Requests[0].Pieces {
		var from, to int
		if _, err := fmt.Sscanf(piece, ranged+"%d:%d", &from, &to); err == nil && 0 <= from && from <= to && to <= len(spans) {
			k.Requests[0].Pieces[i] = literal + strings.Join(spans[from:to], "")
		}
	}
	return nil
}

// asked returns the text of the first request that a later explanation refers to.
func (k *packedExplanation) asked() (text string) {
	if len(k.Requests) == 0 {
		return ""
	}
	for _, piece := range k.Requests[0].Pieces {
		if rest, is := strings.CutPrefix(piece, literal); is {
			text += rest
		}
	}
	return text
}
