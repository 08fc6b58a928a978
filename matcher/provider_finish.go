package matcher

import (
	"fmt"
	"slices"
	"strings"
)

// whole returns an error for an answer that its server did not finish: what is cut
// short or filtered out is trouble, never a match. It knows the words of all providers,
// since compatible endpoints pass through those of the model behind them.
func whole(reason string) error {
	switch strings.ToLower(reason) {
	case "length", "max_tokens", "model_length", "model_context_window_exceeded", "error_limit":
		return &Unavailable{Reason: "the answer was cut short by the model's limit of tokens"}
	case "content_filter", "safety", "refusal", "recitation", "blocklist", "prohibited_content", "spii", "error_toxic":
		return &Unavailable{Reason: "the provider's content filter held the answer back"}
	case "error", "malformed_function_call":
		return &Unavailable{Reason: fmt.Sprintf("the model failed with finish_reason %q", reason)}
	default:
		return nil
	}
}

// finished is whole for a provider whose reasons for a sound end are documented: any
// other is a failure. None at all is sound.
func finished(reason string, sound ...string) error {
	if reason == "" || slices.Contains(sound, reason) {
		return nil
	}
	if err := whole(reason); err != nil {
		return err
	}
	return &Unavailable{Reason: fmt.Sprintf("the model failed with finish_reason %q", clip(reason, maxFinish))}
}

// maxFinish bounds a reason that is shown, in bytes.
const maxFinish = 60
