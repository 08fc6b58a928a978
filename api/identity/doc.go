// Package identity verifies ID tokens of users by OpenID Connect, from Google and any issuer with a discovery
// document.
//
// The user's identity comes from here, never from a model. Tokens are not stored or logged, and no error
// contains one.
package identity
