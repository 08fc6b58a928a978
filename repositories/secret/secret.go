// Package secret is the type of a credential, which cannot be printed, logged, published or returned by accident.
package secret

import (
	"fmt"
	"io"
	"log/slog"
	"unique"
)

// Masked replaces credentials in all output. A client that sends it back keeps the stored credential.
const Masked = "***"

// Secret is a credential. It cannot be printed, logged or marshalled by accident: every method but Reveal gives
// Masked, or nothing if it is empty. Secrets of the same text and destination are equal.
//
// A stored secret is bound to its destination and user, and is rejected anywhere else.
type Secret struct {
	// text is a handle, since fmt calls no method of a field that is not exported, but prints its content: of a
	// handle an address.
	text    unique.Handle[string]
	towards unique.Handle[string]
	sealed  bool
}

var none unique.Handle[string]

// handle returns a handle of a text; the zero one if it is empty.
func handle(text string) unique.Handle[string] {
	if text == "" {
		return none
	}
	return unique.Make(text)
}

func value(of unique.Handle[string]) string {
	if of == none {
		return ""
	}
	return of.Value()
}

// New wraps the plain text of a credential.
func New(text string) Secret { return Secret{text: handle(text)} }

// Sealed returns a stored credential that no secret key opens: text is encrypted. It is stored again as it is, and
// must not be sent.
func Sealed(text, towards string) Secret { return Secret{handle(text), handle(towards), true} }

// IsSealed reports whether the text is still encrypted; see Sealed.
func (s Secret) IsSealed() bool { return s.sealed }

// Reveal returns the plain text. Call it only to use the credential: for the request that it authenticates, or the
// cipher that stores it.
func (s Secret) Reveal() string { return value(s.text) }

// Towards returns the destination and user that the store has bound the credential to; empty if not bound yet.
func (s Secret) Towards() string { return value(s.towards) }

// For returns the credential bound to a destination and user.
func (s Secret) For(towards string) Secret { return Secret{s.text, handle(towards), s.sealed} }

// Empty reports whether there is no credential.
func (s Secret) Empty() bool { return s.text == none }

// IsMasked reports whether the client sent the mask in place of a credential.
func (s Secret) IsMasked() bool { return s.Reveal() == Masked }

// IsZero lets encoding/json omit an empty credential (omitzero).
func (s Secret) IsZero() bool { return s.Empty() }

// String returns the mask.
func (s Secret) String() string {
	if s.Empty() {
		return ""
	}
	return Masked
}

// Format prints the mask for every verb: %d would print the fields.
func (s Secret) Format(to fmt.State, _ rune) { _, _ = io.WriteString(to, s.String()) }

// LogValue keeps log/slog from printing the field.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText returns the mask, for all encoders that use TextMarshaler.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a credential from a request body or a file.
func (s *Secret) UnmarshalText(text []byte) error {
	*s = New(string(text))
	return nil
}
