// Package shorttext writes texts that have much in common in fewer bytes: a dictionary has what they have in common, and
// a packed text refers to it.
package shorttext

import (
	"fmt"
	"sync"

	"github.com/klauspost/compress/s2"
)

// Mark begins a packed text. No JSON has it, nor does what s2 writes without a dictionary: there the length of the
// text stands first, which is never zero.
const Mark = "\x00"

// Dictionary packs texts of one kind. It is safe for concurrent use.
//
// What was packed needs the dictionary as it was then, for as long as it is kept: another dictionary needs a mark of
// its own.
type Dictionary struct {
	of   *s2.Dict
	most int
}

// New makes a dictionary of what texts have in common, at most 64 KiB; what most of them have comes last. A packed text
// that says it is longer than most bytes is taken for damaged.
func New(most int, common string) Dictionary {
	return Dictionary{s2.MakeDict([]byte(common), nil), most}
}

// Pack packs a text.
func (d Dictionary) Pack(text []byte) string {
	if s2.MaxEncodedLen(len(text)) > len(room{}) {
		return Mark + string(d.of.Encode(nil, text))
	}
	in := rooms.Get().(*room)
	defer rooms.Put(in)
	return Mark + string(d.of.Encode(in[:], text))
}

// room is where a text of the usual length is packed.
type room [16 << 10]byte

var rooms = sync.Pool{New: func() any { return new(room) }}

// Unpack is the reverse of Pack. Its error says that the text is damaged.
func (d Dictionary) Unpack(packed string) ([]byte, error) {
	if len(packed) <= len(Mark) || packed[:len(Mark)] != Mark {
		return nil, fmt.Errorf("%d bytes are no packed text", len(packed))
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
