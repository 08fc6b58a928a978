// Package sermas serves the clients of SERMAS, as its own @sermas/api-client: the REST paths
// under /api that concern tools, chat, memory and tokens.
//
// It is a client of REST in the same process: what it is asked it asks there, with the key
// or token that came along, so that the same holds on either way in. Its own are the tokens,
// which clients have for the id and the secret of a module, and that the id of a repository
// is unique in the app: one that is written to another session moves there.
package sermas
