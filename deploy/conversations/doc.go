// Package conversations holds conversations of several days and people as files for earshot eval, and tests that run them.
package conversations
