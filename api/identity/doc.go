// Package identity verifies ID tokens of users by OpenID Connect: Google's, and those
// of any issuer with a discovery document.
//
// Who a user is comes from here and never from what a model says. A token is good for
// one request: it is not kept, not logged, and no error repeats it.
package identity
