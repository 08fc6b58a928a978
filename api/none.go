package api

import (
	"context"
	"fmt"

	"earshot/repositories"
	"earshot/repositories/secret"
)

// noKeys and noTokens stand for what a service was not given: no key or token is one.
type noKeys struct{}

func (noKeys) CheckKey(context.Context, secret.Secret) (string, repositories.AppKey, error) {
	return "", repositories.AppKey{}, repositories.ErrKey
}

func (noKeys) KeyValid(context.Context, string, string) (repositories.AppKey, error) {
	return repositories.AppKey{}, repositories.ErrKey
}

func (noKeys) Generation(context.Context, string, string) (repositories.Generation, error) {
	return repositories.Generation{}, nil
}

func (noKeys) LifeOf(context.Context, string, string) (repositories.Generation, error) {
	return repositories.Generation{}, nil
}

func (noKeys) CreateKey(context.Context, string, repositories.NewKey) (repositories.AppKey, secret.Secret, error) {
	return repositories.AppKey{}, secret.Secret{}, fmt.Errorf("%w: this service keeps no keys", repositories.ErrUnavailable)
}

func (noKeys) AppKeys(context.Context, string, string, int) ([]repositories.AppKey, string, error) {
	return nil, "", nil
}

func (noKeys) RevokeKey(context.Context, string, string) error { return repositories.ErrNotFound }

type noTokens struct{}

func (noTokens) SignToken(repositories.SessionToken) (secret.Secret, error) {
	return secret.Secret{}, fmt.Errorf("%w: this service signs no tokens", repositories.ErrUnavailable)
}

func (noTokens) OpenToken(secret.Secret) (repositories.SessionToken, error) {
	return repositories.SessionToken{}, repositories.ErrToken
}
