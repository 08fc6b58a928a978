// Package shorttext packs texts that have much in common: a dictionary has the common content, and a packed
// text refers to it.
package shorttext

import (
	"fmt"
	"sync"

	"github.com/klauspost/compress/s2"
)

// Mark begins a packed text. Neither JSON nor the output of s2 without a dictionary begins with it: that begins
// with the text's length, which is never zero.
const Mark = "\x00"

// Dictionary packs texts of one kind. It is safe for concurrent use.
//
// A packed text needs the same dictionary for as long as it is stored: another dictionary needs another mark.
type Dictionary struct {
	of   *s2.Dict
	most int
}

// New returns a dictionary with the common content of texts, at most 64 KiB, the most frequent last. A packed
// text that claims more than most bytes counts as damaged.
func New(most int, common string) Dictionary {
	return Dictionary{s2.MakeDict([]byte(common), nil), most}
}

// Pack packs a text.
func (d Dictionary) Pack(text []byte) string { return d.PackAfter(nil, text) }

// PackAfter returns a head followed by the packed text.
func (d Dictionary) PackAfter(head, text []byte) string {
	var packed []byte
	if s2.MaxEncodedLen(len(text)) > len(room{}) {
		packed = d.of.Encode(nil, text)
	} else {
		in := rooms.Get().(*room)
		defer rooms.Put(in)
		packed = d.of.Encode(in[:], text)
	}
	return string(head) + Mark + string(packed)
}

// room is the buffer for packing a text of usual length.
type room [16 << 10]byte

var rooms = sync.Pool{New: func() any { return new(room) }}

// Unpack reverses Pack. Its error means that the text is damaged.
func (d Dictionary) Unpack(packed string) ([]byte, error) {
	if len(packed) <= len(Mark) || packed[:len(Mark)] != Mark {
		return nil, fmt.Errorf("%d bytes are not a packed text", len(packed))
	}
	body := []byte(packed[len(Mark):])
	switch length, err := s2.DecodedLen(body); {
	case err != nil:
		return nil, fmt.Errorf("%d packed bytes are damaged: %w", len(packed), err)
	case length > d.most:
		return nil, fmt.Errorf("%d packed bytes are damaged: they are said to be %d, and have at most %d", len(packed), length, d.most)
	}
	text, err := d.of.Decode(nil, body)
	if err != nil {
		return nil, fmt.Errorf("%d packed bytes are damaged: %w", len(packed), err)
	}
	return text, nil
}
