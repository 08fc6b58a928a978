package trigger

import "fmt"

// Failure is the Outcome of an attempt that did not deliver, as an error on its way up
// inside a Deliverer.
type Failure struct{ Outcome Outcome }

// Error returns the outcome's text, which is fit for people and holds no credential.
func (f *Failure) Error() string { return f.Outcome.Error }

// Fail returns a Failure whose text is formatted as by fmt.Sprintf.
func Fail(verdict Verdict, reason Reason, format string, args ...any) error {
	return &Failure{Outcome: Outcome{Verdict: verdict, Reason: reason, Error: fmt.Sprintf(format, args...)}}
}
